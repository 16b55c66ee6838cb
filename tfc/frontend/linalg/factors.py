"""The factorizations that have derivatives of their own, and those derivatives.

They take Tensors of floats. A rule gives the result and its tangent, which is linear in the
operand's; reverse mode transposes it. da, dq … are tangents. Where a rule needs factors, it asks
the functions here again, so that derivatives of derivatives meet rules, too.
"""

from typing import Any

from tfc.errors import TraceError
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.linalg import householder, pivoting, singular, symmetric
from tfc.frontend.linalg.matrices import (
    adjoint,
    column,
    corner,
    diagonal_matrices,
    diagonals,
    filled,
    identities,
    is_,
    like,
    lower_triangle,
    numbers,
    product,
    real,
    row,
    solve_with_triangle,
    take_rows,
    upper_triangle,
    where,
)
from tfc.frontend.operations import operation
from tfc.frontend.tensor import Tensor

Given = tuple[Tensor, ...]
Pair = tuple[Any, Any]


@custom_jvp
def lu_of(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(packed, permutation, pivots): see pivoting.py."""
    return pivoting.factor(a)


@lu_of.defjvp
def _lu_jvp(primals: Given, tangents: Given) -> Pair:
    # With P a = L U and m = L⁻¹ P da U⁻¹: dL = L (m below the diagonal), dU = (the rest of m) U.
    # Where L or U is not square, rows and columns of the identity make it so.
    (a,), (da,) = primals, tangents
    packed, order, pivots = lu_of(a)
    if not a.size:
        return (packed, order, pivots), (da, order, pivots)
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    lower = _made_square(lower_triangle(corner(packed, rows, count), -1), rows, 0)
    upper = _made_square(upper_triangle(corner(packed, count, columns)), columns, count)
    moved = solve_with_triangle(lower, take_rows(da, order), lower=True, unit=True)
    middle = _over(moved, upper)
    change = product(lower, lower_triangle(middle, -1)) + product(upper_triangle(middle), upper)
    return (packed, order, pivots), (change, order, pivots)


def _made_square(a: Tensor, size: int, first: int) -> Tensor:
    """A matrix with zeros up to a size, and ones on the diagonal from a place on."""
    is_late = is_("GE", numbers(size, a.ndim, a.ndim - 1), first)
    return filled(a, size, size) + where(is_late, identities(a, size), 0)


def _over(a: Tensor, upper: Tensor) -> Tensor:
    """a times the inverse of an upper triangle."""
    return operation(
        "triangular-solve", upper, a, left_side=False, lower=False, unit_diagonal=False,
        transpose_a="NO_TRANSPOSE",
    )  # fmt: skip


@custom_jvp
def qr_of(a: Tensor) -> tuple[Tensor, Tensor]:
    """(q, r) of matrices that have as many rows as columns or more."""
    return householder.thin(a)


@qr_of.defjvp
def _qr_jvp(primals: Given, tangents: Given) -> Pair:
    # qᴴ dq is skew, and dr upper triangular with a real diagonal: with m = qᴴ da r⁻¹, qᴴ dq has the
    # elements of m below the diagonal.
    (a,), (da,) = primals, tangents
    q, r = qr_of(a)
    if not a.size:
        return (q, r), (q, r)
    scaled = _over(da, r)
    middle = product(adjoint(q), scaled)
    below = lower_triangle(middle, -1)
    diagonal = diagonals(middle)
    skew = below - adjoint(below) + diagonal_matrices(diagonal - like(real(diagonal), a))
    return (q, r), (product(q, skew - middle) + scaled, product(middle - skew, r))


@custom_jvp
def eigen_of(a: Tensor) -> tuple[Tensor, Tensor]:
    """(w, v) of matrices that are their own adjoints."""
    return symmetric.eigenvectors(a)


@eigen_of.defjvp
def _eigen_jvp(primals: Given, tangents: Given) -> Pair:
    # dv = v (vᴴ da v / (w_j - w_i)) outside of the diagonal, on which is dw.
    (a,), (da,) = primals, tangents
    w, v = eigen_of(a)
    middle = product(adjoint(v), da, v)
    distance = row(w) - column(w) + identities(w, w.shape[-1], batch=w.shape[:-1])
    outside = middle - diagonal_matrices(diagonals(middle))
    return (w, v), (real(diagonals(middle)), product(v, outside / like(distance, a)))


@custom_jvp
def eigenvalues_of(a: Tensor) -> Tensor:
    """The eigenvalues alone."""
    return symmetric.eigenvalues(a)


@eigenvalues_of.defjvp
def _eigenvalues_jvp(primals: Given, tangents: Given) -> Pair:
    (a,), (da,) = primals, tangents
    w, v = eigen_of(a)
    return w, real(diagonals(product(adjoint(v), da, v)))


@custom_jvp
def svd_of(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(u, s, vh), as many columns of u and v as there are singular values."""
    return singular.vectors(a)


@svd_of.defjvp
def _svd_jvp(primals: Given, tangents: Given) -> Pair:
    # With m = uᴴ da v: uᴴ du and vᴴ dv are skew, and their elements (i, j) are those of
    # m s + s mᴴ and s m + mᴴ s over s_j² - s_i². What a has beyond them turns into what u or v
    # does not span.
    (a,), (da,) = primals, tangents
    u, s, vh = svd_of(a)
    v, size = adjoint(vh), s.shape[-1]
    middle = product(adjoint(u), da, v)
    unit = identities(s, size, batch=s.shape[:-1])
    wide, tall = like(row(s), a), like(column(s), a)
    apart = (row(s) + column(s)) * (row(s) - column(s)) + unit
    outside = like((1 - unit) / apart, a)
    is_zero = is_("EQ", s, 0)
    over = like(where(is_zero, 0, 1 / where(is_zero, 1, s)), a)
    first, second = middle * wide, tall * middle
    phase = (middle - adjoint(middle)) * (diagonal_matrices(over) * 0.5)
    du = product(u, outside * (first + adjoint(first)) + phase)
    dv = product(v, outside * (second + adjoint(second)))
    rows, columns = a.shape[-2:]
    if rows > columns:
        moved = product(da, v)
        du = du + (moved - product(u, product(adjoint(u), moved))) * row(over)
    if columns > rows:
        moved = product(adjoint(da), u)
        dv = dv + (moved - product(v, product(vh, moved))) * row(over)
    return (u, s, vh), (du, real(diagonals(middle)), adjoint(dv))


@custom_jvp
def singular_values_of(a: Tensor) -> Tensor:
    """The singular values alone."""
    return singular.values(a)


@singular_values_of.defjvp
def _singular_values_jvp(primals: Given, tangents: Given) -> Pair:
    (a,), (da,) = primals, tangents
    u, s, vh = svd_of(a)
    return s, real(diagonals(product(adjoint(u), da, adjoint(vh))))


@custom_jvp
def full_svd_of(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(u, s, vh) with square u and vh."""
    return singular.vectors(a, full_matrices=True)


@full_svd_of.defjvp
def _full_svd_jvp(primals: Given, tangents: Given) -> Pair:
    raise TraceError(
        "svd with full_matrices=True has no derivative, as nothing says how the further vectors "
        "turn; give full_matrices=False"
    )


@custom_jvp
def full_qr_of(a: Tensor) -> tuple[Tensor, Tensor]:
    """(q, r) with a square q, of matrices that have more rows than columns."""
    packed, taus = householder.factor(a)
    rows = a.shape[-2]
    return householder.orthogonal(packed, taus, rows), householder.triangular(packed, rows)


@full_qr_of.defjvp
def _full_qr_jvp(primals: Given, tangents: Given) -> Pair:
    raise TraceError(
        "qr with the mode 'complete' has no derivative, as nothing says how the further vectors "
        "turn; give the mode 'reduced'"
    )


@custom_jvp
def reflections_of(a: Tensor) -> tuple[Tensor, Tensor]:
    """(packed, taus): see householder.py."""
    return householder.factor(a)


@reflections_of.defjvp
def _reflections_jvp(primals: Given, tangents: Given) -> Pair:
    raise TraceError("qr with the mode 'raw' has no derivative; give the mode 'reduced'")
