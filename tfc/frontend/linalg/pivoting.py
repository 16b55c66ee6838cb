"""LU factorization with partial pivoting: panels of columns, and one product for what is right.

a (3 panels)      U U U        One panel is factored a column at a time, over all rows; rows are
             -->  L U U        swapped; a triangular solve gives the panel's rows of U, and the
                  L L ·        product of L and U is subtracted from the rest (·).
"""

from typing import Any

from tfc.frontend.control.loops import fori_loop
from tfc.frontend.linalg.matrices import (
    along,
    both,
    filled,
    is_,
    numbers,
    placed,
    product,
    size_of_parts,
    solve_with_triangle,
    summed,
    take_rows,
    where,
)
from tfc.frontend.numpy.comparisons import minimum
from tfc.frontend.numpy.reductions import argmax
from tfc.frontend.operations import broadcast, constant, full, iota, reshape
from tfc.frontend.promotion import cast
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import S64

PANEL = 32  # columns


def factor(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(packed, permutation, pivots) with a[permutation] = L U.

    packed holds U on and above the diagonal, and L, whose diagonal is ones, below. At step k the
    rows k and pivots[k] were swapped. A column without a pivot is left as it is, so that U of a
    singular matrix has a zero on its diagonal.
    """
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    if not a.size:
        batch = a.shape[:-2]
        return a, _counted((*batch, rows)), full(0, (*batch, steps), S64)
    if steps <= 2 * PANEL:
        packed, order, pivots = _factor_panel(a, constant(0, S64), steps, rows)
        return packed, order, _first(pivots, steps)
    height, width = (max(n, -(-steps // PANEL) * PANEL) for n in (rows, columns))
    packed = filled(a, height, width)
    order, pivots = _counted((*a.shape[:-2], height)), full(0, (*a.shape[:-2], width), S64)

    def step(number: Tensor, state: Any) -> Any:
        return _eliminate_panel(number * PANEL, steps, rows, *state)

    packed, order, pivots = fori_loop(
        constant(0, S64), -(-steps // PANEL), step, (packed, order, pivots)
    )
    packed = _first(_first(packed, columns), rows, axis=-2)
    return packed, _first(order, rows), _first(pivots, steps)


def _counted(dims: tuple[int, ...]) -> Tensor:
    return iota(S64, dims, len(dims) - 1)


def _first(a: Tensor, size: int, axis: int = -1) -> Tensor:
    return along(a, axis, 0, size)


def _factor_panel(panel: Tensor, first: Tensor, count: Any, height: int) -> tuple[Tensor, ...]:
    """Factor some columns, whose diagonal begins at the row `first`.

    Args:
        count: how many of the columns have a diagonal.
        height: rows from there on are no pivots.

    Returns:
        The packed factors, the permutation of the rows, and the pivots.
    """
    rank, size, width = panel.ndim, *panel.shape[-2:]
    rows, columns = numbers(size, rank, rank - 2), numbers(width, rank, rank - 1)

    def step(number: Tensor, state: Any) -> Any:
        panel, order, pivots = state
        current = first + number
        sizes = size_of_parts(along(panel, -1, number, 1))
        allowed = both(is_("GE", rows, current), is_("LT", rows, height))
        found = argmax(reshape(where(allowed, sizes, -1), panel.shape[:-1]), axis=-1)
        pivot = reshape(found, (*found.shape, 1))
        panel = _swapped_rows(panel, rows, current, reshape(pivot, (*pivot.shape, 1)))
        line = reshape(order, (*order.shape, 1))
        line = _swapped_rows(line, rows, current, reshape(pivot, (*pivot.shape, 1)))
        pivots = where(is_("EQ", numbers(width, rank - 1, rank - 2), number), pivot, pivots)
        panel = _eliminated(panel, rows, columns, current, number)
        return panel, reshape(line, order.shape), pivots

    batch = panel.shape[:-2]
    state = panel, _counted((*batch, size)), full(0, (*batch, width), S64)
    return fori_loop(constant(0, S64), count, step, state)


def _swapped_rows(a: Tensor, rows: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Row `one` of all matrices and row `other`, each matrix its own, exchanged."""
    is_other = is_("EQ", rows, other)
    upper, lower = along(a, -2, one, 1), summed(where(is_other, a, 0), -2, keep=True)
    return where(is_("EQ", rows, one), lower, where(is_other, upper, a))


def _eliminated(
    panel: Tensor, rows: Tensor, columns: Tensor, current: Tensor, number: Tensor
) -> Tensor:
    """Subtract multiples of the current row from those below; the multiples take its column."""
    pivot_row = along(panel, -2, current, 1)
    pivot = along(pivot_row, -1, number, 1)
    divisor = where(is_("EQ", pivot, 0), 1, pivot)
    multiples = along(panel, -1, number, 1) / divisor
    rest = where(is_("GT", columns, number), panel - multiples * pivot_row, panel)
    rest = where(is_("EQ", columns, number), multiples, rest)
    return where(is_("GT", rows, current), rest, panel)


def _eliminate_panel(
    start: Tensor, steps: int, height: int, packed: Tensor, order: Tensor, pivots: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Factor the panel of columns from `start`, and subtract it from what is right of it."""
    rank, size, width = packed.ndim, *packed.shape[-2:]
    count = minimum(PANEL, steps - start)
    panel, moved, found = _factor_panel(along(packed, -1, start, PANEL), start, count, height)
    packed = placed(take_rows(packed, moved), panel, -1, start)
    order = reshape(take_rows(reshape(order, (*order.shape, 1)), moved), order.shape)
    corner, right = along(panel, -2, start, PANEL), along(packed, -2, start, PANEL)
    is_right = is_("GE", numbers(width, rank, rank - 1), start + PANEL)
    solved = where(is_right, solve_with_triangle(corner, right, lower=True, unit=True), right)
    packed = placed(packed, solved, -2, start)
    is_below = is_("GE", numbers(size, rank, rank - 2), start + PANEL)
    taken = product(where(is_below, panel, 0), where(is_right, solved, 0))
    return packed - taken, order, placed(pivots, found, -1, start)


def permutation_matrices(order: Tensor, like: Tensor) -> Tensor:
    """The matrices P, of the type of `like`, with P x = x[order]."""
    size = order.shape[-1]
    rank = order.ndim + 1
    spread = broadcast(order, (*order.shape, size), range(order.ndim))
    found = is_("EQ", spread, numbers(size, rank, rank - 1))
    return where(found, full(1, found.shape, like.array_shape.element_type), 0)


def inverse_order(order: Tensor) -> Tensor:
    """The permutation that undoes another."""
    size = order.shape[-1]
    rank = order.ndim + 1
    spread = broadcast(order, (*order.shape, size), range(order.ndim))
    found = is_("EQ", spread, numbers(size, rank, rank - 1))
    return summed(where(found, numbers(size, rank, rank - 2), 0), -2)


def order_of_pivots(pivots: Tensor, size: int) -> Tensor:
    """The permutation that the swaps of `factor` make together."""
    places = numbers(size, pivots.ndim, pivots.ndim - 1)

    def step(number: Tensor, order: Tensor) -> Tensor:
        pivot = cast(along(pivots, -1, number, 1), order.dtype)
        is_other = is_("EQ", places, pivot)
        one, other = along(order, -1, number, 1), summed(where(is_other, order, 0), -1, keep=True)
        return where(is_("EQ", places, number), other, where(is_other, one, order))

    return fori_loop(constant(0, S64), pivots.shape[-1], step, _counted((*pivots.shape[:-1], size)))
