"""Functions on matrices: factorizations, solutions, diagonals, norms; Fourier transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import abs as absolute
from tfc.graph.functions.reductions import either, reduce_max, reduce_sum
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor


def _of_one(type: str, what: str) -> Callable[..., Tensor]:
    def function(input: Any, name: str | None = None) -> Tensor:
        return result(type, input, name=name)

    function.__name__ = type.lower()
    function.__doc__ = what
    return function


cholesky = _of_one("Cholesky", "Lower triangular factors of matrices.")
matrix_determinant = _of_one("MatrixDeterminant", "Determinants of matrices.")
matrix_diag = _of_one("MatrixDiag", "Matrices of these diagonals.")
matrix_diag_part = _of_one("MatrixDiagPart", "The diagonals of matrices.")
diag = _of_one("Diag", "A tensor of twice the rank, with these elements on its diagonal.")
diag_part = _of_one("DiagPart", "The diagonal of a tensor whose shape is one twice.")
expm = _of_one("MatrixExponential", "Exponentials of matrices.")
fft, ifft = (_of_one(t, "A Fourier transform of the last dimension.") for t in ("FFT", "IFFT"))
fft2d, ifft2d = (_of_one(t, "One of the last two dimensions.") for t in ("FFT2D", "IFFT2D"))
fft3d, ifft3d = (_of_one(t, "One of the last three dimensions.") for t in ("FFT3D", "IFFT3D"))


def _real_transform(type: str, rank: int, inverse: bool) -> Callable[..., Tensor]:
    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        x = convert_to_tensor(input_tensor, name="input")
        if fft_length is None:
            dims = x.shape.as_list()[-rank:]
            if inverse and dims[-1] is not None:
                dims[-1] = max(0, 2 * (dims[-1] - 1))
            if None in dims:
                raise ShapeError(f"{type} of unknown dimensions {x.shape} needs fft_length")
            fft_length = np.asarray(dims, np.int32)
        return result(type, x, np.ravel(np.asarray(fft_length, np.int32)), name=name)

    function.__name__ = type.lower()
    function.__doc__ = "A Fourier transform between real numbers and half of their spectrum."
    return function


rfft, irfft = _real_transform("RFFT", 1, False), _real_transform("IRFFT", 1, True)
rfft2d, irfft2d = _real_transform("RFFT2D", 2, False), _real_transform("IRFFT2D", 2, True)


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverses of matrices, or of their adjoints."""
    return result("MatrixInverse", input, name=name, adjoint=adjoint)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """X with matrix @ X = rhs."""
    matrix, rhs = alike(matrix, rhs)
    return result("MatrixSolve", matrix, rhs, name=name, adjoint=adjoint)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """X with matrix @ X = rhs, of the lower or upper triangle of the matrix."""
    matrix, rhs = alike(matrix, rhs)
    more = {"lower": lower, "adjoint": adjoint}
    return result("MatrixTriangularSolve", matrix, rhs, name=name, **more)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """X with A @ X = rhs, of the Cholesky factor of A."""
    with get_default_graph().name_scope(name or "cholesky_solve"):
        half = matrix_triangular_solve(chol, rhs)
        return matrix_triangular_solve(chol, half, adjoint=True)


def log_matrix_determinant(input: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(signs, logarithms of absolute values) of determinants."""
    made = operation("LogMatrixDeterminant", [input], name).outputs
    return made[0], made[1]


slogdet = log_matrix_determinant


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(orthogonal, upper triangular) factors."""
    made = operation("Qr", [input], name, full_matrices=full_matrices).outputs
    return made[0], made[1]


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(eigenvalues from the least, eigenvectors) of matrices that are their own adjoints."""
    made = operation("SelfAdjointEigV2", [tensor], name, compute_v=True).outputs
    return made[0], made[1]


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of matrices that are their own adjoints, from the least."""
    return operation("SelfAdjointEigV2", [tensor], name, compute_v=False).outputs[0]


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """(singular values from the largest, left vectors, right vectors); or the values alone."""
    more = {"compute_uv": compute_uv, "full_matrices": full_matrices}
    made = operation("Svd", [tensor], name, **more).outputs
    return (made[0], made[1], made[2]) if compute_uv else made[0]


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """The elements near the diagonal, zeros elsewhere; a negative number keeps its whole side."""
    return result("MatrixBandPart", input, num_lower, num_upper, name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str | None = None) -> Tensor:
    """The matrices with other diagonals."""
    input, diagonal = alike(input, diagonal)
    return result("MatrixSetDiag", input, diagonal, name=name)


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
) -> Tensor:
    """The length of a tensor, or of vectors along an axis.

    Args:
        ord: euclidean, 1, 2, inf or another number: the p of the p-norm; "fro" for two axes.

    Raises:
        ValueError: there is no such norm of so many axes.
    """
    keep = bool(either(keepdims, keep_dims, "keepdims and keep_dims", False))
    if isinstance(axis, (list, tuple)) and len(axis) == 2 and ord not in ("euclidean", "fro"):
        raise ShapeError(f"norms of matrices are 'euclidean' or 'fro', got {ord!r}")
    with get_default_graph().name_scope(name or "norm"):
        x = absolute(convert_to_tensor(tensor))
        if ord in ("euclidean", "fro", 2):
            return result("Sqrt", reduce_sum(result("Square", x), axis, keep))
        if ord == 1:
            return reduce_sum(x, axis, keep)
        if ord == np.inf:
            return reduce_max(x, axis, keep)
        power = convert_to_tensor(ord, x.dtype)
        total = reduce_sum(result("Pow", x, power), axis, keep)
        return result("Pow", total, convert_to_tensor(1 / ord, x.dtype))
