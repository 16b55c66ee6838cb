"""Indices made of shapes: grids, diagonals, triangles, and elements numbered in order.

What depends on shapes alone is an array of NumPy's, in traced functions too, so that a key made of
it is known.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import remainder
from tfc.frontend.numpy.indexing.known import are_known, numpy_if_known
from tfc.frontend.numpy.indexing.locating import nonzero, unraveled
from tfc.frontend.numpy.indexing.places import from_start
from tfc.frontend.numpy.manipulation import concatenate, stack
from tfc.frontend.operations import full_like, operation
from tfc.frontend.promotion import as_tensor, broadcast_together, expand, promote
from tfc.frontend.python_numbers import sizes, whole
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, traceable
from tfc.frontend.trace import current_trace
from tfc.hlo.shape import S64, element_type_of


@traceable
def indices(dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Any:
    """The index in each dimension of the elements of an array, along a new first dimension.

    Args:
        sparse: whether to give a tuple of arrays that broadcast together instead.
    """
    dims = sizes(dimensions)
    kind = element_type_of(np.dtype(dtype))
    vectors = [ops.iota(kind, (size,), 0) for size in dims]
    if sparse:
        return tuple(
            ops.reshape(v, [n if d == place else 1 for d, n in enumerate(dims)])
            for place, v in enumerate(vectors)
        )
    if not dims:
        return ops.full(0, (0,), kind)
    return stack([ops.broadcast(v, dims, [place]) for place, v in enumerate(vectors)])


@numpy_if_known(np.ix_)
def ix_(*args: ArrayLike) -> tuple[Tensor, ...]:
    """Vectors of indices in shapes that broadcast together to the grid they span.

    Raises:
        ShapeError: one is no vector, or a mask that is not known.
    """
    tensors = [as_tensor(a) for a in args]
    for tensor in tensors:
        if tensor.ndim != 1 or tensor.dtype == np.bool_:
            raise ShapeError(f"ix_ requires vectors of integers, got {tensor!r}")
    return tuple(
        ops.reshape(t, [t.size if d == place else 1 for d in range(len(tensors))])
        for place, t in enumerate(tensors)
    )


def diag_indices(n: int, ndim: int = 2) -> tuple[np.ndarray, ...]:
    """The indices of the main diagonal of an array of `ndim` dimensions of size n."""
    return np.diag_indices(whole(n, "a size"), whole(ndim, "the number of dimensions"))


def diag_indices_from(arr: ArrayLike) -> tuple[np.ndarray, ...]:
    """The indices of the main diagonal of an array whose dimensions are equal.

    Raises:
        ShapeError: they are not, or it has less than two.
    """
    dims = np.shape(arr) if are_known(arr) else arr.shape
    if len(dims) < 2 or len(set(dims)) > 1:
        raise ShapeError(f"diag_indices_from requires equal dimensions, got {list(dims)}")
    return np.diag_indices(dims[0], len(dims))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The indices on and below the k-th diagonal of an n x m array; m is n if left out."""
    return np.tril_indices(whole(n, "a size"), whole(k, "a diagonal"), m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The indices on and above the k-th diagonal of an n x m array; m is n if left out."""
    return np.triu_indices(whole(n, "a size"), whole(k, "a diagonal"), m)


def _matrix_dims(name: str, arr: ArrayLike) -> tuple[int, ...]:
    dims = np.shape(arr) if are_known(arr) else arr.shape
    if len(dims) != 2:
        raise ShapeError(f"{name} requires a matrix, got {list(dims)}")
    return dims


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The indices on and below the k-th diagonal of a matrix."""
    rows, columns = _matrix_dims("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The indices on and above the k-th diagonal of a matrix."""
    rows, columns = _matrix_dims("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def mask_indices(
    n: int, mask_func: Callable[[Any, Any], Any], k: Any = 0, *, size: int | None = None
) -> tuple[Any, ...]:
    """The indices of what a function like triu leaves of an n x n array of ones.

    Args:
        mask_func: (array, k) -> array.
        size: how many there are, needed where the function gives a Tensor.
    """
    return nonzero(mask_func(np.ones((n, n), int), k), size=size)


for _function in (diag_indices, diag_indices_from, tril_indices, triu_indices, tril_indices_from,
                  triu_indices_from, mask_indices):  # fmt: skip
    FUNCTIONS[_function.__name__] = _function


@numpy_if_known(np.unravel_index)
def unravel_index(indices: ArrayLike, shape: Sequence[int], order: str = "C") -> tuple[Tensor, ...]:
    """The index in each dimension of elements that are numbered in order.

    Numbers that are not known count from the end if they are negative; beyond the bounds the
    nearest is taken.

    Args:
        order: "C" for row-major, "F" for column-major.

    Raises:
        ShapeError: a number that is known is out of bounds, or the order is another.
    """
    dims, tensor = sizes(shape), as_tensor(indices)
    _require_order(order)
    if not tensor.array_shape.element_type.is_integer:
        raise ShapeError(f"an index must be an integer, got {tensor.dtype}")
    total = int(np.prod(dims, dtype=object))
    flat = ops.convert(from_start(tensor, total), S64)
    flat = operation("clamp", full_like(0, flat), flat, full_like(max(total - 1, 0), flat))
    found = unraveled(flat, dims if order == "C" else dims[::-1])
    return tuple(found if order == "C" else found[::-1])


def _require_order(order: str) -> None:
    if order not in ("C", "F"):
        raise ShapeError(f"the order of elements is 'C' or 'F', got {order!r}")


@numpy_if_known(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: Sequence[int], mode: Any = "raise", order: str = "C"
) -> Tensor:
    """The numbers in order of elements with these indices in each dimension, as int64.

    Args:
        mode: for indices beyond the bounds, one or one for each dimension: "wrap" counts around,
            "clip" takes the nearest; "raise" refuses those that are known and else does too.
        order: "C" for row-major, "F" for column-major.

    Raises:
        ShapeError: an index that is known is out of bounds, or the arguments do not fit.
    """
    shape = sizes(dims)
    _require_order(order)
    modes = mode if isinstance(mode, (tuple, list)) else [mode] * len(shape)
    if len(multi_index) != len(shape) or len(modes) != len(shape):
        raise ShapeError(f"ravel_multi_index requires indices for {len(shape)} dimensions")
    parts = broadcast_together(*(ops.convert(as_tensor(i), S64) for i in multi_index))
    total = full_like(0, parts[0])
    entries = list(zip(parts, shape, modes))
    for part, size, how in entries if order == "C" else entries[::-1]:
        if how not in ("raise", "wrap", "clip"):
            raise ShapeError(f"the mode is 'raise', 'wrap' or 'clip', got {how!r}")
        inside = (
            remainder(part, size)
            if how == "wrap"
            else operation("clamp", full_like(0, part), part, full_like(size - 1, part))
        )
        total = operation("add", operation("multiply", total, full_like(size, total)), inside)
    return total


class _Grid:
    """mgrid and ogrid: grid[a:b, c:d:5j] as NumPy has it."""

    def __init__(self, dense: bool):
        self.dense = dense

    def __getitem__(self, key: Any) -> Any:
        if not self.dense or current_trace() is None or not isinstance(key, tuple):
            return (np.mgrid if self.dense else np.ogrid)[key]
        parts = np.ogrid[key]  # the grid itself would be a large constant
        dims = [p.size for p in parts]
        return stack([expand(t, dims) for t in promote(*parts)])

    def __repr__(self) -> str:
        return "mgrid" if self.dense else "ogrid"


class _Joined:
    """r_ and c_: what stands in the brackets joined along the first or the last dimension."""

    def __init__(self, columns: bool):
        self.columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if are_known(*parts):
            return (np.c_ if self.columns else np.r_)[key]
        if any(isinstance(part, str) for part in parts):
            raise ShapeError(f"{self!r} with a directive takes known arrays only: use concatenate")
        tensors = [self._part(np.r_[p] if isinstance(p, slice) else p) for p in parts]
        return concatenate(tensors, -1 if self.columns else 0)

    def _part(self, part: ArrayLike) -> Tensor:
        tensor = as_tensor(part)
        if not self.columns:
            return ops.reshape(tensor, (1,)) if not tensor.ndim else tensor
        return ops.reshape(tensor, (tensor.size, 1)) if tensor.ndim < 2 else tensor

    def __repr__(self) -> str:
        return "c_" if self.columns else "r_"


mgrid, ogrid = _Grid(dense=True), _Grid(dense=False)
r_, c_ = _Joined(columns=False), _Joined(columns=True)
