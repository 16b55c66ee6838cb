"""Exponential integrals, and integrals like them: of Dawson, and of Spence."""

from collections.abc import Sequence
from math import pi

import numpy as np

from tfc.frontend.operations import full_like, operation
from tfc.frontend.special.elementwise import (
    absolute,
    both,
    exp,
    is_,
    is_whole,
    log,
    log1p,
    polynomial,
    special,
    where,
    with_last_slope,
    with_slopes,
)
from tfc.frontend.special.gamma import digamma_of, gamma_of
from tfc.frontend.special.iterations import ULP, repeated
from tfc.frontend.special.polynomials import (
    DAWSON_0,
    DAWSON_1,
    DAWSON_2,
    DAWSON_3,
    DAWSON_4,
    DAWSON_LARGE,
    E1_0,
    E1_1,
    E1_2,
    E1_SMALL,
    EI_0,
    EI_1,
    EI_2,
    EI_3,
    EI_SMALL_0,
    EI_SMALL_1,
    SPENCE,
    Polynomial,
)
from tfc.frontend.tensor import Tensor

_ROOT, _ROOT_REST = 0.3725074107813666, 1.3140183414386028e-17  # of Ei, in two parts


def _piecewise(tables: tuple[Polynomial, ...], x: Tensor) -> Tensor:
    """The approximations of intervals that lie one after the other, at x within them."""
    found = polynomial(tables[0], x)
    for table in tables[1:]:
        found = where(is_("GT", x, table.low), polynomial(table, x), found)
    return found


def _within(x: Tensor, low: float, high: float) -> Tensor:
    return operation("clamp", full_like(low, x), x, full_like(high, x))


def _e1(x: Tensor) -> Tensor:
    """E₁ of numbers above 0."""
    near = _within(x, 0, 1)
    small = near * polynomial(E1_SMALL, near) - np.euler_gamma - log(near)
    far = operation("maximum", x, full_like(1, x))
    large = exp(-far) / far * _piecewise((E1_2, E1_1, E1_0), 1 / far)
    return where(is_("LE", x, 1), small, large)


def _ei(x: Tensor) -> Tensor:
    """Ei of numbers above 0."""
    near = _within(x, 0, 4)
    away = (near - _ROOT) - _ROOT_REST
    is_close = both(is_("GT", near, 0.2), is_("LT", near, 1))
    logarithm = where(is_close, log1p(where(is_close, away, 0) / _ROOT), log(near / _ROOT))
    small = logarithm + away * _piecewise((EI_SMALL_0, EI_SMALL_1), near)
    far = operation("maximum", x, full_like(4, x))
    # exp(x) overflows before Ei(x) does: by halves.
    half = exp(0.5 * far)
    large = half / far * _piecewise((EI_3, EI_2, EI_1, EI_0), 1 / far) * half
    large = where(is_("EQ", x, np.inf), np.inf, large)
    return where(is_("LE", x, 4), small, large)


@with_slopes(lambda _, x: exp(x) / x)
def _expi(x: Tensor) -> Tensor:
    size = where(is_("EQ", x, 0), 1, absolute(x))
    left = where(is_("EQ", x, -np.inf), -0.0, -_e1(size))
    return where(is_("EQ", x, 0), -np.inf, where(is_("LT", x, 0), left, _ei(size)))


@special
def expi(x: Tensor, /) -> Tensor:
    """The exponential integral Ei(x), of exp(t) / t from -∞ to x, to 6 ulp; -inf at 0."""
    return _expi(x)


@with_slopes(lambda _, x: -exp(-x) / x)
def _exp1(x: Tensor) -> Tensor:
    fits = both(is_("GT", x, 0), is_("LT", x, np.inf))
    edge = where(is_("EQ", x, 0), np.inf, where(is_("EQ", x, np.inf), 0, np.nan))
    return where(fits, _e1(where(fits, x, 1)), edge)


@special
def exp1(x: Tensor, /) -> Tensor:
    """The exponential integral E₁(x), of exp(-t) / t from x to ∞, to 8 ulp; NaN below 0."""
    return _exp1(x)


def _expn_of_small(n: Tensor, x: Tensor) -> Tensor:
    """Eₙ(x) for n from 2 on and x in 0 … 1, by its series, one term of which has a logarithm."""
    term, total = full_like(1, x), full_like(0, x)
    for m in range(20):
        is_odd_one = is_("EQ", n, m + 1)
        total = total - where(is_odd_one, 0, term / where(is_odd_one, 1, (m + 1) - n))
        term = term * x * (-1 / (m + 1))
    base = where(is_("GT", x, 0), x, 1)
    is_even = is_whole(n * 0.5)
    power = operation("power", base, n - 1) / gamma_of(n) * (digamma_of(n) - log(base))
    return total + where(is_("GT", x, 0), where(is_even, -power, power), 0)


