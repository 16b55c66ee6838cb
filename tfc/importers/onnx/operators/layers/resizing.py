"""Resizing: values between the elements along each axis, by neighbours or by weights.

Positions are computed in float32, as ONNX Runtime computes them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ModelFileError
from tfc.importers.onnx.table import operator
from tfc.importers.values import few, whole_numbers


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized: from how many elements to how many, and by what scale.

    roi: the part of the axis that is resized, for cropping.
    """

    axis: int
    size: int
    wanted: int
    scale: np.float32
    roi: tuple[float, float] = (0.0, 1.0)

    def places(self, mode: str) -> np.ndarray:
        """Where each element of the result lies among those of the array.

        Raises:
            ModelFileError: there is no such mode.
        """
        at = np.arange(few(self.wanted), dtype=np.float32)
        half, one = np.float32(0.5), np.float32(1)
        last = np.float32(self.size - 1)
        exact = self.scale * np.float32(self.size)
        if mode == "align_corners":
            return at * 0 if self.wanted == 1 else at * last / (np.float32(self.wanted) - one)
        if mode == "asymmetric":
            return at / self.scale
        if mode == "pytorch_half_pixel" and self.wanted == 1:
            return at * 0
        if mode in ("half_pixel", "pytorch_half_pixel"):
            return (at + half) / self.scale - half
        if mode == "half_pixel_symmetric":
            adjustment = np.float32(self.wanted) / exact
            offset = np.float32(self.size) / 2 * (one - adjustment)
            return offset + (at + half) / self.scale - half
        if mode == "tf_half_pixel_for_nn":
            return (at + half) / self.scale
        if mode == "tf_crop_and_resize":
            start, end = map(np.float32, self.roi)
            if self.wanted == 1:
                return at * 0 + (start + end) * last * half
            return start * last + at * (end - start) * last / (np.float32(self.wanted) - one)
        raise ModelFileError(f"there is no transformation of coordinates '{mode}'")


_ROUNDING = {
    "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
    "floor": np.floor,
    "ceil": np.ceil,
    "simple": np.floor,
}


