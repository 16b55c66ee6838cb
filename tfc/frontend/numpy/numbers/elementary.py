"""Elementwise functions made of elementary ones: angles in degrees, heaviside, sinc, logaddexp2."""

import numpy as np

from tfc.frontend.numpy.arithmetic import absolute, meet, named, power, where
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.functions import as_float, exp2, larger_and_gap, log1p, sin
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_tensor, cast, float_type, result_type, widen
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


def _scaled(name: str, factor: float, doc: str, *names: str):
    """A real float times a constant."""

    def function(x: ArrayLike, /) -> Tensor:
        tensor = as_float(x)
        require_real(name, tensor)
        wide = widen(tensor)
        return cast(wide * full_like(factor, wide), tensor.dtype)

    return named(function, name, doc, *names)


deg2rad = _scaled("deg2rad", np.pi / 180, "Degrees in radians.", "radians")
rad2deg = _scaled("rad2deg", 180 / np.pi, "Radians in degrees.", "degrees")


@traceable
def fabs(x: ArrayLike, /) -> Tensor:
    """The magnitude of real numbers, as a float."""
    tensor = as_float(x)
    require_real("fabs", tensor)
    return absolute(tensor)


@traceable
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """x1 to the power x2 in float64, or in complex128."""
    dtype = result_type(x1, x2, np.float64)
    return power(*(cast(as_tensor(x), dtype) for x in (x1, x2)))


@traceable
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """0 below zero, 1 above, x2 at zero, NaN for NaN."""
    left, right = meet(x1, x2, dtype=float_type(result_type(x1, x2)))
    require_real("heaviside", left)
    zero = full_like(0, left)
    step = select(compare("GT", left, zero), full_like(1, left), zero)
    step = select(compare("EQ", left, zero), right, step)
    return select(is_nan(left), full_like(np.nan, left), step)


@traceable
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """log2(2**x1 + 2**x2) without overflow."""
    both = meet(x1, x2, dtype=float_type(result_type(x1, x2)))
    require_real("logaddexp2", both[0])
    larger, gap = larger_and_gap(*(widen(t) for t in both))
    smaller = log1p(exp2(gap))
    found = larger + smaller * full_like(1 / np.log(2.0), smaller)
    return cast(found, both[0].dtype)


@traceable
def sinc(x: ArrayLike, /) -> Tensor:
    """sin(πx) / (πx); 1 at zero."""
    operand = as_tensor(x)
    tensor = operand if operand.dtype.kind not in "biu" else cast(operand, np.float64)
    wide = widen(tensor)
    turned = wide * full_like(np.pi, wide)
    at_zero = compare("EQ", turned, full_like(0, turned))
    divisor = where(at_zero, 1.0, turned)
    found = where(at_zero, 1.0, operation("divide", sin(divisor), divisor))
    return cast(found, tensor.dtype)
