"""Operators of convolutions, and those that compute one of their gradients alone."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc import nn
from tfc import numpy as tnp
from tfc.errors import ShapeError, UnsupportedError
from tfc.graph.operators.differentiation import pulled_back
from tfc.graph.operators.inference import infer_by_tracing
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, find, known_numbers, operator
from tfc.graph.types.shapes import TensorShape

Padding = str | list[tuple[int, int]]


def spatial(values: Sequence[int] | None, data_format: str, rank: int) -> tuple[int, ...]:
    """The numbers of the dimensions between batch and channels, of those for all dimensions."""
    if values is None or not len(values):
        return (1,) * rank
    numbers = tuple(int(n) for n in values)
    if len(numbers) == 1:
        return numbers * rank
    if len(numbers) == rank:
        return numbers
    first = 2 if data_format.startswith("NC") else 1
    others = numbers[:1] + (numbers[1:2] if first == 2 else numbers[-1:])
    if others != (1, 1):
        raise ShapeError(f"batch and channels need strides and windows of 1, got {list(numbers)}")
    return numbers[first : first + rank]


def padding_of(padding: str, explicit: Sequence[int], data_format: str, rank: int) -> Padding:
    """SAME and VALID, or the numbers of EXPLICIT for the dimensions that are padded."""
    name = padding.decode() if isinstance(padding, bytes) else padding
    if name != "EXPLICIT":
        return name
    first = 2 if data_format.startswith("NC") else 1
    pairs = [(int(explicit[n]), int(explicit[n + 1])) for n in range(0, len(explicit), 2)]
    return pairs[first : first + rank]


def places(size: int | None, window: int | None, stride: int, padding: Any) -> int | None:
    """How many windows there are along a dimension; None where that is unknown."""
    if size is None or (padding != "SAME" and window is None):
        return None
    if padding == "SAME":
        return -(-size // stride)
    low, high = padding if isinstance(padding, tuple) else (0, 0)
    return max(0, (size + low + high - (window or 0)) // stride + 1)


def slid(
    x: Any, window: Sequence[int | None], attributes: Attributes, channels: int | None
) -> TensorShape:
    """The shape of what slides windows over an array of which not all dimensions are known."""
    rank = len(window)
    dims = x.shape.with_rank(rank + 2).as_list()
    form = attributes.get("data_format") or "NHWC"
    first = 2 if form.startswith("NC") else 1
    steps = spatial(attributes["strides"], form, rank)
    wide = padding_of(attributes["padding"], attributes.get("explicit_paddings", ()), form, rank)
    widths = [wide] * rank if isinstance(wide, str) else wide
    apart = spatial(attributes.get("dilations"), form, rank)
    reach = [None if k is None else (k - 1) * d + 1 for k, d in zip(window, apart)]
    made = [
        places(size, k, s, w)
        for size, k, s, w in zip(dims[first : first + rank], reach, steps, widths)
    ]
    return TensorShape([dims[0], channels, *made] if first == 2 else [dims[0], *made, channels])


def _slid_by_filter(name: str, rank: int) -> Callable[[Sequence[Any], Attributes], list[Spec]]:
    """`infer` of a convolution."""

    def infer(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
        x, kernel = inputs
        if x.shape.is_fully_defined() and kernel.shape.is_fully_defined():
            return infer_by_tracing(find(name), inputs, attributes)
        *window, inner, outer = kernel.shape.with_rank(rank + 2).as_list()
        if name.startswith("Depthwise"):
            outer = None if None in (inner, outer) else inner * outer
        return [(x.dtype, slid(x, window, attributes, outer))]

    return infer


def _convolution(
    input: Any,
    filter: Any,
    rank: int,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int] | None,
    explicit: Sequence[int] = (),
) -> Any:
    channels = input.shape[1 if data_format.startswith("NC") else -1]
    inner = filter.shape[-2]
    if not inner or channels % inner:
        raise ShapeError(
            f"a convolution of {channels} channels needs a filter of as many, got shape "
            f"{tuple(filter.shape)}"
        )
    return nn.conv(
        input,
        filter,
        spatial(strides, data_format, rank),
        padding_of(padding, explicit, data_format, rank),
        rhs_dilation=spatial(dilations, data_format, rank),
        data_format=data_format,
        feature_group_count=channels // inner,
    )


@operator("Conv2D", infer=_slid_by_filter("Conv2D", 2))
def conv2d(
    input: Any,
    filter: Any,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: Sequence[int] | None = None,
    explicit_paddings: Sequence[int] = (),
) -> Any:
    """Convolutions of images; the filter is [height, width, channels, outputs]."""
    return _convolution(
        input, filter, 2, strides, padding, data_format, dilations, explicit_paddings
    )


@operator("Conv")
def convolution(
    input: Any,
    filter: Any,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "CHANNELS_LAST",
    dilations: Sequence[int] = (),
    batch_dims: int = 1,
    groups: int = 1,
) -> Any:
    """Convolutions of any rank; the filter is [window …, channels of a group, outputs]."""
    rank = input.ndim - 2
    if batch_dims != 1 or rank not in (1, 2, 3):
        raise UnsupportedError(
            f"Conv takes one dimension of the batch and 1 to 3 of space, got shape "
            f"{tuple(input.shape)} with batch_dims={batch_dims}"
        )
    form = ("NCW", "NCHW", "NCDHW") if data_format == "CHANNELS_FIRST" else ("NWC", "NHWC", "NDHWC")
    if filter.shape[-2] * groups != input.shape[1 if data_format == "CHANNELS_FIRST" else -1]:
        raise ShapeError(f"the filter's shape {tuple(filter.shape)} does not fit {groups} groups")
    how = rank, strides, padding, form[rank - 1], dilations, explicit_paddings
    return _convolution(input, filter, *how)


@operator("Conv3D", infer=_slid_by_filter("Conv3D", 3))
def conv3d(
    input: Any,
    filter: Any,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] | None = None,
) -> Any:
    """Convolutions of volumes; the filter is [depth, height, width, channels, outputs]."""
    return _convolution(input, filter, 3, strides, padding, data_format, dilations)


@operator("DepthwiseConv2dNative", infer=_slid_by_filter("DepthwiseConv2dNative", 2))
def depthwise_conv2d(
    input: Any,
    filter: Any,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: Sequence[int] | None = None,
    explicit_paddings: Sequence[int] = (),
) -> Any:
    """A convolution of each channel by itself; the filter is [height, width, channels, each]."""
    return nn.depthwise_conv(
        input,
        filter,
        spatial(strides, data_format, 2),
        padding_of(padding, explicit_paddings, data_format, 2),
        spatial(dilations, data_format, 2),
        data_format,
    )


def _shaped(place: int) -> Callable[[Sequence[Any], Attributes], list[Spec]]:
    """`infer` of what has the shape that an input's value is."""

    def infer(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
        return [(inputs[2].dtype, partial_shape(inputs[place]))]

    return infer


def _input_gradient(forward: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        input_sizes: Any,
        filter: Any,
        out_backprop: Any,
        *,
        strides: Sequence[int],
        padding: str,
        data_format: str = "",
        dilations: Sequence[int] | None = None,
        explicit_paddings: Sequence[int] = (),
    ) -> Any:
        more = _given(strides, padding, data_format, dilations, explicit_paddings)
        dims = known_numbers(input_sizes, "the shape of the gradient of a convolution")
        zeros = tnp.zeros(dims, out_backprop.dtype)
        return pulled_back(lambda x, k: forward(x, k, **more), zeros, out_backprop, filter)

    return row


def _filter_gradient(forward: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        input: Any,
        filter_sizes: Any,
        out_backprop: Any,
        *,
        strides: Sequence[int],
        padding: str,
        data_format: str = "",
        dilations: Sequence[int] | None = None,
        explicit_paddings: Sequence[int] = (),
    ) -> Any:
        more = _given(strides, padding, data_format, dilations, explicit_paddings)
        dims = known_numbers(filter_sizes, "the shape of the gradient of a filter")
        zeros = tnp.zeros(dims, out_backprop.dtype)
        return pulled_back(lambda k, x: forward(x, k, **more), zeros, out_backprop, input)

    return row


def _given(
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int] | None,
    explicit: Sequence[int],
) -> dict[str, Any]:
    """The attributes of a convolution that are stated."""
    made: dict[str, Any] = {"strides": strides, "padding": padding, "dilations": dilations}
    if data_format:
        made["data_format"] = data_format
    if len(explicit):
        made["explicit_paddings"] = explicit
    return made


for _names, _forward in {
    ("Conv2DBackpropInput",): conv2d,
    ("Conv3DBackpropInputV2",): conv3d,
    ("DepthwiseConv2dNativeBackpropInput",): depthwise_conv2d,
}.items():
    operator(*_names, types="- T", known=(0,), infer=_shaped(0))(_input_gradient(_forward))

for _names, _forward in {
    ("Conv2DBackpropFilter",): conv2d,
    ("Conv3DBackpropFilterV2",): conv3d,
    ("DepthwiseConv2dNativeBackpropFilter",): depthwise_conv2d,
}.items():
    operator(*_names, types="T -", known=(1,), infer=_shaped(1))(_filter_gradient(_forward))
