"""Operators over windows: the largest element of each, the mean, where the largest is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import nn
from tfc import numpy as tnp
from tfc.graph.operators.differentiation import pulled_back
from tfc.graph.operators.inference import same
from tfc.graph.operators.networks.convolutions import padding_of, slid, spatial
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.types.dtypes import as_dtype


def _pool(function: Callable[..., Any], rank: int, default: str) -> Callable[..., Any]:
    def row(
        value: Any,
        *,
        ksize: Sequence[int],
        strides: Sequence[int],
        padding: str,
        data_format: str = default,
        explicit_paddings: Sequence[int] = (),
    ) -> Any:
        return function(
            value,
            spatial(ksize, data_format, rank),
            spatial(strides, data_format, rank),
            padding_of(padding, explicit_paddings, data_format, rank),
            data_format,
        )

    return row


def _pooled(rank: int) -> Callable[[Sequence[Any], Attributes], list[Spec]]:
    """`infer` of a pooling."""

    def infer(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
        (x,) = inputs
        form = attributes.get("data_format") or "NHWC"
        channels = x.shape.with_rank(rank + 2)[1 if form.startswith("NC") else -1].value
        return [(x.dtype, slid(x, spatial(attributes["ksize"], form, rank), attributes, channels))]

    return infer


max_pool = operator("MaxPool", infer=_pooled(2))(_pool(nn.max_pool, 2, "NHWC"))
avg_pool = operator("AvgPool", infer=_pooled(2))(_pool(nn.avg_pool, 2, "NHWC"))
max_pool_3d = operator("MaxPool3D", infer=_pooled(3))(_pool(nn.max_pool, 3, "NDHWC"))
avg_pool_3d = operator("AvgPool3D", infer=_pooled(3))(_pool(nn.avg_pool, 3, "NDHWC"))


@operator("MaxPoolV2", known=(1, 2))
def max_pool_of_inputs(
    input: Any, ksize: Any, strides: Any, *, padding: str, data_format: str = "NHWC"
) -> Any:
    """The largest element of each window; windows and strides are inputs."""
    sizes, steps = (known_numbers(x, "the windows of a pooling") for x in (ksize, strides))
    return max_pool(input, ksize=sizes, strides=steps, padding=padding, data_format=data_format)


def _given(
    ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str
) -> dict[str, Any]:
    """The attributes of a pooling, without the format if it is the operator's own."""
    more = {"data_format": data_format} if data_format else {}
    return {"ksize": ksize, "strides": strides, "padding": padding, **more}


