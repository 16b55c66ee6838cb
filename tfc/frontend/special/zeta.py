"""The zeta function of Hurwitz, by the summation formula of Euler and Maclaurin."""

from fractions import Fraction
from math import comb

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.operations import constant, full_like, operation
from tfc.frontend.python_numbers import whole
from tfc.frontend.special.elementwise import both, either, is_, special, where, with_last_slope
from tfc.frontend.tensor import Tensor, evaluable

_TERMS = 12  # that are added one by one
# (2k)! / B₂ₖ
_FACTORS = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9,
            7.47242496e10, -2.950130727918164224e12, 1.1646782814350067249e14,
            -4.5979787224074726e15, 1.8152105401943547e17, -7.166165256175667e18)  # fmt: skip


def _slope(x: Tensor, q: Tensor) -> Tensor:
    return -x * hurwitz(x + 1, q)


@with_last_slope("zeta", _slope)
def hurwitz(x: Tensor, q: Tensor) -> Tensor:
    """zeta of f64."""
    fits = both(is_("GT", x, 1), is_("GT", q, 0))
    s, a = where(fits, x, 2), where(fits, q, 1)
    total = full_like(0, s)
    for number in range(_TERMS):
        total = total + operation("power", a + number, -s)
    far = a + _TERMS
    last = operation("power", far, -s)
    total = total + last * far / (s - 1) + 0.5 * last
    factor, scale = s, last / far
    for number, divisor in enumerate(_FACTORS):
        total = total + factor * scale / divisor
        factor = factor * (s + (2 * number + 1)) * (s + (2 * number + 2))
        scale = scale / far / far
    # Of large numbers the products above overflow where the sum has long been its first term.
    alone = operation("power", a, -s)
    found = where(is_("GT", s, 100), alone + operation("power", a + 1, -s), total)
    found = where(is_("EQ", q, np.inf), where(fits, 0, np.nan), found)
    at_pole = both(is_("EQ", q, 0), is_("GT", x, 1))
    odd = either(at_pole, is_("EQ", x, 1))
    return where(odd, np.inf, where(fits, found, np.nan))


@special
def zeta(x: Tensor, q: Tensor, /) -> Tensor:
    """Σ 1 / (k + q)ˣ over k = 0, 1 … for x > 1 and q > 0, NaN elsewhere; inf for x = 1 or q = 0.

    It has a derivative by q alone.
    """
    return hurwitz(x, q)


@evaluable
def bernoulli(n: int) -> Tensor:
    """The Bernoulli numbers B₀ … Bₙ, in float64; B₁ is -1/2.

    Raises:
        ShapeError: n is no whole number, or negative.
    """
    most = whole(n, "the n of bernoulli")
    if most < 0:
        raise ShapeError(f"bernoulli requires an n of 0 or more, got {most}")
    numbers: list[Fraction] = []
    for m in range(most + 1):
        rest = sum((comb(m + 1, k) * b for k, b in enumerate(numbers)), Fraction(0))
        numbers.append((Fraction(1) if m == 0 else -rest) / (m + 1))
    return constant(np.array([_nearest(b) for b in numbers]))


def _nearest(number: Fraction) -> float:
    """The number in f64; infinite if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
