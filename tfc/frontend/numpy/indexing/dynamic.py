"""Windows of an array that begin where the program finds out: slices read and replaced, as in JAX.

Starts count from the end where they are negative, and are moved as far as the window needs to fit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.indexing.places import from_start
from tfc.frontend.numpy.manipulation import normalize_axis
from tfc.frontend.promotion import as_tensor, cast, shortened
from tfc.frontend.python_numbers import sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import S64


def _starts(given: Any, dims: Sequence[int], negative: bool) -> list[Tensor]:
    if isinstance(given, (Tensor, np.ndarray)):
        vector = as_tensor(given)
        given = [vector[k] for k in range(vector.shape[0])] if vector.ndim == 1 else [vector]
    if len(given) != len(dims):
        raise ShapeError(
            f"a dynamic slice of {list(dims)} requires {len(dims)} starts, got {len(given)}"
        )
    found = []
    for start, size in zip(given, dims):
        tensor = as_tensor(start)
        if tensor.ndim or not tensor.array_shape.element_type.is_integer:
            raise ShapeError(f"a start must be an integer, got {shortened(start)}")
        counted = from_start(tensor, size) if negative else tensor
        found.append(ops.convert(counted, S64))
    return found


@evaluable
def dynamic_slice(
    operand: ArrayLike,
    start_indices: Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool = True,
) -> Tensor:
    """The window of these sizes that begins at scalar starts, one for each dimension.

    Raises:
        ShapeError: the starts are no integers, or the sizes do not fit the array.
    """
    tensor = as_tensor(operand)
    starts = _starts(start_indices, tensor.shape, allow_negative_indices)
    return ops.dynamic_slice(tensor, starts, sizes(slice_sizes))


@evaluable
def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: Sequence[ArrayLike],
    *,
    allow_negative_indices: bool = True,
) -> Tensor:
    """The array with the window that begins at the starts replaced by `update`.

    Raises:
        ShapeError: the starts are no integers, or the update does not fit the array.
    """
    tensor = as_tensor(operand)
    starts = _starts(start_indices, tensor.shape, allow_negative_indices)
    return ops.dynamic_update_slice(tensor, cast(as_tensor(update), tensor.dtype), starts)


@evaluable
def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Tensor:
    """`slice_size` neighbours along an axis from a start on, and all of the other dimensions."""
    tensor = as_tensor(operand)
    axis = normalize_axis(axis, tensor.ndim)
    dims, count = list(tensor.shape), whole(slice_size, "the size of a slice")
    starts: list[ArrayLike] = [0] * tensor.ndim
    starts[axis], dims[axis] = start_index, count
    return dynamic_slice(tensor, starts, dims, allow_negative_indices=allow_negative_indices)


@evaluable
def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Tensor:
    """The array with neighbours along an axis replaced from a start on."""
    tensor = as_tensor(operand)
    starts: list[ArrayLike] = [0] * tensor.ndim
    starts[normalize_axis(axis, tensor.ndim)] = start_index
    return dynamic_update_slice(
        tensor, update, starts, allow_negative_indices=allow_negative_indices
    )


@evaluable
def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Tensor:
    """The elements at one index of an axis, whose dimension stays, of size one, if `keepdims`."""
    found = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    gone = normalize_axis(axis, found.ndim)
    return (
        found
        if keepdims
        else ops.reshape(found, [n for d, n in enumerate(found.shape) if d != gone])
    )


@evaluable
def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Tensor:
    """The array with the elements at one index of an axis replaced; they may lack that axis."""
    tensor, new = as_tensor(operand), as_tensor(update)
    axis = normalize_axis(axis, tensor.ndim)
    if new.ndim == tensor.ndim - 1:
        new = ops.reshape(new, [*new.shape[:axis], 1, *new.shape[axis:]])
    return dynamic_update_slice_in_dim(
        tensor, new, index, axis, allow_negative_indices=allow_negative_indices
    )
