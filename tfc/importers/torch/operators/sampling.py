"""Padding by the array's own elements, resizing, and elements at places between others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.torch.operators.shapes import pad as constant_pad
from tfc.importers.torch.table import cast, composite, wide

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@composite("pad.default")
def pad(x: Any, amounts: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
    """A value, or the array's own elements, around it; amounts from the last dimension on."""
    if mode == "constant":
        return constant_pad(x, amounts, 0 if value is None else value)
    pairs = [(0, 0)] * x.ndim
    for number in range(len(amounts) // 2):
        pairs[-1 - number] = (amounts[2 * number], amounts[2 * number + 1])
    inner = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs))
    around = [(max(a, 0), max(b, 0)) for a, b in pairs]
    return tnp.pad(x[inner], around, _MODES[mode])


def _enter_pads() -> None:
    for name, mode in (("reflection", "reflect"), ("replication", "replicate")):
        for rank in (1, 2, 3):

            def row(x: Any, amounts: Sequence[int], mode: str = mode) -> Any:
                return pad(x, amounts, mode)

            composite(f"{name}_pad{rank}d.default")(row)


_enter_pads()


def _places(n: int, count: int, scale: float | None, aligned: bool, halves: bool) -> np.ndarray:
    """Where each of so many elements lies among n."""
    at = np.arange(count, dtype=np.float64)
    if aligned:
        return at * ((n - 1) / (count - 1) if count > 1 else 0)
    step = 1 / scale if scale else n / count
    return (at + 0.5) * step - 0.5 if halves else at * step


def _linear(n: int, at: np.ndarray) -> np.ndarray:
    """The weights [count, n] of neighbours by their distance."""
    at = np.clip(at, 0, n - 1)
    return np.clip(1 - np.abs(at[:, None] - np.arange(n)), 0, 1)


def _cubic(n: int, at: np.ndarray) -> np.ndarray:
    """The weights [count, n] of four neighbours by cubic convolution; those beyond are the last."""
    first = np.floor(at).astype(np.int64)
    made = np.zeros((len(at), n))
    for offset in (-1, 0, 1, 2):
        d = np.abs(at - (first + offset))
        near = (1.25 * d - 2.25) * d * d + 1
        far = ((-0.75 * d + 3.75) * d - 6) * d + 3
        np.add.at(made, (np.arange(len(at)), np.clip(first + offset, 0, n - 1)),
                  np.where(d <= 1, near, far))  # fmt: skip
    return made


def _by_weights(x: Any, axis: int, weights: np.ndarray) -> Any:
    made = tnp.matmul(tnp.moveaxis(x, axis, -1), weights.T.astype(x.dtype))
    return tnp.moveaxis(made, -1, axis)


def _sizes(x: Any, rank: int, sizes: Any, scales: Any) -> tuple[list[int], list[Any]]:
    """The sizes of a result, and the scales where these decide."""
    if sizes is not None:
        return list(sizes), [None] * rank
    return [int(n * s) for n, s in zip(x.shape[-rank:], scales)], list(scales)


def _enter_resizing(name: str, rank: int, weigh: Callable[[int, np.ndarray], np.ndarray]) -> None:
    @composite(f"upsample_{name}.vec")
    def row(x: Any, sizes: Any, aligned: bool, scales: Any) -> Any:
        made = wide(x)
        wanted, given = _sizes(x, rank, sizes, scales)
        for number, (count, scale) in enumerate(zip(wanted, given)):
            axis = x.ndim - rank + number
            n = x.shape[axis]
            made = _by_weights(made, axis, weigh(n, _places(n, count, scale, aligned, True)))
        return made


for _name, _rank, _weigh in (("linear1d", 1, _linear), ("bilinear2d", 2, _linear),
                             ("trilinear3d", 3, _linear), ("bicubic2d", 2, _cubic)):  # fmt: skip
    _enter_resizing(_name, _rank, _weigh)


def _enter_nearest(name: str, rank: int, halves: bool) -> None:
    @composite(f"{name}{rank}d.vec")
    def row(x: Any, sizes: Any, scales: Any) -> Any:
        wanted, given = _sizes(x, rank, sizes, scales)
        for number, (count, scale) in enumerate(zip(wanted, given)):
            axis = x.ndim - rank + number
            step = np.float32(1 / scale if scale else x.shape[axis] / count)
            at = (np.arange(count, dtype=np.float32) + np.float32(0.5 if halves else 0)) * step
            x = tnp.take(x, np.minimum(at.astype(np.int64), x.shape[axis] - 1), axis)
        return x


