"""Images: sampling at places of a grid, regions, columns of patches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.importers.onnx.operators.layers.convolutions import bilinear
from tfc.importers.onnx.operators.windows import pairs
from tfc.importers.onnx.table import operator
from tfc.importers.values import few, whole_numbers


def _reflected(x: Any, low: float, high: float) -> Any:
    """Places beyond two borders, mirrored at them as often as it takes."""
    span = high - low
    if span <= 0:
        return tnp.zeros_like(x) + low
    away = tnp.where(x < low, low - x, x - low)
    turns = tnp.floor(away / span)
    rest = away - turns * span
    odd = turns - 2 * tnp.floor(turns / 2)
    return tnp.where(odd == 0, rest + low, high - rest)


def _bounded(x: Any, size: int, mode: str, align: int) -> Any:
    """Places within an axis, as the mode of padding has it."""
    if mode == "border":
        return tnp.clip(x, 0, size - 1)
    if mode == "reflection":
        return _reflected(x, 0, size - 1) if align else _reflected(x, -0.5, size - 0.5)
    return x


def _read(x: Any, places: Sequence[Any], mode: str, align: int) -> Any:
    """The elements [n, ..., channels] at whole places; zeros beyond the borders."""
    sizes = x.shape[2:]
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * (places[0].ndim - 1))
    found: list[Any] = []
    inside: Any = True
    for p, n in zip(places, sizes):
        p = _bounded(p, n, mode, align)
        here = (p >= 0) & (p < n)
        inside = tnp.logical_and(inside, here)
        found.append(tnp.astype(tnp.clip(p, 0, n - 1), np.int32))
    values = tnp.moveaxis(x, 1, -1)[(batch, *found)]
    return tnp.where(inside[..., None], values, np.zeros((), x.dtype))


def _cubic_weights(t: Any) -> list[Any]:
    a = -0.75
    outer = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a  # noqa: E731
    inner = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1  # noqa: E731
    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


@operator("GridSample", since=16)
def grid_sample(
    x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Any:
    """An image's values at places between -1 and 1 of each axis, the last axis first."""
    sizes = x.shape[2:]
    places = []
    for k, n in enumerate(sizes):
        p = grid[..., len(sizes) - 1 - k]
        at = (p + 1) / 2 * (n - 1) if align_corners else ((p + 1) * n - 1) / 2
        if mode not in ("cubic", "bicubic"):
            at = _bounded(at, n, padding_mode, align_corners)
        places.append(at)
    if mode == "nearest":
        made = _read(x, [tnp.rint(p) for p in places], padding_mode, align_corners)
        return tnp.moveaxis(made, -1, 1)
    floors = [tnp.floor(p) for p in places]
    if mode in ("cubic", "bicubic"):
        weights = [_cubic_weights(p - f) for p, f in zip(places, floors)]
        first, count = -1, 4
    else:
        weights = [[1 - (p - f), p - f] for p, f in zip(places, floors)]
        first, count = 0, 2
    total: Any = 0.0
    for step in np.ndindex(*[count] * len(sizes)):
        at = [f + (k + first) for f, k in zip(floors, step)]
        weight: Any = 1.0
        for w, k in zip(weights, step):
            weight = w[k] * weight
        total = total + _read(x, at, padding_mode, align_corners) * weight[..., None]
    return tnp.moveaxis(tnp.astype(total, x.dtype), -1, 1)


@operator("AffineGrid", since=20, needs=("size",))
def affine_grid(theta: Any, size: Any, *, align_corners: int = 0) -> Any:
    """The places that affine maps [n, d, d + 1] take those of an image of a size to."""
    sizes = whole_numbers(size)[2:]
    few(int(np.prod(sizes, dtype=np.float64)))
    axes = []
    for n in sizes:
        steps = np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1
        axes.append(np.zeros(1) if align_corners and n == 1 else steps)
    grid = np.meshgrid(*axes, indexing="ij")[::-1]
    places = np.stack([*grid, np.ones(sizes)], -1).reshape(-1, len(sizes) + 1).astype(theta.dtype)
    made = tnp.matmul(places, tnp.swapaxes(theta, 1, 2))
    return tnp.reshape(made, (theta.shape[0], *sizes, len(sizes)))


