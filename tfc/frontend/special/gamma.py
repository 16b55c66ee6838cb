"""The gamma function, its logarithm, and the logarithm's derivatives."""

from math import log as log_of
from math import pi

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.operations import full_like, operation
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import whole
from tfc.frontend.special.elementwise import (
    absolute,
    both,
    either,
    exp,
    floor,
    is_,
    is_whole,
    log,
    log1p,
    polynomial,
    sine_of_pi,
    special,
    where,
    with_last_slope,
    with_slopes,
)
from tfc.frontend.special.polynomials import DIGAMMA, GAMMA, LOG_GAMMA_1_2, LOG_GAMMA_2_3
from tfc.frontend.special.zeta import hurwitz
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable

_LARGE = 8  # from there on Stirling's series are used
# B₂ₖ / (2k (2k - 1)) of log Γ, and B₂ₖ / 2k of its derivative, for k = 1, 2 …
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
              43867 / 798, -174611 / 330)  # fmt: skip
_STIRLING = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
_OF_DIGAMMA = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17  # of digamma, in two parts


def series(terms: list[float], x: Tensor) -> Tensor:
    """Σ terms[k] xᵏ."""
    found = full_like(terms[-1], x)
    for term in reversed(terms[:-1]):
        found = found * x + term
    return found


def stirling_rest(x: Tensor) -> Tensor:
    """log Γ(x) - (x - 1/2) log x + x - log(2π)/2, for x of 8 or more."""
    return series(_STIRLING, 1 / (x * x)) / x


def _log_gamma_of_positive(x: Tensor) -> Tensor:
    near = where(is_("LT", x, _LARGE), x, 1.5)
    # 1 … 3 by polynomials; below by log Γ(x + 1) - log x, above by the product of what is between.
    is_below = is_("LT", near, 1)
    moved = where(is_below, near + 1, near)
    product = full_like(1, x)
    for _ in range(_LARGE - 3):
        is_above = is_("GT", moved, 3)
        moved = where(is_above, moved - 1, moved)
        product = where(is_above, product * moved, product)
    first = polynomial(LOG_GAMMA_1_2, operation("minimum", moved, full_like(2, x)))
    second = polynomial(LOG_GAMMA_2_3, operation("maximum", moved, full_like(2, x)))
    # (x + 1 - 1) is x itself, where x + 1 was rounded.
    from_one = where(is_below, near, moved - 1)
    from_two = where(is_below, near - 1, moved - 2)
    small = where(is_("LT", moved, 2), first, second) * from_one * from_two
    tiny = where(is_("LT", near, 0.5), -log(near), -log1p(near - 1))
    small = where(is_below, small + tiny, small + log(product))
    far = where(is_("LT", x, _LARGE), _LARGE, x)
    large = (far - 0.5) * (log(far) - 1) + (0.5 * log_of(2 * pi) - 0.5 + stirling_rest(far))
    return where(is_("LT", x, _LARGE), small, large)


def _digamma_of_positive(x: Tensor) -> Tensor:
    near = where(is_("LT", x, _LARGE), x, 1.5)
    is_below = is_("LT", near, 1)
    moved = where(is_below, near + 1, near)
    total = where(is_below, -1 / near, 0)
    for _ in range(_LARGE - 2):
        is_above = is_("GT", moved, 2)
        moved = where(is_above, moved - 1, moved)
        total = where(is_above, total + 1 / moved, total)
    base = ((moved - _ROOT) - _ROOT_REST) * polynomial(DIGAMMA, moved)
    far = where(is_("LT", x, _LARGE), _LARGE, x)
    inverse = 1 / (far * far)
    large = log(far) - 0.5 / far - inverse * series(_OF_DIGAMMA, inverse)
    return where(is_("LT", x, _LARGE), total + base, large)


def _is_pole(x: Tensor) -> Tensor:
    return both(is_("LE", x, 0), is_whole(x))


def _digamma(x: Tensor) -> Tensor:
    is_left = is_("LE", x, 0)
    value = _digamma_of_positive(where(is_left, 1 - x, x))
    apart = x - operation("round-nearest-even", x)
    turn = pi / operation("tan", where(is_("EQ", apart, 0), 0.25, apart) * pi)
    found = where(is_left, value - turn, value)
    # At 0 the sign of the zero says from which side; the other poles have two.
    at_pole = where(is_("EQ", x, 0), -1 / x, np.nan)
    return where(_is_pole(x), at_pole, found)


@with_slopes(lambda _, x: _slope_of_digamma(x))
def digamma_of(x: Tensor) -> Tensor:
    """digamma of f64."""
    return _digamma(x)


