"""The family of the error function, and the normal distribution."""

from math import log as log_of
from math import pi, sqrt

import numpy as np

from tfc.frontend.operations import convert, full_like, operation, select
from tfc.frontend.special.elementwise import (
    absolute,
    exp,
    exp_of_minus_square,
    is_,
    log,
    log1p,
    polynomial,
    root,
    special,
    where,
    with_slopes,
)
from tfc.frontend.special.polynomials import (
    ERFCINV_0,
    ERFCINV_1,
    ERFCINV_2,
    ERFCX,
    ERFINV,
    NORMAL_TAIL,
)
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import BF16, F32, F64

_MIDDLE = 3.75  # of the variable in which erfcx is a polynomial
_SLOPE = 2 / sqrt(pi)  # of erf at 0
_ROOT_2, _LOG_2 = sqrt(2), log_of(2)


def _erfcx_of_positive(x: Tensor) -> Tensor:
    """exp(x²) erfc(x)."""
    finite = operation("minimum", x, full_like(1e10, x))
    t = (finite - _MIDDLE) / (finite + _MIDDLE)
    return where(is_("GT", x, 1e10), _SLOPE / 2 / x, polynomial(ERFCX, t) / (1 + 2 * finite))


@with_slopes(lambda y, x: 2 * x * y - _SLOPE)
def erfcx_of(x: Tensor) -> Tensor:
    """erfcx of f64."""
    size = absolute(x)
    right = _erfcx_of_positive(size)
    # exp(x²) is one over exp(-x²), whose digits are right.
    left = 2 / exp_of_minus_square(where(is_("LT", x, 0), x, 0)) - right
    left = where(is_("LT", x, -26.7), np.inf, left)
    return where(is_("LT", x, 0), left, right)


@with_slopes(lambda _, x: -_SLOPE * exp_of_minus_square(x))
def erfc_of(x: Tensor) -> Tensor:
    """erfc of f64."""
    size = absolute(x)
    tail = exp_of_minus_square(size) * _erfcx_of_positive(size)
    far = where(is_("LT", x, 0), 2 - tail, tail)
    return where(is_("LT", size, 0.5), 1 - operation("erf", x), far)


@with_slopes(lambda y, _: 1 / (_SLOPE * exp_of_minus_square(y)))
def erfinv_of(x: Tensor) -> Tensor:
    """erfinv of f64."""
    size = absolute(x)
    near = where(is_("LT", size, 0.75), x, 0)
    far = _inverse_of_tail(where(is_("LT", size, 0.75), 0.25, 1 - size))
    found = where(is_("LT", x, 0), -far, far)
    return where(is_("LT", size, 0.75), near * polynomial(ERFINV, near * near), found)


def _inverse_of_tail(y: Tensor) -> Tensor:
    """The x with erfc(x) = y for y from 0 to 1/4; NaN below."""
    s = root(-log(y))
    found = where(is_("LT", s, 3), polynomial(ERFCINV_0, _between(s, 1.17, 3)),
                  where(is_("LT", s, 8), polynomial(ERFCINV_1, _between(s, 3, 8)),
                        polynomial(ERFCINV_2, _between(s, 8, 27.5))))  # fmt: skip
    return where(is_("EQ", y, 0), np.inf, s * found)


def _between(x: Tensor, low: float, high: float) -> Tensor:
    return operation("clamp", full_like(low, x), x, full_like(high, x))


@with_slopes(lambda _, x: exp_of_minus_square(x / _ROOT_2) / sqrt(2 * pi))
def ndtr_of(x: Tensor) -> Tensor:
    """ndtr of f64."""
    scaled = absolute(x) * (1 / _ROOT_2)
    # Half the square of x itself: that of x / √2, which was rounded, has fewer right digits.
    short = convert(convert(x, F32), F64)
    square = exp(-0.5 * short * short) * exp(0.5 * (short - x) * (short + x))
    square = where(is_("GT", absolute(x), 40), 0, square)
    tail = 0.5 * square * _erfcx_of_positive(scaled)
    near = 0.5 + 0.5 * operation("erf", x * (1 / _ROOT_2))
    return where(is_("LT", scaled, 0.5), near, where(is_("LT", x, 0), tail, 1 - tail))


@with_slopes(lambda _, x: exp(-0.5 * x * x) * (1 / sqrt(2 * pi)))
def ndtr_of_single(x: Tensor) -> Tensor:
    """ndtr of f32 computed in f32, which takes a fraction of the time, to 6 ulp."""
    size = operation("minimum", absolute(x), full_like(15, x))  # beyond, it is 0 or 1
    short = convert(convert(size, BF16), F32)
    square = exp(-0.5 * short * short) * exp(0.5 * (short - size) * (short + size))
    tail = square * polynomial(NORMAL_TAIL, 1 / (size + 3))
    near = 0.5 + 0.5 * operation("erf", x * (1 / _ROOT_2))
    apart = select(is_("LT", x, 0), tail, 1 - tail)
    return select(is_("LT", size, 0.5), near, apart)


@with_slopes(lambda y, x: exp(-0.5 * x * x - y) / sqrt(2 * pi))
def log_ndtr_of(x: Tensor) -> Tensor:
    """log_ndtr of f64."""
    left = where(is_("LT", x, -1), x, -1)
    far = log(_erfcx_of_positive(-left * (1 / _ROOT_2))) - _LOG_2 - 0.5 * left * left
    right = where(is_("LT", x, -1), 0, x)
    near = where(is_("LT", right, 0), log(ndtr_of(right)), log1p(-ndtr_of(-right)))
    return where(is_("LT", x, -1), far, near)


@with_slopes(lambda y, _: sqrt(2 * pi) / exp_of_minus_square(y / _ROOT_2))
def ndtri_of(p: Tensor) -> Tensor:
    """ndtri of f64."""
    is_middle = operation("and", is_("GE", p, 0.125), is_("LE", p, 0.875))
    middle = _ROOT_2 * erfinv_of(2 * where(is_middle, p, 0.5) - 1)
    is_left = is_("LT", p, 0.5)
    tail = _ROOT_2 * _inverse_of_tail(2 * where(is_middle, 0.125, where(is_left, p, 1 - p)))
    return where(is_middle, middle, where(is_left, -tail, tail))


@special
def erf(x: Tensor, /) -> Tensor:
    """The error function, to 2 ulp."""
    return operation("erf", x)


@special
def erfc(x: Tensor, /) -> Tensor:
    """1 - erf(x), to 6 ulp, also where it is tiny."""
    return erfc_of(x)


@special
def erfcx(x: Tensor, /) -> Tensor:
    """exp(x²) erfc(x), to 6 ulp."""
    return erfcx_of(x)


@special
def erfinv(y: Tensor, /) -> Tensor:
    """The x with erf(x) = y, to 4 ulp; infinite at -1 and 1, NaN beyond."""
    return erfinv_of(y)


@special
def ndtr(x: Tensor, /) -> Tensor:
    """The part of the normal distribution below x, to 8 ulp."""
    return ndtr_of(x)


@special
def log_ndtr(x: Tensor, /) -> Tensor:
    """log(ndtr(x)), to 8 ulp, also where ndtr is zero or one."""
    return log_ndtr_of(x)


@special
def ndtri(p: Tensor, /) -> Tensor:
    """The x with ndtr(x) = p, to 6 ulp; infinite at 0 and 1, NaN beyond."""
    return ndtri_of(p)
