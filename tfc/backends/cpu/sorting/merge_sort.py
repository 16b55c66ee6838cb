"""A stable merge sort of a row in scratch memory, for any comparator.

Runs of a few elements are sorted by insertion. Merges double the runs' length, from one half of the
scratch arrays into the other, until one run is left. Every loop is bounded by its run: a comparator
that contradicts itself (as `<` does on NaN) gives some order, and reads nothing outside.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.loops import for_loop, while_loop
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ir import Computation
from tfc.hlo.shape import PRED

# Elements sorted by insertion at a time: few enough that moving them costs less than a merge.
RUN = 16

_LESS = arith.CmpIPredicate.ult


class MergeSort:
    """A row as code sorts it.

    rows: twice as much memory as the row needs, for each operand; the row is at its beginning.
    count: how many elements the row has, a value of type `index`.
    """

    def __init__(self, rows: Sequence[Buffer], comparator: Computation, count: Any):
        self.rows, self.comparator, self.count = rows, comparator, count

    def emit(self) -> Any:
        """Emit the sort; gives where the sorted row begins, 0 or `count`."""
        self._runs()
        return self._merges()

    def _runs(self) -> None:
        """Sort each run of RUN elements."""

        def run(low: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
            high = self._bounded(arith.addi(low, index_value(RUN)))

            def each(position: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                self._insert(low, position)
                return []

            return for_loop(low, high, 1, each)

        for_loop(0, self.count, RUN, run)

    def _insert(self, low: Any, position: Any) -> None:
        """Put the element after a sorted run into its place, moving those behind it up."""
        one, values = index_value(1), self._load(position)

        def moves(state: Sequence[Any]) -> Any:
            (here,) = state
            inside = scf.IfOp(arith.cmpi(_LESS, low, here), [ir.IntegerType.get_signless(1)],
                              has_else=True)  # fmt: skip
            with ir.InsertionPoint(inside.then_block):
                before = self._load(arith.subi(here, one))
                scf.yield_([self._comes_before(values, before)])
            with ir.InsertionPoint(inside.else_block):
                scf.yield_([constant(PRED, False).value])
            return inside.results[0]

        def move(state: Sequence[Any]) -> Sequence[Any]:
            before = arith.subi(state[0], one)
            self._copy(before, state[0])
            return [before]

        (place,) = while_loop([position], moves, move)
        for value, run in zip(values, self.rows):
            store_at(value, run, place)

    def _merges(self) -> Any:
        """Merge runs until there is one; gives where it begins, 0 or the rows' second half."""
        count = self.count

        def double(state: Sequence[Any]) -> Sequence[Any]:
            width, source = state
            twice, target = arith.addi(width, width), arith.subi(count, source)

            def pair(low: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                middle, high = (self._bounded(arith.addi(low, w)) for w in (width, twice))
                self._merge(low, middle, high, source, target)
                return []

            for_loop(0, count, twice, pair)
            return [twice, target]

        start = [index_value(RUN), index_value(0)]
        return while_loop(start, lambda state: arith.cmpi(_LESS, state[0], count), double)[1]

    def _merge(self, low: Any, middle: Any, high: Any, source: Any, target: Any) -> None:
        """Merge the runs low … middle … high of one half of the rows into the other half."""
        one = index_value(1)

        def both(state: Sequence[Any]) -> Any:
            left, right = state
            return arith.andi(arith.cmpi(_LESS, left, middle), arith.cmpi(_LESS, right, high))

        def step(state: Sequence[Any]) -> Sequence[Any]:
            left, right = state
            lefts, rights = (self._load(arith.addi(source, s)) for s in state)
            # Of elements that are equal, the left run's is first. There is no branch, since which
            # run comes next cannot be foretold: the left element is stored, and the right one over
            # it or behind it, where the next step stores.
            moved = arith.index_castui(ir.IndexType.get(), self._comes_before(rights, lefts))
            stayed = arith.subi(one, moved)
            to = arith.addi(target, arith.subi(arith.addi(left, right), middle))
            for elements, place in ((lefts, to), (rights, arith.addi(to, stayed))):
                for element, run in zip(elements, self.rows):
                    store_at(element, run, place)
            return [arith.addi(left, stayed), arith.addi(right, moved)]

        def rest(first: Any, last: Any, shift: Any) -> None:
            def each(position: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                self._copy(arith.addi(source, position), arith.addi(shift, position))
                return []

            for_loop(first, last, 1, each)

        left, right = while_loop([low, middle], both, step)
        rest(left, middle, arith.addi(target, arith.subi(high, middle)))
        rest(right, high, target)

    def _bounded(self, position: Any) -> Any:
        return arith.minui(position, self.count)

    def _load(self, position: Any) -> list[Scalar]:
        return [load_at(run, position) for run in self.rows]

    def _copy(self, source: Any, target: Any) -> None:
        for run in self.rows:
            store_at(load_at(run, source), run, target)

    def _comes_before(self, left: Sequence[Scalar], right: Sequence[Scalar]) -> Any:
        sides = [side for pair in zip(left, right) for side in pair]
        return emit_scalar_computation(self.comparator, sides)[0].value
