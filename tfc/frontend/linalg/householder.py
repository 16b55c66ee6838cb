"""QR factorization by Householder reflections: panels of columns, and products for what is right.

Column k gives the reflection 1 - tau v vᴴ, where v is 0 above row k and 1 in it: it takes the
column to zeros below row k. The reflections of a panel, with the vectors V, are together
1 - V T Vᴴ for a triangular T.
"""

from typing import Any

from tfc.frontend.control.loops import fori_loop
from tfc.frontend.linalg.matrices import (
    absolute,
    adjoint,
    along,
    both,
    column,
    diagonal_matrices,
    filled,
    identities,
    is_,
    largest,
    like,
    lower_triangle,
    numbers,
    placed,
    product,
    real,
    solve_with_triangle,
    squared,
    summed,
    swapped,
    upper_triangle,
    where,
)
from tfc.frontend.numpy.comparisons import minimum
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.parts import is_complex
from tfc.frontend.operations import constant, full, operation, reshape, slice_along
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import S64

PANEL = 32  # columns


def factor(a: Tensor) -> tuple[Tensor, Tensor]:
    """(packed, taus): R on and above the diagonal, below it the vectors of the reflections.

    The signs are LAPACK's: a diagonal element of R has the sign opposite to the column's own.
    """
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    kind = a.array_shape.element_type
    if not a.size:
        return a, full(0, (*a.shape[:-2], steps), kind)
    width = max(columns, -(-steps // PANEL) * PANEL) if steps > 2 * PANEL else columns
    taus = full(0, (*a.shape[:-2], width), kind)
    packed = filled(a, rows, width)
    if steps <= 2 * PANEL:
        packed, taus = _factor_panel(packed, constant(0, S64), steps)
    else:

        def step(number: Tensor, state: Any) -> Any:
            return _reflect_panel(number * PANEL, steps, *state)

        state = (packed, taus)
        packed, taus = fori_loop(constant(0, S64), -(-steps // PANEL), step, state)
    return along(packed, -1, 0, columns), along(taus, -1, 0, steps)


def _factor_panel(panel: Tensor, first: Tensor, count: Any) -> tuple[Tensor, Tensor]:
    """Reduce some columns, whose diagonal begins at the row `first`; `count` have one."""
    rank, size, width = panel.ndim, *panel.shape[-2:]
    rows, columns = numbers(size, rank, rank - 2), numbers(width, rank, rank - 1)

    def step(number: Tensor, state: Any) -> Any:
        panel, taus = state
        current = first + number
        head = along(along(panel, -1, number, 1), -2, current, 1)
        tail = where(is_("GT", rows, current), along(panel, -1, number, 1), 0)
        vector, tau, diagonal = reflection(head, tail)
        vector = where(is_("EQ", rows, current), 1, vector)
        products = summed(conj(vector) * panel, -2, keep=True)
        reflected = panel - vector * (conj(tau) * products)
        kept = where(is_("EQ", rows, current), like(diagonal, panel), vector)
        kept = where(is_("LT", rows, current), panel, kept)
        panel = where(is_("GT", columns, number), reflected,
                      where(is_("EQ", columns, number), kept, panel))  # fmt: skip
        here = is_("EQ", numbers(width, rank - 1, rank - 2), number)
        return panel, where(here, reshape(tau, (*tau.shape[:-2], 1)), taus)

    taus = full(0, (*panel.shape[:-2], width), panel.array_shape.element_type)
    return fori_loop(constant(0, S64), count, step, (panel, taus))


def factor_with_pivots(a: Tensor, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(packed, order, taus) of a[:, order]: each step takes the longest of the columns left.

    Args:
        order: numbers that are exchanged as the columns are.
    """
    rank, rows_count, width = a.ndim, *a.shape[-2:]
    steps = min(rows_count, width)
    taus = full(0, (*a.shape[:-2], width), a.array_shape.element_type)
    if not a.size:
        return a, order, along(taus, -1, 0, steps)
    rows, columns = numbers(rows_count, rank, rank - 2), numbers(width, rank, rank - 1)

    def step(number: Tensor, state: Any) -> Any:
        a, order, taus = state
        lengths = summed(where(is_("GE", rows, number), squared(a), 0), -2, keep=True)
        lengths = where(is_("GE", columns, number), lengths, -1)
        longest = largest(lengths, [-1], keep=True)
        place = largest(where(is_("EQ", lengths, longest), width - columns, 0), [-1], keep=True)
        a = _exchanged(a, columns, number, width - place)
        order = _exchanged(order, columns, number, width - place)
        line = along(a, -1, number, 1)
        tail = where(is_("GT", rows, number), line, 0)
        vector, tau, diagonal = reflection(along(line, -2, number, 1), tail)
        kept = where(is_("EQ", rows, number), like(diagonal, a), vector)
        vector = where(is_("EQ", rows, number), 1, vector)
        reflected = a - vector * (conj(tau) * summed(conj(vector) * a, -2, keep=True))
        here = both(is_("EQ", columns, number), is_("GE", rows, number))
        a = where(is_("GT", columns, number), reflected, where(here, kept, a))
        is_tau = is_("EQ", numbers(width, rank - 1, rank - 2), number)
        return a, order, where(is_tau, reshape(tau, (*tau.shape[:-2], 1)), taus)

    start = (a, reshape(order, (*order.shape[:-1], 1, width)), taus)
    packed, order, taus = fori_loop(constant(0, S64), steps, step, start)
    return packed, reshape(order, (*order.shape[:-2], width)), along(taus, -1, 0, steps)


def _exchanged(a: Tensor, columns: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Column `one` of all matrices and column `other`, each matrix its own, exchanged."""
    is_other = is_("EQ", columns, other)
    left, right = along(a, -1, one, 1), summed(where(is_other, a, 0), -1, keep=True)
    return where(is_("EQ", columns, one), right, where(is_other, left, a))


def reflection(head: Tensor, tail: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(v below its 1, tau, what the head becomes), all scaled so that no square overflows."""
    scale = largest(absolute(tail), [-2], keep=True)
    scale = operation("maximum", scale, absolute(head))
    scale = where(is_("EQ", scale, 0), 1, scale)
    small_head, small_tail = head / like(scale, head), tail / like(scale, tail)
    rest = summed(squared(small_tail), -2, keep=True)
    length = operation("sqrt", squared(small_head) + rest)
    beta = where(is_("GE", real(small_head), 0), -length, length)
    is_done = is_("EQ", rest, 0)
    if is_complex(head):
        is_done = both(is_done, is_("EQ", operation("imag", head), 0))
    safe = where(is_done, 1, beta)
    tau = where(is_done, 0, (like(safe, head) - small_head) / like(safe, head))
    below = small_head - like(safe, head)
    vector = small_tail / where(is_done, 1, below)
    return vector, tau, where(is_done, real(head), beta * scale)


def _reflect_panel(start: Tensor, steps: int, packed: Tensor, taus: Tensor) -> Any:
    """Reduce the panel of columns from `start`, and reflect what is right of it."""
    rank, width = packed.ndim, packed.shape[-1]
    count = minimum(PANEL, steps - start)
    panel, found = _factor_panel(along(packed, -1, start, PANEL), start, count)
    vectors = _vectors(panel, found, start)
    reflected = _reflected(vectors, found, packed, adjoined=True)
    is_right = is_("GE", numbers(width, rank, rank - 1), start + PANEL)
    packed = placed(where(is_right, reflected, packed), panel, -1, start)
    return packed, placed(taus, found, -1, start)


def _vectors(panel: Tensor, taus: Tensor, start: Any) -> Tensor:
    """The reflections' vectors as columns; of a tau that is 0, all zeros."""
    rank, size, width = panel.ndim, *panel.shape[-2:]
    rows, columns = numbers(size, rank, rank - 2), numbers(width, rank, rank - 1) + start
    found = where(is_("GT", rows, columns), panel, where(is_("EQ", rows, columns), 1, panel * 0))
    is_none = is_("EQ", reshape(taus, (*taus.shape[:-1], 1, width)), 0)
    return where(is_none, 0, found)


def _reflected(vectors: Tensor, taus: Tensor, a: Tensor, adjoined: bool = False) -> Tensor:
    """(1 - V T Vᴴ) a, or its adjoint times a. T⁻¹ is Vᴴ V above the diagonal, and 1/tau on it."""
    safe = where(is_("EQ", taus, 0), 1, taus)
    inner = product(adjoint(vectors), vectors)
    inverse = upper_triangle(inner, 1) + diagonal_matrices(1 / safe)
    turned = product(adjoint(vectors), a)
    transpose = "ADJOINT" if adjoined else "NO_TRANSPOSE"
    return a - product(vectors, solve_with_triangle(inverse, turned, False, transpose=transpose))


def orthogonal(packed: Tensor, taus: Tensor, count: int) -> Tensor:
    """The first `count` columns of Q, whose reflections were packed."""
    rows, steps = packed.shape[-2], taus.shape[-1]
    unit = identities(packed, rows, count)
    if not unit.size or not steps:
        return unit
    if steps <= 2 * PANEL:
        panel = slice_along(packed, packed.ndim - 1, 0, steps)
        return _reflected(_vectors(panel, taus, 0), taus, unit)
    blocks = -(-steps // PANEL)
    packed = filled(packed, rows, max(packed.shape[-1], blocks * PANEL))
    taus = reshape(filled(column(taus), blocks * PANEL, 1), (*taus.shape[:-1], blocks * PANEL))

    def step(number: Tensor, q: Tensor) -> Tensor:
        start = (blocks - 1 - number) * PANEL
        panel, found = along(packed, -1, start, PANEL), along(taus, -1, start, PANEL)
        return _reflected(_vectors(panel, found, start), found, q)

    return fori_loop(constant(0, S64), blocks, step, unit)


def triangular(packed: Tensor, count: int) -> Tensor:
    """The first `count` rows of R."""
    return upper_triangle(slice_along(packed, packed.ndim - 2, 0, count))


def thin(a: Tensor) -> tuple[Tensor, Tensor]:
    """(q, r) with a = q r, where q has as many columns as a or as a has rows, if that is less."""
    packed, taus = factor(a)
    count = min(a.shape[-2:])
    return orthogonal(packed, taus, count), triangular(packed, count)


__all__ = ["factor", "lower_triangle", "orthogonal", "swapped", "thin", "triangular"]
