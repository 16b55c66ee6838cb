"""Indexing of a Tensor: integers, scalar Tensors, slices with any step, None and Ellipsis."""

from operator import index
from typing import Any

import numpy as np

from tfc.errors import ShapeError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import normalize_axis
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64


@traceable
def getitem(x: ArrayLike, key: Any) -> Tensor:
    """x[key] by NumPy's basic indexing: slice, reverse what a negative step asks for, reshape.

    A scalar integer Tensor counts from the end if it is negative; beyond the bounds, which cannot
    be checked while tracing, it takes the nearest element.

    Raises:
        ShapeError: too many indices, or one that is out of bounds.
        UnsupportedError: an array, a list or a boolean as an index.
    """
    tensor = as_tensor(x)
    keys = _expand_ellipsis(key if isinstance(key, tuple) else (key,), tensor.ndim)
    tensor, keys = _take_tensors(tensor, keys)
    bounds: list[tuple[int, int, int]] = []
    reversed_dimensions: list[int] = []
    dims: list[int] = []
    for part in keys:
        if part is None:
            dims.append(1)
            continue
        dimension = len(bounds)
        size = tensor.shape[dimension]
        if isinstance(part, slice):
            bound, backwards = _bounds(part, size)
            dims.append(-(-(bound[1] - bound[0]) // bound[2]))
            if backwards:
                reversed_dimensions.append(dimension)
        else:
            position = _position(part, dimension, size)
            bound = (position, position + 1, 1)
        bounds.append(bound)
    sliced = ops.reverse(ops.slice_(tensor, bounds), reversed_dimensions)
    return ops.reshape(sliced, dims)


@traceable
def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Tensor:
    """The elements of `a` at integer indices along an axis; of the flattened array without one.

    Negative indices count from the end. Beyond the bounds, which cannot be checked while tracing,
    the nearest element is taken, where NumPy raises an error.

    Raises:
        ShapeError: the indices are no integers, or the axis does not exist or is empty.
    """
    tensor, places = as_tensor(a), as_tensor(indices)
    if axis is None:
        tensor, axis = ops.reshape(tensor, (tensor.size,)), 0
    axis = normalize_axis(axis, tensor.ndim)
    size = tensor.shape[axis]
    if not places.array_shape.element_type.is_integer:
        raise ShapeError(f"an index must be an integer, got {places.array_shape.element_type}")
    if not size:
        raise ShapeError("a dimension of size 0 has no element to index")
    inner = range(axis + places.ndim, tensor.ndim - 1 + places.ndim)
    return ops.operation(
        "gather",
        tensor,
        _counted_from_start(places, size),
        offset_dims=(*range(axis), *inner),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        index_vector_dim=places.ndim,
        slice_sizes=tuple(1 if d == axis else n for d, n in enumerate(tensor.shape)),
    )


def _take_tensors(tensor: Tensor, keys: list[Any]) -> tuple[Tensor, list[Any]]:
    """Slice the dimensions that Tensors index to size one, and index them with 0 instead."""
    used = [k for k in keys if k is not None]
    if not any(isinstance(k, Tensor) for k in used):
        return tensor, keys
    starts, sizes = [], []
    for part, size in zip(used, tensor.shape):
        is_tensor = isinstance(part, Tensor)
        if is_tensor and not part.array_shape.element_type.is_integer:
            raise ShapeError(f"an index must be an integer, got {part.array_shape.element_type}")
        if is_tensor and not size:
            raise ShapeError("a dimension of size 0 has no element to index")
        starts.append(_counted_from_start(part, size) if is_tensor else ops.constant(0, S64))
        sizes.append(1 if is_tensor else size)
    keys = [0 if isinstance(k, Tensor) else k for k in keys]
    return ops.dynamic_slice(tensor, starts, sizes), keys


def _counted_from_start(position: Tensor, size: int) -> Tensor:
    """The index with negative ones counted from the end, wide enough for any size."""
    wide = ops.convert(position, S64)
    negative = ops.compare("LT", wide, ops.full_like(0, wide))
    return ops.select(negative, ops.operation("add", wide, ops.full_like(size, wide)), wide)


def _expand_ellipsis(keys: tuple[Any, ...], rank: int) -> list[Any]:
    """The indices with full slices for an Ellipsis and for the dimensions left out."""
    for part in keys:
        _refuse_arrays(part)
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > rank:
        raise ShapeError(f"{used} indices are too many for an array of {rank} dimensions")
    places = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(places) > 1:
        raise ShapeError("an index can have one Ellipsis, got several")
    at = places[0] if places else len(keys)
    return [*keys[:at], *[slice(None)] * (rank - used), *keys[at + 1 :]]


def _refuse_arrays(part: Any) -> None:
    is_array = isinstance(part, (list, np.ndarray, Tensor)) and len(_shape_of(part)) > 0
    if is_array or isinstance(part, (bool, np.bool_)):
        raise UnsupportedError(
            f"indexing by {type(part).__name__} {list(_shape_of(part))} is not available: use "
            "tfc.numpy.take along an axis, or choose with tfc.numpy.where"
        )


def _shape_of(part: Any) -> tuple[int, ...]:
    return part.shape if isinstance(part, Tensor) else np.shape(part)


def _bounds(part: slice, size: int) -> tuple[tuple[int, int, int], bool]:
    """The HLO slice (start, limit, stride) with a positive stride, and whether to reverse it."""
    start, stop, step = part.indices(size)
    count = len(range(start, stop, step))
    if not count:
        return (0, 0, 1), False
    if step > 0:
        return (start, start + (count - 1) * step + 1, step), False
    return (start + (count - 1) * step, start + 1, -step), True


def _position(part: Any, dimension: int, size: int) -> int:
    try:
        position = index(part)
    except TypeError as error:
        raise ShapeError(f"an index must be an integer or a slice, got {part!r}") from error
    if not -size <= position < size:
        raise ShapeError(f"index {position} is out of bounds for axis {dimension} of size {size}")
    return position % size
