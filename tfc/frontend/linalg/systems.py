"""Systems of equations, inverses and determinants, by LU factorization."""

from collections.abc import Sequence
from math import prod

from tfc.errors import ShapeError
from tfc.frontend.factors import SlogdetResult
from tfc.frontend.linalg import pivoting
from tfc.frontend.linalg.factors import lu_of
from tfc.frontend.linalg.matrices import (
    as_matrices,
    as_square,
    column,
    corner,
    identities,
    lower_triangle,
    meet_floats,
    product,
    solve_with_triangle,
    swapped,
    take_rows,
    upper_triangle,
)
from tfc.frontend.linalg.solutions import determinant, sign_and_logarithm, solve_square
from tfc.frontend.numpy.manipulation import moveaxis, normalize_axes
from tfc.frontend.operations import convert, reshape
from tfc.frontend.promotion import as_tensor, broadcast_shapes, expand
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable, traceable
from tfc.hlo.shape import S32


@traceable
def solve(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """The x with a x = b; a singular matrix gives infinities or NaN, where NumPy raises an error.

    Args:
        b: a vector if it has one dimension, else matrices; batch dimensions broadcast.

    Raises:
        ShapeError: the matrices are not square, or b does not fit.
        TraceError: the floats are narrower than f32.
    """
    matrix, right = meet_floats("solve", as_square("solve", a), b)
    is_vector = right.ndim == 1
    right = column(right) if is_vector else right
    if right.ndim < 2 or right.shape[-2] != matrix.shape[-1]:
        raise ShapeError(
            f"solve requires {matrix.shape[-1]} rows on the right of {list(matrix.shape)}, got "
            f"{list(as_tensor(b).shape)}"
        )
    batch = broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix, right = (expand(t, (*batch, *t.shape[-2:])) for t in (matrix, right))
    found = solve_square(matrix, right)
    return reshape(found, found.shape[:-1]) if is_vector else found


@traceable
def inv(a: ArrayLike, /) -> Tensor:
    """The inverse matrices; of singular ones infinities or NaN, where NumPy raises an error.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the floats are narrower than f32.
    """
    matrix = as_square("inv", a)
    return solve_square(matrix, identities(matrix, matrix.shape[-1]))


@traceable
def det(a: ArrayLike, /) -> Tensor:
    """The determinants.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the floats are narrower than f32.
    """
    return determinant(as_square("det", a))


@traceable
def slogdet(a: ArrayLike, /) -> SlogdetResult:
    """(sign, logabsdet): the determinants are sign * exp(logabsdet); of singular ones 0 and -inf.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the floats are narrower than f32.
    """
    return SlogdetResult(*sign_and_logarithm(as_square("slogdet", a)))


@evaluable
def lu(a: ArrayLike, permute_l: bool = False) -> tuple[Tensor, ...]:
    """(p, l, u) with a = p l u: a permutation, a lower triangle with ones, an upper triangle.

    Args:
        permute_l: give (p l, u) instead.

    Raises:
        ShapeError: a has fewer than two dimensions.
        TraceError: the floats are narrower than f32.
    """
    matrix = as_matrices("lu", a)
    packed, order, _ = lu_of(matrix)
    rows, columns = matrix.shape[-2:]
    count = min(rows, columns)
    lower = lower_triangle(corner(packed, rows, count), -1) + identities(matrix, rows, count)
    upper = upper_triangle(corner(packed, count, columns))
    if permute_l:
        return take_rows(lower, pivoting.inverse_order(order)), upper
    return swapped(pivoting.permutation_matrices(order, matrix)), lower, upper


@evaluable
def lu_factor(a: ArrayLike) -> tuple[Tensor, Tensor]:
    """(lu, pivots), for `lu_solve`: both triangles in one matrix; the ones of l are left out.

    Step k swapped the rows k and pivots[k].

    Raises:
        ShapeError: a has fewer than two dimensions.
        TraceError: the floats are narrower than f32.
    """
    packed, _, pivots = lu_of(as_matrices("lu_factor", a))
    return packed, convert(pivots, S32)


@evaluable
def lu_solve(lu_and_pivots: tuple[ArrayLike, ArrayLike], b: ArrayLike, trans: int = 0) -> Tensor:
    """The x with a x = b, from what `lu_factor` gave for a.

    Args:
        trans: 1 for the transpose of a, 2 for its adjoint.

    Raises:
        ShapeError: b or `trans` does not fit.
    """
    if trans not in (0, 1, 2):
        raise ShapeError(f"lu_solve requires trans 0, 1 or 2, got {trans!r}")
    packed, right = meet_floats("lu_solve", as_square("lu_solve", lu_and_pivots[0]), b)
    is_vector = right.ndim == packed.ndim - 1
    right = column(right) if is_vector else right
    batch = broadcast_shapes(packed.shape[:-2], right.shape[:-2])
    packed, right = (expand(t, (*batch, *t.shape[-2:])) for t in (packed, right))
    order = pivoting.order_of_pivots(as_tensor(lu_and_pivots[1]), packed.shape[-1])
    order = expand(order, packed.shape[:-1])
    if not trans:
        first = solve_with_triangle(packed, take_rows(right, order), lower=True, unit=True)
        found = solve_with_triangle(packed, first, lower=False)
    else:
        turn = "TRANSPOSE" if trans == 1 else "ADJOINT"
        first = solve_with_triangle(packed, right, lower=False, transpose=turn)
        last = solve_with_triangle(packed, first, lower=True, unit=True, transpose=turn)
        found = take_rows(last, pivoting.inverse_order(order))
    return reshape(found, found.shape[:-1]) if is_vector else found


@traceable
def matrix_power(a: ArrayLike, n: int, /) -> Tensor:
    """The n-th power of square matrices, of integers too; a negative one is of the inverse.

    Raises:
        ShapeError: the matrices are not square, or n is no integer.
    """
    matrix = as_tensor(a)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ShapeError(f"matrix_power requires square matrices, got {list(matrix.shape)}")
    exponent = whole(n, "the exponent of matrix_power")
    if exponent < 0:
        matrix, exponent = inv(matrix), -exponent
    found, power = None, matrix
    while exponent:
        if exponent % 2:
            found = power if found is None else product(found, power)
        exponent //= 2
        power = product(power, power) if exponent else power
    return identities(matrix, matrix.shape[-1]) if found is None else found


@traceable
def tensorinv(a: ArrayLike, ind: int = 2) -> Tensor:
    """The inverse of a as a linear map from its last dimensions to its first `ind` ones.

    Raises:
        ShapeError: `ind` is not positive, or the two sides differ in size.
    """
    tensor = as_tensor(a)
    if whole(ind, "the ind of tensorinv") <= 0:
        raise ShapeError(f"tensorinv requires an ind of 1 or more, got {ind}")
    first, last = tensor.shape[:ind], tensor.shape[ind:]
    if prod(first) != prod(last):
        raise ShapeError(f"tensorinv requires as many rows as columns, got {list(tensor.shape)}")
    found = inv(reshape(tensor, (prod(first), prod(last))))
    return reshape(found, (*last, *first))


@traceable
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Tensor:
    """The x with tensordot(a, x, x.ndim) = b.

    Args:
        axes: axes of a to move to its end first.

    Raises:
        ShapeError: a is not square as a map from its last dimensions to those of b.
    """
    tensor, right = meet_floats("tensorsolve", a, b)
    if axes is not None:
        places = normalize_axes(tuple(axes), tensor.ndim)
        count = len(places)
        tensor = moveaxis(tensor, places, tuple(range(tensor.ndim - count, tensor.ndim)))
    last = tensor.shape[right.ndim :]
    if prod(last) != right.size or tensor.size != right.size**2:
        raise ShapeError(
            "tensorsolve requires as many unknowns as equations, got "
            f"{list(tensor.shape)} and {list(right.shape)}"
        )
    found = solve(reshape(tensor, (right.size, right.size)), reshape(right, (right.size,)))
    return reshape(found, last)
