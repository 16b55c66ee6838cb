"""Linear algebra on Tensors: factorizations, and what is computed by them.

Matrices lie in the last two dimensions, stacked along the others. Factorizations are loops of
dense steps over all matrices of a stack at once, so that a program's size does not depend on that
of its matrices. May import the files of `tfc.frontend` and `frontend.numpy`.
"""

from tfc.frontend.linalg import (  # noqa: F401
    einsum,
    exponential,
    least_squares,
    norms,
    polynomials,
    products,
    spectral,
    systems,
    triangular,
)
