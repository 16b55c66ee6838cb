"""Operators on matrices, or on each matrix of a batch: factorizations, solutions, diagonals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import linalg
from tfc import numpy as tnp
from tfc.graph.operators.registry import known, operator


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


@operator("MatrixExponential")
def exponential(input: Any) -> Any:
    """Exponentials of matrices."""
    return linalg.expm(input)


@operator("MatrixBandPart", types="T Tindex", known=(1, 2))
def band_part(input: Any, num_lower: Any, num_upper: Any) -> Any:
    """The elements near the diagonal, zeros elsewhere; a negative number keeps all on its side."""
    low, high = (int(known(n, "how wide a band is")) for n in (num_lower, num_upper))
    below = _below(*input.shape[-2:])
    keeps = below >= below  # all
    if low >= 0:
        keeps = keeps & (below <= np.int32(low))
    if high >= 0:
        keeps = keeps & (below >= np.int32(-high))
    return tnp.where(keeps, input, np.zeros((), input.dtype))


def _below(rows: int, columns: int) -> Any:
    """How far below the diagonal each place of a matrix is."""
    down, across = tnp.arange(rows, dtype=np.int32), tnp.arange(columns, dtype=np.int32)
    return tnp.expand_dims(down, 1) - across


@operator("MatrixDiag", "BatchMatrixDiag")
def matrix_of_diagonal(diagonal: Any) -> Any:
    """Matrices of these diagonals, zeros elsewhere."""
    size = diagonal.shape[-1]
    zero = np.zeros((), diagonal.dtype)
    return tnp.where(_below(size, size) == 0, tnp.expand_dims(diagonal, -1), zero)


@operator("MatrixDiagPart", "BatchMatrixDiagPart")
def diagonal_of_matrix(input: Any) -> Any:
    """The diagonals of matrices."""
    return tnp.diagonal(input, axis1=-2, axis2=-1)


@operator("MatrixSetDiag", "BatchMatrixSetDiag")
def set_diagonal(input: Any, diagonal: Any) -> Any:
    """The matrices with other diagonals."""
    rows, columns = input.shape[-2:]
    on = _below(rows, columns) == 0
    spread = tnp.expand_dims(diagonal, -1 if rows <= columns else -2)
    return tnp.where(on, tnp.broadcast_to(spread, input.shape), input)


@operator("Diag")
def diagonal_tensor(diagonal: Any) -> Any:
    """An array of twice the rank, with these elements where both halves of the place agree."""
    dims: Sequence[int] = diagonal.shape
    flat = tnp.reshape(diagonal, (-1,))
    return tnp.reshape(matrix_of_diagonal(flat), (*dims, *dims))


@operator("DiagPart")
def diagonal_part(input: Any) -> Any:
    """The elements where both halves of the place agree."""
    dims = input.shape[: input.ndim // 2]
    count = int(np.prod(dims))
    return tnp.reshape(tnp.diagonal(tnp.reshape(input, (count, count))), dims)