def _slope_of_digamma(x: Tensor) -> Tensor:
    # Of negative numbers by reflection: ψ'(x) = (π / sin πx)² - ψ'(1 - x).
    is_left = is_("LT", x, 0)
    value = hurwitz(full_like(2, x), where(is_left, 1 - x, x))
    sine = sine_of_pi(where(is_left, x, 0.5))
    return where(is_left, (pi / sine) * (pi / sine) - value, value)


@with_slopes(lambda _, x: digamma_of(x))
def log_gamma_of(x: Tensor) -> Tensor:
    """gammaln of f64."""
    is_left = is_("LT", x, 0)
    value = _log_gamma_of_positive(where(is_left, -x, x))
    sine = absolute(sine_of_pi(where(is_left, x, 0.5)))
    turned = log_of(pi) - log(absolute(where(is_left, x, 1)) * sine) - value
    found = where(is_left, turned, value)
    return where(either(_is_pole(x), is_("EQ", absolute(x), np.inf)), np.inf, found)


@with_slopes(lambda y, x: y * digamma_of(x))
def gamma_of(x: Tensor) -> Tensor:
    """gamma of f64."""
    size = absolute(x)
    is_small = is_("LT", size, 20)
    near = where(is_small, size, 1.5)
    is_below = is_("LT", near, 1)
    moved = where(is_below, near + 1, near)
    product = where(is_below, 1 / near, 1)
    for _ in range(18):
        is_above = is_("GT", moved, 2)
        moved = where(is_above, moved - 1, moved)
        product = where(is_above, product * moved, product)
    small = product * polynomial(GAMMA, moved)
    far = where(is_small, 20, size)
    # xˣ overflows before Γ(x) does: by halves.
    half = operation("power", far, 0.5 * far - 0.25)
    large = (half / exp(far)) * half * (np.sqrt(2 * pi) * exp(stirling_rest(far)))
    value = where(is_small, small, where(is_("GT", size, 171.7), np.inf, large))
    sine = sine_of_pi(where(_is_pole(x), 0.5, x))
    turned = -pi / (sine * x) / value
    found = where(is_("LT", x, 0), turned, value)
    at_pole = where(is_("EQ", x, 0), 1 / x, np.nan)
    found = where(_is_pole(x), at_pole, found)
    return where(is_("EQ", x, np.inf), np.inf, where(is_("EQ", x, -np.inf), np.nan, found))


@special
def gammaln(x: Tensor, /) -> Tensor:
    """log |Γ(x)|, to 4 ulp; infinity at 0, -1, -2 … (below 0 to 4 epsilons, as zeros are there)."""
    return log_gamma_of(x)


@special
def gamma(x: Tensor, /) -> Tensor:
    """Γ(x), which is (x - 1)! of whole numbers, to 10 ulp; NaN at -1, -2 …"""
    return gamma_of(x)


def _sign_of_gamma(x: Tensor) -> Tensor:
    is_even = is_whole(floor(x) * 0.5)
    at_zero = operation("sign", 1 / x)
    found = where(is_("LT", x, 0), where(is_even, 1, -1), where(is_("EQ", x, 0), at_zero, 1))
    odd = either(both(_is_pole(x), is_("LT", x, 0)), is_("NE", x, x), is_("EQ", x, -np.inf))
    return where(odd, np.nan, found)


@special
def gammasgn(x: Tensor, /) -> Tensor:
    """The sign of Γ(x); NaN at -1, -2 …, and at 0 the sign of the zero."""
    return _sign_of_gamma(x)


@special
def loggamma(x: Tensor, /) -> Tensor:
    """log Γ(x) of positive numbers, to 4 ulp; NaN elsewhere, where it is complex."""
    fits = is_("GT", x, 0)
    return where(fits, log_gamma_of(where(fits, x, 1)), where(is_("EQ", x, 0), np.inf, np.nan))


@special
def poch(z: Tensor, m: Tensor, /) -> Tensor:
    """Γ(z + m) / Γ(z), which is z (z + 1) … of m factors, to 60 ulp where z + m is below 171."""
    is_none = is_("EQ", m, 0)
    above, below = where(is_none, 1, z + m), where(is_none, 1, z)
    is_plain = both(is_("LT", absolute(above), 171), is_("LT", absolute(below), 171))
    plain = gamma_of(where(is_plain, above, 1)) / gamma_of(where(is_plain, below, 1))
    plain = plain * (1 + _change_by_rounding(z, m, is_plain))
    sign = _sign_of_gamma(above) * _sign_of_gamma(below)
    apart = sign * exp(log_gamma_of(above) - log_gamma_of(below))
    return where(is_none, 1, where(is_plain, plain, apart))


@special
def digamma(x: Tensor, /) -> Tensor:
    """The derivative of log Γ(x), to 6 ulp for x > 0; NaN at -1, -2 …"""
    return digamma_of(x)


@special
def factorial(n: Tensor, /) -> Tensor:
    """Γ(n + 1), to 10 ulp for whole numbers; 0 for negative n."""
    return where(is_("LT", n, 0), 0, gamma_of(where(is_("LT", n, 0), 0, n) + 1))


