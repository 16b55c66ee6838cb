"""Jacobi's method: sweeps of rotations, half as many at a time as the matrix has rows.

A round pairs row i of the upper half with row i of the lower one, rotates each pair so that the
element between them becomes zero, and moves the rows on by one place, as in a round-robin
tournament; after n - 1 rounds all have met and are back in their places.

    0 1 2 3      0 4 1 2      0 5 4 1
    4 5 6 7 -->  5 6 7 3 -->  6 7 3 2 --> …
"""

from collections.abc import Callable
from typing import Any

from tfc.frontend.control.loops import fori_loop, while_loop
from tfc.frontend.linalg.matrices import is_, where
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.parts import is_complex
from tfc.frontend.operations import concatenate, constant, full_like, operation, slice_along
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import S64

MOST_SWEEPS = 30  # six to ten are usual


def halves(a: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The first and the second half along an axis."""
    axis %= a.ndim
    middle, size = a.shape[axis] // 2, a.shape[axis]
    return slice_along(a, axis, 0, middle), slice_along(a, axis, middle, size)


def moved_on(upper: Tensor, lower: Tensor, axis: int) -> Tensor:
    """Both halves, joined again with each row in its place for the next round."""
    axis %= upper.ndim
    size = upper.shape[axis]
    if size == 1:
        return concatenate([upper, lower], axis)
    parts = [
        slice_along(upper, axis, 0, 1),
        slice_along(lower, axis, 0, 1),
        slice_along(upper, axis, 1, size - 1),
        slice_along(lower, axis, 1, size),
        slice_along(upper, axis, size - 1, size),
    ]
    return concatenate([p for p in parts if p.shape[axis]], axis)


def angles(first: Tensor, second: Tensor, between: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(sine, share, gain) of rotations [[c, s], [-conj(s), c]] that take `between` to zero.

    They rotate [[first, between], [conj(between), second]], whose first diagonal element loses
    `gain`, which the second one gets. The angle is at most a quarter of π; `share` is s / (1 + c).
    """
    size = operation("abs", between)
    is_none = is_("EQ", size, 0)
    safe = where(is_none, 1, size)
    slope = (second - first) / (safe + safe)
    root = operation("sqrt", slope * slope + full_like(1, slope))
    tangent = 1 / (operation("abs", slope) + root)
    tangent = where(is_("LT", slope, 0), -tangent, tangent)
    tangent = where(is_none, 0, tangent)
    cosine = 1 / operation("sqrt", tangent * tangent + full_like(1, tangent))
    sine = cosine * tangent
    share = sine / (1 + cosine)
    if not is_complex(between):
        is_down = is_("LT", between, 0)
        return where(is_down, -sine, sine), where(is_down, -share, share), tangent * size
    zero = full_like(0, cosine)
    phase = between / operation("complex", safe, zero)
    turned = [operation("complex", part, zero) * phase for part in (sine, share)]
    return turned[0], turned[1], tangent * size


def rotated(upper: Tensor, lower: Tensor, sine: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """c upper - s lower and conj(s) upper + c lower.

    The cosine is written as 1 - s conj(share): small rotations then change no row's length.
    """
    return (
        upper - sine * (lower + conj(share) * upper),
        lower + conj(sine) * (upper - share * lower),
    )


def sweep_until(
    size: int,
    is_open: Callable[[Any], Tensor],
    one_round: Callable[[Any], Any],
    state: Any,
    before: Callable[[Any], Any] = lambda state: state,
) -> Any:
    """Whole sweeps of rounds over `size` rows while a condition holds, at most MOST_SWEEPS.

    Args:
        before: what to make of the state at the beginning of a sweep.
    """

    def go_on(counted: Any) -> Tensor:
        number, state = counted
        return operation("and", is_open(state), is_("LT", number, MOST_SWEEPS))

    def sweep(counted: Any) -> Any:
        number, state = counted
        first = constant(0, S64)
        return number + 1, fori_loop(first, size - 1, lambda _, s: one_round(s), before(state))

    return while_loop(go_on, sweep, (constant(0, S64), state))[1]
