"""The incomplete beta function, by its continued fraction.

I(a, b, x) = xᵃ (1 - x)ᵇ / (a B(a, b)) F(a, b, x)        for x below (a + 1) / (a + b + 2)
           = 1 - I(b, a, 1 - x)                          above, but where that is near 1
"""

from collections.abc import Sequence
from math import pi

import numpy as np

from tfc.frontend.operations import operation
from tfc.frontend.special.elementwise import (
    absolute,
    both,
    either,
    exp,
    is_,
    log,
    log1p,
    root,
    special,
    where,
    with_last_slope,
)
from tfc.frontend.special.gamma import gamma_of, log_of_quotient, stirling_rest
from tfc.frontend.special.incomplete_gamma import log_ratio_rest
from tfc.frontend.special.iterations import ULP, repeated
from tfc.frontend.tensor import Tensor

_STIRLING = 8  # from there on Stirling's series are right


def _scale(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """xᵃ (1 - x)ᵇ / B(a, b), of positive numbers and x inside of 0 … 1."""
    is_far = both(is_("GE", a, _STIRLING), is_("GE", b, _STIRLING))
    large, other = where(is_far, a, _STIRLING), where(is_far, b, _STIRLING)
    # By the distance from the maximum, at a / (a + b), whose digits are right.
    total = large + other
    distance = x - large / total
    exponent = large * log_ratio_rest(distance * total / large)
    exponent = exponent + other * log_ratio_rest(-distance * total / other)
    rest = stirling_rest(total) - stirling_rest(large) - stirling_rest(other)
    far = root(large / total * other / (2 * pi)) * exp(rest - exponent)
    near = exp(a * log(x) + b * log1p(-x)) / _beta_of(where(is_far, 1, a), where(is_far, 1, b))
    return where(is_far, far, near)


def _beta_of(a: Tensor, b: Tensor) -> Tensor:
    """B(a, b), of which the smaller is below 8."""
    small, large = operation("minimum", a, b), operation("maximum", a, b)
    is_far = is_("GE", large, _STIRLING)
    far = exp(log_of_quotient(where(is_far, large, _STIRLING), small))
    other = where(is_far, 1, large)
    near = gamma_of(other) / gamma_of(where(is_far, 1, small + other))
    return gamma_of(small) * where(is_far, far, near)


def _fraction(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """F, by Steed's method, two terms in a step."""

    def step(m: Tensor, state: Sequence[Tensor]) -> tuple[Sequence[Tensor], Tensor]:
        d, change, found = state
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + even * d)
        change = (d - 1) * change
        first = change
        d = 1 / (1 + odd * d)
        change = (d - 1) * change
        size = absolute(first) + absolute(change)
        return (d, change, found + (first + change)), is_("GT", size, ULP / 2 * found)

    d = 1 / (1 - (a + b) * x / (a + 1))
    return repeated(step, (d, d - 1, d))[2]


def _slope(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The density: xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)."""
    inside = both(is_("GT", a, 0), is_("GT", b, 0), is_("GT", x, 0), is_("LT", x, 1))
    p, q, y = where(inside, a, 1), where(inside, b, 1), where(inside, x, 0.5)
    # At an end by the power of the factor that is 0 there.
    at_zero = is_("EQ", x, 0)
    power, other = where(at_zero, a, b), where(at_zero, b, a)
    edge = where(is_("EQ", power, 1), other, where(is_("LT", power, 1), np.inf, 0))
    is_end = both(either(at_zero, is_("EQ", x, 1)), is_("GT", a, 0), is_("GT", b, 0))
    density = _scale(p, q, y) / y / (1 - y)
    return where(inside, density, where(is_end, edge, 0))


@with_last_slope("betainc", _slope)
def _betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    inside = both(
        is_("GT", a, 0), is_("GT", b, 0), is_("GT", x, 0), is_("LT", x, 1),
        is_("LT", a, np.inf), is_("LT", b, np.inf),
    )  # fmt: skip
    p, q, y = where(inside, a, 1), where(inside, b, 1), where(inside, x, 0.5)
    # If b is below 1, little of it lies below x up to close to 1.
    middle = operation("maximum", (p + 1) / (p + q + 2), where(is_("LT", q, 1), 0.95, 0))
    is_above = is_("GT", y, middle)
    first, second = where(is_above, q, p), where(is_above, p, q)
    part = _scale(p, q, y) * _fraction(first, second, where(is_above, 1 - y, y)) / first
    found = where(is_above, 1 - part, part)
    edge = where(either(is_("EQ", x, 1), is_("EQ", a, 0), is_("EQ", b, np.inf)), 1, 0)
    edge = where(is_("EQ", x, 0), 0, edge)
    odd = either(
        is_("NE", a, a), is_("NE", b, b), is_("NE", x, x), is_("LT", a, 0), is_("LT", b, 0),
        is_("LT", x, 0), is_("GT", x, 1), both(is_("EQ", a, 0), is_("EQ", b, 0)),
        both(is_("EQ", a, np.inf), is_("EQ", b, np.inf)),
    )  # fmt: skip
    return where(odd, np.nan, where(inside, found, edge))


@special
def betainc(a: Tensor, b: Tensor, x: Tensor, /) -> Tensor:
    """The incomplete beta function, over B(a, b): the chance that a beta number is below x.

    For a and b above 0 and x in 0 … 1, to 100 ulp where it is no tail; NaN elsewhere. It has a
    derivative by x alone.
    """
    return _betainc(a, b, x)