@with_slopes(
    lambda _, a, b: digamma_of(a) - digamma_of(a + b),
    lambda _, a, b: digamma_of(b) - digamma_of(a + b),
)
def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    small, large = operation("minimum", a, b), operation("maximum", a, b)
    plain = log_gamma_of(a) + log_gamma_of(b) - log_gamma_of(a + b)
    # Where the larger one is large, the difference of its two logarithms is taken by terms.
    is_far = both(is_("GE", large, _LARGE), is_("GT", small, 0))
    far, less = where(is_far, large, _LARGE), where(is_far, small, 1)
    return where(is_far, log_gamma_of(less) + log_of_quotient(far, less), plain)


def log_of_quotient(x: Tensor, more: Tensor) -> Tensor:
    """log(Γ(x) / Γ(x + more)), for x of 8 or more."""
    return (
        (0.5 - x) * log1p(more / x) - more * log(x + more) + more
        + stirling_rest(x) - stirling_rest(x + more)
    )  # fmt: skip


@special
def betaln(a: Tensor, b: Tensor, /) -> Tensor:
    """log |B(a, b)|, which is log |Γ(a) Γ(b) / Γ(a + b)|, to 30 epsilons."""
    return _log_beta(a, b)


def _change_by_rounding(a: Tensor, b: Tensor, where_wanted: Tensor) -> Tensor:
    """By how much, relatively, Γ(a + b) differs from Γ of the sum as it was rounded.

    That changes it by ψ(a + b) times as much.
    """
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    is_right = both(where_wanted, is_("GT", total, 1))
    return where(is_right, error * digamma_of(where(is_right, total, 1)), 0)


def _beta(a: Tensor, b: Tensor) -> Tensor:
    total = a + b
    is_small = both(is_("LT", absolute(total), 171), is_("LT", absolute(a), 171))
    change = _change_by_rounding(a, b, is_small)
    plain = gamma_of(a) / gamma_of(total) * gamma_of(b) * (1 - change)
    sign = where(is_("GT", operation("minimum", a, b), 0), 1, plain / absolute(plain))
    return where(is_small, plain, sign * exp(_log_beta(a, b)))


@special
def beta(a: Tensor, b: Tensor, /) -> Tensor:
    """B(a, b), which is Γ(a) Γ(b) / Γ(a + b), to 12 ulp where a + b is below 171."""
    return beta_of(a, b)


@with_slopes(
    lambda y, a, b: y * (digamma_of(a) - digamma_of(a + b)),
    lambda y, a, b: y * (digamma_of(b) - digamma_of(a + b)),
)
def beta_of(a: Tensor, b: Tensor) -> Tensor:
    """beta of f64."""
    return _beta(a, b)


def _slope_of_polygamma(n: Tensor, x: Tensor) -> Tensor:
    return _polygamma(n + 1, x)


@with_last_slope("polygamma", _slope_of_polygamma)
def _polygamma(n: Tensor, x: Tensor) -> Tensor:
    is_none = is_("EQ", n, 0)
    order = where(is_none, 1, n)
    is_odd = is_("NE", floor(order * 0.5) * 2, order)
    size = gamma_of(order + 1) * hurwitz(order + 1, x)
    return where(is_none, digamma_of(x), where(is_odd, size, -size))


@special
def polygamma(n: Tensor, x: Tensor, /) -> Tensor:
    """The n-th derivative of digamma, for x > 0; NaN below for n of 1 or more.

    It has a derivative by x alone.
    """
    return _polygamma(n, x)


@evaluable
def multigammaln(a: ArrayLike, d: int) -> Tensor:
    """The logarithm of the gamma function of d dimensions: Σ gammaln(a - j/2) + d(d-1)/4 log π.

    Raises:
        ShapeError: d is no positive integer.
    """
    count = whole(d, "the d of multigammaln")
    if count < 1:
        raise ShapeError(f"multigammaln requires a d of 1 or more, got {count}")
    tensor = as_tensor(a)
    found = gammaln(tensor)
    for number in range(1, count):
        found = found + gammaln(tensor - number / 2)
    return found + full_like(count * (count - 1) / 4 * log_of(pi), found)


@special
def comb(N: Tensor, k: Tensor, /) -> Tensor:
    """How many choices of k among N there are; 0 where k is negative or larger than N."""
    is_out = either(is_("LT", k, 0), is_("LT", N, 0), is_("GT", k, N))
    n, m = where(is_out, 1, N), where(is_out, 0, k)
    found = exp(-_log_beta(n - m + 1, m + 1)) / (n + 1)
    counted = both(is_whole(n), is_whole(m), is_("LT", found, 2.0**40))
    return where(is_out, 0, where(counted, operation("round-nearest-even", found), found))
