"""Teams: threads of a block that each accumulate a share of what one result is made of.

    slices along the elements, neighbours in a warp      width 1: rows
        thread 0 1 2 3 │ 4 5 6 7        results 0 │ 1, slices 0 1 2 3 │ 0 1 2 3
    results side by side                                 width 4: columns
        thread 0 1 2 3 │ 4 5 6 7        results 0 1 2 3, slice 0 │ slice 1

Shares are combined within warps by exchanges between lanes, then across warps through shared
memory, always in the same order, so that results are the same bits each time; every thread of the
team gets the total.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.grid import thread_in_block
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.warps import WARP, from_lane
from tfc.backends.mlir.arithmetic.value import Scalar, select
from tfc.backends.mlir.loops import for_loop, when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import PRED, ElementType, Shape

Totals = Sequence[Scalar]
Combine = Callable[[Totals, Totals], Totals]
_AT_ONCE = 4  # elements that a thread has on the way from memory


@dataclass(frozen=True)
class Team:
    """How the threads of a block share the work; all three are powers of two.

    threads: of a block.
    slices: threads that make a result together.
    width: how many results lie side by side: 1 (rows), or all of the block's (columns).
    """

    threads: int
    slices: int
    width: int = 1

    @property
    def results(self) -> int:
        """How many results a block makes."""
        return self.threads // self.slices

    @property
    def shares(self) -> int:
        """How many shares of a result are left when lanes have combined theirs."""
        if self.width == 1:
            return max(self.slices // WARP, 1)
        return min(self.slices, self.threads // WARP)

    def shared_shapes(self, types: Sequence[ElementType]) -> list[Shape]:
        """The arrays in shared memory through which warps combine totals of these types."""
        if self.shares == 1:
            return []
        return [Shape(t, (self.results * self.shares,)) for t in types]

    def shared_bytes(self, types: Sequence[ElementType]) -> int:
        """The shared memory that a block needs for totals of these types."""
        return shared_bytes(self.shared_shapes(types))

    def place(self) -> tuple[Any, Any]:
        """The number of the thread's result in its block, and of its slice, of type `index`."""
        thread = thread_in_block()
        inner = index_value(self.slices if self.width == 1 else self.width)
        low, high = arith.remui(thread, inner), arith.divui(thread, inner)
        return (high, low) if self.width == 1 else (low, high)

    def accumulate(
        self,
        slice_number: Any,
        count: int,
        end: Any,
        elements: Callable[[Any], Totals],
        combine: Combine,
    ) -> Totals:
        """What a thread accumulates: the elements of its slice, every `slices`-th of those there.

        Args:
            count: how many elements there are at least: `slices` or more, so that each has one.
            end: how many there are, of type `index`.
            elements: gives the totals of the element with a number, of type `index`.
        """

        def step(first: Any, totals: Totals, together: int) -> Totals:
            places = [arith.addi(first, index_value(k * self.slices)) for k in range(together)]
            for new in [elements(place) for place in places]:
                totals = combine(totals, new)
            return totals

        totals, turn = elements(slice_number), _AT_ONCE * self.slices
        whole = self.slices + (count - self.slices) // turn * turn
        if whole > self.slices:
            begin = arith.addi(slice_number, index_value(self.slices))
            totals = for_loop(
                begin, index_value(whole), turn, lambda at, t: step(at, t, _AT_ONCE), totals
            )
        begin = arith.addi(slice_number, index_value(whole))
        return for_loop(begin, end, self.slices, lambda at, t: step(at, t, 1), totals)

    def combined(
        self, totals: Totals, combine: Combine, *, again: bool = False, alike: bool = False
    ) -> Totals:
        """What all threads of a team have accumulated. All threads of the block must come here.

        Without `alike` only the thread of slice 0 is sure to have combined in the slices' order.

        Args:
            again: shared memory has been used for this before.
            alike: `combine` may tell its operands apart, and all threads must have the same.
        """
        distance, end = self.width, min(self.width * self.slices, WARP)
        while distance < end:
            others: Totals = [from_lane(t, distance) for t in totals]
            if alike:
                totals, others = self._in_order(totals, others, distance)
            totals = combine(totals, others)
            distance *= 2
        if self.shares == 1:
            return totals
        return self._across_warps(totals, combine, again)

    @staticmethod
    def _in_order(totals: Totals, others: Totals, distance: int) -> tuple[Totals, Totals]:
        """The totals of the lower lane, and those of the upper one."""
        bit = arith.andi(thread_in_block(), index_value(distance))
        lower = Scalar(arith.cmpi(arith.CmpIPredicate.eq, bit, index_value(0)), PRED)
        pairs = list(zip(totals, others))
        return [select(lower, a, b) for a, b in pairs], [select(lower, b, a) for a, b in pairs]

    def _across_warps(self, totals: Totals, combine: Combine, again: bool) -> Totals:
        arrays = shared_arrays(self.shared_shapes([t.element_type for t in totals]))
        if again:
            barrier()
        # Lanes that have the same total store it at the same place, as one.
        thread, lanes = thread_in_block(), min(self.width, WARP)
        warp = arith.divui(thread, index_value(WARP))
        place = arith.addi(arith.muli(warp, index_value(lanes)),
                           arith.remui(thread, index_value(lanes)))  # fmt: skip
        self._once(thread, lanes, lambda: self._store(totals, arrays, place))
        barrier()
        result, _ = self.place()
        step = 1 if self.width == 1 else self.width
        first = arith.muli(result, index_value(self.shares)) if self.width == 1 else result
        shares = [
            [load_at(a, arith.addi(first, index_value(k * step))) for a in arrays]
            for k in range(self.shares)
        ]
        found: Totals = shares[0]
        for share in shares[1:]:
            found = combine(found, share)
        return found

    @staticmethod
    def _store(totals: Totals, arrays: Sequence[Any], place: Any) -> None:
        for total, array in zip(totals, arrays):
            store_at(total, array, place)

    @staticmethod
    def _once(thread: Any, lanes: int, body: Callable[[], None]) -> None:
        """Emit `body` for the first lanes of each warp."""
        lane = arith.remui(thread, index_value(WARP))
        when(arith.cmpi(arith.CmpIPredicate.ult, lane, index_value(lanes)), body)
