"""QR, eigenvalues and singular values, as in numpy.linalg."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.factors import EighResult, EigResult, QRResult, SVDResult
from tfc.frontend.linalg.factors import (
    eigen_of,
    eigenvalues_of,
    full_qr_of,
    full_svd_of,
    qr_of,
    reflections_of,
    singular_values_of,
    svd_of,
)
from tfc.frontend.linalg.matrices import (
    absolute,
    adjoint,
    as_matrices,
    as_square,
    column,
    diagonal_matrices,
    diagonals,
    is_,
    like,
    lower_triangle,
    product,
    real,
    row,
    swapped,
    take_columns,
    take_rows,
    upper_triangle,
    where,
)
from tfc.frontend.numpy.sorting import argsort
from tfc.frontend.operations import concatenate, reshape, slice_along
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.frontend.trace import refusal


@traceable
def qr(a: ArrayLike, /, mode: str = "reduced") -> Any:
    """(Q, R) with a = Q R: orthonormal columns, and an upper triangle.

    Args:
        mode: "reduced" for min(m, n) columns of Q, "complete" for all m, "r" for R alone, "raw"
            for the reflections as LAPACK has them, transposed, and their factors.

    Raises:
        ShapeError: a has fewer than two dimensions, or there is no such mode.
        TraceError: the floats are narrower than f32.
    """
    matrix = as_matrices("qr", a)
    rows, columns = matrix.shape[-2:]
    count = min(rows, columns)
    if mode == "raw":
        packed, taus = reflections_of(matrix)
        return swapped(packed), taus
    if mode == "complete" and rows > columns:
        return QRResult(*full_qr_of(matrix))
    if mode not in ("reduced", "complete", "r"):
        raise ShapeError(f"qr requires the mode reduced, complete, r or raw, got {mode!r}")
    axis = matrix.ndim - 1
    q, r = qr_of(slice_along(matrix, axis, 0, count))
    if columns > rows:
        rest = product(adjoint(q), slice_along(matrix, axis, count, columns))
        r = concatenate([r, rest], axis)
    return r if mode == "r" else QRResult(q, r)


def one_triangle(name: str, a: ArrayLike, UPLO: str) -> Tensor:
    """The matrices that are their own adjoints and have the triangle that is to be read."""
    matrix = as_square(name, a)
    if UPLO not in ("L", "U", "l", "u"):
        raise ShapeError(f"{name} requires the UPLO 'L' or 'U', got {UPLO!r}")
    lower = UPLO in "Ll"
    strict = lower_triangle(matrix, -1) if lower else upper_triangle(matrix, 1)
    middle = diagonal_matrices(like(real(diagonals(matrix)), matrix))
    return strict + adjoint(strict) + middle


@traceable
def eigh(a: ArrayLike, /, UPLO: str = "L") -> EighResult:
    """Eigenvalues, in ascending order, and eigenvectors of symmetric or Hermitian matrices.

    Eigenvectors of equal eigenvalues have no derivative: it is infinite or NaN.

    Args:
        UPLO: the triangle that is read, "L" for the lower one.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the floats are narrower than f32.
    """
    return EighResult(*eigen_of(one_triangle("eigh", a, UPLO)))


@traceable
def eigvalsh(a: ArrayLike, /, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Args:
        UPLO: the triangle that is read, "L" for the lower one.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the floats are narrower than f32.
    """
    return eigenvalues_of(one_triangle("eigvalsh", a, UPLO))


def _known(name: str, a: ArrayLike) -> np.ndarray:
    if isinstance(a, Tensor):
        raise refusal(
            f"{name} of general matrices is computed by NumPy and so needs their values, which are "
            "not known while tracing; use eigh or eigvalsh for symmetric ones, or call it outside "
            "of jit"
        )
    matrix = np.asarray(a)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ShapeError(f"{name} requires square matrices, got {list(matrix.shape)}")
    return matrix


@traceable
def eig(a: ArrayLike, /) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors of general matrices, by NumPy.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the matrices are traced.
    """
    return EigResult(*np.linalg.eig(_known("eig", a)))


@traceable
def eigvals(a: ArrayLike, /) -> Any:
    """The eigenvalues of general matrices, in no order, by NumPy.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the matrices are traced.
    """
    return np.linalg.eigvals(_known("eigvals", a))


@traceable
def svd(
    a: ArrayLike, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """(U, S, Vh) with a = U diag(S) Vh: orthonormal columns, and S in descending order.

    Args:
        full_matrices: give U and V as many columns as rows, not only as many as S has elements.
        compute_uv: False for S alone.
        hermitian: a is its own adjoint, of which the lower triangle is read.

    Raises:
        ShapeError: a has fewer than two dimensions.
        TraceError: the floats are narrower than f32.
    """
    if not compute_uv:
        return svdvals(one_triangle("svd", a, "L") if hermitian else a)
    if hermitian:
        return _svd_of_hermitian(one_triangle("svd", a, "L"))
    matrix = as_matrices("svd", a)
    if full_matrices and matrix.shape[-1] != matrix.shape[-2]:
        return SVDResult(*full_svd_of(matrix))
    return SVDResult(*svd_of(matrix))


def _svd_of_hermitian(matrix: Tensor) -> SVDResult:
    values, vectors = eigen_of(matrix)
    order = argsort(-absolute(values), axis=-1)
    values = reshape(take_rows(column(values), order), values.shape)
    vectors = take_columns(vectors, order)
    signs = like(where(is_("LT", values, 0), -1 + 0 * values, 1), vectors)
    return SVDResult(vectors, absolute(values), adjoint(vectors * row(signs)))


@traceable
def svdvals(a: ArrayLike, /) -> Tensor:
    """The singular values, in descending order.

    Raises:
        ShapeError: a has fewer than two dimensions.
        TraceError: the floats are narrower than f32.
    """
    return singular_values_of(as_matrices("svdvals", a))
