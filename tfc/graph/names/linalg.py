"""`tf.linalg`: functions on matrices."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.functions.creation import eye
from tfc.graph.functions.matrices import (
    cholesky, cholesky_solve, expm, log_matrix_determinant as logdet, norm, qr,
    matrix_band_part as band_part, matrix_determinant as det, matrix_diag as diag,
    matrix_diag_part as diag_part, matrix_inverse as inv, matrix_set_diag as set_diag,
    matrix_solve as solve, matrix_triangular_solve as triangular_solve, self_adjoint_eig as eigh,
    self_adjoint_eigvals as eigvalsh, slogdet, svd,
)
from tfc.graph.functions.products import einsum, matmul, tensordot, trace
# fmt: on
# isort: on
