"""Systems of equations with tridiagonal matrices, by elimination with partial pivoting."""

from typing import Any

from tfc.frontend.control.scan import scan
from tfc.frontend.linalg.matrices import (
    absolute,
    column,
    epsilon,
    is_,
    largest,
    like,
    size_of_parts,
    where,
)
from tfc.frontend.operations import concatenate, full, reshape, slice_along, transpose
from tfc.frontend.promotion import expand
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import PRED

Row = tuple[Tensor, Tensor, Tensor]  # of what is left to solve: diagonal, upper, right side


def solve_tridiagonal(
    lower: Tensor, diagonal: Tensor, upper: Tensor, b: Tensor, perturb: bool = False
) -> tuple[Tensor, Tensor]:
    """(x, found) with a x = b: found is False where a pivot is zero.

    Row i of a has lower[i], diagonal[i] and upper[i] around the diagonal; the first element of
    `lower` and the last one of `upper` are not read.

    Args:
        b: matrices, as many as there are of a.
        perturb: take a pivot that is nearly zero for one as large as rounding errors are.
    """
    if not b.size:
        return b, full(True, diagonal.shape[:-1], PRED)
    size = diagonal.shape[-1]
    d, left, right = (_rows_first(column(v)) for v in (diagonal, lower, upper))
    b = _rows_first(b)
    none = full(0, (1, *d.shape[1:]), d.array_shape.element_type)
    right = concatenate([slice_along(right, 0, 0, size - 1), none], 0)
    below = concatenate([slice_along(left, 0, 1, size), none], 0)
    # After the last row comes one that is the identity's, so that all rows have a next one.
    after = [concatenate([slice_along(v, 0, 1, size), slice_along(v, 0, 0, 1) * 0], 0)
             for v in (d, right, b)]  # fmt: skip
    first = tuple(reshape(slice_along(v, 0, 0, 1), v.shape[1:]) for v in (d, right, b))
    _, (pivots, *others) = scan(_eliminate, first, (below, *after))
    if perturb:
        pivots = _perturbed(pivots, *others[:2])
    is_zero = is_("EQ", absolute(pivots), 0)
    zero = full(0, b.shape[1:], b.array_shape.element_type)
    _, x = scan(_substitute, (zero, zero), (pivots, *others), reverse=True)
    failures = largest(where(is_zero, 1, absolute(pivots) * 0), [0])
    found = reshape(is_("EQ", failures, 0), diagonal.shape[:-1])
    return transpose(x, [*range(1, x.ndim - 1), 0, x.ndim - 1]), found


def _rows_first(a: Tensor) -> Tensor:
    """Matrices with their rows along the first dimension, before those that stack them."""
    return transpose(a, [a.ndim - 2, *range(a.ndim - 2), a.ndim - 1])


def _eliminate(row: Row, following: Any) -> tuple[Row, Any]:
    """Take the element below the diagonal to zero, after exchanging the rows if it is larger.

    Gives what is left of the next row, and the finished one: pivot, two elements right of it, and
    the right side.
    """
    d, u, b = row
    below, next_d, next_u, next_b = following
    is_other = is_("LT", size_of_parts(d), size_of_parts(below))
    pivot = where(is_other, below, d)
    safe = where(is_("EQ", absolute(pivot), 0), 1, pivot)
    factor = where(is_other, d, below) / safe
    second, third = where(is_other, next_d, u), where(is_other, next_u, 0)
    right = where(is_other, next_b, b)
    left_d = where(is_other, u, next_d) - factor * second
    left_u = where(is_other, 0, next_u) - factor * third
    left_b = where(is_other, b, next_b) - factor * right
    return (left_d, left_u, left_b), (pivot, second, third, right)


def _perturbed(pivots: Tensor, second: Tensor, third: Tensor) -> Tensor:
    sizes = [largest(absolute(v), [0], keep=True) for v in (pivots, second, third)]
    most = where(is_("LT", sizes[0], sizes[1]), sizes[1], sizes[0])
    most = where(is_("LT", most, sizes[2]), sizes[2], most)
    least = expand(epsilon(pivots) * most, pivots.shape)
    least = like(where(is_("EQ", least, 0), epsilon(pivots), least), pivots)
    is_small = is_("LT", absolute(pivots), absolute(least))
    is_negative = is_("LT", pivots, 0)
    return where(is_small, where(is_negative, -least, least), pivots)


def _substitute(after: tuple[Tensor, Tensor], row: Any) -> tuple[tuple[Tensor, Tensor], Tensor]:
    pivot, second, third, b = row
    x = (b - second * after[0] - third * after[1]) / pivot
    return (x, after[0]), x
