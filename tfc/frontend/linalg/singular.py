"""Singular values and vectors, by one-sided Jacobi rotations of a triangular factor's rows.

a = q r; rotations make the rows of r orthogonal: jᴴ r = x. Their lengths are the singular values,
q j has the left singular vectors, and the rows of x, at length one, are the right ones.
"""

from typing import Any

from tfc.frontend.linalg import householder
from tfc.frontend.linalg.matrices import (
    absolute,
    adjoint,
    column,
    diagonals,
    epsilon,
    filled,
    identities,
    is_,
    is_any,
    largest,
    like,
    product,
    real,
    row,
    scale_of,
    squared,
    summed,
    take_columns,
    take_rows,
    where,
)
from tfc.frontend.linalg.rotations import angles, halves, moved_on, rotated, sweep_until
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.sorting import argsort
from tfc.frontend.operations import (
    concatenate,
    full,
    full_like,
    operation,
    reshape,
    slice_along,
)
from tfc.frontend.tensor import Tensor


def values(a: Tensor) -> Tensor:
    """The singular values in descending order."""
    if a.shape[-1] > a.shape[-2]:
        return values(adjoint(a))
    size = a.shape[-1]
    if not a.size:
        return full(0, (*a.shape[:-2], size), real(a).array_shape.element_type)
    scale = scale_of(a)
    packed, _ = householder.factor(a * like(scale, a))
    rows = _orthogonal_rows(householder.triangular(packed, size), size)
    lengths = _lengths(rows)
    return reshape(take_rows(column(lengths), _descending(lengths)), lengths.shape) / reshape(
        scale, (*a.shape[:-2], 1)
    )


def vectors(a: Tensor, full_matrices: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """(u, s, vh) with a = u diag(s) vh, the singular values in descending order.

    u and v have orthonormal columns, whatever the rank: as many as there are singular values, or
    with `full_matrices` as they have rows.
    """
    if a.shape[-1] > a.shape[-2]:
        u, s, vh = vectors(adjoint(a), full_matrices)
        return adjoint(vh), s, adjoint(u)
    rows, size = a.shape[-2:]
    count = rows if full_matrices else size
    if not a.size:
        lengths = full(0, (*a.shape[:-2], size), real(a).array_shape.element_type)
        return identities(a, rows, count), lengths, identities(a, size)
    scale = scale_of(a)
    packed, taus = householder.factor(a * like(scale, a))
    left = householder.orthogonal(packed, taus, count)
    triangle = householder.triangular(packed, size)
    turned = _orthogonal_rows(concatenate([triangle, identities(a, size)], a.ndim - 1), size)
    found = slice_along(turned, a.ndim - 1, 0, size)
    lengths = _lengths(found)
    order = _descending(lengths)
    lengths = reshape(take_rows(column(lengths), order), lengths.shape)
    rotation = take_columns(adjoint(slice_along(turned, a.ndim - 1, size, 2 * size)), order)
    right = _unit_rows(take_rows(found, order))
    left = _turned_columns(left, rotation)
    return left, lengths / reshape(scale, (*a.shape[:-2], 1)), right


def _turned_columns(left: Tensor, rotation: Tensor) -> Tensor:
    """The first columns times the rotation, and what columns there are beyond."""
    size, count = rotation.shape[-1], left.shape[-1]
    first = product(slice_along(left, left.ndim - 1, 0, size), rotation)
    rest = slice_along(left, left.ndim - 1, size, count)
    return concatenate([first, rest], left.ndim - 1) if count > size else first


def _lengths(rows: Tensor) -> Tensor:
    return operation("sqrt", summed(squared(rows), -1))


def _descending(lengths: Tensor) -> Tensor:
    return argsort(-lengths, axis=-1)


def _unit_rows(rows: Tensor) -> Tensor:
    """Orthogonal rows at length one, and where they are zero any that are orthogonal to the rest.

    They are the adjoint of Q of a QR factorization, whose R is diagonal but for rounding.
    """
    q, r = householder.thin(adjoint(rows))
    diagonal = diagonals(r)
    size = absolute(diagonal)
    is_none = is_("EQ", size, 0)
    safe = like(where(is_none, 1, size), diagonal)
    sign = where(is_none, 1, diagonal / safe)
    return adjoint(q * row(sign))


def _orthogonal_rows(a: Tensor, size: int) -> Tensor:
    """Rotate rows until they are orthogonal in their first `size` columns."""
    rows = a.shape[-2]
    even = rows + rows % 2
    start = filled(a, even, a.shape[-1])
    noise = _largest_square(start, size) * epsilon(a) ** 2
    limit = (size**0.5 * epsilon(a)) ** 2
    worst = full_like(1, noise)

    def one_round(state: Any) -> Any:
        return _round(size, noise, limit, *state)

    def is_open(state: Any) -> Tensor:
        return is_any(is_("GT", state[1], 0))

    def sweep(state: Any) -> Any:
        return state[0], full_like(0, worst)

    found, _ = sweep_until(even, is_open, one_round, (start, worst), sweep)
    return slice_along(found, a.ndim - 2, 0, rows)


def _largest_square(a: Tensor, size: int) -> Tensor:
    lengths = summed(squared(slice_along(a, a.ndim - 1, 0, size)), -1)
    return largest(lengths, [-1])


def _round(
    size: int, noise: Tensor, limit: float, a: Tensor, worst: Tensor
) -> tuple[Tensor, Tensor]:
    """Rotate row i of the upper half with that of the lower, and move all to their next places.

    `worst` becomes 1 for a matrix in which two rows were not orthogonal enough to stop.
    """
    upper, lower = halves(a, -2)
    left, right = (slice_along(side, a.ndim - 1, 0, size) for side in (upper, lower))
    first, second = summed(squared(left), -1), summed(squared(right), -1)
    between = summed(left * conj(right), -1)
    sine, share, _ = angles(first, second, between)
    apart = squared(between)
    is_bad = operation("and", is_("GT", apart, first * second * limit),
                       is_("GT", absolute(between), column(noise)))  # fmt: skip
    found = largest(where(is_bad, full_like(1, first), 0), [-1])
    rows = rotated(upper, lower, column(sine), column(share))
    return moved_on(*rows, -2), operation("maximum", worst, found)
