"""Pooling over windows, whose gradients are those of the rows themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.frontend.differentiation.gradient import vjp
from tfc.frontend.numpy.windows import reduce_window
from tfc.frontend.promotion import as_tensor
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.importers.torch.table import aten

Numbers = Sequence[int]


def _windows(
    sizes: Numbers, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> list[WindowDimension]:
    """The window along each of the last dimensions, with the padding that it reads.

    Where sizes are rounded up, that may be more behind the array, and where windows do not reach
    the end, less.
    """
    rank = len(sizes)
    kernel, padding, dilation = (_each(n, rank) for n in (kernel, padding, dilation))
    stride = _each(stride, rank) if stride else kernel
    found = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation):
        extent = (k - 1) * d + 1
        room = n + 2 * p - extent
        count = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:  # a window in the padding alone is left out
            count -= 1
        found.append(WindowDimension(k, s, p, (count - 1) * s + extent - n - p, 1, d))
    return found


def _each(numbers: Any, rank: int) -> list[int]:
    found = [numbers] if isinstance(numbers, int) else list(numbers)
    return found * rank if len(found) == 1 else found


def _over(x: Any, dimensions: Sequence[WindowDimension]) -> Window:
    before = x.ndim - len(dimensions)
    return Window((*[WindowDimension(1)] * before, *dimensions))


def max_pool(
    x: Any, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    """The largest elements of windows over the last dimensions, and their places in a plane."""
    sizes = x.shape[-rank:]
    found = _windows(sizes, kernel, stride, padding, dilation, ceil_mode)
    kind = np.dtype(x.dtype).kind
    lowest = np.iinfo(x.dtype).min if kind in "iu" else -np.inf
    cropped = x[(..., *[slice(0, n + min(d.high, 0)) for n, d in zip(sizes, found)])]
    around = [(0, 0)] * (x.ndim - rank) + [(d.low, max(d.high, 0)) for d in found]
    padded = tnp.pad(cropped, around, constant_values=np.asarray(lowest, x.dtype))
    values, places = [], []
    for step in np.ndindex(*[d.size for d in found]):
        starts = [k * d.window_dilation for k, d in zip(step, found)]
        counts = [(n + d.low + d.high - d.extent) // d.stride + 1 for n, d in zip(sizes, found)]
        key = [slice(a, a + (c - 1) * d.stride + 1, d.stride)
               for a, c, d in zip(starts, counts, found)]  # fmt: skip
        values.append(padded[(..., *key)])
        along = [np.arange(c) * d.stride + a - d.low for a, c, d in zip(starts, counts, found)]
        grid = np.meshgrid(*along, indexing="ij")
        places.append(np.ravel_multi_index(grid, sizes, mode="clip"))
    stacked = tnp.stack(values, -1)
    chosen = tnp.argmax(stacked, -1)
    place = tnp.broadcast_to(np.stack(places, -1), stacked.shape)
    return tnp.max(stacked, -1), tnp.take_along_axis(place, chosen[..., None], -1)[..., 0]


@aten("max_pool2d_with_indices.default")
def max_pool2d(
    x: Any, kernel: Numbers, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest elements of windows, and their places."""
    return max_pool(x, 2, kernel, stride, padding, dilation, ceil_mode)


@aten("max_pool3d_with_indices.default")
def max_pool3d(
    x: Any, kernel: Numbers, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest elements of windows, and their places."""
    return max_pool(x, 3, kernel, stride, padding, dilation, ceil_mode)


@aten("max_pool2d_with_indices_backward.default")
def max_pool2d_gradient(
    g: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    places: Any,
) -> Any:  # fmt: skip
    """The gradient by the array: each element's is added where it was taken from."""
    outer, plane = x.shape[:-2], int(np.prod(x.shape[-2:]))
    rows = int(np.prod(outer))
    start = tnp.zeros((rows, plane), g.dtype)
    key = np.arange(rows)[:, None], tnp.reshape(places, (rows, -1))
    return tnp.reshape(tnp.at(start)[key].add(tnp.reshape(g, (rows, -1))), x.shape)


def _avg_pool(
    x: Any, rank: int, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    sizes = x.shape[-rank:]
    found = _windows(sizes, kernel, stride, padding, 1, ceil_mode)
    total = reduce_window(as_tensor(x), "add", 0, _over(x, found))
    number: Any = np.ones(())
    for d, n, p in zip(found, sizes, _each(padding, rank)):
        first = np.arange((n + d.low + d.high - d.size) // d.stride + 1) * d.stride - p
        beyond = p if count_include_pad else 0
        inside = np.minimum(first + d.size, n + beyond) - np.maximum(first, -beyond)
        number = np.multiply.outer(number, inside)
    return total / np.asarray(number if divisor is None else divisor, x.dtype)


def _enter_avg_pool(rank: int) -> None:
    @aten(f"avg_pool{rank}d.default")
    def row(
        x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        return _avg_pool(
            x, rank, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    @aten(f"avg_pool{rank}d_backward.default")
    def gradient(g: Any, x: Any, *given: Any) -> Any:
        return vjp(lambda v: row(v, *given), x)[1](g)[0]


for _rank in (1, 2, 3):
    _enter_avg_pool(_rank)


def _adaptive(x: Any, sizes: Numbers) -> Any:
    """The means of as many parts of the last dimensions, as alike as they can be."""
    for place, size in enumerate(sizes):
        axis = x.ndim - len(sizes) + place
        n = x.shape[axis]
        weights = np.zeros((n, size))
        for k in range(size):
            low, high = k * n // size, -(-(k + 1) * n // size)
            weights[low:high, k] = 1 / (high - low)
        x = tnp.moveaxis(tnp.matmul(tnp.moveaxis(x, axis, -1), weights.astype(x.dtype)), -1, axis)
    return x


@aten("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default")
def adaptive_avg_pool(x: Any, sizes: Numbers) -> Any:
    """The means of as many parts of the last dimensions."""
    return _adaptive(x, sizes)


@aten("_adaptive_avg_pool2d_backward.default", "_adaptive_avg_pool3d_backward.default")
def adaptive_gradient(g: Any, x: Any) -> Any:
    """The gradient of adaptive pooling by its array."""
    rank = 2 if x.ndim - g.ndim == 0 and x.ndim <= 4 else 3
    return vjp(lambda v: _adaptive(v, g.shape[-rank:]), x)[1](g)[0]