def _nearest(x: Any, axis: int, places: np.ndarray) -> Any:
    """The elements at places along an axis; repeated ones and every n-th without a gather."""
    size, count = x.shape[axis], len(places)
    if count % size == 0 and np.array_equal(places, np.repeat(np.arange(size), count // size)):
        return tnp.repeat(x, count // size, axis) if count != size else x
    step = int(places[1] - places[0]) if count > 1 else 1
    if step > 0 and np.array_equal(places, places[0] + step * np.arange(count)):
        key = (slice(None),) * axis + (slice(int(places[0]), int(places[-1]) + 1, step),)
        return x[key]
    return tnp.take(x, places, axis)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """The weight of an element at a distance, by cubic convolution."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _weights(
    d: _Axis, places: np.ndarray, mode: str, a: float, antialias: int, exclude: int
) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours of each place, [places, neighbours], and their weights."""
    stretch = min(float(d.scale), 1.0) if antialias else 1.0
    reach = (2 if mode == "cubic" else 1) / stretch
    first = np.floor(places - np.float32(reach)).astype(np.int64) + 1
    neighbours = first[:, None] + np.arange(
        math.ceil(2 * reach) + 1 if antialias else 2 * int(reach)
    )
    distance = (neighbours - places[:, None].astype(np.float64)) * stretch
    found = _cubic(distance, a) if mode == "cubic" else np.clip(1 - np.abs(distance), 0, 1)
    if exclude or (antialias and mode != "cubic"):
        inside = (neighbours >= 0) & (neighbours < d.size)
        found = np.where(inside, found, 0) if exclude else found
    if exclude or antialias:
        found = found / found.sum(1, keepdims=True)
    return np.clip(neighbours, 0, d.size - 1), found


def _interpolated(x: Any, d: _Axis, neighbours: np.ndarray, weights: np.ndarray) -> Any:
    """Weighted sums of neighbours along an axis."""
    count = neighbours.shape[1]
    if count > 4:  # as a product with a matrix of the weights
        few(d.wanted * d.size)
        matrix = np.zeros((d.wanted, d.size))
        for k in range(count):
            np.add.at(matrix, (np.arange(d.wanted), neighbours[:, k]), weights[:, k])
        moved = tnp.tensordot(x, matrix.astype(x.dtype), ((d.axis,), (1,)))
        return tnp.moveaxis(moved, -1, d.axis)
    shape = [1] * x.ndim
    shape[d.axis] = -1
    total: Any = None
    for k in range(count):
        part = _nearest(x, d.axis, neighbours[:, k])
        part = part * weights[:, k].reshape(shape).astype(x.dtype)
        total = part if total is None else total + part
    return total


def resized(
    x: Any, axes: Sequence[_Axis], mode: str, coordinates: str, nearest_mode: str, a: float = -0.75,
    antialias: int = 0, exclude: int = 0, extrapolation: float = 0.0,
) -> Any:  # fmt: skip
    """An array resized along some axes.

    Raises:
        ModelFileError: there is no such mode.
    """
    if mode not in ("nearest", "linear", "cubic") or nearest_mode not in _ROUNDING:
        raise ModelFileError(f"there is no resizing '{mode}' with '{nearest_mode}'")
    dtype, outside = x.dtype, []
    if mode != "nearest" and np.dtype(dtype).kind in "iu":
        x = tnp.astype(x, np.float32)
    for d in axes:
        is_cropped = coordinates == "tf_crop_and_resize"
        if d.wanted == d.size and d.scale == 1 and not is_cropped:
            continue
        places = d.places(coordinates)
        if is_cropped:
            outside.append((d.axis, (places < 0) | (places > d.size - 1)))
        if mode == "nearest":
            if nearest_mode == "simple":  # of the first version: up where it gets smaller
                places = np.ceil(places) if d.scale < 1 else np.floor(places)
            rounded = np.clip(_ROUNDING[nearest_mode](places), 0, d.size - 1).astype(np.int64)
            x = _nearest(x, d.axis, rounded)
        else:
            if mode == "linear" and not antialias:
                places = np.clip(places, 0, d.size - 1)
            x = _interpolated(x, d, *_weights(d, places, mode, a, antialias, exclude))
    for axis, mask in outside:
        shape = [1] * x.ndim
        shape[axis] = -1
        x = tnp.where(mask.reshape(shape), np.asarray(extrapolation, x.dtype), x)
    if x.dtype != dtype:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = tnp.astype(tnp.clip(tnp.rint(x), low, high), dtype)
    return x


@operator("Resize", since=11, needs=("roi", "scales", "sizes"))
def resize(
    x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *, antialias: int = 0,
    axes: Any = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    """An array resized by scales, or to sizes."""
    along = list(range(x.ndim)) if axes is None else [a % x.ndim for a in axes]
    bounds = np.zeros(0) if roi is None else np.asarray(roi).reshape(-1)
    if bounds.size != 2 * len(along):
        bounds = np.repeat([0.0, 1.0], len(along))
    if sizes is not None and len(whole_numbers(sizes)):
        wanted = whole_numbers(sizes)
        factors = [np.float32(w) / np.float32(x.shape[a]) for a, w in zip(along, wanted)]
        if keep_aspect_ratio_policy != "stretch":
            chosen = (min if keep_aspect_ratio_policy == "not_larger" else max)(factors)
            factors = [chosen] * len(along)
            wanted = [math.floor(float(chosen) * x.shape[a] + 0.5) for a in along]
    else:
        if scales is None or len(np.asarray(scales).reshape(-1)) != len(along):
            raise ModelFileError("scales or sizes are needed, one for each axis")
        factors = [np.float32(v) for v in np.asarray(scales).reshape(-1)]
        wanted = [math.floor(x.shape[a] * float(f)) for a, f in zip(along, factors)]
    made = [
        _Axis(a, x.shape[a], w, f, (float(bounds[k]), float(bounds[k + len(along)])))
        for k, (a, w, f) in enumerate(zip(along, wanted, factors))
    ]
    return resized(
        x, made, mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, antialias,
        exclude_outside, extrapolation_value,
    )  # fmt: skip


def _upsampled(x: Any, scales: Any, mode: str) -> Any:
    """An array resized as before there were choices: from the first elements on, rounded down."""
    factors = [np.float32(v) for v in np.asarray(scales).reshape(-1)]
    if len(factors) != x.ndim:
        raise ModelFileError(f"{x.ndim} scales are needed, got {len(factors)}")
    made = [
        _Axis(d, n, math.floor(n * float(f)), f) for d, (n, f) in enumerate(zip(x.shape, factors))
    ]
    mode = "linear" if mode in ("linear", "bilinear") else "nearest"
    return resized(x, made, mode, "asymmetric", "simple")


@operator("Resize", since=10, until=10, needs=("scales",))
def first_resize(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    """An array resized by scales."""
    return _upsampled(x, scales, mode)


@operator("Upsample", since=9, needs=("scales",))
def upsample(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    """An array resized by scales."""
    return _upsampled(x, scales, mode)


@operator("Upsample", until=8)
def upsample_by_attribute(x: Any, *, mode: str = "nearest", scales: tuple[float, ...]) -> Any:
    """An array resized by scales."""
    return _upsampled(x, scales, mode)
