"""Operators that take elements by their places: slices and gathers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.frontend.operations as ops
from tfc import numpy as tnp
from tfc.errors import OutOfBoundsError, ShapeError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import (
    Attributes,
    Spec,
    UnknownValueError,
    axis_of,
    is_known,
    known,
    known_numbers,
    operator,
)
from tfc.graph.types.dtypes import int64
from tfc.graph.types.shapes import TensorShape


@operator("Slice", types="T Index", known=(2,), hints=(1,))
def slice_(input: Any, begin: Any, size: Any) -> Any:
    """A part of an array, from where it begins, of a size; -1 is up to the end."""
    sizes = known_numbers(size, "the size of a slice")
    if len(sizes) != input.ndim:
        raise ShapeError(f"a slice of shape {tuple(input.shape)} needs {input.ndim} sizes")
    if not is_known(begin):
        if -1 in sizes:
            raise UnknownValueError("a slice up to the end must begin at a place that is known")
        starts = [tnp.astype(begin[n], np.dtype(np.int32)) for n in range(input.ndim)]
        return ops.dynamic_slice(tnp.asarray(input), starts, sizes)
    starts = known_numbers(begin, "where a slice begins")
    ends = [d if n < 0 else b + n for b, n, d in zip(starts, sizes, input.shape)]
    if any(b < 0 or e > d or b > e for b, e, d in zip(starts, ends, input.shape)):
        raise ShapeError(
            f"a slice from {list(starts)} of size {list(sizes)} is not within shape "
            f"{tuple(input.shape)}"
        )
    return input[tuple(slice(b, e) for b, e in zip(starts, ends))]


def indexed(array: Any, key: tuple[Any, ...]) -> Any:
    """array[key], where either may be known and the other not."""
    plain = (int, slice, type(Ellipsis), type(None), np.ndarray, np.generic)
    return (array if all(isinstance(k, plain) for k in key) else tnp.asarray(array))[key]


def _bit(mask: int, place: int) -> bool:
    return bool(int(mask) >> place & 1)


@operator("StridedSlice", types="T Index", hints=(1, 2, 3))
def strided_slice(
    input: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """What x[begin:end:stride, …] is: a bit of a mask says what the number at its place means."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    return indexed(input, strided_key(begin, end, strides, masks))


