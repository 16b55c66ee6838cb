"""Arrays put together: in depth, as columns, in blocks, at the end of each other."""

from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import (
    at_least,
    atleast_3d,
    concatenate,
    ravel,
    require_arrays,
)
from tfc.frontend.promotion import as_tensor, promote
from tfc.frontend.python_numbers import Dims, sizes
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


@traceable
def dstack(tup: Sequence[ArrayLike], *, dtype: Any = None) -> Tensor:
    """The arrays behind each other along the third axis."""
    require_arrays("dstack", tup)
    return concatenate([atleast_3d(a) for a in tup], 2, dtype=dtype)


@traceable
def column_stack(tup: Sequence[ArrayLike]) -> Tensor:
    """The arrays beside each other, vectors as columns."""
    require_arrays("column_stack", tup)
    return concatenate([_as_columns(as_tensor(a)) for a in tup], 1)


def _as_columns(tensor: Tensor) -> Tensor:
    return tensor if tensor.ndim > 1 else ops.reshape(tensor, [tensor.size, 1])


@traceable
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tensor:
    """The values after the array along an axis; both flattened without one."""
    return concatenate([arr, values], axis)


@traceable
def block(arrays: Any) -> Tensor:
    """The array of nested lists of blocks: those innermost along the last axis, and so on outward.

    Raises:
        ShapeError: lists of different depths, or an empty one.
    """
    depth = _depth(arrays)
    rank = max([depth, *(as_tensor(leaf).ndim for leaf in _leaves(arrays))])
    tensors = iter(promote(*_leaves(arrays)))
    return _joined(arrays, depth, rank, tensors)


def _leaves(arrays: Any) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for part in arrays for leaf in _leaves(part)]


def _depth(arrays: Any) -> int:
    """How deep the lists are nested."""
    if isinstance(arrays, tuple):
        raise ShapeError("block requires lists of blocks, got a tuple")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in arrays}
    if len(depths) != 1:
        raise ShapeError("block requires lists that are not empty, and of the same depth")
    return 1 + depths.pop()


def _joined(arrays: Any, depth: int, rank: int, tensors: Any) -> Tensor:
    if not isinstance(arrays, list):
        return at_least(next(tensors), rank)
    parts = [_joined(part, depth - 1, rank, tensors) for part in arrays]
    return ops.concatenate(parts, rank - depth)


@traceable
def resize(a: ArrayLike, new_shape: Dims) -> Tensor:
    """The elements, row-major and repeated as often as needed, under other dimensions.

    Raises:
        ShapeError: a size below 0.
    """
    flat, dims = ravel(a), sizes(new_shape)
    if any(n < 0 for n in dims):
        raise ShapeError(f"resize requires sizes of 0 or more, got {dims}")
    wanted = 1
    for n in dims:
        wanted *= n
    if not flat.size or not wanted:
        return ops.full(0, dims, flat.array_shape.element_type)
    copies = -(-wanted // flat.size)
    spread = ops.reshape(ops.broadcast(flat, [copies, flat.size], [1]), [copies * flat.size])
    return ops.reshape(ops.slice_along(spread, 0, 0, wanted), dims)
