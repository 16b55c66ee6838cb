"""Modified Bessel functions of the first kind, and themselves times exp(-|x|)."""

from tfc.frontend.operations import operation
from tfc.frontend.special.elementwise import (
    absolute,
    exp,
    is_,
    polynomial,
    root,
    special,
    where,
    with_slopes,
)
from tfc.frontend.special.polynomials import I0_LARGE, I0_SMALL, I1_LARGE, I1_SMALL, Polynomial
from tfc.frontend.tensor import Tensor

_NEAR = 8


def _scaled(x: Tensor, small: Polynomial, large: Polynomial) -> tuple[Tensor, Tensor]:
    """The polynomials at |x|: what is right near 0, and far from it."""
    is_near = is_("LT", x, _NEAR)
    near, far = where(is_near, x, 0), where(is_near, _NEAR, x)
    return polynomial(small, near), polynomial(large, _NEAR / far) / root(far)


@with_slopes(lambda y, x: i1e_of(x) - operation("sign", x) * y)
def i0e_of(x: Tensor) -> Tensor:
    """i0e of f64."""
    size = absolute(x)
    near, far = _scaled(size, I0_SMALL, I0_LARGE)
    return where(is_("LT", size, _NEAR), near, far)


def _over(y: Tensor, x: Tensor) -> Tensor:
    """I₁(x) / x, which is a half at 0."""
    is_zero = is_("EQ", x, 0)
    return where(is_zero, 0.5, y / where(is_zero, 1, x))


def _slope_of_i1e(y: Tensor, x: Tensor) -> Tensor:
    return i0e_of(x) - _over(y, x) - operation("sign", x) * y


@with_slopes(_slope_of_i1e)
def i1e_of(x: Tensor) -> Tensor:
    """i1e of f64."""
    size = absolute(x)
    near, far = _scaled(size, I1_SMALL, I1_LARGE)
    return where(is_("LT", size, _NEAR), near * x, where(is_("LT", x, 0), -far, far))


def _slope_of_i0(_: Tensor, x: Tensor) -> Tensor:
    return i1_of(x)


@with_slopes(_slope_of_i0)
def i0_of(x: Tensor) -> Tensor:
    """i0 of f64."""
    return _grown(i0e_of(x), x)


@with_slopes(lambda y, x: i0_of(x) - _over(y, x))
def i1_of(x: Tensor) -> Tensor:
    """i1 of f64."""
    return _grown(i1e_of(x), x)


def _grown(y: Tensor, x: Tensor) -> Tensor:
    """y exp(|x|), in two steps, since exp(|x|) overflows earlier."""
    half = exp(absolute(x) * 0.5)
    return y * half * half


@special
def i0(x: Tensor, /) -> Tensor:
    """The modified Bessel function of order 0, to 8 ulp."""
    return i0_of(x)


@special
def i0e(x: Tensor, /) -> Tensor:
    """exp(-|x|) times that of order 0, to 4 ulp."""
    return i0e_of(x)


@special
def i1(x: Tensor, /) -> Tensor:
    """The modified Bessel function of order 1, to 10 ulp."""
    return i1_of(x)


@special
def i1e(x: Tensor, /) -> Tensor:
    """exp(-|x|) times that of order 1, to 6 ulp."""
    return i1e_of(x)
