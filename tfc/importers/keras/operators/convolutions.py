"""Convolutions, transposed ones, and those that treat each channel by itself."""

from collections.abc import Sequence
from typing import Any

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.keras.operators.activations import activated
from tfc.importers.keras.operators.core import floating
from tfc.importers.keras.table import Use, layer, with_bias


def numbers(value: Any, count: int) -> tuple[int, ...]:
    """One number for each dimension, of one for all or as many as there are."""
    found = tuple(value) if isinstance(value, (list, tuple)) else (value,) * count
    return tuple(int(n) for n in found)


def is_first(data_format: Any) -> bool:
    """Whether channels come first."""
    if data_format not in (None, "channels_last", "channels_first"):
        raise UnsupportedError(f"the data_format {data_format!r} is not supported")
    return data_format == "channels_first"


def channels_last(x: Any, data_format: Any) -> Any:
    """An array with its channels last."""
    return tnp.moveaxis(x, 1, -1) if is_first(data_format) else x


def channels_back(x: Any, data_format: Any) -> Any:
    """An array with its channels where they were before `channels_last`."""
    return tnp.moveaxis(x, -1, 1) if is_first(data_format) else x


def padded(x: Any, padding: str, kernel: Sequence[int], dilation: Sequence[int]) -> tuple[Any, str]:
    """The array and the padding that is left to do: causal padding is zeros before the array."""
    if padding != "causal":
        return x, padding.upper()
    before = (kernel[0] - 1) * dilation[0]
    return tnp.pad(x, ((0, 0), (before, 0), (0, 0))), "VALID"


def _finished(use: Use, made: Any, use_bias: bool, activation: Any, data_format: Any) -> Any:
    """A convolution's result with bias and activation."""
    made = made + use["bias"] if use_bias else made
    return activated(use, activation, channels_back(made, data_format))


@layer("Conv1D", "Conv2D", "Conv3D", variables=with_bias("kernel"))
def conv(
    use: Use, x: Any, *, filters: Any = None, kernel_size: Any = None, strides: Any = 1,
    padding: str = "valid", data_format: Any = None, dilation_rate: Any = 1, groups: int = 1,
    activation: Any = None, use_bias: bool = True, rank: Any = None,
) -> Any:  # fmt: skip
    """A convolution."""
    array = channels_last(floating(use, x), data_format)
    kernel, rank = use["kernel"], array.ndim - 2
    dilation = numbers(dilation_rate, rank)
    array, form = padded(array, padding, kernel.shape, dilation)
    made = nn.conv(array, kernel, numbers(strides, rank), form, rhs_dilation=dilation,
                   feature_group_count=groups)  # fmt: skip
    return _finished(use, made, use_bias, activation, data_format)


@layer("DepthwiseConv1D", "DepthwiseConv2D", variables=with_bias("depthwise_kernel"))
def depthwise(
    use: Use, x: Any, *, kernel_size: Any = None, strides: Any = 1, padding: str = "valid",
    depth_multiplier: int = 1, data_format: Any = None, dilation_rate: Any = 1,
    activation: Any = None, use_bias: bool = True, filters: Any = None, groups: Any = None,
    rank: Any = None,
) -> Any:  # fmt: skip
    """A convolution of each channel by itself."""
    array = channels_last(floating(use, x), data_format)
    kernel, rank = use["depthwise_kernel"], array.ndim - 2
    dilation = numbers(dilation_rate, rank)
    array, form = padded(array, padding, kernel.shape, dilation)
    made = nn.depthwise_conv(array, kernel, numbers(strides, rank), form, dilation)
    return _finished(use, made, use_bias, activation, data_format)


@layer("SeparableConv1D", "SeparableConv2D",
       variables=with_bias("depthwise_kernel", "pointwise_kernel"))  # fmt: skip
def separable(
    use: Use, x: Any, *, filters: Any = None, kernel_size: Any = None, strides: Any = 1,
    padding: str = "valid", data_format: Any = None, dilation_rate: Any = 1,
    depth_multiplier: int = 1, activation: Any = None, use_bias: bool = True, groups: Any = None,
    rank: Any = None,
) -> Any:  # fmt: skip
    """A convolution of each channel by itself, and one that mixes them at each place."""
    array = channels_last(floating(use, x), data_format)
    kernel, rank = use["depthwise_kernel"], array.ndim - 2
    dilation = numbers(dilation_rate, rank)
    array, form = padded(array, padding, kernel.shape, dilation)
    made = nn.separable_conv(
        array, kernel, use["pointwise_kernel"], numbers(strides, rank), form, dilation
    )
    return _finished(use, made, use_bias, activation, data_format)


@layer("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", variables=with_bias("kernel"))
def transposed(
    use: Use, x: Any, *, filters: Any = None, kernel_size: Any = None, strides: Any = 1,
    padding: str = "valid", output_padding: Any = None, data_format: Any = None,
    dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True, groups: Any = 1,
    rank: Any = None, output_shape: Any = None,
) -> Any:  # fmt: skip
    """The gradient of a convolution by its array.

    Raises:
        UnsupportedError: it has groups.
    """
    if groups not in (None, 1):
        raise UnsupportedError("transposed convolutions with groups are not supported")
    array, kernel = channels_last(floating(use, x), data_format), use["kernel"]
    rank = array.ndim - 2
    steps, dilation = numbers(strides, rank), numbers(dilation_rate, rank)
    extra = numbers(output_padding, rank) if output_padding is not None else (None,) * rank
    pairs = [_around(k, s, d, padding, e)
             for k, s, d, e in zip(kernel.shape, steps, dilation, extra)]  # fmt: skip
    made = nn.conv_transpose(
        array, kernel, steps, pairs, rhs_dilation=dilation, transpose_kernel=True
    )
    return _finished(use, made, use_bias, activation, data_format)


def _around(kernel: int, stride: int, dilation: int, padding: str, extra: Any) -> tuple[int, int]:
    """The padding around an array that is dilated by the stride, so that sizes are Keras's.

    A result has (size - 1) · stride + 1 + padding - (extent - 1) places, of which those beyond
    (size - 1) · stride are what Keras states; "same" crops the extent to them on both sides.
    """
    extent = (kernel - 1) * dilation + 1
    if padding == "same":
        places = stride if extra is None else extent % 2 + int(extra)
        cropped = max(extent - places, 0)
    else:
        places = max(extent, stride) if extra is None else extent + int(extra)
        cropped = 0
    low = extent - 1 - cropped // 2
    return low, places + extent - 2 - low
