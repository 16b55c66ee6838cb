"""Arrays taken apart: into pieces along an axis, or all of its slices."""

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import Axes, normalize_axis, split
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


@traceable
def array_split(ary: ArrayLike, indices_or_sections: Axes, axis: int = 0) -> list[Tensor]:
    """The pieces between given positions along an axis, or a number of nearly equal ones.

    Raises:
        ShapeError: a number of pieces below 1.
    """
    if np.ndim(indices_or_sections):
        return split(ary, indices_or_sections, axis)
    tensor, count = as_tensor(ary), whole(indices_or_sections, "the number of pieces")
    if count < 1:
        raise ShapeError(f"array_split requires one piece or more, got {count}")
    size = tensor.shape[normalize_axis(axis, tensor.ndim)]
    least, longer = divmod(size, count)
    sizes = [least + 1] * longer + [least] * (count - longer)
    return split(tensor, np.cumsum(sizes)[:-1].tolist(), axis)


def _split_along(name: str, ary: ArrayLike, pieces: Axes, axis: int, least: int) -> list[Tensor]:
    tensor = as_tensor(ary)
    if tensor.ndim < least:
        raise ShapeError(f"{name} requires {least} dimensions or more, got {list(tensor.shape)}")
    return split(tensor, pieces, axis)


@traceable
def hsplit(ary: ArrayLike, indices_or_sections: Axes) -> list[Tensor]:
    """The pieces along the second axis, of a vector along its only one."""
    tensor = as_tensor(ary)
    return _split_along("hsplit", tensor, indices_or_sections, 1 if tensor.ndim > 1 else 0, 1)


@traceable
def vsplit(ary: ArrayLike, indices_or_sections: Axes) -> list[Tensor]:
    """The pieces along the first axis."""
    return _split_along("vsplit", ary, indices_or_sections, 0, 2)


@traceable
def dsplit(ary: ArrayLike, indices_or_sections: Axes) -> list[Tensor]:
    """The pieces along the third axis."""
    return _split_along("dsplit", ary, indices_or_sections, 2, 3)


@traceable
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it.

    Raises:
        ShapeError: a scalar.
    """
    tensor = as_tensor(x)
    if not tensor.ndim:
        raise ShapeError("unstack requires an array of one dimension or more, got a scalar")
    axis = normalize_axis(axis, tensor.ndim)
    dims = [n for d, n in enumerate(tensor.shape) if d != axis]
    slices = (ops.slice_along(tensor, axis, n, n + 1) for n in range(tensor.shape[axis]))
    return tuple(ops.reshape(part, dims) for part in slices)
