"""The incomplete gamma functions, and how gamma numbers change with their parameter.

    P(a, x) = ∫₀ˣ tᵃ⁻¹ exp(-t) dt / Γ(a) = x p(a, x) S(a, x) / a,    S = Σ xⁿ / ((a + 1) … (a + n))
    Q(a, x) = 1 - P(a, x)                = x p(a, x) F(a, x),        F a continued fraction

p is the density, xᵃ⁻¹ exp(-x) / Γ(a). The series is for x up to a, the fraction above; of large a
that are near x both would take long, and Temme's expansion is taken:

    Q(a, x) = erfc(η √(a/2)) / 2 + exp(-a η²/2) / √(2πa) T,   T = Σ Cₖ(η) / aᵏ

with η²/2 = μ - log(1 + μ), μ = (x - a) / a. Derivatives by a are computed in proportion to x p,
which may vanish.
"""

from collections.abc import Sequence
from math import pi

import numpy as np

from tfc.errors import TraceError
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.operations import full_like, operation
from tfc.frontend.special.elementwise import (
    absolute,
    both,
    either,
    exp,
    is_,
    log,
    log1p,
    polynomial,
    root,
    special,
    where,
    with_slopes,
)
from tfc.frontend.special.error import erfc_of
from tfc.frontend.special.gamma import digamma_of, gamma_of, series, stirling_rest
from tfc.frontend.special.iterations import ULP, repeated
from tfc.frontend.special.polynomials import LOG_GAMMA_1_2, LOG_GAMMA_2_3, PHI, TEMME
from tfc.frontend.tensor import Tensor

_LARGE = 100  # from there on Temme's expansion is right
_STIRLING = 8  # and from there on Stirling's series


def log_ratio_rest(m: Tensor) -> Tensor:
    """m - log(1 + m), whose digits are right near 0."""
    is_near = both(is_("GE", m, PHI.low), is_("LE", m, PHI.high))
    near, far = where(is_near, m, 0), where(is_near, 1, m)
    return where(is_near, near * near * polynomial(PHI, near), far - log1p(far))


def _excess(a: Tensor, x: Tensor) -> Tensor:
    return (x - a) / a


def _x_times_density(a: Tensor, x: Tensor) -> Tensor:
    """xᵃ exp(-x) / Γ(a), of positive numbers."""
    is_far = is_("GE", a, _STIRLING)
    large, small = where(is_far, a, _STIRLING), where(is_far, 1, a)
    exponent = large * log_ratio_rest(_excess(large, where(is_far, x, _STIRLING)))
    far = root(large / (2 * pi)) * exp(-exponent - stirling_rest(large))
    inside = operation("minimum", x, full_like(1000, x))  # beyond, exp(-x) is 0
    near = operation("power", inside, small) * exp(-inside) / gamma_of(small)
    return where(is_far, far, near)


def _sum_and_slope(a: Tensor, x: Tensor, with_slope: bool) -> tuple[Tensor, Tensor]:
    """S of the series above, and its derivative by a if wanted, for x up to a or small."""

    def step(n: Tensor, state: Sequence[Tensor]) -> tuple[Sequence[Tensor], Tensor]:
        term, total, harmonic, slope = state
        term = term * x / (a + n)
        total = total + term
        if with_slope:
            harmonic = harmonic + 1 / (a + n)
            slope = slope - term * harmonic
        return (term, total, harmonic, slope), is_("GT", term, total * (ULP / 16))

    one, none = full_like(1, a), full_like(0, a)
    _, total, _, slope = repeated(step, (one, one, none, none))
    return total, slope


def _fraction_and_slope(a: Tensor, x: Tensor, with_slope: bool) -> tuple[Tensor, Tensor]:
    """F of the continued fraction above, by Steed's method, and its derivative by a if wanted."""

    def step(n: Tensor, state: Sequence[Tensor]) -> tuple[Sequence[Tensor], Tensor]:
        d, change, found, dd, dchange, slope = state
        above, below = n * (a - n), x + 1 - a + 2 * n
        new = 1 / (above * d + below)
        if with_slope:
            dd = (1 - n * d - above * dd) * new * new
            dchange = (below * dd - new) * change + (below * new - 1) * dchange
            slope = slope + dchange
        change = (below * new - 1) * change
        found = found + change
        goes_on = is_("GT", absolute(change), ULP / 2 * found)
        if with_slope:
            goes_on = either(goes_on, is_("GT", absolute(dchange), ULP * (found + absolute(slope))))
        return (new, change, found, dd, dchange, slope), goes_on

    d = 1 / (x + 1 - a)
    _, _, found, _, _, slope = repeated(step, (d, d, d, d * d, d * d, d * d))
    return found, slope


