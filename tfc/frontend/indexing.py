"""Basic indexing of a Tensor: integers, slices with any step, None and Ellipsis."""

from operator import index
from typing import Any

import numpy as np

from tfc.errors import ShapeError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


@traceable
def getitem(x: ArrayLike, key: Any) -> Tensor:
    """x[key] by NumPy's basic indexing: slice, reverse what a negative step asks for, reshape.

    Raises:
        ShapeError: too many indices, or one that is out of bounds.
        UnsupportedError: an array, a list or a boolean as an index.
        TraceError: a scalar Tensor as an index, whose value is not known while tracing.
    """
    tensor = as_tensor(x)
    keys = _expand_ellipsis(key if isinstance(key, tuple) else (key,), tensor.ndim)
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
            f"indexing by {type(part).__name__} {list(_shape_of(part))} is not available: take "
            "slices and stack them, multiply by tfc.nn.one_hot, or choose with tfc.numpy.where"
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
        if isinstance(part, Tensor):
            raise
        raise ShapeError(f"an index must be an integer or a slice, got {part!r}") from error
    if not -size <= position < size:
        raise ShapeError(f"index {position} is out of bounds for axis {dimension} of size {size}")
    return position % size
