"""What factors give and has a shorter derivative than theirs: solutions, determinants.

The functions take Tensors of floats, all of one type and with the same batch dimensions.
"""

from typing import Any

from tfc.frontend.control.branches import cond
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.linalg.factors import Given, Pair, eigen_of, lu_of, svd_of
from tfc.frontend.linalg.matrices import (
    absolute,
    adjoint,
    column,
    diagonals,
    identities,
    is_,
    is_any,
    largest,
    like,
    numbers,
    product,
    real,
    row,
    solve_with_triangle,
    summed,
    swapped,
    take_rows,
    where,
)
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.operations import operation, reduce
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.tensor import Tensor


@custom_jvp
def solve_square(a: Tensor, b: Tensor) -> Tensor:
    """The x with a x = b."""
    packed, order, _ = lu_of(a)
    return _solve_factored(packed, order, b)


@solve_square.defjvp
def _solve_jvp(primals: Given, tangents: Given) -> Pair:
    # a dx = db - da x
    (a, b), (da, db) = primals, tangents
    packed, order, _ = lu_of(a)
    x = _solve_factored(packed, order, b)
    return x, _solve_factored(packed, order, db - product(da, x))


def _solve_factored(packed: Tensor, order: Tensor, b: Tensor) -> Tensor:
    first = solve_with_triangle(packed, take_rows(b, order), lower=True, unit=True)
    return solve_with_triangle(packed, first, lower=False)


@custom_jvp
def determinant(a: Tensor) -> Tensor:
    """The product of the pivots, with the sign of the permutation."""
    packed, _, pivots = lu_of(a)
    return _signs(pivots, packed) * _product_of(diagonals(packed))


@determinant.defjvp
def _determinant_jvp(primals: Given, tangents: Given) -> Pair:
    # The trace of adj(a) da, where adj(a) is det(a) a⁻¹.
    (a,), (da,) = primals, tangents
    found = determinant(a)
    return found, summed(summed(swapped(_adjugates(a, found)) * da, -1), -1)


def _adjugates(a: Tensor, found: Tensor) -> Tensor:
    """The matrices det(a) a⁻¹, which singular matrices have, too."""
    if not a.size:
        return a

    def of_regular() -> Tensor:
        unit = identities(a, a.shape[-1])
        return column(column(found)) * solve_square(a, unit)

    return cond(is_any(is_("EQ", absolute(found), 0)), lambda: _adjugates_by_svd(a), of_regular)


def _adjugates_by_svd(a: Tensor) -> Tensor:
    # Of the diagonal matrix between u and vᴴ the adjugate has the products of all others.
    u, s, vh = svd_of(a)
    size = s.shape[-1]
    on = is_("EQ", numbers(size, a.ndim, a.ndim - 2), numbers(size, a.ndim, a.ndim - 1))
    others = column(like(_product_of(where(on, 1, row(s))), a))
    turns = column(column(determinant(u) * determinant(vh)))
    return turns * product(adjoint(vh), others * adjoint(u))


@custom_jvp
def sign_and_logarithm(a: Tensor) -> tuple[Tensor, Tensor]:
    """The determinant's sign, or direction if it is complex, and the logarithm of its size."""
    packed, _, pivots = lu_of(a)
    found = diagonals(packed)
    sizes = absolute(found)
    is_zero = is_("EQ", sizes, 0)
    directions = where(is_zero, 0, found / like(where(is_zero, 1, sizes), found))
    logarithm = summed(operation("log", sizes), -1)
    return _signs(pivots, packed) * _product_of(directions), logarithm


@sign_and_logarithm.defjvp
def _sign_and_logarithm_jvp(primals: Given, tangents: Given) -> Pair:
    # The logarithm of the determinant changes by the trace of a⁻¹ da: its size by the real part.
    (a,), (da,) = primals, tangents
    sign, logarithm = sign_and_logarithm(a)
    packed, order, _ = lu_of(a)
    change = summed(diagonals(_solve_factored(packed, order, da)), -1)
    along_it = real(change)
    return (sign, logarithm), (sign * (change - like(along_it, change)), along_it)


def _product_of(a: Tensor) -> Tensor:
    return reduce(a, "multiply", 1, [a.ndim - 1])


def _signs(pivots: Tensor, packed: Tensor) -> Tensor:
    """1 or -1: whether the number of swaps is even."""
    count = pivots.shape[-1]
    is_swap = is_("NE", pivots, numbers(count, pivots.ndim, pivots.ndim - 1))
    odd = summed(cast(is_swap, pivots.dtype), -1) % 2
    return cast(1 - odd - odd, packed.dtype)


def threshold(lengths: Tensor, relative: Any) -> Tensor:
    """What singular values must exceed: a part of the largest; one for each matrix, as vectors."""
    bound = cast(as_tensor(relative), lengths.dtype)
    return column(largest(absolute(lengths), [-1]) * expand(bound, lengths.shape[:-1]))


def inverted(lengths: Tensor, bound: Tensor) -> Tensor:
    """One over each whose size exceeds the bound, 0 for the others, NaN for NaN."""
    is_kept = operation("or", is_("GT", absolute(lengths), bound), is_nan(lengths))
    return where(is_kept, 1 / where(is_kept, lengths, 1), 0)


@custom_jvp
def pseudo_inverse(a: Tensor, relative: Tensor) -> Tensor:
    """The pseudo-inverses, without singular values below a part of the largest."""
    u, s, vh = svd_of(a)
    scale = like(inverted(s, threshold(s, relative)), a)
    return product(adjoint(vh), column(scale) * adjoint(u))


@pseudo_inverse.defjvp
def _pseudo_inverse_jvp(primals: Given, tangents: Given) -> Pair:
    # Golub and Pereyra, 1973, where the rank does not change:
    # dp = -p da p + p pᴴ daᴴ (1 - a p) + (1 - p a) daᴴ pᴴ p
    (a, relative), (da, _) = primals, tangents
    p = pseudo_inverse(a, relative)
    turned = adjoint(da)
    right = product(turned, identities(a, a.shape[-2]) - product(a, p))
    left = product(identities(a, a.shape[-1]) - product(p, a), turned)
    change = product(p, adjoint(p), right) + product(left, adjoint(p), p) - product(p, da, p)
    return p, change


@custom_jvp
def pseudo_inverse_of_hermitian(a: Tensor, relative: Tensor) -> Tensor:
    """The pseudo-inverses of matrices that are their own adjoints."""
    w, v = eigen_of(a)
    return product(v, column(like(inverted(w, threshold(w, relative)), a)) * adjoint(v))


@pseudo_inverse_of_hermitian.defjvp
def _pseudo_inverse_of_hermitian_jvp(primals: Given, tangents: Given) -> Pair:
    (a, relative), (da, _) = primals, tangents
    p = pseudo_inverse_of_hermitian(a, relative)
    rest = identities(a, a.shape[-1]) - product(a, p)
    outer = product(p, p, da, rest)
    return p, outer + adjoint(outer) - product(p, da, p)
