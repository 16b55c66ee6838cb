"""Products of vectors and matrices beyond matmul, and the matrices that are made of others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.linalg.matrices import diagonals, require_numbers
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.indexing.taking import take
from tfc.frontend.numpy.manipulation import concatenate, moveaxis
from tfc.frontend.numpy.products import matmul
from tfc.frontend.numpy.products import outer as outer_product
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.promotion import as_tensor, broadcast_together, promote
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable, numpys, traceable
from tfc.hlo.shape import F64


def _matrices(name: str, x: ArrayLike) -> Tensor:
    tensor = as_tensor(x)
    if tensor.ndim < 2:
        raise ShapeError(f"{name} requires matrices, got {list(tensor.shape)}")
    return tensor


@numpys("linalg.diagonal")
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Tensor:
    """The elements (i, i + offset) of the matrices in the last two dimensions.

    Raises:
        ShapeError: there are fewer than two dimensions.
    """
    tensor = _matrices("diagonal", x)
    rows, columns = tensor.shape[-2:]
    shift = whole(offset, "the offset of a diagonal")
    top, left = min(max(-shift, 0), rows), min(max(shift, 0), columns)
    below = ops.slice_along(tensor, tensor.ndim - 2, top, rows)
    return diagonals(ops.slice_along(below, tensor.ndim - 1, left, columns))


@numpys("linalg.trace")
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of the matrices in the last two dimensions.

    Raises:
        ShapeError: there are fewer than two dimensions.
    """
    return sum(diagonal(x, offset=offset), -1, dtype=dtype)


@numpys("linalg.outer")
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """The product of each element of a vector with each of another.

    Raises:
        ShapeError: an operand is no vector.
    """
    shapes = [as_tensor(x).shape for x in (x1, x2)]
    if any(len(s) != 1 for s in shapes):
        raise ShapeError(f"outer requires vectors, got {list(shapes[0])} and {list(shapes[1])}")
    return outer_product(x1, x2)


@numpys("linalg.cross")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements; other dimensions broadcast.

    Raises:
        ShapeError: the axis has another size.
    """
    left, right = (moveaxis(t, axis, -1) for t in broadcast_together(*promote(x1, x2)))
    require_numbers("cross", left)
    if left.shape[-1] != 3:
        raise ShapeError(f"cross requires vectors of three elements, got {left.shape[-1]}")
    return moveaxis(_cross(left, right), -1, axis)


def _cross(left: Tensor, right: Tensor) -> Tensor:
    return _turned(left, 1) * _turned(right, 2) - _turned(left, 2) * _turned(right, 1)


def _turned(x: Tensor, by: int) -> Tensor:
    """The last dimension's elements, moved on cyclically."""
    axis, size = x.ndim - 1, x.shape[-1]
    parts = ops.slice_along(x, axis, by, size), ops.slice_along(x, axis, 0, by)
    return ops.concatenate(parts, axis)


@traceable
def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None) -> Tensor:
    """The product of two or more matrices in the cheapest order; the ends may be vectors.

    Args:
        precision: of the products, as `matmul` takes it.

    Raises:
        ShapeError: there are fewer than two, one in the middle is no matrix, or sizes differ.
    """
    tensors = promote(*arrays) if len(arrays) else []
    if len(tensors) < 2:
        raise ShapeError(f"multi_dot requires two arrays or more, got {len(tensors)}")
    ends = tensors[0].ndim, tensors[-1].ndim
    if ends[0] not in (1, 2) or ends[1] not in (1, 2) or any(t.ndim != 2 for t in tensors[1:-1]):
        shapes = ", ".join(str(list(t.shape)) for t in tensors)
        raise ShapeError(f"multi_dot requires matrices, or vectors at the ends, got {shapes}")
    if ends[0] == 1:
        tensors[0] = ops.reshape(tensors[0], (1, tensors[0].size))
    if ends[1] == 1:
        tensors[-1] = ops.reshape(tensors[-1], (tensors[-1].size, 1))
    splits = _cheapest([t.shape[0] for t in tensors] + [tensors[-1].shape[1]])
    found = _chained(tensors, splits, 0, len(tensors) - 1, precision)
    dims = [n for n, rank in zip(found.shape, ends) if rank == 2]
    return ops.reshape(found, dims)


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split the factors i … j, for each i < j; sizes has one more element than factors."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(options)
    return split


def _chained(
    factors: list[Tensor], split: dict[tuple[int, int], int], i: int, j: int, precision: Any
) -> Tensor:
    if i == j:
        return factors[i]
    k = split[i, j]
    ends = (i, k), (k + 1, j)
    left, right = (_chained(factors, split, *part, precision) for part in ends)
    return matmul(left, right, precision=precision)


@evaluable
def block_diag(*arrays: ArrayLike) -> Tensor:
    """The matrix with the given ones along its diagonal, zeros elsewhere; vectors are rows.

    Raises:
        ShapeError: one has more than two dimensions.
    """
    tensors = promote(*arrays) if arrays else [ops.full(0, (1, 0), F64)]
    if any(t.ndim > 2 for t in tensors):
        raise ShapeError("block_diag requires arrays of two dimensions at most")
    blocks = [ops.reshape(t, ([1] * (2 - t.ndim)) + list(t.shape)) for t in tensors]
    width, left, lines = int(np.sum([b.shape[1] for b in blocks])), 0, []
    for block in blocks:
        zero = ops.constant(0, block.array_shape.element_type)
        right = width - left - block.shape[1]
        lines.append(ops.pad(block, zero, [(0, 0, 0), (left, right, 0)]))
        left += block.shape[1]
    return concatenate(lines, 0)


@evaluable
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Tensor:
    """The matrix with the first column c and the first row r, the same along each diagonal.

    Args:
        r: its first element is not read; the conjugate of c if left out.

    Raises:
        ShapeError: an operand is no vector.
    """
    first, line = promote(c, conj(c) if r is None else r)
    if first.ndim != 1 or line.ndim != 1:
        raise ShapeError("toeplitz requires vectors")
    rows, columns = first.size, line.size
    # r[n] … r[1] c[0] … c[m], of which row i is the window that ends at c[i], backwards.
    before = ops.reverse(ops.slice_along(line, 0, min(1, columns), columns), [0])
    values = concatenate([before, first])
    return take(values, np.arange(rows)[:, None] - np.arange(columns) + max(columns - 1, 0))
