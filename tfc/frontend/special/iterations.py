"""Series and continued fractions: steps that are repeated until no element needs another."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.frontend.control.loops import while_loop
from tfc.frontend.numpy.reductions import any as any_of
from tfc.frontend.operations import constant
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import F64

ULP = 2.0**-52
_MOST = 100_000  # steps


def repeated(
    step: Callable[[Tensor, Sequence[Tensor]], tuple[Sequence[Tensor], Tensor]],
    start: Sequence[Tensor],
) -> list[Tensor]:
    """The state after as many steps as the slowest element needs; others lose nothing by more.

    Args:
        step: (its number, from 1, and the state) → the state, and which elements need more.
        start: arrays of f64.
    """

    def advance(now: tuple[Tensor, Tensor, Any]) -> tuple[Tensor, Tensor, Any]:
        number, _, state = now
        after, goes_on = step(number, state)
        return number + 1, any_of(goes_on), list(after)

    begun = (constant(1, F64), constant(True), list(start))
    return while_loop(lambda now: now[1] & (now[0] < _MOST), advance, begun)[2]