def max_gradient(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a pooling by what it is given."""

    def row(
        orig_input: Any,
        orig_output: Any,
        grad: Any,
        *,
        ksize: Sequence[int],
        strides: Sequence[int],
        padding: str,
        data_format: str = "",
        explicit_paddings: Sequence[int] = (),
    ) -> Any:
        more = _given(ksize, strides, padding, data_format)
        more["explicit_paddings"] = explicit_paddings
        return pulled_back(lambda x: forward(x, **more), orig_input, grad)

    return row


operator("MaxPoolGrad", infer=same)(max_gradient(max_pool))
operator("MaxPool3DGrad", infer=same)(max_gradient(max_pool_3d))


def _mean_gradient(forward: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        orig_input_shape: Any,
        grad: Any,
        *,
        ksize: Sequence[int],
        strides: Sequence[int],
        padding: str,
        data_format: str = "",
    ) -> Any:
        more = _given(ksize, strides, padding, data_format)
        dims = known_numbers(orig_input_shape, "the shape of the gradient of a pooling")
        zeros = tnp.zeros(dims, grad.dtype)
        return pulled_back(lambda x: forward(x, **more), zeros, grad)

    return row


def _pooled_from(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, partial_shape(inputs[0]))]


operator("AvgPoolGrad", types="- T", known=(0,), infer=_pooled_from)(_mean_gradient(avg_pool))
operator("AvgPool3DGrad", types="- T", known=(0,), infer=_pooled_from)(_mean_gradient(avg_pool_3d))


def padded_for(size: int, window: int, stride: int, padding: str) -> tuple[int, int, int]:
    """(places of windows, padding before, padding behind) along a dimension."""
    if padding == "VALID":
        return max(0, (size - window) // stride + 1), 0, 0
    places = -(-size // stride)
    total = max(0, (places - 1) * stride + window - size)
    return places, total // 2, total - total // 2


def patches(
    images: Any,
    window: Sequence[int],
    strides: Sequence[int],
    padding: str,
    filling: Any,
    rates: Sequence[int] = (1, 1),
) -> tuple[list[Any], list[tuple[int, int]]]:
    """What each place in a window sees of images [batch, rows, columns, channels].

    Returns:
        An array [batch, windows down, windows across, channels] for each place of a window, and
        how far the first window begins before the image, in rows and columns.
    """
    reach = [(k - 1) * r + 1 for k, r in zip(window, rates)]
    plans = [
        padded_for(size, k, s, padding) for size, k, s in zip(images.shape[1:3], reach, strides)
    ]
    widths = [(0, 0), *((low, high) for _, low, high in plans), (0, 0)]
    padded = tnp.pad(images, widths, constant_values=filling)
    (down, top, _), (across, left, _) = plans
    seen = []
    for i in range(window[0]):
        for j in range(window[1]):
            row, column = i * rates[0], j * rates[1]
            rows = slice(row, row + (down - 1) * strides[0] + 1, strides[0])
            columns = slice(column, column + (across - 1) * strides[1] + 1, strides[1])
            seen.append(padded[:, rows, columns, :])
    return seen, [(top, down), (left, across)]


@operator("MaxPoolWithArgmax")
def max_pool_with_argmax(
    input: Any,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    Targmax: Any = np.int64,
    include_batch_in_index: bool = False,
) -> Any:
    """The largest element of each window, and its place in the flat image."""
    window, steps = spatial(ksize, "NHWC", 2), spatial(strides, "NHWC", 2)
    least = np.asarray(-np.inf if as_dtype(input.dtype).is_floating else 0, input.dtype)
    seen, ((top, down), (left, across)) = patches(input, window, steps, padding, least)
    stacked = tnp.stack(seen)
    which = tnp.astype(tnp.argmax(stacked, axis=0), np.dtype(np.int64))
    batch, height, width, channels = input.shape
    row = np.arange(down).reshape(1, -1, 1, 1) * steps[0] - top + which // window[1]
    column = np.arange(across).reshape(1, 1, -1, 1) * steps[1] - left + which % window[1]
    place = (row * width + column) * channels + np.arange(channels)
    if include_batch_in_index:
        place = place + np.arange(batch).reshape(-1, 1, 1, 1) * (height * width * channels)
    return tnp.max(stacked, axis=0), tnp.astype(place, as_dtype(Targmax).dtype)


@operator("ExtractImagePatches")
def extract_image_patches(
    images: Any,
    *,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> Any:
    """What each window sees, one place after the other, in the dimension of channels."""
    window, steps, apart = (spatial(x, "NHWC", 2) for x in (ksizes, strides, rates))
    zero = np.zeros((), images.dtype)
    return tnp.concatenate(patches(images, window, steps, padding, zero, apart)[0], axis=-1)


@operator("Dilation2D")
def dilation(
    input: Any, filter: Any, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Any:
    """The largest sum of an element in each window and the filter's at its place."""
    steps, apart = spatial(strides, "NHWC", 2), spatial(rates, "NHWC", 2)
    least = np.asarray(-np.inf, input.dtype)
    seen, _ = patches(input, filter.shape[:2], steps, padding, least, apart)
    weights = tnp.reshape(filter, (-1, filter.shape[-1]))
    sums = [x + weights[n] for n, x in enumerate(seen)]
    return tnp.max(tnp.stack(sums), axis=0)
