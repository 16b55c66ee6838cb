"""Elements by their places: gathers, scatters, slices."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.onnx.table import operator
from tfc.importers.values import Text, whole_numbers


def wrapped(indices: Any, size: int) -> Any:
    """Indices, those below zero counted from the end."""
    if np.dtype(indices.dtype).kind == "u":
        return tnp.astype(indices, np.int64)
    return tnp.where(indices < 0, indices + size, indices)


@operator("Gather")
def gather(data: Any, indices: Any, *, axis: int = 0) -> Any:
    """The slices of an array at indices along an axis."""
    axis = axis % data.ndim
    if isinstance(data, np.ndarray) and data.dtype == object and data.ndim == 1:
        return Text(wrapped(indices, len(data)), tuple(data))
    if isinstance(indices, np.ndarray) and indices.ndim == 0:
        place = int(indices) % data.shape[axis]
        return data[(slice(None),) * axis + (place,)]
    return tnp.take(data, wrapped(indices, data.shape[axis]), axis, mode="clip")


@operator("GatherElements", since=11)
def gather_elements(data: Any, indices: Any, *, axis: int = 0) -> Any:
    """For each index, the element at that place along an axis."""
    axis = axis % data.ndim
    # Other axes may be longer in the array.
    inside = tuple(slice(0, n) if d != axis else slice(None) for d, n in enumerate(indices.shape))
    return tnp.take_along_axis(data[inside], wrapped(indices, data.shape[axis]), axis)


def _batched(count: int, shape: Any) -> list[Any]:
    """The places along the batch dimensions, to be given with others of a shape."""
    return [
        np.arange(shape[d]).reshape([-1 if e == d else 1 for e in range(len(shape))])
        for d in range(count)
    ]


@operator("GatherND", since=11)
def gather_nd(data: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """The slices at places that the last dimension of the indices names."""
    return data[_places(data, indices, batch_dims)]


def _places(data: Any, indices: Any, batch: int = 0) -> tuple[Any, ...]:
    """A key for the places that the last dimension of the indices names."""
    count, leading = indices.shape[-1], indices.shape[:-1]
    found = [wrapped(indices[..., k], data.shape[batch + k]) for k in range(count)]
    return (*_batched(batch, leading), *found)


_COMBINE = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}


def _scattered(data: Any, key: Any, updates: Any, reduction: str) -> Any:
    return getattr(tnp.at(data)[key], _COMBINE[reduction])(updates)


@operator("ScatterND", since=11)
def scatter_nd(data: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    """An array with other slices at the places that the indices name."""
    return _scattered(data, _places(data, indices), updates, reduction)


@operator("ScatterElements", since=11)
@operator("Scatter", since=9)
def scatter_elements(
    data: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none"
) -> Any:
    """An array with other elements at places along an axis."""
    axis = axis % data.ndim
    key = _batched(data.ndim, indices.shape)
    key[axis] = wrapped(indices, data.shape[axis])
    return _scattered(data, tuple(key), updates, reduction)


@operator("TensorScatter", since=24)
def tensor_scatter(
    past: Any, update: Any, write_indices: Any = None, *, axis: int = -2, mode: str = "linear"
) -> Any:
    """A cache with new elements along an axis, from a place of each example's own."""
    axis = axis % past.ndim
    count, size = update.shape[axis], past.shape[axis]
    start = np.zeros(past.shape[0], np.int64) if write_indices is None else write_indices
    places = tnp.reshape(start, (-1, 1)) + np.arange(count)
    if mode == "circular":
        places = places % size
    shape = [1] * past.ndim
    shape[0], shape[axis] = past.shape[0], count
    key = _batched(past.ndim, update.shape)
    key[axis] = tnp.reshape(places, tuple(shape))
    return _scattered(past, tuple(key), update, "none")


def _slices(data: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    """The elements between bounds along axes, as Python's slices take them."""
    key = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        size = data.shape[axis % data.ndim]
        # What lies before the first element is no place counted from the end.
        if start < 0:
            start = max(start + size, 0 if step > 0 else -1)
        end = end + size if end < 0 else end
        if step < 0:
            start = min(start, size - 1)
            if start < 0:
                key[axis] = slice(0, 0)
                continue
            key[axis] = slice(start, None if end < 0 else end, step)
        else:
            key[axis] = slice(start, max(end, 0), step)
    return data[tuple(key)]


@operator("Slice", since=10, needs=("starts", "ends", "axes", "steps"))
def slice_(data: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """The elements between bounds along axes."""
    first, last = whole_numbers(starts), whole_numbers(ends)
    along = list(range(len(first))) if axes is None else whole_numbers(axes)
    apart = [1] * len(first) if steps is None else whole_numbers(steps)
    return _slices(data, first, last, along, apart)


@operator("Slice", until=9)
def slice_by_attributes(
    data: Any, *, starts: tuple[int, ...], ends: tuple[int, ...], axes: Any = None
) -> Any:
    """The elements between bounds along axes."""
    along = range(len(starts)) if axes is None else axes
    return _slices(data, starts, ends, along, [1] * len(starts))


@operator("OneHot", since=9, needs=("depth",))
def one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    """The second of two values at each index along a new axis, the first elsewhere."""
    count = int(np.asarray(depth).reshape(-1)[0])
    places = tnp.where(indices < 0, indices + np.asarray(count, indices.dtype), indices)
    chosen = nn.one_hot(places, count, np.bool_, axis)
    return tnp.where(chosen, values[1], values[0])


@operator("Compress", since=9, needs=("condition",))
def compress(data: Any, condition: Any, *, axis: int | None = None) -> Any:
    """The slices along an axis for which a known condition holds."""
    places = np.flatnonzero(condition)
    if axis is None:
        data, axis = tnp.reshape(data, (-1,)), 0
    return tnp.take(data, places, axis)


@operator("NonZero", since=9, needs=("x",))
def nonzero(x: Any) -> Any:
    """The places of what is not zero in a known array."""
    return np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1)


@operator("Unique", since=11, needs=("x",))
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> Any:
    """The different elements of a known array: where they are first, of each its place, counts."""
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        place = np.argsort(order)
        values = np.take(values, order, 0 if axis is None else axis)
        first, inverse, counts = first[order], place[inverse], counts[order]
    return values, *(v.astype(np.int64) for v in (first, inverse, counts))


@operator("ReverseSequence", since=10)
def reverse_sequence(x: Any, sequence_lens: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    """Of each example, the first elements in the opposite order, as many as its length."""
    if {batch_axis, time_axis} != {0, 1}:
        raise UnsupportedError("batch and time must be the first two axes")
    return reversed_within(x, sequence_lens, time_axis)


def reversed_within(x: Any, lengths: Any, time_axis: int = 0) -> Any:
    """The first elements along an axis in the opposite order, as many as an example's length.

    Args:
        lengths: of the examples along the other one of the first two axes.
    """
    time = np.arange(x.shape[time_axis])
    lengths = tnp.astype(lengths, np.int64)
    if time_axis == 0:
        time, lengths = time[:, None], lengths[None]
    else:
        lengths = lengths[:, None]
    places = tnp.where(time < lengths, lengths - 1 - time, time)
    places = tnp.reshape(places, (*places.shape, *[1] * (x.ndim - 2)))
    return tnp.take_along_axis(x, tnp.broadcast_to(places, x.shape), time_axis)