@operator("TensorStridedSliceUpdate", types="T Index Index Index T", hints=(1, 2, 3))
def put_into_strided_slice(
    input: Any,
    begin: Any,
    end: Any,
    strides: Any,
    value: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """The array with other elements where StridedSlice would take them."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    return tnp.at(input)[strided_key(begin, end, strides, masks)].set(value)


def _of_stated_shape(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[4].dtype, partial_shape(inputs[0]))]


@operator(
    "StridedSliceGrad",
    types="Index Index Index Index T",
    known=(0,),
    hints=(1, 2, 3),
    infer=_of_stated_shape,
)
def strided_slice_gradient(
    shape: Any,
    begin: Any,
    end: Any,
    strides: Any,
    dy: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """Zeros, with the gradient where StridedSlice took the elements."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    zeros = tnp.zeros(known_numbers(shape, "the shape of the gradient of a slice"), dy.dtype)
    return tnp.at(zeros)[strided_key(begin, end, strides, masks)].set(dy)


def strided_key(begin: Any, end: Any, strides: Any, masks: Sequence[int]) -> tuple[Any, ...]:
    """What stands in the brackets of x[begin:end:stride, …].

    Args:
        masks: where begin and end are left out, of ellipses, new axes, and axes that go.
    """
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    key: list[Any] = []
    for n in range(begin.shape[0]):
        if _bit(ellipsis_mask, n):
            key.append(Ellipsis)
        elif _bit(new_axis_mask, n):
            key.append(None)
        elif _bit(shrink_axis_mask, n):
            key.append(int(begin[n]) if is_known(begin) else begin[n])
        else:
            first = None if _bit(begin_mask, n) else _bound(begin, n)
            last = None if _bit(end_mask, n) else _bound(end, n)
            key.append(slice(first, last, _bound(strides, n)))
    return tuple(key)


def _bound(values: Any, place: int) -> int:
    return int(known(values, "the bounds of a slice")[place])


def check_indices(indices: Any, size: int, what: str) -> None:
    """Check indices that are known against a dimension; others are clamped to it when run.

    Raises:
        OutOfBoundsError: one is outside of it.
    """
    if is_known(indices) and np.size(indices):
        low, high = np.min(indices), np.max(indices)
        if low < 0 or high >= size:
            wrong = low if low < 0 else high
            raise OutOfBoundsError(f"{what}: index {wrong} is not in [0, {size})")


@operator("GatherV2", types="Tparams Tindices Taxis", known=(2,))
def gather(params: Any, indices: Any, axis: Any, batch_dims: int = 0) -> Any:
    """The slices along an axis that indices name."""
    along = axis_of(axis, params.ndim, "gather")
    check_indices(indices, params.shape[along], "gather")
    if not batch_dims:
        return tnp.take(params, indices, axis=along, mode="clip")
    batch = batch_dims % indices.ndim
    rest = indices.shape[batch:]
    lead = params.shape[:batch]
    count = int(np.prod(lead))
    flat = tnp.reshape(params, (count, *params.shape[batch:]))
    places = tnp.reshape(indices, (count, -1))
    x = tnp.moveaxis(flat, along - batch + 1, 1)
    where = tnp.reshape(places, places.shape + (1,) * (x.ndim - 2))
    shape = (*places.shape, *x.shape[2:])
    taken = tnp.take_along_axis(x, tnp.broadcast_to(where, shape), axis=1)
    taken = tnp.moveaxis(taken, 1, along - batch + 1)
    dims = [*lead, *params.shape[batch:along], *rest, *params.shape[along + 1 :]]
    return tnp.reshape(taken, dims)


@operator("Gather", types="Tparams Tindices")
def gather_rows(params: Any, indices: Any) -> Any:
    """The slices along the first axis that indices name."""
    check_indices(indices, params.shape[0], "gather")
    return tnp.take(params, indices, axis=0, mode="clip")


@operator("GatherNd", types="Tparams Tindices")
def gather_nd(params: Any, indices: Any) -> Any:
    """The elements, or slices, that rows of indices name."""
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise ShapeError(f"rows of {depth} indices do not fit an array of rank {params.ndim}")
    parts = [indices[..., n] for n in range(depth)]
    for n, part in enumerate(parts):
        check_indices(part, params.shape[n], "gather_nd")
    if not parts:
        return tnp.broadcast_to(params, (*indices.shape[:-1], *params.shape))
    limits = [np.asarray(size - 1, indices.dtype) for size in params.shape]
    zero = np.asarray(0, indices.dtype)
    places = tuple(tnp.minimum(tnp.maximum(p, zero), m) for p, m in zip(parts, limits))
    return indexed(params, places)


@operator("OneHot", types="TI - T", known=(1,))
def one_hot(indices: Any, depth: Any, on_value: Any, off_value: Any, axis: int = -1) -> Any:
    """One value at the place that each index names, another one elsewhere."""
    count = int(known(depth, "the depth of one_hot"))
    along = axis % (indices.ndim + 1)
    places = np.arange(count, dtype=indices.dtype)
    places = places.reshape([-1 if n == along else 1 for n in range(indices.ndim + 1)])
    return tnp.where(tnp.expand_dims(indices, along) == places, on_value, off_value)


def updated(array: Any, places: Any, values: Any, method: str) -> Any:
    """An array in which values are put, added … at places: `array.at[places].method(values)`."""

    def put(whole: Any, where: Any, given: Any) -> Any:
        return getattr(as_tensor(whole).at[where], method)(given)

    return evaluable(put)(array, places, values)


def _found(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(int64, TensorShape([None, inputs[0].shape.ndims]))]


@operator("Where", on_host=True, infer=_found)
def where(condition: Any) -> Any:
    """The places of the elements that are true, a row of indices each."""
    return np.argwhere(known(condition, "where elements are true")).astype(np.int64)
