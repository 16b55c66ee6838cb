"""Functions of the NumPy namespace that make arrays: constants, ranges, masks, diagonals."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import normalize_axes, ravel
from tfc.frontend.numpy.namespace import require_device
from tfc.frontend.promotion import as_tensor, cast, dtype_of, expand
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, alias, traceable
from tfc.hlo.shape import PRED, S64, element_type_of


@traceable
def full(shape: Dims, fill_value: ArrayLike, dtype: Any = None, *, device: Any = None) -> Tensor:
    """An array with the same value everywhere, of the value's dtype unless one is given."""
    require_device(device)
    value = as_tensor(fill_value)
    return expand(cast(value, value.dtype if dtype is None else dtype), sizes(shape))


def _constant_array(value: int, shape: Dims, dtype: Any, device: Any) -> Tensor:
    require_device(device)
    return ops.full(value, sizes(shape), element_type_of(np.float64 if dtype is None else dtype))


@alias("empty")
def zeros(shape: Dims, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Zeros; float64 unless a dtype is given."""
    return _constant_array(0, shape, dtype, device)


@traceable
def ones(shape: Dims, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Ones; float64 unless a dtype is given."""
    return _constant_array(1, shape, dtype, device)


@alias("empty_like")
def zeros_like(
    a: ArrayLike, dtype: Any = None, shape: Dims | None = None, *, device: Any = None
) -> Tensor:
    """Zeros of an array's shape and dtype, or of those given."""
    return full_like(a, 0, dtype, shape, device=device)


@traceable
def ones_like(
    a: ArrayLike, dtype: Any = None, shape: Dims | None = None, *, device: Any = None
) -> Tensor:
    """Ones of an array's shape and dtype, or of those given."""
    return full_like(a, 1, dtype, shape, device=device)


@traceable
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: Any = None,
    shape: Dims | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """An array of another's shape and dtype, or of those given, with the same value everywhere."""
    if shape is None:
        shape = tuple(a.shape if isinstance(a, Tensor) else np.shape(a))
    return full(shape, fill_value, dtype_of(a) if dtype is None else dtype, device=device)


@traceable
def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> Tensor:
    """start, start + step, start + 2 step … below stop; 0 … start - 1 for one argument.

    The bounds are Python numbers: the number of elements is part of the shape.
    """
    require_device(device)
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


def _offsets(dims: Sequence[int]) -> Tensor:
    """Column minus row of each element of the last two dimensions, as s64."""
    rank = len(dims)
    return ops.iota(S64, dims, rank - 1) - ops.iota(S64, dims, rank - 2)


@traceable
def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    require_device(device)
    return _band("EQ", N, M, k, dtype)


def _band(direction: str, rows: int, columns: int | None, k: int, dtype: Any) -> Tensor:
    """Ones where column minus row compares with k, zeros elsewhere."""
    offsets = _offsets(sizes([rows, rows if columns is None else columns]))
    band = ops.compare(direction, offsets, ops.full_like(whole(k, "a diagonal"), offsets))
    return cast(band, np.float64 if dtype is None else dtype)


@traceable
def identity(n: int, dtype: Any = None) -> Tensor:
    """The n x n identity matrix."""
    return eye(n, dtype=dtype)


@traceable
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on and below the k-th diagonal, zeros above."""
    return _band("LE", N, M, k, dtype)


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
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements (i, i + offset) of two dimensions, as the last dimension of the result.

    Raises:
        ShapeError: there are less than two dimensions, or both axes are the same.
    """
    tensor, offset = as_tensor(a), whole(offset, "the offset of a diagonal")
    if tensor.ndim < 2:
        raise ShapeError(f"diagonal requires two dimensions or more, got {list(tensor.shape)}")
    pair = normalize_axes((axis1, axis2), tensor.ndim)
    kept = [d for d in range(tensor.ndim) if d not in pair]
    tensor = ops.transpose(tensor, [*kept, *pair])
    rows, columns = tensor.shape[-2:]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    top, left = min(max(-offset, 0), rows), min(max(offset, 0), columns)
    bounds = [(0, n, 1) for n in tensor.shape[:-2]]
    square = ops.slice_(tensor, [*bounds, (top, top + count, 1), (left, left + count, 1)])
    return ops.reduce_sum(_masked_diagonal(square), [tensor.ndim - 2])


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


@traceable
def diagflat(v: ArrayLike, k: int = 0) -> Tensor:
    """The matrix with all elements of an array on its k-th diagonal."""
    return diag(ravel(v), k)


@traceable
def fromfunction(
    function: Callable[..., Any], shape: Dims, *, dtype: Any = None, **named: Any
) -> Any:
    """What a function gives of the coordinates of an array: one array of each dimension's."""
    dims, kind = sizes(shape), element_type_of(np.float64 if dtype is None else dtype)
    return function(*(ops.iota(kind, dims, d) for d in range(len(dims))), **named)
