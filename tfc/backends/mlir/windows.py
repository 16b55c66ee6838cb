"""What of a window lies in an array: neither on padding nor in the gaps of a dilation.

As conditions on the indices of a window and of its element; and as bounds, where a loop goes along
the elements of a window, or along the windows that have some element in the array. Along either of
them places are a progression: window p has element q at p·stride + q·window_dilation - low.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import Position, divide_up, maximum, minimum, subtract
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.index_maps import Condition, Index

Scalars = Sequence[Scalar]


def along(d: WindowDimension, size: int, at: Index, k: Index) -> tuple[Index, list[Condition]]:
    """Where in the array element `k` of window `at` is, and when it is inside, along a dimension.

    Args:
        size: the array's size.

    Returns:
        The place, and conditions: that it is not on padding, and for arrays that are dilated that
        it is in no gap.
    """
    dilated = at * d.stride + k * d.window_dilation - d.low
    conditions = [Condition(dilated, 0, d.dilated(size))]
    if d.base_dilation > 1:
        conditions.append(Condition(dilated % d.base_dilation, 0, 1))
    return d.place(at, k), conditions


class Guarded(Protocol):
    """What says whether conditions hold at a point: `Elements`, or those of several points."""

    def holds(self, conditions: Sequence[Condition]) -> Any:
        """An i1: every condition holds."""
        ...

    def with_variables(self, **variables: Any) -> Self:
        """A scope inside this one."""
        ...


SomeScope = TypeVar("SomeScope", bound=Guarded)


def guarded(
    scope: SomeScope,
    conditions: Sequence[Condition],
    body: Callable[[SomeScope], Scalars],
    otherwise: Scalars = (),
) -> Scalars:
    """The scalars of `body` where all conditions hold, else others."""
    tested = [c for c in conditions if not c.always]
    if any(c.never for c in tested):
        return otherwise
    if not tested:
        return body(scope)
    types = [o.element_type for o in otherwise]
    guard = scf.IfOp(scope.holds(tested), [mlir_type(t) for t in types], has_else=bool(types))
    with ir.InsertionPoint(guard.then_block):
        scf.yield_([s.value for s in body(scope.with_variables())])
    if types:
        with ir.InsertionPoint(guard.else_block):
            scf.yield_([o.value for o in otherwise])
    return [Scalar(r, t) for r, t in zip(guard.results, types)]


def bounds_inside(
    start: Position,
    step: int,
    size: int,
    part: tuple[Position, Position],
    reach: tuple[int, int],
) -> tuple[Position, Position]:
    """The numbers k of a part, from the first to the end, with 0 ≤ start + k·step < size.

    Args:
        part: the least k, and the end.
        reach: the least and the greatest start + k·step there can be (`WindowDimension.reach`):
            what is inside always has a bound that is known.

    Returns:
        The first is no less than the end if there is no such number.
    """
    first, end = part
    if reach[0] < 0:
        lower = divide_up(maximum(subtract(0, start), 0), step)
        first = lower if isinstance(first, int) and first == 0 else maximum(lower, first)
    if reach[1] >= size:
        end = minimum(divide_up(maximum(subtract(size, start), 0), step), end)
    return first, end