def _eta(m: Tensor) -> tuple[Tensor, Tensor]:
    """η, and μ / η."""
    ratio = root(2 * polynomial(PHI, m))
    return m * ratio, 1 / ratio


def _expansion(a: Tensor, eta: Tensor) -> Tensor:
    """T: Σ Cₖ(η) / aᵏ."""
    return series_of([series(list(row), eta) for row in TEMME], 1 / a)


def series_of(terms: Sequence[Tensor], x: Tensor) -> Tensor:
    """Σ terms[k] xᵏ."""
    found = terms[-1]
    for term in reversed(terms[:-1]):
        found = found * x + term
    return found


def _temme(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """(P, Q) for a of 100 and more, and x near it."""
    m = _excess(a, x)
    eta, _ = _eta(m)
    argument = eta * root(a * 0.5)
    rest = exp(-a * log_ratio_rest(m)) / root(2 * pi * a) * _expansion(a, eta)
    return 0.5 * erfc_of(-argument) - rest, 0.5 * erfc_of(argument) + rest


def _is_temme(a: Tensor, x: Tensor) -> Tensor:
    m = _excess(a, x)
    return both(is_("GE", a, _LARGE), is_("GE", m, PHI.low), is_("LE", m, PHI.high))


def _log_gamma_of_one_more(a: Tensor) -> Tensor:
    """log Γ(1 + a) for a in 0 … 2, whose digits are right near 0."""
    low = polynomial(LOG_GAMMA_1_2, 1 + operation("minimum", a, full_like(1, a)))
    high = polynomial(LOG_GAMMA_2_3, 1 + operation("maximum", a, full_like(1, a)))
    return where(is_("LT", a, 1), low, high) * a * (a - 1)


def _upper_of_small(a: Tensor, x: Tensor) -> Tensor:
    """Q for x up to 1.1 and a below 2, where 1 - P would lose digits."""
    term, total = full_like(1, a), full_like(0, a)
    for n in range(1, 21):
        term = term * x * (-1 / n)
        total = total + term / (a + n)
    exponent = a * log(x) - _log_gamma_of_one_more(a)
    return -operation("exponential-minus-one", exponent) - a * exp(exponent) * total


def _is_small_upper(a: Tensor, x: Tensor) -> Tensor:
    low = where(is_("LE", x, 0.5), x, 0.5)
    by_log = is_("LE", a, -0.4 / log(where(is_("GT", low, 0), low, 0.5)))
    fits = where(is_("LE", x, 0.5), where(by_log, 1, 0), where(is_("LE", a, 1.1 * x), 1, 0))
    return both(is_("LE", x, 1.1), is_("GT", fits, 0))


def _parts(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """(P, Q) of positive finite numbers."""
    is_temme = _is_temme(a, x)
    is_upper = both(is_("GT", x, 1.1), is_("GT", x, a))
    is_series = is_("EQ", where(either(is_temme, is_upper), 1, 0), 0)
    total, _ = _sum_and_slope(where(is_series, a, 1), where(is_series, x, 0), False)
    is_fraction = is_("GT", where(is_temme, 0, where(is_upper, 1, 0)), 0)
    found, _ = _fraction_and_slope(where(is_fraction, a, 1), where(is_fraction, x, 2), False)
    scale = _x_times_density(a, x)
    low, high = scale * total / a, scale * found
    is_small = _is_small_upper(a, x)
    small = _upper_of_small(where(is_small, a, 1), where(is_small, x, 1))
    lower, upper = _temme(where(is_temme, a, _LARGE), where(is_temme, x, _LARGE))
    upper = where(is_temme, upper, where(is_upper, high, where(is_small, small, 1 - low)))
    return where(is_temme, lower, where(is_upper, 1 - high, low)), upper


def _at_ends(a: Tensor, x: Tensor, number: int) -> Tensor:
    """P (0) or Q (1) for any numbers."""
    inside = both(is_("GT", a, 0), is_("GT", x, 0), is_("LT", a, np.inf), is_("LT", x, np.inf))
    found = _parts(where(inside, a, 1), where(inside, x, 1))[number]
    nothing, all_of_it = (0, 1) if number == 0 else (1, 0)
    is_least = either(is_("EQ", x, 0), is_("EQ", a, np.inf))
    edge = where(is_least, nothing, all_of_it)
    odd = either(
        is_("NE", a, a), is_("NE", x, x), is_("LT", a, 0), is_("LT", x, 0),
        both(is_("EQ", a, 0), is_("EQ", x, 0)), both(is_("EQ", a, np.inf), is_("EQ", x, np.inf)),
    )  # fmt: skip
    return where(odd, np.nan, where(inside, found, edge))


def _inside(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    fits = both(is_("GT", a, 0), is_("GT", x, 0), is_("LT", a, np.inf), is_("LT", x, np.inf))
    return fits, where(fits, a, 1), where(fits, x, 1)


def _slope_by_a(a: Tensor, x: Tensor) -> Tensor:
    """∂P/∂a, and 0 at the ends."""
    fits, a, x = _inside(a, x)
    return where(fits, -_x_times_density(a, x) * log_gamma_slope(a, log(x)), 0)


def _slope_by_x(a: Tensor, x: Tensor) -> Tensor:
    """∂P/∂x, the density."""
    at_zero = both(is_("EQ", x, 0), is_("GT", a, 0))
    fits, inner, inside = _inside(a, x)
    edge = where(is_("LT", a, 1), np.inf, where(is_("EQ", a, 1), 1, 0))
    density = _x_times_density(inner, inside) / inside
    return where(at_zero, edge, where(fits, density, 0))


@with_slopes(lambda _, a, x: _slope_by_a(a, x), lambda _, a, x: _slope_by_x(a, x))
def _lower(a: Tensor, x: Tensor) -> Tensor:
    return _at_ends(a, x, 0)


@with_slopes(lambda _, a, x: -_slope_by_a(a, x), lambda _, a, x: -_slope_by_x(a, x))
def _upper(a: Tensor, x: Tensor) -> Tensor:
    return _at_ends(a, x, 1)


@custom_jvp
def log_gamma_slope(a: Tensor, log_x: Tensor) -> Tensor:
    """By how much the logarithm of a gamma number changes with its parameter, its rank kept.

    With P(a, x) the same, x changes by dx/da = -(∂P/∂a) / p; this is dx/da / x.

    Args:
        a: above 0.
        log_x: the number's logarithm, as the number itself may be too small for the type.
    """
    x = exp(log_x)
    is_temme = _is_temme(a, x)
    is_upper = both(is_("GT", x, 1.1), is_("GT", x, a))
    is_series = is_("EQ", where(either(is_temme, is_upper), 1, 0), 0)
    inner = where(is_series, a, 1)
    total, slope = _sum_and_slope(inner, where(is_series, x, 0), True)
    low = -(total * (where(is_series, log_x, 0) - digamma_of(inner + 1)) + slope) / inner
    is_fraction = is_("GT", where(is_temme, 0, where(is_upper, 1, 0)), 0)
    inner, inside = where(is_fraction, a, 1), where(is_fraction, x, 2)
    found, slope = _fraction_and_slope(inner, inside, True)
    high = found * (log(inside) - digamma_of(inner)) + slope
    near = _slope_of_temme(where(is_temme, a, _LARGE), where(is_temme, x, _LARGE))
    return where(is_temme, near, where(is_fraction, high, low))


@log_gamma_slope.defjvp
def _refuse_second_derivative(primals: object, tangents: object) -> object:
    raise TraceError(
        "the derivative of an incomplete gamma function, or of a gamma number, by the parameter a "
        "has no derivative itself; apply tfc.stop_gradient to a"
    )


def _slope_of_temme(a: Tensor, x: Tensor) -> Tensor:
    m = _excess(a, x)
    eta, ratio = _eta(m)
    rows = [[n * c for n, c in enumerate(row)][1:] or [0.0] for row in TEMME]
    by_eta = series_of([series(row, eta) for row in rows], 1 / a)
    values = [series(list(row), eta) * k for k, row in enumerate(TEMME)]
    change = -(by_eta * ratio + series_of(values, 1 / a)) / a
    change = change + _expansion(a, eta) * (log1p(m) - 0.5 / a)
    return exp(stirling_rest(a)) / a * (ratio - 0.5 * eta + change)


@special
def gammainc(a: Tensor, x: Tensor, /) -> Tensor:
    """The lower incomplete gamma function, over Γ(a): the chance that a gamma number is below x.

    For a and x of 0 or more, to 10 ulp where it is no tail; NaN elsewhere. The derivative by a has
    no derivative itself.
    """
    return _lower(a, x)


@special
def gammaincc(a: Tensor, x: Tensor, /) -> Tensor:
    """The upper one, 1 - gammainc(a, x), whose digits are right where it is small."""
    return _upper(a, x)


@special
def gammainc_by_a(a: Tensor, x: Tensor, /) -> Tensor:
    """The derivative of gammainc by its parameter; 0 at the ends."""
    return _slope_by_a(a, x)


@special
def gamma_number_by_a(a: Tensor, x: Tensor, /) -> Tensor:
    """By how much a gamma number x > 0 changes with its parameter a > 0."""
    return x * log_gamma_slope(a, log(x))
