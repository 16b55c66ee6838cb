"""What all of linear algebra shares: operands that are matrices, adjoints, rows and masks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.parts import is_complex, require_kind
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.precision import exact_precision
from tfc.frontend.promotion import as_inexact, as_tensor, cast, expand, result_type
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.shape import S64, ElementType


def as_matrices(name: str, a: ArrayLike) -> Tensor:
    """The operand of a factorization: matrices of f32, f64, c64 or c128; integers become f64.

    Raises:
        ShapeError: it has fewer than two dimensions.
        TraceError: its floats are narrower.
    """
    tensor = as_floats(name, a)
    if tensor.ndim < 2:
        raise ShapeError(f"{name} requires matrices, got {_shown(tensor)}")
    return tensor


def as_square(name: str, a: ArrayLike) -> Tensor:
    """The operand of a factorization of square matrices.

    Raises:
        ShapeError: they are not square.
        TraceError: its floats are narrower than f32.
    """
    tensor = as_matrices(name, a)
    if tensor.shape[-1] != tensor.shape[-2]:
        raise ShapeError(f"{name} requires square matrices, got {_shown(tensor)}")
    return tensor


def as_floats(name: str, a: ArrayLike) -> Tensor:
    """The operand as f32, f64, c64 or c128; integers and booleans become f64.

    Raises:
        TraceError: its floats are narrower.
    """
    tensor = as_inexact(a)
    element_type = tensor.array_shape.element_type
    if element_type.is_float and element_type.bits < 32:
        raise TraceError(
            f"{name} is not defined for {element_type}; convert the operand with astype(float32)"
        )
    return tensor


def meet_floats(name: str, *values: ArrayLike) -> list[Tensor]:
    """Operands as floats of one type.

    Raises:
        TraceError: the floats are narrower than f32.
    """
    tensors = [as_floats(name, v) for v in values]
    common = result_type(*tensors)
    return [cast(t, common) for t in tensors]


def _shown(tensor: Tensor) -> str:
    return tensor.array_shape.without_layout()


def require_numbers(name: str, tensor: Tensor) -> None:
    """Refuse booleans.

    Raises:
        TraceError: the Tensor is of booleans.
    """
    require_kind(name, tensor, ("signed", "unsigned", "float", "complex"))


def component(tensor: Tensor) -> ElementType:
    """The type of its real part."""
    return tensor.array_shape.element_type.component


def epsilon(tensor: Tensor) -> float:
    """The distance from 1 to the next number."""
    return float(tensor.array_shape.element_type.float_limits.eps)


def tiny(tensor: Tensor) -> float:
    """The smallest normal number."""
    return float(tensor.array_shape.element_type.float_limits.tiny)


def swapped(a: Tensor) -> Tensor:
    """The matrices transposed."""
    rank = a.ndim
    return ops.transpose(a, [*range(rank - 2), rank - 1, rank - 2])


def adjoint(a: Tensor) -> Tensor:
    """The matrices transposed and conjugated."""
    return swapped(conj(a))


def real(a: Tensor) -> Tensor:
    """The real part."""
    return operation("real", a) if is_complex(a) else a


def absolute(a: Tensor) -> Tensor:
    """The magnitude of each element."""
    return operation("abs", a)


def size_of_parts(a: Tensor) -> Tensor:
    """The magnitude, of complex numbers the sum of their parts', by which LAPACK chooses pivots."""
    if not is_complex(a):
        return absolute(a)
    return absolute(operation("real", a)) + absolute(operation("imag", a))


def squared(a: Tensor) -> Tensor:
    """The squared magnitude of each element."""
    if not is_complex(a):
        return a * a
    along, across = operation("real", a), operation("imag", a)
    return along * along + across * across


def like(a: Tensor, other: Tensor) -> Tensor:
    """The values as another Tensor's element type, which is the same or complex."""
    return ops.convert(a, other.array_shape.element_type)


def summed(a: Tensor, axis: int, keep: bool = False) -> Tensor:
    """The sum along one axis, which may be negative."""
    return ops.reduce_sum(a, [axis % a.ndim], keep)


def largest(a: Tensor, axes: Sequence[int], keep: bool = False) -> Tensor:
    """The largest of numbers that are not negative; 0 of none."""
    return ops.reduce(a, "maximum", 0, [axis % a.ndim for axis in axes], keep)


def is_any(a: Tensor) -> Tensor:
    """A scalar: whether any element is true."""
    return ops.reduce(a, "or", False, range(a.ndim))


def scale_of(a: Tensor) -> Tensor:
    """A factor for each matrix, with dimensions of size one, after which no square overflows.

    It is 1 for matrices of ordinary size, which are so computed as they are.
    """
    size = largest(size_of_parts(a), [-2, -1], keep=True)
    low = tiny(a) ** 0.25
    is_odd = operation("or", is_("LT", size, low), is_("GT", size, 1 / low))
    is_odd = both(is_odd, both(is_("GT", size, 0), is_("LT", size, np.inf)))
    return 1 / where(is_odd, size, 1)


def row(a: Tensor) -> Tensor:
    """Vectors as matrices of one row."""
    return ops.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))


def column(a: Tensor) -> Tensor:
    """Vectors as matrices of one column."""
    return ops.reshape(a, (*a.shape, 1))


def numbers(size: int, rank: int, axis: int) -> Tensor:
    """0 … size - 1 along one axis, the others of size one, to broadcast."""
    dims = [1] * rank
    dims[axis] = size
    return ops.reshape(ops.iota(S64, (size,), 0), dims)