for _rank in (1, 2, 3):
    _enter_nearest("upsample_nearest", _rank, False)
    _enter_nearest("_upsample_nearest_exact", _rank, True)


@composite("pixel_shuffle.default")
def pixel_shuffle(x: Any, factor: int) -> Any:
    """Channels as the places of blocks of the image."""
    *outer, channels, rows, columns = x.shape
    parts = (*outer, channels // factor**2, factor, factor, rows, columns)
    k = len(outer)
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    made = tnp.transpose(tnp.reshape(x, parts), order)
    return tnp.reshape(made, (*outer, channels // factor**2, rows * factor, columns * factor))


@composite("pixel_unshuffle.default")
def pixel_unshuffle(x: Any, factor: int) -> Any:
    """The places of blocks of the image as channels."""
    *outer, channels, rows, columns = x.shape
    parts = (*outer, channels, rows // factor, factor, columns // factor, factor)
    k = len(outer)
    made = tnp.transpose(tnp.reshape(x, parts), (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return tnp.reshape(made, (*outer, channels * factor**2, rows // factor, columns // factor))


@composite("channel_shuffle.default", "native_channel_shuffle.default")
def channel_shuffle(x: Any, groups: int) -> Any:
    """The channels of groups by turns."""
    parts = tnp.reshape(x, (x.shape[0], groups, -1, *x.shape[2:]))
    return tnp.reshape(tnp.swapaxes(parts, 1, 2), x.shape)


@composite("im2col.default")
def im2col(
    x: Any, kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
    stride: Sequence[int],
) -> Any:  # fmt: skip
    """The windows of an image as columns."""
    is_single = x.ndim == 3
    x = x[None] if is_single else x
    around = [(0, 0), (0, 0), *[(p, p) for p in padding]]
    padded = tnp.pad(x, around)
    places = []
    for n, k, d, s in zip(padded.shape[2:], kernel, dilation, stride):
        count = (n - (k - 1) * d - 1) // s + 1
        places.append(np.arange(k)[:, None] * d + np.arange(count) * s)
    rows, columns = places
    windows = tnp.take(tnp.take(padded, rows, 2), columns, 4)  # [n, c, kh, rows, kw, columns]
    made = tnp.transpose(windows, (0, 1, 2, 4, 3, 5))
    count = rows.shape[1] * columns.shape[1]
    made = tnp.reshape(made, (x.shape[0], x.shape[1] * kernel[0] * kernel[1], count))
    return made[0] if is_single else made


@composite("grid_sampler.default", "grid_sampler_2d.default")
def grid_sampler(x: Any, grid: Any, mode: int, padding: int, aligned: bool) -> Any:
    """The elements of images at places of a grid from -1 to 1: linear, or the nearest.

    Args:
        mode: 0 linear, 1 nearest, 2 cubic.
        padding: 0 zeros beyond the image, 1 its border, 2 its reflection.
    """
    if mode > 1 or padding > 1 or x.ndim != 4:
        raise UnsupportedError("of grid_sample, tfc has linear and nearest ones of images alone")
    ends = x.shape[:1:-1]  # columns, then rows, as the grid has them
    at = [(grid[..., k] + 1) / 2 * (n - 1) if aligned else ((grid[..., k] + 1) * n - 1) / 2
          for k, n in enumerate(ends)]  # fmt: skip
    if padding == 1:
        at = [tnp.clip(v, 0, n - 1) for v, n in zip(at, ends)]
    if mode == 1:
        return _taken(x, [tnp.rint(v) for v in at], ends)
    low = [tnp.floor(v) for v in at]
    total: Any = 0
    for step in np.ndindex(2, 2):
        corner = [v + k for v, k in zip(low, step)]
        weight = tnp.prod(tnp.stack([1 - tnp.absolute(v - c) for v, c in zip(at, corner)]), axis=0)
        total = total + _taken(x, corner, ends) * cast(weight, x.dtype)[:, None]
    return total


def _taken(x: Any, places: Sequence[Any], ends: Sequence[int]) -> Any:
    """The elements [n, c, rows, columns] at whole places, zeros beyond the image."""
    inside: Any = np.bool_(True)
    for place, n in zip(places, ends):
        inside = inside & (place >= 0) & (place <= n - 1)
    column, row = (cast(tnp.clip(p, 0, n - 1), np.int64) for p, n in zip(places, ends))
    batch = np.arange(x.shape[0]).reshape(-1, 1, 1)
    found = tnp.moveaxis(tnp.moveaxis(x, 1, -1)[batch, row, column], -1, 1)
    return tnp.where(inside[:, None], found, cast(0, x.dtype))
