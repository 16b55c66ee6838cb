"""The functions of linear algebra that have derivatives of their own, and those derivatives.

They take Tensors of floats, all of one type and with the same batch dimensions.
"""

from tfc.frontend.linalg import householder, pivoting, singular, symmetric
from tfc.frontend.linalg.matrices import (
    absolute,
    diagonals,
    is_,
    like,
    numbers,
    real,
    solve_with_triangle,
    summed,
    take_rows,
    where,
)
from tfc.frontend.operations import operation, reduce
from tfc.frontend.promotion import cast
from tfc.frontend.tensor import Tensor


def lu_of(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(packed, permutation, pivots): see pivoting.py."""
    return pivoting.factor(a)


def qr_of(a: Tensor) -> tuple[Tensor, Tensor]:
    """(q, r) of matrices that have as many rows as columns or more."""
    return householder.thin(a)


def eigen_of(a: Tensor) -> tuple[Tensor, Tensor]:
    """(w, v) of matrices that are their own adjoints."""
    return symmetric.eigenvectors(a)


def eigenvalues_of(a: Tensor) -> Tensor:
    """The eigenvalues alone."""
    return symmetric.eigenvalues(a)


def svd_of(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(u, s, vh), as many columns of u and v as there are singular values."""
    return singular.vectors(a)


def singular_values_of(a: Tensor) -> Tensor:
    """The singular values alone."""
    return singular.values(a)


def solve_square(a: Tensor, b: Tensor) -> Tensor:
    """The x with a x = b."""
    packed, order, _ = lu_of(a)
    return _solve_factored(packed, order, b)


def _solve_factored(packed: Tensor, order: Tensor, b: Tensor) -> Tensor:
    first = solve_with_triangle(packed, take_rows(b, order), lower=True, unit=True)
    return solve_with_triangle(packed, first, lower=False)


def determinant(a: Tensor) -> Tensor:
    """The product of the pivots, with the sign of the permutation."""
    packed, _, pivots = lu_of(a)
    return _signs(pivots, packed) * _product_of(diagonals(packed))


def sign_and_logarithm(a: Tensor) -> tuple[Tensor, Tensor]:
    """The determinant's sign, or direction if it is complex, and the logarithm of its size."""
    packed, _, pivots = lu_of(a)
    found = diagonals(packed)
    sizes = absolute(found)
    is_zero = is_("EQ", sizes, 0)
    directions = where(is_zero, 0, found / like(where(is_zero, 1, sizes), found))
    logarithm = summed(operation("log", sizes), -1)
    return _signs(pivots, packed) * _product_of(directions), real(logarithm)


def _product_of(a: Tensor) -> Tensor:
    return reduce(a, "multiply", 1, [a.ndim - 1])


def _signs(pivots: Tensor, packed: Tensor) -> Tensor:
    """1 or -1: whether the number of swaps is even."""
    count = pivots.shape[-1]
    is_swap = is_("NE", pivots, numbers(count, pivots.ndim, pivots.ndim - 1))
    odd = summed(cast(is_swap, pivots.dtype), -1) % 2
    return cast(1 - odd - odd, packed.dtype)