def _expn_of_large(n: Tensor, x: Tensor) -> Tensor:
    """Eₙ(x) for n from 1 on and x above 1, by its fraction and Steed's method."""

    def step(k: Tensor, state: Sequence[Tensor]) -> tuple[Sequence[Tensor], Tensor]:
        d, change, found = state
        above, below = -k * (n - 1 + k), x + n + 2 * k
        d = 1 / (above * d + below)
        change = (below * d - 1) * change
        return (d, change, found + change), is_("GT", absolute(change), ULP / 2 * found)

    first = 1 / (x + n)
    return repeated(step, (first, first, first))[2] * exp(-x)


def _slope_of_expn(n: Tensor, x: Tensor) -> Tensor:
    is_none = is_("EQ", n, 0)
    return where(is_none, -exp(-x) / x * (1 + 1 / x), -_expn(where(is_none, 1, n) - 1, x))


@with_last_slope("expn", _slope_of_expn)
def _expn(n: Tensor, x: Tensor) -> Tensor:
    fits = both(is_("GE", n, 0), is_whole(n), is_("GE", x, 0), is_("LT", x, np.inf))
    order, inside = where(fits, n, 1), where(fits, x, 1)
    is_small = both(is_("LE", inside, 1), is_("GE", order, 2))
    small = _expn_of_small(where(is_small, order, 2), where(is_small, inside, 0.5))
    is_large = both(is_("GT", inside, 1), is_("GE", order, 2))
    large = _expn_of_large(where(is_large, order, 2), where(is_large, inside, 2))
    found = where(is_small, small, where(is_large, large, _exp1(inside)))
    found = where(is_("EQ", order, 0), exp(-inside) / inside, found)
    is_end = both(is_("EQ", x, np.inf), is_("GE", n, 0))
    return where(fits, found, where(is_end, 0, np.nan))


@special
def expn(n: Tensor, x: Tensor, /) -> Tensor:
    """Eₙ(x), of exp(-xt) / tⁿ from 1 to ∞, for whole n of 0 or more, to 20 ulp; NaN for x < 0.

    It has a derivative by x alone.
    """
    return _expn(n, x)


def _slope_of_spence(_: Tensor, z: Tensor) -> Tensor:
    is_one = is_("EQ", z, 1)
    return where(is_one, -1, log(z) / (1 - where(is_one, 0, z)))


@with_slopes(_slope_of_spence)
def _spence(z: Tensor) -> Tensor:
    # Above 1.5 by 1 / z, below 0.5 by 1 - z.
    is_far = is_("GT", z, 1.5)
    turned = where(is_far, 1 / where(is_far, z, 1), z)
    is_near_zero = is_("LT", turned, 0.5)
    inside = where(is_near_zero, 1 - turned, turned)
    middle = (1 - inside) * polynomial(SPENCE, inside)
    middle = where(is_near_zero, turned, 1 - inside) * polynomial(SPENCE, inside)
    logarithm = log(where(is_("GT", turned, 0), turned, 1))
    reflected = pi * pi / 6 - logarithm * log1p(-where(is_near_zero, turned, 0)) - middle
    found = where(is_near_zero, reflected, middle)
    half = log(where(is_far, z, 1))
    found = where(is_far, -0.5 * half * half - found, found)
    return where(is_("EQ", z, np.inf), -np.inf, where(is_("GE", z, 0), found, np.nan))


@special
def spence(z: Tensor, /) -> Tensor:
    """Spence's function, the integral of log(t) / (1 - t) from 1 to z, to 6 ulp; NaN below 0."""
    return _spence(z)


@with_slopes(lambda y, x: where(is_("EQ", absolute(x), np.inf), 0, 1 - 2 * x * y))
def _dawsn(x: Tensor) -> Tensor:
    size = absolute(x)
    near = _within(size, 0, 1)
    small = near * polynomial(DAWSON_0, near * near)
    tables = (DAWSON_1, DAWSON_2, DAWSON_3, DAWSON_4)
    middle = _piecewise(tables, _within(size, 1, 6))
    far = operation("maximum", size, full_like(6, x))
    large = polynomial(DAWSON_LARGE, 1 / far / far) / far
    found = where(is_("LE", size, 1), small, where(is_("LE", size, 6), middle, large))
    return where(is_("LT", x, 0), -found, where(is_("EQ", x, 0), x, found))


@special
def dawsn(x: Tensor, /) -> Tensor:
    """Dawson's integral, exp(-x²) times that of exp(t²) from 0 to x, to 5 ulp."""
    return _dawsn(x)
