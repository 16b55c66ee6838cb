"""Logistic functions, entropies, powers less one, and exponentials along axes without overflow."""

from typing import Any

import numpy as np

from tfc.frontend.differentiation.gradient import stop_gradient
from tfc.frontend.linalg.matrices import as_floats
from tfc.frontend.numpy.functions import exp as exp_of
from tfc.frontend.numpy.functions import isfinite
from tfc.frontend.numpy.functions import log as log_of
from tfc.frontend.numpy.manipulation import Axes, normalize_axes
from tfc.frontend.numpy.reductions import max, sum
from tfc.frontend.operations import full_like, operation, reshape, select
from tfc.frontend.special.elementwise import (
    both,
    either,
    is_,
    log,
    log1p,
    special,
    where,
    with_slopes,
)
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable


@special
def expit(x: Tensor, /) -> Tensor:
    """1 / (1 + exp(-x)), to 4 ulp."""
    return operation("logistic", x)


@with_slopes(lambda _, p: 1 / (p * (1 - p)))
def _logit(p: Tensor) -> Tensor:
    # Near a half, by the distance from it, which is exact.
    away = where(both(is_("GT", p, 0.3), is_("LT", p, 0.65)), 2 * p - 1, 0)
    near = log1p(away) - log1p(-away)
    far = log(p) - log1p(-p)
    return where(both(is_("GT", p, 0.3), is_("LT", p, 0.65)), near, far)


@special
def logit(p: Tensor, /) -> Tensor:
    """log(p / (1 - p)), to 4 ulp; infinite at 0 and 1, NaN beyond."""
    return _logit(p)


def _nothing(x: Tensor, y: Tensor) -> Tensor:
    """Whether x is 0 and y a number: then x times a logarithm counts as 0."""
    return both(is_("EQ", x, 0), is_("EQ", y, y))


@with_slopes(
    lambda _, x, y: where(_nothing(x, y), 0, log(where(_nothing(x, y), 1, y))),
    lambda _, x, y: where(_nothing(x, y), 0, x / where(_nothing(x, y), 1, y)),
)
def _xlogy(x: Tensor, y: Tensor) -> Tensor:
    is_nothing = _nothing(x, y)
    return where(is_nothing, 0, x * log(where(is_nothing, 1, y)))


@with_slopes(
    lambda _, x, y: where(_nothing(x, y), 0, log1p(where(_nothing(x, y), 0, y))),
    lambda _, x, y: where(_nothing(x, y), 0, x / (1 + where(_nothing(x, y), 0, y))),
)
def _xlog1py(x: Tensor, y: Tensor) -> Tensor:
    is_nothing = _nothing(x, y)
    return where(is_nothing, 0, x * log1p(where(is_nothing, 0, y)))


@special
def xlogy(x: Tensor, y: Tensor, /) -> Tensor:
    """x log(y), and 0 where x is 0, to 3 ulp."""
    return _xlogy(x, y)


@special
def xlog1py(x: Tensor, y: Tensor, /) -> Tensor:
    """x log(1 + y), and 0 where x is 0, to 3 ulp."""
    return _xlog1py(x, y)


def _power_less_one(log_x: Tensor, power: Tensor) -> Tensor:
    """(xᵖ - 1) / p, which is log(x) at p = 0."""
    is_none = is_("EQ", power, 0)
    inside = where(is_none, 1, power)
    found = operation("exponential-minus-one", inside * log_x) / inside
    return where(is_none, log_x, found)


@special
def boxcox(x: Tensor, lmbda: Tensor, /) -> Tensor:
    """(xᵖ - 1) / p for the power p = lmbda, and log(x) for p = 0; NaN for negative x."""
    return _power_less_one(log(x), lmbda)


@special
def boxcox1p(x: Tensor, lmbda: Tensor, /) -> Tensor:
    """((1 + x)ᵖ - 1) / p for the power p = lmbda, and log(1 + x) for p = 0; NaN for x below -1."""
    return _power_less_one(log1p(x), lmbda)


