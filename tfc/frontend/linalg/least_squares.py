"""Pseudo-inverses, least squares, ranks and condition numbers, by singular values."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.factors import LstsqResult
from tfc.frontend.linalg.factors import singular_values_of
from tfc.frontend.linalg.matrices import (
    absolute,
    as_matrices,
    as_square,
    column,
    epsilon,
    is_,
    meet_floats,
    product,
    squared,
    summed,
    where,
)
from tfc.frontend.linalg.norms import norm
from tfc.frontend.linalg.solutions import (
    pseudo_inverse,
    pseudo_inverse_of_hermitian,
    threshold,
)
from tfc.frontend.linalg.spectral import eigvalsh, one_triangle
from tfc.frontend.linalg.systems import inv
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.reductions import any, count_nonzero
from tfc.frontend.operations import convert, full, full_like, operation, reshape, slice_along
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S32, S64


def _default(matrix: Tensor, relative: Any) -> Any:
    return max(matrix.shape[-2:]) * epsilon(matrix) if relative is None else relative


@traceable
def matrix_rank(
    A: ArrayLike, tol: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> Tensor:
    """How many singular values exceed `tol`, or `rtol` times the largest; int64.

    Args:
        tol, rtol: a number for each matrix; max(m, n) epsilons for rtol if neither is given.
        hermitian: A is its own adjoint, of which the lower triangle is read.

    Raises:
        ShapeError: both are given.
        TraceError: the floats are narrower than f32.
    """
    if tol is not None and rtol is not None:
        raise ShapeError("matrix_rank takes tol or rtol, got both")
    if as_tensor(A).ndim < 2:
        return convert(any(as_tensor(A)), S64)
    matrix = as_matrices("matrix_rank", A)
    lengths = absolute(eigvalsh(matrix)) if hermitian else singular_values_of(matrix)
    if tol is None:
        bound = threshold(lengths, _default(matrix, rtol))
    else:
        bound = column(expand(cast(as_tensor(tol), lengths.dtype), lengths.shape[:-1]))
    return count_nonzero(is_("GT", lengths, bound), -1)


@traceable
def pinv(a: ArrayLike, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverses, without singular values below `rtol` (or `rcond`) times the largest.

    Args:
        rcond, rtol: a number for each matrix; 1e-15 if neither is given.
        hermitian: a is its own adjoint, of which the lower triangle is read.

    Raises:
        ShapeError: both are given, or a has fewer than two dimensions.
        TraceError: the floats are narrower than f32.
    """
    if rcond is not None and rtol is not None:
        raise ShapeError("pinv takes rcond or rtol, got both")
    matrix = as_matrices("pinv", a)
    given = rcond if rcond is not None else rtol
    relative = as_tensor(1e-15 if given is None else given)
    if hermitian:
        return pseudo_inverse_of_hermitian(one_triangle("pinv", matrix, "L"), relative)
    return pseudo_inverse(matrix, relative)


@traceable
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> LstsqResult:
    """(x, residuals, rank, s): the x of least length that makes |a x - b|² least.

    The residuals are the sums |a x - b|² for each column of b. There are none unless a has more
    rows than columns. Their number cannot depend on values, so a matrix of lower rank has them
    too, where NumPy gives none.

    Args:
        a: a matrix.
        b: a vector or a matrix.
        rcond: singular values below this part of the largest count as zero; max(m, n) epsilons
            if left out, none if it is negative.

    Raises:
        ShapeError: a is no matrix, or b does not fit.
        TraceError: the floats are narrower than f32.
    """
    matrix, right = meet_floats("lstsq", as_matrices("lstsq", a), b)
    if matrix.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != matrix.shape[0]:
        raise ShapeError(
            "lstsq requires a matrix and a right-hand side with as many rows, got "
            f"{list(matrix.shape)} and {list(right.shape)}"
        )
    rows, columns = matrix.shape
    targets = column(right) if right.ndim == 1 else right
    relative = -1.0 if rcond is not None and rcond < 0 else _default(matrix, rcond)
    s = singular_values_of(matrix)
    found = product(pseudo_inverse(matrix, as_tensor(relative)), targets)
    residuals = full(0, (0,), s.array_shape.element_type)
    if rows > columns:
        residuals = summed(squared(product(matrix, found) - targets), 0)
    rank = convert(count_nonzero(is_("GT", s, threshold(s, relative))), S32)
    x = reshape(found, (columns,)) if right.ndim == 1 else found
    return LstsqResult(x, residuals, rank, s)


@traceable
def cond(x: ArrayLike, p: Any = None) -> Tensor:
    """The condition numbers: norm(x, p) * norm(inv(x), p), of singular matrices inf.

    Args:
        p: a norm as in `norm`; None and 2 for the largest singular value over the smallest, -2 for
            its inverse.

    Raises:
        ShapeError: the matrices are not square, unless p is None, 2 or -2; or there are none.
        TraceError: the floats are narrower than f32.
    """
    matrix = as_matrices("cond", x)
    if not matrix.size:
        raise ShapeError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        lengths = singular_values_of(matrix)
        axis, last = lengths.ndim - 1, lengths.shape[-1]
        first = reshape(slice_along(lengths, axis, 0, 1), lengths.shape[:-1])
        final = reshape(slice_along(lengths, axis, last - 1, last), lengths.shape[:-1])
        found = final / first if p == -2 else first / final
    else:
        square = as_square("cond", matrix)
        found = norm(square, p, (-2, -1)) * norm(inv(square), p, (-2, -1))
    # Infinity for singular matrices, NaN where the matrix itself has one.
    has_nan = any(is_nan(matrix), (-2, -1))
    is_odd = operation("and", is_nan(found), operation("not", has_nan))
    return where(is_odd, full_like(np.inf, found), found)
