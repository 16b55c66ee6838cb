"""com.microsoft: quantized operators beside those of ai.onnx."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.onnx.operators.layers.pooling import average_pool
from tfc.importers.onnx.operators.layers.quantization import (
    dequantized,
    dynamically_quantized,
    integer_product,
    quantized,
    requantized,
)
from tfc.importers.onnx.operators.layers.recurrent import lstm_layer
from tfc.importers.onnx.operators.windows import Numbers
from tfc.importers.onnx.table import MICROSOFT, operator


def _real(x: Any, scale: Any, zero: Any) -> Any:
    zero = None if zero is None else tnp.reshape(zero, ())
    return dequantized(x, tnp.reshape(scale, ()), zero)


def _whole(x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    zero = None if zero is None else tnp.reshape(zero, ())
    return quantized(x, tnp.reshape(scale, ()), zero, dtype)


def _enter_binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    @operator(name, domain=MICROSOFT)
    def binary(
        a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c_scale: Any,
        c_zero: Any = None,
    ) -> Any:  # fmt: skip
        made = function(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
        return _whole(made, c_scale, c_zero, a.dtype)


_enter_binary("QLinearAdd", tnp.add)
_enter_binary("QLinearMul", tnp.multiply)


def _enter_unary(name: str, function: Callable[..., Any], attributes: tuple[str, ...] = ()) -> None:
    @operator(name, domain=MICROSOFT, attributes=attributes)
    def unary(
        x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, **options: Any
    ) -> Any:
        return _whole(function(_real(x, x_scale, x_zero), **options), y_scale, y_zero, x.dtype)


_enter_unary("QLinearSigmoid", nn.sigmoid)
_enter_unary("QLinearLeakyRelu", lambda x, alpha=0.01: tnp.where(x < 0, x * alpha, x), ("alpha",))
_enter_unary(
    "QLinearGlobalAveragePool",
    lambda x, channels_last=0: tnp.mean(
        x, tuple(range(1, x.ndim - 1)) if channels_last else tuple(range(2, x.ndim)), keepdims=True
    ),
    ("channels_last",),
)
_enter_unary("QLinearSoftmax", lambda x, axis=-1, opset=13: nn.softmax(x, axis), ("axis", "opset"))


@operator("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *,
    auto_pad: str = "NOTSET", ceil_mode: int = 0, channels_last: int = 0,
    count_include_pad: int = 0, kernel_shape: Numbers, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window of a quantized array, quantized."""
    real = _real(x, x_scale, x_zero)
    real = tnp.moveaxis(real, -1, 1) if channels_last else real
    made = average_pool(
        real, auto_pad=auto_pad, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        kernel_shape=kernel_shape, pads=pads, strides=strides,
    )  # fmt: skip
    made = tnp.moveaxis(made, 1, -1) if channels_last else made
    return _whole(made, y_scale, y_zero, x.dtype)


@operator("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(y_scale: Any, y_zero: Any, *parts: Any, axis: int) -> Any:
    """Quantized arrays one after the other, quantized; each comes with its scale and zero point."""
    real = [_real(*parts[k : k + 3]) for k in range(0, len(parts), 3)]
    return _whole(tnp.concatenate(real, axis), y_scale, y_zero, y_zero.dtype)


@operator("QGemm", domain=MICROSOFT)
def qgemm(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c: Any = None,
    y_scale: Any = None, y_zero: Any = None, *, alpha: float = 1.0, transA: int = 0,
    transB: int = 0,
) -> Any:  # fmt: skip
    """The product of quantized matrices plus a bias of the products' scale, quantized or real."""
    total = integer_product(a.T if transA else a, b.T if transB else b, a_zero, b_zero)
    total = total if c is None else total + c
    factor = alpha * a_scale * b_scale
    if y_scale is None:
        return tnp.astype(total, np.float32) * factor
    return requantized(total, factor / y_scale, tnp.reshape(y_zero, ()), y_zero.dtype)


@operator("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None,
    bias: Any = None,
) -> Any:  # fmt: skip
    """The product of quantized matrices as real numbers, plus a bias."""
    made = tnp.astype(integer_product(a, b, a_zero, b_zero), np.float32) * (a_scale * b_scale)
    return made if bias is None else made + bias


def _dynamic_product(a: Any, weights: tuple[Any, Any, Any]) -> Any:
    """The product of a matrix, quantized by its range, with one of integers, scale and zero."""
    integers, b_scale, b_zero = weights
    whole, scale, zero = dynamically_quantized(a)
    return tnp.astype(integer_product(whole, integers, zero, b_zero), np.float32) * (
        scale * b_scale
    )


@operator("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(
    a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None
) -> Any:
    """The product of a matrix, quantized by its range, with a quantized one, plus a bias."""
    made = _dynamic_product(a, (b, b_scale, b_zero))
    return made if bias is None else made + bias


@operator(
    "DynamicQuantizeLSTM",
    domain=MICROSOFT,
    attributes=(
        *("activation_alpha", "activation_beta", "activations", "clip", "direction"),
        *("hidden_size", "input_forget"),
    ),
)
def dynamic_quantize_lstm(
    x: Any, w: Any, r: Any, b: Any, sequence_lens: Any, initial_h: Any, initial_c: Any, p: Any,
    w_scale: Any, w_zero: Any, r_scale: Any, r_zero: Any, **attributes: Any,
) -> Any:  # fmt: skip
    """A long short-term memory whose weights [directions, inputs, gates] are quantized.

    All inputs are quantized by their range, and the state by its range at each step.
    """

    def each(whole: Any, scale: Any, zero: Any) -> list[tuple[Any, Any, Any]]:
        return [(whole[d], scale[d], zero[d]) for d in range(whole.shape[0])]

    attributes.pop("hidden_size", None)
    return lstm_layer(
        x, each(w, w_scale, w_zero), each(r, r_scale, r_zero), b, sequence_lens, initial_h,
        initial_c, p, _dynamic_product, r.shape[1], **attributes,
    )  # fmt: skip
