"""Linear algebra, as in numpy.linalg and the array API's extension: `tfc.linalg.solve(a, b)`.

Matrices lie in the last two dimensions, stacked along the others. Floats are f32, f64, c64 or
c128; integers become f64. Of scipy.linalg there are expm, lu and what solves by given factors.
"""

from tfc.frontend.linalg.exponential import expm
from tfc.frontend.linalg.least_squares import cond, lstsq, matrix_rank, pinv
from tfc.frontend.linalg.norms import matrix_norm, norm, vector_norm
from tfc.frontend.linalg.products import (
    block_diag,
    cross,
    diagonal,
    multi_dot,
    outer,
    toeplitz,
    trace,
)
from tfc.frontend.linalg.spectral import eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from tfc.frontend.linalg.systems import (
    det,
    inv,
    lu,
    lu_factor,
    lu_solve,
    matrix_power,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)
from tfc.frontend.linalg.triangular import cho_factor, cho_solve, cholesky, solve_triangular
from tfc.frontend.numpy.manipulation import matrix_transpose
from tfc.frontend.numpy.products import matmul, tensordot, vecdot

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "toeplitz",
    "trace",
    "vecdot",
    "vector_norm",
]
