"""Sort: a kernel that sorts row after row by a stable merge sort, for any comparator.

A row is copied into scratch memory, where runs of a few elements are sorted by insertion. Merges
double the runs' length, from one half of the scratch arrays into the other, until one run is left,
which goes to the results. Every loop is bounded by its run: a comparator that contradicts itself
(as `<` does on NaN) gives some order, and reads nothing outside.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_loop, index_constant, while_loop
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.value import Scalar, constant
from tfc.hlo.indexing import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import PRED, Shape

# Elements sorted by insertion at a time: few enough that moving them costs less than a merge.
RUN = 16

_LESS = arith.CmpIPredicate.ult


def sort_workspace(root: Instruction) -> Shape:
    """The bytes of scratch memory of a sort: two rows of each operand."""
    return scratch_shape(_rows(root))


def _rows(root: Instruction) -> list[Shape]:
    (dimension,) = root["dimensions"]
    shapes = [o.array_shape for o in root.operands]
    return [Shape(s.element_type, (2 * s.dims[dimension],)) for s in shapes]


def emit_sort(kernel: Kernel, buffers: Sequence[Buffer], scratch: Any, loops: Loops) -> None:
    """A sort into one result buffer for each operand; `loops` run the rows."""
    _Sort(kernel, buffers, scratch).emit(loops)


class _Sort:
    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer], scratch: Any):
        self.kernel, self.buffers, self.root = kernel, buffers, kernel.root
        self.results = buffers[-len(self.root.operands) :]
        self.rows = scratch_arrays(scratch, _rows(self.root))
        (self.dimension,) = self.root["dimensions"]
        self.dims = self.results[0].shape.dims
        self.count = self.dims[self.dimension]

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body."""
        order = self.results[0].shape.layout.minor_to_major[::-1]
        space = make_space(self.dims, [[d] for d in order if d != self.dimension])
        place = variable("place", self.count)
        index = tuple(place if d == self.dimension else i for d, i in enumerate(space.index))

        def row(points: Sequence[Any]) -> None:
            scope = Elements(sources(self.kernel, self.buffers), space.bind(points))

            def at(position: Any) -> Elements:
                return scope.with_variables(**bind([place], [position]))

            def start(position: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                here = at(position)
                for run, operand in zip(self.rows, self.root.operands):
                    element = here.element(operand, index)
                    store_at(element, run, position)
                return []

            def finish(position: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                here, found = at(position), arith.addi(half, position)
                for run, result in zip(self.rows, self.results):
                    element = load_at(run, found)
                    here.store(element, result, index)
                return []

            for_loop(0, self.count, 1, start)
            self._runs()
            half = self._merges()
            for_loop(0, self.count, 1, finish)

        loops.each(space.sizes, row)

    def _runs(self) -> None:
        """Sort each run of RUN elements."""

        def run(low: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
            high = self._bounded(arith.addi(low, index_constant(RUN)))

            def each(position: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                self._insert(low, position)
                return []

            return for_loop(low, high, 1, each)

        for_loop(0, self.count, RUN, run)

    def _insert(self, low: Any, position: Any) -> None:
        """Put the element after a sorted run into its place, moving those behind it up."""
        one, values = index_constant(1), self._load(position)

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
        zero = index_constant(0)
        if self.count <= RUN:
            return zero
        count = index_constant(self.count)

        def double(state: Sequence[Any]) -> Sequence[Any]:
            width, source = state
            twice, target = arith.addi(width, width), arith.subi(count, source)

            def pair(low: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                middle, high = (self._bounded(arith.addi(low, w)) for w in (width, twice))
                self._merge(low, middle, high, source, target)
                return []

            for_loop(0, count, twice, pair)
            return [twice, target]

        start = [index_constant(RUN), zero]
        return while_loop(start, lambda state: arith.cmpi(_LESS, state[0], count), double)[1]

    def _merge(self, low: Any, middle: Any, high: Any, source: Any, target: Any) -> None:
        """Merge the runs low … middle … high of one half of the rows into the other half."""
        one = index_constant(1)

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
        return arith.minui(position, index_constant(self.count))

    def _load(self, position: Any) -> list[Scalar]:
        return [load_at(run, position) for run in self.rows]

    def _copy(self, source: Any, target: Any) -> None:
        for run in self.rows:
            store_at(load_at(run, source), run, target)

    def _comes_before(self, left: Sequence[Scalar], right: Sequence[Scalar]) -> Any:
        sides = [side for pair in zip(left, right) for side in pair]
        return emit_scalar_computation(self.root["to_apply"], sides)[0].value