@operator("Col2Im", since=18, needs=("image_shape", "block_shape"))
def col2im(
    x: Any, image_shape: Any, block_shape: Any, *, dilations: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    """Columns of patches put back in their places and added up."""
    image, block = whole_numbers(image_shape), whole_numbers(block_shape)
    rank = len(image)
    apart, steps = dilations or [1] * rank, strides or [1] * rank
    around = pairs(pads, rank)
    padded = [n + a + b for n, (a, b) in zip(image, around)]
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded, block, apart, steps)]
    n = x.shape[0]
    columns = tnp.reshape(x, (n, -1, int(np.prod(block)), *counts))
    total = tnp.zeros((n, columns.shape[1], *padded), x.dtype)
    for number, step in enumerate(np.ndindex(*block)):
        key: tuple[Any, ...] = (slice(None), slice(None))
        for k, d, s, count in zip(step, apart, steps, counts):
            key = (*key, slice(k * d, k * d + (count - 1) * s + 1, s))
        total = tnp.at(total)[key].add(columns[:, :, number])
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(image, around))
    return total[(slice(None), slice(None), *inner)]


@operator("RoiAlign", since=10)
def roi_align(
    x: Any, rois: Any, batch_indices: Any, *, coordinate_transformation_mode: str | None = None,
    mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
    spatial_scale: float = 1.0, node: Any = None,
) -> Any:  # fmt: skip
    """Regions of images, each as a grid of means or extremes of points between the pixels."""
    default = "half_pixel" if node is not None and node.version >= 16 else "output_half_pixel"
    chosen = coordinate_transformation_mode or default
    shift = 0.5 if chosen == "half_pixel" else 0.0
    start_x, start_y, end_x, end_y = (rois[:, k] * spatial_scale - shift for k in range(4))
    width, height = end_x - start_x, end_y - start_y
    if chosen != "half_pixel":
        width, height = tnp.maximum(width, 1), tnp.maximum(height, 1)
    rows = _bins(start_y, height, output_height, x.shape[2], sampling_ratio)
    columns = _bins(start_x, width, output_width, x.shape[3], sampling_ratio)
    images = tnp.take(x, tnp.astype(batch_indices, np.int32), 0, mode="clip")
    samples = rows[0].shape[-1], columns[0].shape[-1]
    count = rois.shape[0]
    shape = (count, output_height, samples[0], output_width, samples[1])
    at = [
        tnp.broadcast_to(tnp.reshape(rows[0], (count, output_height, samples[0], 1, 1)), shape),
        tnp.broadcast_to(tnp.reshape(columns[0], (count, 1, 1, output_width, samples[1])), shape),
    ]
    used = tnp.reshape(rows[1], (-1, output_height, samples[0], 1, 1)) & tnp.reshape(
        columns[1], (-1, 1, 1, output_width, samples[1])
    )
    inside: Any = used
    bounded = []
    for p, n in zip(at, x.shape[2:]):
        inside = inside & (p >= -1) & (p <= n)
        bounded.append(tnp.clip(p, 0, n - 1))
    corners = _corners(images, bounded, mode)
    values = tnp.where(inside[:, None], corners, 0 if mode == "avg" else -np.inf)
    if mode == "avg":
        number = tnp.sum(tnp.astype(used, x.dtype), (2, 4))
        return tnp.sum(values, (3, 5)) / tnp.maximum(number, 1)[:, None]
    found = tnp.max(values, (3, 5))
    return tnp.where(tnp.isneginf(found), 0, found)


def _bins(start: Any, extent: Any, count: int, size: int, ratio: int) -> tuple[Any, Any]:
    """The places of samples along an axis, [regions, bins, samples], and which of them count."""
    each = extent / count
    few(count, 1 << 12)
    most = few(ratio, 1 << 8) if ratio > 0 else -(-size // count) + 1
    number = np.float32(ratio) if ratio > 0 else tnp.maximum(tnp.ceil(each), 1)[:, None, None]
    sample = np.arange(most, dtype=np.float32)
    bins = np.arange(count, dtype=np.float32)[:, None]
    places = start[:, None, None] + each[:, None, None] * (bins + (sample + 0.5) / number)
    used = tnp.broadcast_to(sample < number, places.shape)
    return places, used


def _corners(images: Any, places: Sequence[Any], mode: str) -> Any:
    """Values between pixels; with "max" the largest weighted corner in place of the sum."""
    if mode == "avg":
        return bilinear(images[:, None], [p[:, None] for p in places])[:, 0]
    count = images.shape[0]
    batch = np.arange(count).reshape(count, *[1] * (places[0].ndim - 1))
    last = tnp.moveaxis(images, 1, -1)
    floors = [tnp.floor(p) for p in places]
    found: Any = None
    for corner in range(4):
        weight: Any = 1.0
        at = []
        for p, f, n, bit in zip(places, floors, images.shape[2:], (corner >> 1, corner & 1)):
            weight = (p - f if bit else 1 - (p - f)) * weight
            at.append(tnp.astype(tnp.clip(f + bit, 0, n - 1), np.int32))
        value = last[batch, at[0], at[1]] * weight[..., None]
        found = value if found is None else tnp.maximum(found, value)
    return tnp.moveaxis(found, -1, 1)
