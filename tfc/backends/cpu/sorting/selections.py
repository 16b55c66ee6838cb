"""topk of few elements of long rows: a kernel that gathers candidates and sorts only these.

The first elements of a row are candidates. These are sorted, and the first k of them kept; from
there on only an element that comes before the last one kept becomes a candidate, until there are
enough to be sorted again. Elements that do not come before it need no more than one comparison, and
those of a block are compared side by side. Of equal elements the earlier one is kept, since it is a
candidate before the later one, and sorts are stable.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.cpu.sorting.sorts import RowSort
from tfc.backends.mlir.arithmetic.value import Scalar, constant, minimum, mlir_type
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.integer_keys import integer_key
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_each, for_loop, while_loop
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import for_range, index_value
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S32, Shape
from tfc.passes.analysis.sort_keys import gathered, selection_order, sort_keys

# Elements compared before the next branch.
BLOCK = 16

_LESS = arith.CmpIPredicate.ult


def _first_gathered(x: Instruction) -> int:
    """How many elements are candidates at first: enough, and whole blocks remain."""
    least = gathered(x)
    return least + (x.operands[0].array_shape.dims[-1] - least) % BLOCK


def _row_sort(x: Instruction) -> RowSort:
    types = (x.operands[0].array_shape.element_type, S32)
    return RowSort(types, selection_order(x), _first_gathered(x) + BLOCK)


def selection_workspace(root: Instruction) -> Shape:
    """The bytes of scratch memory of a selection."""
    return scratch_shape(_row_sort(root).arrays)


def emit_selection(kernel: Kernel, buffers: Sequence[Buffer], scratch: Any, loops: Loops) -> None:
    """The first k elements of each row into the first of two buffers, their places in the other."""
    results = buffers[-2:]
    dims = results[0].shape.dims
    order = results[0].shape.layout.minor_to_major[::-1]
    space = make_space(dims, [[d] for d in order if d != len(dims) - 1])

    def row(points: Sequence[Any]) -> None:
        scope = Elements(sources(kernel, buffers), space.bind(points))
        _Selection(kernel.root, scope, space.index[:-1], scratch).emit(results)

    loops.each(space.sizes, row)


class _Selection:
    """The selection from one row, that at `outer` in a scope."""

    def __init__(self, root: Instruction, scope: Elements, outer: Sequence[Any], scratch: Any):
        self.root, self.scope, self.outer = root, scope, outer
        self.sort = _row_sort(root)
        self.keys = sort_keys(self.sort.comparator)
        self.arrays = scratch_arrays(scratch, self.sort.arrays)
        self.candidates = self.arrays[:2]
        self.k, self.size = root["k"], root.operands[0].array_shape.dims[-1]

    def emit(self, results: Sequence[Buffer]) -> None:
        """Emit the row's code."""
        first = index_value(_first_gathered(self.root))
        k = index_value(self.k)

        def keep(state: Sequence[Any]) -> Sequence[Any]:
            """(next element of the row, number of candidates) after another round."""
            position, count = state
            begin = self.sort.emit(self.arrays, count)

            def move(place: Any) -> None:
                for array in self.candidates:
                    store_at(load_at(array, arith.addi(begin, place)), array, place)

            for_each(0, k, move)
            last = load_at(self.candidates[0], index_value(self.k - 1))
            return self._scan(position, k, self._key(last))

        for_each(0, first, lambda position: self._store(position, position))
        # As long as the row has elements left, a round ends with more than k candidates.
        while_loop([first, first], lambda state: arith.cmpi(_LESS, k, state[1]), keep)

        def finish(place: Any) -> None:
            index = variable("place", self.k)
            here = self.scope.with_variables(**bind([index], [place]))
            for array, result in zip(self.candidates, results):
                element = load_at(array, place)
                here.store(element, result, (*self.outer, index))

        for_each(0, k, finish)

    def _scan(self, position: Any, count: Any, bound: Scalar) -> Sequence[Any]:
        """Go on along the row until there are as many candidates as at first, or it ends."""
        size, most = index_value(self.size), index_value(_first_gathered(self.root))
        block = index_value(BLOCK)

        def goes_on(state: Sequence[Any]) -> Any:
            return arith.andi(
                arith.cmpi(_LESS, state[0], size),
                arith.cmpi(arith.CmpIPredicate.ule, state[1], most),
            )

        def step(state: Sequence[Any]) -> Sequence[Any]:
            begin, before = state
            end = arith.addi(begin, block)

            def smallest(offset: Any, least: Sequence[Scalar]) -> Sequence[Scalar]:
                element = self._element(arith.addi(begin, offset))
                return [minimum(least[0], self._key(element))]

            (least,) = for_loop(0, BLOCK, 1, smallest, [constant(bound.element_type, -1)])
            some = scf.IfOp((least < bound).value, [before.type], has_else=True)
            with ir.InsertionPoint(some.then_block):
                scf.yield_([self._add(begin, end, before, bound)])
            with ir.InsertionPoint(some.else_block):
                scf.yield_([before])
            return [end, some.results[0]]

        return while_loop([position, count], goes_on, step)

    def _add(self, begin: Any, end: Any, count: Any, bound: Scalar) -> Any:
        """Make candidates of a block's elements that come before the bound; how many there are."""

        def step(position: Any, state: Sequence[Any]) -> Sequence[Any]:
            element = self._store(position, state[0])
            taken = arith.index_castui(count.type, (self._key(element) < bound).value)
            return [arith.addi(state[0], taken)]

        return for_range(begin, end, 1, step, [count])[0]

    def _element(self, position: Any) -> Scalar:
        index = variable("position", self.size)
        here = self.scope.with_variables(**bind([index], [position]))
        return here.element(self.root.operands[0], (*self.outer, index))

    def _store(self, position: Any, place: Any) -> Scalar:
        """Put an element of the row at a place of the candidates, of which it may become one."""
        element = self._element(position)
        number = Scalar(arith.index_castui(mlir_type(S32), position), S32)
        for value, array in zip((element, number), self.candidates):
            store_at(value, array, place)
        return element

    def _key(self, element: Scalar) -> Scalar:
        return integer_key(self.keys, self.sort.comparator, [element, constant(S32, 0)])
