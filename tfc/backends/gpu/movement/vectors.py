"""Element by element, 16 bytes at once: a thread has neighbouring elements.

    y[4i … 4i+3] = f(x[4i … 4i+3], …)        ld.global.v4, four times f, st.global.v4

What is read from a place on that is no multiple of four is read as two accesses, of which four
elements are chosen; where the place varies, one by one. The elements of a thread that belong to
different pieces of a concatenate or a pad, and those at a ragged end, are made one by one.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tfc.backends.gpu.grid import point_of, thread_number
from tfc.backends.gpu.movement.groups import Group
from tfc.backends.gpu.movement.neighbours import (
    Neighbours,
    has_pairs,
    neighbours_of,
    undecided,
)
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import for_each, when
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.spaces import bind
from tfc.backends.mlir.vectors import index_value, minimum
from tfc.hlo.index_maps import Decided
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.passes.analysis.loop_spaces import visits

At = Callable[[Indices], Indices]


def vector_parts(kernel: Kernel) -> list[Part] | None:
    """The function of a kernel whose threads make several neighbours; None if they cannot."""
    if kernel.product is not None:
        return None
    values = kernel.values
    ops = [op_named(v.opcode) for v in values]
    alike = {(s.dims, s.layout.minor_to_major) for s in kernel.results}
    if not all(op.elementwise or op.is_movement for op in ops) or len(alike) > 1:
        return None
    numbers = range(len(kernel.results))
    part = stored_together(kernel, values, numbers) if len(set(values)) == len(values) else None
    return part and [part]


def stored_together(
    kernel: Kernel,
    values: Sequence[Instruction],
    numbers: Sequence[int],
    at: At = tuple,
) -> Part | None:
    """The function that stores values of one shape, several neighbours in a thread; None if one by
    one is as good.

    Args:
        numbers: of the results that they go to.
        at: where in a result the element at an index goes.
    """
    shapes = [kernel.results[n] for n in numbers]
    place = Buffer(None, shapes[0]).position
    found = neighbours_of(
        kernel, values, [Buffer(None, s) for s in shapes], lambda index: place(at(index))
    )
    if found is None:
        return None
    threads = prod(found.space.sizes[:-1]) * found.groups
    first = -len(kernel.results)

    def emit(work: Work) -> None:
        results = [work.buffers[first + n] for n in numbers]
        _Threads(found, work, values, results, at).emit()

    buffers = range(len(kernel.arguments) + len(kernel.results))
    return Part(emit, threads, wide=buffers if has_pairs(kernel) else ())


class _Threads:
    """The code of a thread."""

    def __init__(
        self,
        plan: Neighbours,
        work: Work,
        values: Sequence[Instruction],
        results: Sequence[Buffer],
        at: At,
    ):
        self.plan, self.work, self.values, self.results = plan, work, values, results
        self.index = plan.space.index
        self.place = at(self.index)
        self.inputs = sources(work.kernel, work.buffers)

    def emit(self) -> None:
        """Emit what threads do; those beyond the space do nothing."""
        sizes = [*self.plan.space.sizes[:-1], self.plan.groups]
        number = thread_number()

        def each() -> None:
            *around, last = point_of(number, sizes)
            first = arith.muli(last, index_value(self.plan.count))
            outer = Elements(self.inputs, bind(self.plan.space.variables[:-1], around))
            self._group(outer, first)

        inside = arith.cmpi(arith.CmpIPredicate.ult, number, index_value(prod(sizes)))
        when(inside, each)

    def _group(self, outer: Elements, first: Any) -> None:
        """Neighbours at once, or one by one where they are not alike."""
        apart = self._apart(outer, first)
        if apart is None:
            self._case(outer, first, {})
            return
        choice = scf.IfOp(apart, has_else=True)
        with ir.InsertionPoint(choice.then_block):
            self._one_by_one(outer.with_variables(), first)
            scf.yield_([])
        with ir.InsertionPoint(choice.else_block):
            self._case(outer.with_variables(), first, {})
            scf.yield_([])

    def _apart(self, outer: Elements, first: Any) -> Any:
        """An i1: whether the neighbours are fewer, or belong to different pieces; None if never."""
        plan, tests = self.plan, []
        if plan.is_ragged:
            most = index_value(plan.space.sizes[-1] - plan.count)
            tests.append(arith.cmpi(arith.CmpIPredicate.ugt, first, most))
        begin = self._at(outer, first)
        for index, step, bound in plan.seams:
            own = begin.index_value(index)
            after = (
                arith.subi(index_value(bound - 1), own)
                if step > 0
                else arith.subi(own, index_value(bound))
            )
            tests.append(arith.cmpi(arith.CmpIPredicate.ult, after, index_value(plan.count - 1)))
        found = None
        for test in tests:
            found = test if found is None else arith.ori(found, test)
        return found

    def _at(self, outer: Elements, place: Any) -> Elements:
        return outer.with_variables(**bind(self.plan.space.variables[-1:], [place]))

    def _one_by_one(self, outer: Elements, first: Any) -> None:
        end = arith.addi(first, index_value(self.plan.count))

        def body(place: Any) -> None:
            scope = self._at(outer, place)
            made = [scope.element(v, self.index) for v in self.values]
            for value, result in zip(made, self.results):
                scope.store(value, result, self.place)

        for_each(first, minimum(end, self.plan.space.sizes[-1]), body)

    def _case(self, outer: Elements, first: Any, decided: Decided) -> None:
        """What neighbours are made of once it is known which pieces they belong to."""
        parameters = self.work.kernel.computation.parameters
        seen = list(visits(parameters, self.plan.root, self.index, decided=decided))
        condition = undecided(seen)
        if condition is None:
            self._store(outer.where(decided), first, [(v, i) for v, i, _ in seen])
            return
        holds = self._at(outer, first).holds([condition])
        choice = scf.IfOp(holds, has_else=True)
        for block, known in ((choice.then_block, True), (choice.else_block, False)):
            with ir.InsertionPoint(block):
                self._case(outer.with_variables(), first, {**decided, condition: known})
                scf.yield_([])

    def _store(
        self, outer: Elements, first: Any, seen: Sequence[tuple[Instruction, Indices]]
    ) -> None:
        group = Group.of(
            outer, self.plan.space, first, self.plan.count, self.work.kernel, self.work.buffers
        )
        for value, index in seen:
            group.read(value, index)
        made = [[s.element(v, self.index) for s in group.scopes] for v in self.values]
        for elements, result in zip(made, self.results):
            group.store(elements, result, self.place)
