"""Operators on matrices, or on each matrix of a batch: factorizations, solutions."""

from typing import Any

import numpy as np

from tfc import linalg
from tfc import numpy as tnp
from tfc.errors import UnsupportedError
from tfc.graph.operators.registry import operator
from tfc.graph.types.dtypes import as_dtype


def adjoint(x: Any) -> Any:
    """The matrices transposed and conjugate."""
    return tnp.conj(tnp.swapaxes(x, -1, -2))


@operator("MatrixInverse")
def inverse(input: Any, adjoint: bool = False) -> Any:
    """Inverses of matrices, or of their adjoints."""
    return linalg.inv(_turned(input, adjoint))


def _turned(x: Any, flip: bool) -> Any:
    return adjoint(x) if flip else x


@operator("MatrixDeterminant")
def determinant(input: Any) -> Any:
    """Determinants of matrices."""
    return linalg.det(input)


@operator("LogMatrixDeterminant")
def log_determinant(input: Any) -> Any:
    """(signs, logarithms of absolute values) of determinants."""
    sign, logarithm = linalg.slogdet(input)
    return sign, tnp.astype(logarithm, input.dtype)


@operator("Cholesky")
def cholesky(input: Any) -> Any:
    """Lower triangular matrices whose products with their adjoints these are."""
    return linalg.cholesky(input)


@operator("MatrixSolve")
def solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """X with matrix @ X = rhs."""
    return linalg.solve(_turned(matrix, adjoint), rhs)


@operator("MatrixTriangularSolve")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """X with matrix @ X = rhs, of the lower or upper triangle of the matrix."""
    turned = _turned(matrix, adjoint)
    return linalg.solve_triangular(turned, rhs, lower=bool(lower) != bool(adjoint))


@operator("Qr")
def qr(input: Any, full_matrices: bool = False) -> Any:
    """(orthogonal, upper triangular) factors."""
    return tuple(linalg.qr(input, mode="complete" if full_matrices else "reduced"))


@operator("Lu")
def lu(input: Any, output_idx_type: Any = np.int32) -> Any:
    """(both triangles in one matrix, whose order of rows the product has) of matrices."""
    packed, _ = linalg.lu_factor(input)
    moved, _, _ = linalg.lu(input)
    order = tnp.argmax(tnp.abs(moved), axis=-2)
    return packed, tnp.astype(order, as_dtype(output_idx_type).dtype)


@operator("SelfAdjointEigV2")
def self_adjoint_eigen(input: Any, compute_v: bool = True) -> Any:
    """(eigenvalues from the least, eigenvectors) of matrices that are their own adjoints."""
    values, vectors = linalg.eigh(input)
    return tnp.astype(values, input.dtype), vectors if compute_v else tnp.zeros(0, input.dtype)


@operator("Svd")
def svd(input: Any, compute_uv: bool = True, full_matrices: bool = False) -> Any:
    """(singular values from the largest, left vectors, right vectors)."""
    if not compute_uv:
        values = linalg.svd(input, compute_uv=False)
        none = tnp.zeros(0, input.dtype)
        return tnp.astype(values, input.dtype), none, none
    left, values, right = linalg.svd(input, full_matrices=bool(full_matrices))
    return tnp.astype(values, input.dtype), left, adjoint(right)


@operator("XlaSelfAdjointEig")
def self_adjoint_eigen_of_half(
    a: Any, *, lower: bool, max_iter: int = 0, epsilon: float = 0.0
) -> Any:
    """(eigenvalues from the least, eigenvectors) of the matrices that triangles stand for."""
    values, vectors = linalg.eigh(a, UPLO="L" if lower else "U")
    return tnp.astype(values, a.dtype), vectors


@operator("XlaSvd")
def whole_svd(a: Any, *, max_iter: int = 0, epsilon: float = 0.0) -> Any:
    """(singular values from the largest, left vectors, right vectors), both square."""
    return svd(a, full_matrices=True)


@operator("MatrixExponential")
def exponential(input: Any) -> Any:
    """Exponentials of matrices."""
    return linalg.expm(input)


@operator("TridiagonalMatMul")
def tridiagonal_product(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Any:
    """Products of matrices that have three diagonals, each as long as a column, with others."""
    zeros = [(0, 0)] * (rhs.ndim - 2)
    above = tnp.pad(rhs[..., 1:, :], [*zeros, (0, 1), (0, 0)])
    below = tnp.pad(rhs[..., :-1, :], [*zeros, (1, 0), (0, 0)])
    over, main, under = (tnp.swapaxes(x, -1, -2) for x in (superdiag, maindiag, subdiag))
    return over * above + main * rhs + under * below


@operator("TridiagonalSolve")
def tridiagonal_solve(
    diagonals: Any, rhs: Any, partial_pivoting: bool = True, perturb_singular: bool = False
) -> Any:
    """X with matrix @ X = rhs, of matrices whose three diagonals are rows, the upper one first."""
    if perturb_singular:
        raise UnsupportedError(
            "TridiagonalSolve of singular matrices (perturb_singular) is not offered"
        )
    size = diagonals.shape[-1]
    down, across = np.arange(size)[:, None], np.arange(size)[None, :]
    matrix = tnp.zeros((), diagonals.dtype)
    for place, shift in enumerate((1, 0, -1)):
        # Of each row its own elements: the last above the diagonal and the first below are padding.
        column = tnp.expand_dims(diagonals[..., place, :], -1)
        matrix = tnp.where(across - down == shift, column, matrix)
    return linalg.solve(matrix, rhs)