def where(pred: Tensor, on_true: Any, on_false: Any) -> Tensor:
    """select with broadcasting, of which one side may be a number."""
    typed = on_true if isinstance(on_true, Tensor) else on_false
    sides = [v if isinstance(v, Tensor) else full_like(v, typed) for v in (on_true, on_false)]
    dims = np.broadcast_shapes(pred.shape, *(s.shape for s in sides))
    return select(*(expand(t, dims) for t in (pred, *sides)))


def is_(direction: str, x: Tensor, y: Any) -> Tensor:
    """compare with broadcasting, with a number on the right if need be."""
    other = y if isinstance(y, Tensor) else full_like(y, x)
    other = cast(other, x.dtype)
    dims = np.broadcast_shapes(x.shape, other.shape)
    return compare(direction, expand(x, dims), expand(other, dims))


def both(x: Tensor, y: Tensor) -> Tensor:
    """The logical and, with broadcasting."""
    dims = np.broadcast_shapes(x.shape, y.shape)
    return operation("and", expand(x, dims), expand(y, dims))


def along(a: Tensor, axis: int, start: Any, size: int) -> Tensor:
    """The elements from `start`, a scalar that may be traced, along one axis."""
    starts = [ops.constant(0, S64)] * a.ndim
    starts[axis % a.ndim] = cast(as_tensor(start), np.int64)
    sizes = list(a.shape)
    sizes[axis % a.ndim] = size
    return ops.dynamic_slice(a, starts, sizes)


def placed(a: Tensor, update: Tensor, axis: int, start: Any) -> Tensor:
    """`a` with the elements from `start` along one axis replaced."""
    starts = [ops.constant(0, S64)] * a.ndim
    starts[axis % a.ndim] = cast(as_tensor(start), np.int64)
    return ops.dynamic_update_slice(a, update, starts)


def filled(a: Tensor, rows: int, columns: int) -> Tensor:
    """The matrices with zeros below and to the right, up to a size."""
    padding = [(0, 0, 0)] * (a.ndim - 2)
    padding += [(0, rows - a.shape[-2], 0), (0, columns - a.shape[-1], 0)]
    return ops.pad(a, ops.constant(0, a.array_shape.element_type), padding)


def corner(a: Tensor, rows: int, columns: int) -> Tensor:
    """The first rows and columns."""
    return ops.slice_along(ops.slice_along(a, a.ndim - 2, 0, rows), a.ndim - 1, 0, columns)


def take_rows(a: Tensor, places: Tensor) -> Tensor:
    """The rows a[..., places[..., i], :], for each matrix its own."""
    if not a.size:
        return ops.full(0, (*places.shape, a.shape[-1]), a.array_shape.element_type)
    batch = tuple(range(a.ndim - 2))
    return operation(
        "gather", a, cast(places, np.int64), offset_dims=(a.ndim - 1,),
        collapsed_slice_dims=(a.ndim - 2,), start_index_map=(a.ndim - 2,),
        operand_batching_dims=batch, start_indices_batching_dims=batch,
        index_vector_dim=places.ndim, slice_sizes=(*[1] * (a.ndim - 1), a.shape[-1]),
    )  # fmt: skip


def take_columns(a: Tensor, places: Tensor) -> Tensor:
    """The columns a[..., :, places[..., i]], for each matrix its own."""
    return swapped(take_rows(swapped(a), places))


def product(*factors: Tensor) -> Tensor:
    """The matrix product of stacks of equal dimensions, from the left; exact, as a step is.

    What is solved or factored by steps would keep the errors of each (jax.numpy.linalg likewise).
    """
    found = factors[0]
    for factor in factors[1:]:
        batch = range(found.ndim - 2)
        found = ops.dot(
            found, factor, ((found.ndim - 1,), (factor.ndim - 2,)), (batch, batch),
            precision=exact_precision(),
        )  # fmt: skip
    return found


def identities(
    a: Tensor, rows: int, columns: int | None = None, batch: Sequence[int] | None = None
) -> Tensor:
    """Identity matrices of the type of `a`, and of its batch dimensions unless others are given."""
    columns = rows if columns is None else columns
    ones = is_("EQ", numbers(rows, 2, 0), numbers(columns, 2, 1))
    batch = a.shape[:-2] if batch is None else batch
    return expand(ops.convert(ones, a.array_shape.element_type), (*batch, rows, columns))


def diagonals(a: Tensor) -> Tensor:
    """The diagonals of the matrices, as vectors."""
    count = min(a.shape[-2:])
    square = corner(a, count, count)
    rank = square.ndim
    on = is_("EQ", numbers(count, rank, rank - 2), numbers(count, rank, rank - 1))
    return summed(where(on, square, 0), -2)


def diagonal_matrices(v: Tensor) -> Tensor:
    """Matrices with vectors on their diagonals, zeros elsewhere."""
    count, rank = v.shape[-1], v.ndim + 1
    on = is_("EQ", numbers(count, rank, rank - 2), numbers(count, rank, rank - 1))
    return where(on, row(v), 0)


def lower_triangle(a: Tensor, offset: int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""
    rank = a.ndim
    rows, columns = (numbers(a.shape[d], rank, d) for d in (rank - 2, rank - 1))
    return where(is_("LE", columns, rows + offset), a, 0)


def upper_triangle(a: Tensor, offset: int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""
    rank = a.ndim
    rows, columns = (numbers(a.shape[d], rank, d) for d in (rank - 2, rank - 1))
    return where(is_("GE", columns, rows + offset), a, 0)


def solve_with_triangle(
    a: Tensor, b: Tensor, lower: bool, unit: bool = False, transpose: str = "NO_TRANSPOSE"
) -> Tensor:
    """The x with a x = b, for stacks of equal dimensions."""
    return operation(
        "triangular-solve", a, b, left_side=True, lower=lower, unit_diagonal=unit,
        transpose_a=transpose,
    )  # fmt: skip
