"""Operators that round numbers as small integers would: training for quantized networks."""

from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.frontend.differentiation.gradient import stop_gradient
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import known, operator
from tfc.graph.types.dtypes import as_dtype


def _nudged(x: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, ...]:
    """(the distance of numbers, the least, the largest) such that 0 is one of the numbers."""
    least, most = np.float32(1 if narrow_range else 0), np.float32(2**num_bits - 1)
    low, high = (tnp.astype(v, x.dtype) for v in (low, high))
    scale = (high - low) / (most - least)
    zero = tnp.floor(tnp.minimum(tnp.maximum(least - low / scale, least), most) + np.float32(0.5))
    return scale, (least - zero) * scale, (most - zero) * scale


def _quantized(x: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> Any:
    """The nearest of the numbers at equal distances between the limits, of which 0 is one.

    Gradients go through as if nothing were rounded; where the limits cut off, they are the limits'.
    """
    scale, bottom, top = _nudged(x, low, high, num_bits, narrow_range)
    cut = tnp.where(x < bottom, bottom, tnp.where(x > top, top, x))
    steps = tnp.floor((cut - bottom) * (1 / scale) + np.float32(0.5))
    rounded = steps * scale + bottom
    if isinstance(cut, np.ndarray):
        return rounded
    low, high = (tnp.astype(v, x.dtype) for v in (low, high))
    followed = tnp.where(x < bottom, low, tnp.where(x > top, high, x))
    return stop_gradient(rounded) + (followed - stop_gradient(followed))


@operator("FakeQuantWithMinMaxArgs", types="", infer=same)
def fake_quant_stated(
    inputs: Any,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> Any:
    """The elements rounded as integers of so many bits between limits would be."""
    return _quantized(inputs, np.float32(min), np.float32(max), num_bits, narrow_range)


@operator("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", types="", infer=same)
def fake_quant(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    """The elements rounded as integers of so many bits between limits would be."""
    return _quantized(inputs, min, max, num_bits, narrow_range)


@operator("FakeQuantWithMinMaxArgsGradient", types="", infer=same)
def fake_quant_stated_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> Any:
    """The gradients where nothing was cut off, else 0."""
    limits = np.float32(min), np.float32(max)
    return _passed(gradients, inputs, *limits, num_bits, narrow_range)[0]


@operator("FakeQuantWithMinMaxVarsGradient", types="")
def fake_quant_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    """(the gradients where nothing was cut off, those of the least number, of the largest)."""
    passed, below, above = _passed(gradients, inputs, min, max, num_bits, narrow_range)
    return passed, tnp.sum(below), tnp.sum(above)


@operator("FakeQuantWithMinMaxVarsPerChannelGradient", types="")
def fake_quant_by_channel_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    """The same, with limits of their own for each channel."""
    passed, below, above = _passed(gradients, inputs, min, max, num_bits, narrow_range)
    axes = tuple(range(inputs.ndim - 1))
    return passed, tnp.sum(below, axis=axes), tnp.sum(above, axis=axes)


def _passed(
    gradients: Any, inputs: Any, low: Any, high: Any, num_bits: int, narrow_range: bool
) -> tuple[Any, Any, Any]:
    """(the gradients of elements within the limits, of those below, of those above), else 0."""
    _, bottom, top = _nudged(inputs, low, high, num_bits, narrow_range)
    zero = np.zeros((), gradients.dtype)
    below, above = inputs < bottom, inputs > top
    within = tnp.where(below | above, zero, gradients)
    return within, tnp.where(below, gradients, zero), tnp.where(above, gradients, zero)


def _rounded(
    x: Any,
    low: Any,
    high: Any,
    num_bits: int,
    signed_input: bool,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: int,
) -> Any:
    """The elements rounded as integers whose 0 is 0: the limits decide the distance alone."""
    others = tuple(n for n in range(x.ndim) if axis < 0 or n != axis)
    beside = [-1 if n == axis else 1 for n in range(x.ndim)]
    if not range_given:
        low, high = tnp.min(x, axis=others), tnp.max(x, axis=others)
    low, high = (
        tnp.reshape(tnp.astype(v, x.dtype), beside if axis >= 0 else ()) for v in (low, high)
    )
    most = 2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1
    least = (-most if narrow_range else -most - 1) if signed_input else int(narrow_range)
    zero, one = np.zeros((), x.dtype), np.ones((), x.dtype)
    bottom, top = np.asarray(least, x.dtype), np.asarray(most, x.dtype)

    def ratio(number: Any, limit: Any) -> Any:
        """How many steps there are in a unit, by one side; the largest number if by none."""
        counts = number * limit > 0
        found = number / tnp.where(counts, limit, one)
        return tnp.where(counts, found, np.asarray(as_dtype(x.dtype).max, x.dtype))

    by_low, by_high = ratio(bottom, low), ratio(top, high)
    is_low = by_low < by_high
    scale = tnp.where(is_low, by_low, by_high)
    inverse = tnp.where(is_low, low / bottom if least else zero, high / top)
    low = tnp.where(is_low, low, bottom * inverse)
    high = tnp.where(is_low, top * inverse, high)
    cut = tnp.minimum(tnp.maximum(x, low), high) if range_given else x
    steps = cut * scale
    whole = tnp.rint(steps) if round_mode == "HALF_TO_EVEN" else tnp.floor(steps + one / 2)
    made = whole * inverse
    inside = stop_gradient(made - cut) if not isinstance(x, np.ndarray) else made - cut
    return cut + inside if not isinstance(x, np.ndarray) else made


@operator("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
) -> Any:
    """The elements rounded as integers of so many bits, whose 0 is 0, within limits."""
    how = (num_bits, signed_input, range_given, round_mode, narrow_range, axis)
    return _rounded(input, input_min, input_max, *how)


@operator("QuantizeAndDequantizeV3", types="T T T -", known=(3,))
def quantize_and_dequantize_by_bits(
    input: Any,
    input_min: Any,
    input_max: Any,
    num_bits: Any,
    signed_input: bool = True,
    range_given: bool = True,
    narrow_range: bool = False,
    axis: int = -1,
) -> Any:
    """The same, with an input for the number of bits."""
    bits = int(known(num_bits, "the number of bits"))
    how = (bits, signed_input, range_given, "HALF_TO_EVEN", narrow_range, axis)
    return _rounded(input, input_min, input_max, *how)
