"""Quantized tensors: integers that stand for (integer - zero point) · scale."""

from typing import Any

import ml_dtypes
import numpy as np

import tfc.numpy as tnp
from tfc.importers.onnx.operators.casts import cast
from tfc.importers.onnx.operators.layers.convolutions import (
    WINDOW,
    along_channels,
    convolved,
    shifted,
    shifted_kernel,
)
from tfc.importers.onnx.table import MICROSOFT, operator
from tfc.importers.onnx.tensors import dtype_of


def limits(dtype: Any) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    found = ml_dtypes.iinfo(np.dtype(dtype))
    return int(found.min), int(found.max)


def is_integer(dtype: Any) -> bool:
    """Whether a dtype holds integers, of a few bits too."""
    return np.dtype(dtype).kind in "iu" or "int" in np.dtype(dtype).name


def spread(v: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point as it broadcasts with an array.

    It is one number, a vector along an axis, or has a number for each block of elements there.
    """
    if v is None or v.size == 1:
        return None if v is None else tnp.reshape(v, ())
    axis = axis % x.ndim
    if v.ndim == 1 and x.ndim >= 1 and not block:
        return tnp.reshape(v, (*[1] * axis, -1, *[1] * (x.ndim - axis - 1)))
    if not block:
        return v
    repeated = tnp.repeat(v, block, axis)
    return repeated[tuple(slice(0, n) for n in x.shape)]


def quantized(x: Any, scale: Any, zero: Any, dtype: Any, saturate: int = 1) -> Any:
    """The integers (or narrow floats) for numbers, saturated; scale and zero broadcast."""
    inner = np.float32 if x.dtype != np.float64 else np.float64
    steps = tnp.astype(x, inner) / tnp.astype(scale, inner)
    if not is_integer(dtype):
        steps = steps if zero is None else steps + tnp.astype(zero, inner)
        return cast(steps, dtype, saturate)
    rounded = tnp.rint(steps)
    if zero is not None:
        rounded = rounded + tnp.astype(zero, inner)
    low, high = limits(dtype)
    bounded = tnp.astype(tnp.clip(rounded, low, high), np.int32)
    return tnp.astype(bounded, dtype)


def dequantized(x: Any, scale: Any, zero: Any, dtype: Any = None) -> Any:
    """The numbers that integers stand for, in the dtype of the scale."""
    dtype = scale.dtype if dtype is None else dtype
    if not is_integer(x.dtype):
        return tnp.astype(x, dtype) * tnp.astype(scale, dtype)
    wide = tnp.astype(x, np.int32)
    if zero is not None:
        wide = wide - tnp.astype(zero, np.int32)
    return tnp.astype(tnp.astype(wide, scale.dtype) * scale, dtype)


def _quantize(
    x: Any, y_scale: Any, y_zero_point: Any = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0, precision: int = 0, saturate: int = 1,
) -> Any:  # fmt: skip
    """Numbers as integers of a scale: one, one along an axis, or one for each block."""
    dtype = dtype_of(output_dtype) if output_dtype else np.dtype(np.uint8)
    dtype = dtype if y_zero_point is None else y_zero_point.dtype
    scale = spread(y_scale, x, axis, block_size)
    return quantized(x, scale, spread(y_zero_point, x, axis, block_size), dtype, saturate)


def _dequantize(
    x: Any, x_scale: Any, x_zero_point: Any = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0,
) -> Any:  # fmt: skip
    """The numbers that integers of a scale stand for."""
    dtype = dtype_of(output_dtype) if output_dtype else None
    scale = spread(x_scale, x, axis, block_size)
    return dequantized(x, scale, spread(x_zero_point, x, axis, block_size), dtype)


for _domain in ("", MICROSOFT):
    operator("QuantizeLinear", domain=_domain)(_quantize)
    operator("DequantizeLinear", domain=_domain)(_dequantize)


def dynamically_quantized(x: Any) -> tuple[Any, Any, Any]:
    """Numbers as uint8 of the scale and zero point that their range needs, and those."""
    low, high = tnp.minimum(tnp.min(x), 0), tnp.maximum(tnp.max(x), 0)
    scale = (high - low) / np.float32(255)
    scale = tnp.where(high == low, np.float32(1), scale)
    zero = tnp.clip(tnp.rint(-low / scale), 0, 255)
    return quantized(x, scale, zero, np.uint8), scale, tnp.astype(zero, np.uint8)


@operator("DynamicQuantizeLinear", since=11)
def dynamic_quantize(x: Any) -> Any:
    """Numbers as uint8, with the scale and zero point that their range needs."""
    return dynamically_quantized(x)


def _along(v: Any, is_left: bool) -> Any:
    """A zero point or scale of the rows or columns of matrices as it broadcasts with them."""
    if v is None or v.size == 1:
        return None if v is None else tnp.reshape(v, ())
    if v.ndim == 1 and is_left:
        return tnp.reshape(v, (-1, 1))
    return v


def integer_product(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """The product of matrices of integers less their zero points, in int32."""
    return tnp.matmul(shifted(a, _along(a_zero, True)), shifted(b, _along(b_zero, False)))


@operator("MatMulInteger", since=10)
def matmul_integer(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    """The product of matrices of integers less their zero points, in int32."""
    return integer_product(a, b, a_zero_point, b_zero_point)


def requantized(total: Any, factor: Any, zero: Any, dtype: Any) -> Any:
    """Sums of products as integers of another scale, where factor is the ratio of the scales."""
    return quantized(tnp.astype(total, np.float32) * tnp.astype(factor, np.float32),
                     np.float32(1), zero, dtype)  # fmt: skip


@operator("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Any, a_scale: Any, a_zero_point: Any, b: Any, b_scale: Any, b_zero_point: Any, y_scale: Any,
    y_zero_point: Any,
) -> Any:  # fmt: skip
    """The product of quantized matrices, quantized."""
    total = integer_product(a, b, a_zero_point, b_zero_point)
    factor = _along(a_scale, True) * _along(b_scale, False) / _along(y_scale, True)
    return requantized(total, factor, _along(y_zero_point, True), y_zero_point.dtype)


@operator("QLinearConv", since=10, attributes=WINDOW)
def qlinear_conv(
    x: Any, x_scale: Any, x_zero_point: Any, w: Any, w_scale: Any, w_zero_point: Any, y_scale: Any,
    y_zero_point: Any, b: Any = None, **attributes: Any,
) -> Any:  # fmt: skip
    """The convolution of quantized arrays, quantized; the bias is of the products' scale."""
    total = convolved(
        shifted(x, tnp.reshape(x_zero_point, ())), shifted_kernel(w, w_zero_point), **attributes
    )
    if b is not None:
        total = total + along_channels(b, total.ndim)
    scales = w_scale if w_scale.size == 1 else along_channels(w_scale, total.ndim)
    scales = tnp.reshape(scales, ()) if w_scale.size == 1 else scales
    factor = tnp.reshape(x_scale, ()) * scales / tnp.reshape(y_scale, ())
    return requantized(total, factor, tnp.reshape(y_zero_point, ()), y_zero_point.dtype)
