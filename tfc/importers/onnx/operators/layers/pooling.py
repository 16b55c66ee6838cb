"""Pooling: windows combined into their largest element, mean or norm."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.frontend.numpy.windows import reduce_window
from tfc.frontend.promotion import as_tensor
from tfc.importers.onnx.operators.reductions import norm
from tfc.importers.onnx.operators.windows import Numbers, counts, over_all, pairs, windows
from tfc.importers.onnx.table import operator
from tfc.importers.values import few
from tfc.importers.walk import Call


def lowest(dtype: Any) -> Any:
    """The smallest number of a dtype."""
    dtype = np.dtype(dtype)
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@operator("MaxPool")
def max_pool(
    x: Any, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Numbers | None = None,
    kernel_shape: Numbers, pads: Numbers | None = None, storage_order: int = 0,
    strides: Numbers | None = None, node: Call,
) -> Any:  # fmt: skip
    """The largest element of each window; as second output its place in the whole array."""
    found = windows(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if len(node.results) < 2 or not node.results[1]:
        return reduce_window(as_tensor(x), "maximum", lowest(x.dtype), over_all(found))
    few(int(np.prod([d.size for d in found], dtype=np.float64)), 1 << 10)
    padded = tnp.pad(
        x, [(0, 0), (0, 0), *((d.low, d.high) for d in found)], constant_values=lowest(x.dtype)
    )
    numbers = [(n + d.low + d.high - d.extent) // d.stride + 1 for n, d in zip(x.shape[2:], found)]
    values, places = [], []
    order = "F" if storage_order else "C"
    for step in np.ndindex(*[d.size for d in found]):
        key: list[Any] = [slice(None), slice(None)]
        along = []
        for k, d, count in zip(step, found, numbers):
            start = k * d.window_dilation
            key.append(slice(start, start + (count - 1) * d.stride + 1, d.stride))
            along.append(np.arange(count) * d.stride + start - d.low)
        values.append(padded[tuple(key)])
        grid = np.meshgrid(*along, indexing="ij")
        places.append(np.ravel_multi_index(grid, x.shape[2:], mode="clip", order=order))
    stacked = tnp.stack(values, -1)
    chosen = tnp.argmax(stacked, -1)
    place = tnp.take_along_axis(
        tnp.broadcast_to(np.stack(places, -1), stacked.shape), chosen[..., None], -1
    )[..., 0]
    plane = int(np.prod(x.shape[2:]))
    offsets = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) * plane
    offsets = offsets.reshape(*x.shape[:2], *[1] * len(found))
    return tnp.max(stacked, -1), tnp.astype(place, np.int64) + offsets


@operator("AveragePool")
def average_pool(
    x: Any, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Numbers | None = None, kernel_shape: Numbers, pads: Numbers | None = None,
    strides: Numbers | None = None,
) -> Any:  # fmt: skip
    """The mean of each window, of its elements inside the array or with those of the padding."""
    sizes = x.shape[2:]
    found = windows(sizes, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    total = reduce_window(as_tensor(x), "add", 0, over_all(found))
    around = pairs(pads, len(found))
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        around = [(d.low, d.high) for d in found]
    number: Any = np.ones(())
    for d, n, padding in zip(found, sizes, around):
        inside = counts(d, n, padding if count_include_pad else (0, 0))
        number = np.multiply.outer(number, inside)
    return total / np.asarray(number, x.dtype)


@operator("LpPool")
def lp_pool(
    x: Any, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Numbers | None = None,
    kernel_shape: Numbers, p: int = 2, pads: Numbers | None = None, strides: Numbers | None = None,
) -> Any:  # fmt: skip
    """The p-norm of each window."""
    found = windows(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    powers = tnp.absolute(x) ** float(p)
    return reduce_window(as_tensor(powers), "add", 0, over_all(found)) ** (1.0 / p)


def _enter_global(name: str, function: Callable[..., Any]) -> None:
    @operator(name)
    def pooled(x: Any) -> Any:
        return function(x, axis=tuple(range(2, x.ndim)), keepdims=True)


_enter_global("GlobalAveragePool", tnp.mean)
_enter_global("GlobalMaxPool", tnp.max)


@operator("GlobalLpPool")
def global_lp_pool(x: Any, *, p: int = 2) -> Any:
    """The p-norm of all places of a channel."""
    return norm(x, p, tuple(range(2, x.ndim)))


@operator("MaxUnpool", since=9, needs=("output_shape",))
def max_unpool(
    x: Any, indices: Any, output_shape: Any = None, *, kernel_shape: Numbers,
    pads: Numbers | None = None, strides: Numbers | None = None,
) -> Any:  # fmt: skip
    """An array of zeros with elements at the places that they were pooled from."""
    rank = x.ndim - 2
    steps = strides or [1] * rank
    around = pairs(pads, rank)
    sizes = [
        (n - 1) * s + k - low - high
        for n, s, k, (low, high) in zip(x.shape[2:], steps, kernel_shape, around)
    ]
    made = (*x.shape[:2], *sizes)
    outer = made if output_shape is None else tuple(int(n) for n in output_shape)
    places = tnp.reshape(indices, (-1,))
    flat = tnp.at(tnp.zeros(int(np.prod(made)), x.dtype))[places].set(tnp.reshape(x, (-1,)))
    found = tnp.reshape(flat, made)
    if outer == made:
        return found
    return tnp.pad(found, [(0, b - a) for a, b in zip(made, outer)])
