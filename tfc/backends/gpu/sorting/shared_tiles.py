"""Elements that a block has in shared memory, and networks that sort them.

Where an element lies: neighbouring threads compare low places of which one bit is zero, so in every
other stretch of what all banks hold once the bits of places are flipped, and no two of them share a
bank.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.gpu.grid import thread_in_block
from tfc.backends.gpu.shared import barrier
from tfc.backends.gpu.sorting.sort_rows import Scalars
from tfc.backends.mlir.arithmetic.value import Scalar, select
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.loops import for_each, when, while_loop
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.vectors import index_value

_BANKS = 128  # bytes that all banks hold together

_LESS = arith.CmpIPredicate.ult


class SharedTile:
    """The code of a block that has elements in shared memory.

    Args:
        arrays: one for each of an element's scalars.
        threads: of the block.
        swaps: whether two elements, the first one at a lower place, are to change places.
    """

    def __init__(
        self,
        arrays: Sequence[Buffer],
        threads: int,
        swaps: Callable[[Scalars, Scalars], Scalar],
    ):
        self._arrays, self._threads, self._swaps = arrays, threads, swaps

    def get(self, place: Any) -> Scalars:
        """The element at a place."""
        return [load_at(a, _exchanged(place, a)) for a in self._arrays]

    def put(self, place: Any, element: Scalars) -> None:
        """Set the element at a place."""
        for value, array in zip(element, self._arrays):
            store_at(value, array, _exchanged(place, array))

    def each(self, count: Any, body: Callable[[Any], None]) -> None:
        """The threads take the numbers below a count, an integer or an `index`, in turn."""
        threads = index_value(self._threads)

        def at(turn: Any) -> Any:
            return arith.addi(arith.muli(turn, threads), thread_in_block())

        if not isinstance(count, int):
            turns = arith.ceildivui(count, threads)
            for_each(0, turns, lambda t: _below(at(t), count, body))
        elif count <= self._threads:
            _below(thread_in_block(), index_value(count), body)
        elif count % self._threads:
            turns = -(-count // self._threads)
            for_each(0, turns, lambda t: _below(at(t), index_value(count), body))
        else:
            for_each(0, count // self._threads, lambda t: body(at(t)))

    def sort(
        self, size: Any, inside: Callable[[Any], Any] | None = None, stretch: Any = None
    ) -> None:
        """Put the elements below `size`, a power of two, in order.

            for block = 2, 4, 8 …                             each half of a block is in order
              compare i with its mirror in the block           the lower half is now ≤ the upper one
              for step = block/4 … 2, 1: i with i + step       each half is put in order alike

        Args:
            inside: whether there is an element at a place, and so at all lower ones with which it
                is compared; if left out, there always is.
            stretch: of how many elements each stretch is put in order; of all if left out.
        """
        end = size if stretch is None else stretch
        end = index_value(end) if isinstance(end, int) else end

        def block(state: Sequence[Any]) -> Sequence[Any]:
            (width,) = state
            self._exchange(size, lambda pair: mirrors(pair, width), inside)
            self.merge(size, arith.divui(width, index_value(4)), inside)
            return [arith.muli(width, index_value(2))]

        at_most = arith.CmpIPredicate.ule
        while_loop([index_value(2)], lambda s: arith.cmpi(at_most, s[0], end), block)

    def merge(self, size: Any, step: Any, inside: Callable[[Any], Any] | None = None) -> None:
        """Put stretches of twice a step in order, each of which goes up and then down; do nothing
        if the step is 0."""

        def following(state: Sequence[Any]) -> Sequence[Any]:
            self._exchange(size, lambda pair: apart(pair, state[0]), inside)
            return [arith.divui(state[0], index_value(2))]

        def goes_on(state: Sequence[Any]) -> Any:
            return arith.cmpi(arith.CmpIPredicate.ugt, state[0], index_value(0))

        while_loop([step], goes_on, following)

    def _exchange(
        self,
        size: Any,
        places: Callable[[Any], tuple[Any, Any]],
        inside: Callable[[Any], Any] | None,
    ) -> None:
        """Compare all pairs of a step, and exchange those that are in the wrong order."""

        def one(pair: Any) -> None:
            low, high = places(pair)

            def order() -> None:
                lower, upper = self.get(low), self.get(high)
                swaps = self._swaps(lower, upper)
                # Lanes that store nothing would leave others to be put together anew.
                self.put(low, [select(swaps, u, v) for v, u in zip(lower, upper)])
                self.put(high, [select(swaps, v, u) for v, u in zip(lower, upper)])

            if inside is None:
                order()
            else:
                when(inside(high), order)

        half = size // 2 if isinstance(size, int) else arith.divui(size, index_value(2))
        self.each(half, one)
        barrier()


def apart(pair: Any, step: Any) -> tuple[Any, Any]:
    """The places of a pair that are a step apart, a power of two."""
    low = arith.addi(pair, arith.andi(pair, arith.subi(index_value(0), step)))
    return low, arith.addi(low, step)


def mirrors(pair: Any, block: Any) -> tuple[Any, Any]:
    """The places of a pair that are each other's mirrors in a block."""
    half = arith.divui(block, index_value(2))
    low = arith.addi(pair, arith.andi(pair, arith.subi(index_value(0), half)))
    return low, arith.xori(low, arith.subi(block, index_value(1)))


def _below(number: Any, count: Any, body: Callable[[Any], None]) -> None:
    when(arith.cmpi(_LESS, number, count), lambda: body(number))


def _exchanged(place: Any, array: Buffer) -> Any:
    """Where in shared memory an element lies."""
    size = max(array.shape.element_type.bytes, 1)
    if size < 4:  # of which the banks hold what two neighbouring stretches have
        return place
    stretch = _BANKS // size
    odd = arith.andi(arith.divui(place, index_value(stretch)), index_value(1))
    return arith.xori(place, arith.muli(odd, index_value(stretch - 1)))
