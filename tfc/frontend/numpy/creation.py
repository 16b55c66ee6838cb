"""Functions of the NumPy namespace that make arrays: constants, ranges, masks, diagonals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import as_tensor, cast, dtype_of, expand, promote
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, alias, is_weak, traceable
from tfc.hlo.shape import PRED, S64, element_type_of


@traceable
def full(shape: Dims, fill_value: ArrayLike, dtype: Any = None) -> Tensor:
    """An array with the same value everywhere, of the value's dtype unless one is given."""
    value = as_tensor(fill_value)
    return expand(cast(value, value.dtype if dtype is None else dtype), sizes(shape))


@traceable
def zeros(shape: Dims, dtype: Any = np.float64) -> Tensor:
    """Zeros; float64 unless a dtype is given."""
    return ops.full(0, sizes(shape), element_type_of(dtype))


@traceable
def ones(shape: Dims, dtype: Any = np.float64) -> Tensor:
    """Ones; float64 unless a dtype is given."""
    return ops.full(1, sizes(shape), element_type_of(dtype))


@alias("empty_like")
def zeros_like(a: ArrayLike, dtype: Any = None) -> Tensor:
    """Zeros of an array's shape and dtype."""
    return full_like(a, 0, dtype)


@traceable
def ones_like(a: ArrayLike, dtype: Any = None) -> Tensor:
    """Ones of an array's shape and dtype."""
    return full_like(a, 1, dtype)


@traceable
def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: Any = None) -> Tensor:
    """An array of another's shape and dtype with the same value everywhere."""
    shape = a.shape if isinstance(a, Tensor) else np.shape(a)
    return full(tuple(shape), fill_value, dtype_of(a) if dtype is None else dtype)


@traceable
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """start, start + step, start + 2 step … below stop; 0 … start - 1 for one argument.

    The bounds are Python numbers: the number of elements is part of the shape.
    """
    if stop is None:
        start, stop = 0, start
    for bound in (start, stop, step):
        if isinstance(bound, Tensor):
            whole(bound, "a bound of arange")  # refuses, with the reason
    if dtype is not None and element_type_of(dtype) == PRED:
        raise TraceError("arange is not defined for booleans; use arange(...).astype(bool)")
    try:
        values = np.arange(start, stop, step, dtype=dtype)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise ShapeError(f"arange from {start} to {stop} by {step}: {error}") from error
    element_type = element_type_of(values.dtype)
    if not element_type.is_integer:
        return ops.constant(values)
    if not values.size:
        return ops.full(0, [0], element_type)
    count = ops.iota(element_type, [values.size], 0)
    spacing = int(step)
    scaled = count if spacing == 1 else count * ops.full_like(spacing, count)
    return scaled if values[0] == 0 else scaled + ops.full_like(values[0], count)


@traceable
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: Any = None
) -> Tensor:
    """`num` evenly spaced scalars from start to stop, which is the last one if `endpoint`."""
    num = whole(num, "the number of points")
    if num < 0:
        raise ShapeError(f"linspace requires a number of points of 0 or more, got {num}")
    if not any(isinstance(bound, Tensor) for bound in (start, stop)):
        return ops.constant(np.linspace(start, stop, num, endpoint, dtype=dtype))
    first, last = promote(start, stop, 1.0 if is_weak(start) and is_weak(stop) else stop)[:2]
    kind = first.array_shape.element_type
    steps = ops.iota(kind, [num], 0)
    divisor = ops.full_like(max(num - 1 if endpoint else num, 1), steps)
    spaced = expand(first, [num]) + steps * expand(last - first, [num]) / divisor
    if endpoint and num > 1:
        spaced = ops.select(
            ops.compare("EQ", steps, ops.full_like(num - 1, steps)), expand(last, [num]), spaced
        )
    return cast(spaced, spaced.dtype if dtype is None else dtype)


def _offsets(dims: Sequence[int]) -> Tensor:
    """Column minus row of each element of the last two dimensions, as s64."""
    rank = len(dims)
    return ops.iota(S64, dims, rank - 1) - ops.iota(S64, dims, rank - 2)


@traceable
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = np.float64) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    offsets = _offsets(sizes([N, N if M is None else M]))
    return cast(ops.compare("EQ", offsets, ops.full_like(k, offsets)), dtype)


@traceable
def identity(n: int, dtype: Any = np.float64) -> Tensor:
    """The n x n identity matrix."""
    return eye(n, dtype=dtype)


@traceable
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = np.float64) -> Tensor:
    """Ones on and below the k-th diagonal, zeros above."""
    offsets = _offsets(sizes([N, N if M is None else M]))
    return cast(ops.compare("LE", offsets, ops.full_like(k, offsets)), dtype)


def _masked(m: ArrayLike, direction: str, k: int) -> Tensor:
    tensor = as_tensor(m)
    if tensor.ndim < 2:
        raise ShapeError(f"a triangle needs 2 dimensions or more, got {list(tensor.shape)}")
    offsets = _offsets(tensor.shape)
    kept = ops.compare(direction, offsets, ops.full_like(k, offsets))
    return ops.select(kept, tensor, ops.full_like(0, tensor))


@traceable
def tril(m: ArrayLike, k: int = 0) -> Tensor:
    """The elements on and below the k-th diagonal of the last two dimensions, zeros above."""
    return _masked(m, "LE", k)


@traceable
def triu(m: ArrayLike, k: int = 0) -> Tensor:
    """The elements on and above the k-th diagonal of the last two dimensions, zeros below."""
    return _masked(m, "GE", k)


@traceable
def diagonal(a: ArrayLike, offset: int = 0) -> Tensor:
    """The elements (i, i + offset) of a matrix.

    Raises:
        ShapeError: it has another number of dimensions.
    """
    tensor = as_tensor(a)
    if tensor.ndim != 2:
        raise ShapeError(f"diagonal requires a matrix, got {list(tensor.shape)}")
    rows, columns = tensor.shape
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    top, left = min(max(-offset, 0), rows), min(max(offset, 0), columns)
    square = ops.slice_(tensor, [(top, top + count, 1), (left, left + count, 1)])
    return ops.reduce_sum(_masked_diagonal(square), [0])


def _masked_diagonal(square: Tensor) -> Tensor:
    offsets = _offsets(square.shape)
    kept = ops.compare("EQ", offsets, ops.full_like(0, offsets))
    return ops.select(kept, square, ops.full_like(0, square))


@traceable
def diag(v: ArrayLike, k: int = 0) -> Tensor:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal."""
    tensor = as_tensor(v)
    if tensor.ndim != 1:
        return diagonal(tensor, k)
    n = tensor.size
    square = ops.broadcast(tensor, [n, n], [1])
    low, high = max(-k, 0), max(k, 0)
    padding = [(low, high, 0), (high, low, 0)]
    return ops.pad(
        _masked_diagonal(square), ops.full(0, [], square.array_shape.element_type), padding
    )