@special
def entr(x: Tensor, /) -> Tensor:
    """-x log(x), 0 at 0, -inf below, to 3 ulp."""
    inside = where(is_("LT", x, 0), 1, x)
    return where(is_("LT", x, 0), -np.inf, -_xlogy(inside, inside) + 0.0)


def _relative_entropy(x: Tensor, y: Tensor) -> Tensor:
    fits = both(is_("GT", x, 0), is_("GT", y, 0))
    ratio = where(fits, x, 1) / where(fits, y, 1)
    at_zero = both(is_("EQ", x, 0), is_("GE", y, 0))
    # Near 1 by the distance from it, which is exact, and where the ratio overflows by logarithms.
    distance = where(fits, (x - y) / where(fits, y, 1), 0)
    is_near = both(is_("GT", ratio, 0.5), is_("LT", ratio, 2))
    is_odd = either(is_("EQ", ratio, 0), is_("EQ", ratio, np.inf))
    apart = log(where(fits, x, 1)) - log(where(fits, y, 1))
    found = where(is_near, log1p(where(is_near, distance, 0)), log(where(is_odd, 1, ratio)))
    found = where(fits, x, 0) * where(is_odd, apart, found)
    outside = where(either(is_("NE", x, x), is_("NE", y, y)), np.nan, full_like(np.inf, x))
    return where(fits, found, where(at_zero, 0, outside))


@special
def rel_entr(x: Tensor, y: Tensor, /) -> Tensor:
    """x log(x / y) for positive x and y, 0 for x = 0 and y of 0 or more, inf elsewhere."""
    return _relative_entropy(x, y)


@special
def kl_div(x: Tensor, y: Tensor, /) -> Tensor:
    """x log(x / y) - x + y for positive x and y, y for x = 0 and y of 0 or more, inf elsewhere."""
    found = _relative_entropy(x, y)
    return where(is_("EQ", found, np.inf), found, found - x + y)


@special
def sinc(x: Tensor, /) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
    is_zero = is_("EQ", x, 0)
    turned = where(is_zero, 1, x) * np.pi
    return where(is_zero, 1, operation("sine", turned) / turned)


def _largest(tensor: Tensor, axis: Axes | None) -> Tensor:
    """The largest along the axes, 0 where it is infinite: a constant to derivatives."""
    largest = stop_gradient(max(tensor, axis, keepdims=True))
    return select(isfinite(largest), largest, full_like(0, largest))


@evaluable
def logsumexp(
    a: ArrayLike, axis: Axes | None = None, b: ArrayLike | None = None, keepdims: bool = False,
    return_sign: bool = False,
) -> Any:  # fmt: skip
    """log(sum(b * exp(a))) along the axes, without overflow; -inf for nothing but -inf.

    Args:
        b: factors, 1 if left out.
        return_sign: give (the logarithm of the sum's size, the sum's sign); a negative sum is NaN
            otherwise.
    """
    tensor = as_floats("logsumexp", a)
    largest = _largest(tensor, axis)
    parts = exp_of(tensor - largest)
    parts = parts if b is None else as_floats("logsumexp", b) * parts
    total = sum(parts, axis, keepdims=True)
    sign = operation("sign", total)
    found = log_of(operation("abs", total) if return_sign else total) + largest
    if not keepdims:
        gone = normalize_axes(axis, found.ndim)
        dims = [n for d, n in enumerate(found.shape) if d not in gone]
        found, sign = reshape(found, dims), reshape(sign, dims)
    return (found, sign) if return_sign else found


@evaluable
def softmax(x: ArrayLike, axis: Axes | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along the axes, all of them if left out, without overflow."""
    tensor = as_floats("softmax", x)
    parts = exp_of(tensor - stop_gradient(max(tensor, axis, keepdims=True)))
    return parts / sum(parts, axis, keepdims=True)


@evaluable
def log_softmax(x: ArrayLike, axis: Axes | None = None) -> Tensor:
    """log(softmax(x)) along the axes, all of them if left out, finite where softmax is 0."""
    tensor = as_floats("log_softmax", x)
    shifted = tensor - stop_gradient(max(tensor, axis, keepdims=True))
    return shifted - log_of(sum(exp_of(shifted), axis, keepdims=True))
