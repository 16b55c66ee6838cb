"""Rows in registers: reductions along rows with what is computed from them, a team for each row.

    each thread: x₀ x₁ … of its pieces    m = max of all (the team)    e₀ e₁ … = exp(x - m)
                                          s = sum of all (the team)    y₀ y₁ … = e / s, stored

row_plan.py says in which order. A thread keeps its elements from one step to the next, so what the
row is made of is read from memory once, and only results are written. Of a row that is too long for
that each step reads it again, from the caches if they hold it, and computes again what it needs.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.gpu.grid import block_number
from tfc.backends.gpu.movement.groups import Group
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.rows.pieces import pieces_of
from tfc.backends.gpu.rows.teams import Team, Totals
from tfc.backends.gpu.shared import barrier
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import for_loop, found_when, when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.row_values import LoopSums, is_of_row, known_order, result_buffers
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ElementType
from tfc.passes.analysis.row_plan import RowLoop, RowPlan, row_plan

LONGEST = 8192
"""Elements of a row in registers: eight for each of as many threads as a block may have."""
_EACH = 8  # elements of a thread
_LEAST_THREADS = 256
_MOST_THREADS = 1024
_LEAST_ROWS = 64  # of longer rows: as many blocks as are worth their while
_AT_ONCE = 4  # elements of a longer row that a thread has on the way from memory


def takes_longer(plan: RowPlan) -> bool:
    """Whether longer rows are a kernel: many rows, whose full results no other step comes after.

    What is computed again may be read from where a result lies now.
    """
    full = {o for o in plan.region.outputs if plan.region.roles[o] == "full"}
    late = set(plan.loops[-1].stored)
    return plan.region.space.rows >= _LEAST_ROWS and full <= late


def row_parts(kernel: Kernel) -> list[Part] | None:
    """The function of a kernel that goes along rows; None if it is no such kernel."""
    plan = row_plan(kernel.root)
    if plan is None or _is_long_pass(kernel, plan):
        return None
    space = plan.region.space
    team = _team(space.length, _each(kernel, space.length))
    shared = max(team.shared_bytes(_types(loop)) for loop in plan.loops)
    blocks = -(-space.rows // team.results)
    emit: Callable[[Work], None] = lambda work: _Rows(plan, work, team).emit()  # noqa: E731
    return [Part(emit, blocks, True, threads=team.threads, shared=shared)]


def _is_long_pass(kernel: Kernel, plan: RowPlan) -> bool:
    """Whether there are just reductions of longer rows in one pass, of which several blocks take
    pieces (reductions.py)."""
    in_one_pass = all(loop.level == 1 for loop in plan.loops)
    only = in_one_pass and all(v.opcode == "reduce" for v in kernel.values)
    return only and plan.region.space.length > LONGEST


def _each(kernel: Kernel, length: int) -> int:
    """How many elements a thread has at most: twice as many narrow ones, for each of which what
    threads tell each other is then half."""
    whole = [s for s in (*kernel.operand_shapes, *kernel.results) if s.size >= length]
    return _EACH * (2 if all(s.element_type.bits <= 16 for s in whole) else 1)


def _team(length: int, each: int) -> Team:
    """The threads of a row: as few as have no more than so many elements each, a warp if
    possible."""
    most = 1 << (length.bit_length() - 1)
    wanted = 1 << max(-(-length // each) - 1, 0).bit_length()
    slices = min(most, max(wanted, 32), _MOST_THREADS)
    return Team(max(slices, _LEAST_THREADS), slices)


def _types(loop: RowLoop) -> list[ElementType]:
    """The types of what a loop accumulates."""
    return [
        how.wide or o.array_shape.element_type
        for _, reduced, how in LoopSums.of(loop).sums
        for o in reduced
    ]


class _Rows:
    """The code of the rows of a block, each thread's elements side by side."""

    def __init__(self, plan: RowPlan, work: Work, team: Team):
        self.plan, self.region, self.team, self.work = plan, plan.region, team, work
        self.pieces = pieces_of(work.kernel, plan, team.slices)
        self.space, self.place = plan.region.space, plan.region.space.place
        self.in_place = bool(work.kernel.in_place)
        self.known: dict[Instruction, Buffer | Scalar] = sources(work.kernel, work.buffers)
        self.order = known_order(self.region)
        self.results = result_buffers(self.region, work.buffers)
        self.exchanged = False

    def emit(self) -> None:
        """Emit everything that is done for a row."""
        result, self.slice = self.team.place()
        number = arith.addi(arith.muli(block_number(), index_value(self.team.results)), result)
        last = index_value(self.space.rows - 1)
        self.inside: Any = None
        if self.space.rows % self.team.results:
            self.inside = arith.cmpi(arith.CmpIPredicate.ule, number, last)
            number = arith.minui(number, last)
        row = Elements(self.known, {"row": number})
        for i in self.order:
            if self.region.roles[i] == "scalar":
                self.known[i] = row.element(i, self.place.index("scalar", i.array_shape.dims))
        is_long = self.space.length > LONGEST
        each = self.team.slices * self.pieces.count
        turns = 0 if is_long else -(-self.space.length // each)
        points = [self._point(row, k) for k in range(turns)]
        for loop in self.plan.loops:
            self._between(row, loop.level - 1)
            if is_long:
                self._go_along(row, loop)
            elif loop.reduces:
                self._accumulate(row, points, loop)
            for group, there in points:
                self._store(loop.stored, group, there)
        self._between(row, max(self.plan.levels.values()))
        self._store_of_rows(row)

    def _point(self, row: Elements, turn: int) -> tuple[Group, Any]:
        """A thread's piece of a turn, and an i1, whether it is there; None if it always is.

        Where there is none, it is the last of the row, which nothing is done with.
        """
        count, turns = self.pieces.count, turn * self.team.slices
        piece = arith.addi(self.slice, index_value(turns))
        last, there = index_value(self.space.length // count - 1), None
        if (turns + self.team.slices) * count > self.space.length:
            there = arith.cmpi(arith.CmpIPredicate.ule, piece, last)
            piece = arith.minui(piece, last)
        first = arith.muli(piece, index_value(count)) if count > 1 else piece
        group = self._group(row, first, count)
        for value, index in self.pieces.reads:
            group.read(value, index)
        return group, there

    def _group(self, row: Elements, first: Any, count: int) -> Group:
        """Neighbours of a row, from a place on."""
        places = [arith.addi(first, index_value(k)) for k in range(count)] if count > 1 else [first]
        scopes = [row.with_variables(column=p) for p in places]
        return Group(scopes, self.pieces.column, self.work.kernel, self.work.buffers)

    def _element(self, scope: Elements, value: Instruction) -> Scalar:
        return scope.element(value, self.place.index("full", value.array_shape.dims))

    def _accumulate(
        self, row: Elements, points: Sequence[tuple[Group, Any]], loop: RowLoop
    ) -> None:
        """What the team accumulates of its elements; every thread knows it then."""
        work = LoopSums.of(loop)
        totals: Totals = []
        for group, there in points:
            new, *others = [self._widened(scope, work) for scope in group.scopes]
            for other in others:
                new = work.combine(new, other)
            if not totals:
                totals = new
            elif there is None:
                totals = work.combine(totals, new)
            else:
                totals = found_when(there, lambda t=totals, new=new: work.combine(t, new), totals)
        self._learn(row, work, totals)

    def _go_along(self, row: Elements, loop: RowLoop) -> None:
        """A step of a long row: what the team accumulates of it, and what it stores."""
        work = LoopSums.of(loop)

        def elements(column: Any) -> Totals:
            group = self._group(row, column, 1)
            new = self._widened(group.scopes[0], work)
            self._store(loop.stored, group, None)
            return new

        end = index_value(self.space.length)
        if loop.reduces:
            totals = self.team.accumulate(
                self.slice, self.space.length, end, elements, work.combine
            )
            self._learn(row, work, totals)
            return
        turn = _AT_ONCE * self.team.slices
        whole = self.space.length // turn * turn

        def several(first: Any, _: Totals) -> Totals:
            for k in range(_AT_ONCE):
                elements(arith.addi(first, index_value(k * self.team.slices)))
            return []

        def one(column: Any, _: Totals) -> Totals:
            elements(column)
            return []

        for_loop(self.slice, index_value(whole), turn, several, [])
        for_loop(arith.addi(self.slice, index_value(whole)), end, self.team.slices, one, [])

    def _widened(self, scope: Elements, work: LoopSums) -> Totals:
        """What an element adds to what is accumulated."""
        return [
            wide
            for _, reduced, how in work.sums
            for wide in how.widen([self._element(scope, o) for o in reduced])
        ]

    def _learn(self, row: Elements, work: LoopSums, totals: Totals) -> None:
        """Combine what the threads of the team have, so that each knows the row's totals."""
        totals = self.team.combined(
            totals, work.combine, again=self.exchanged, alike=not work.symmetric
        )
        self.exchanged = True
        self.known |= work.known(work.combine(work.inits(row), totals), self.order)

    def _between(self, row: Elements, level: int) -> None:
        """The values of the whole row that are known after the loops of a level."""
        for i in self.order:
            known = self.plan.levels[i] > level or i in self.known
            if not known and is_of_row(self.region, i):
                self.known[i] = row.element(i, self.place.index("row", i.array_shape.dims))

    def _store(self, values: Sequence[Instruction], group: Group, there: Any) -> None:
        """Store a thread's elements of results; what is kept for later loops is in registers."""
        results = [v for v in values if v in self.results]
        scalars = [[self._element(scope, v) for scope in group.scopes] for v in results]

        def store() -> None:
            inner = group.with_variables()
            for value, elements in zip(results, scalars):
                at = self.place.index("full", value.array_shape.dims)
                for buffer in self.results[value]:
                    inner.store(elements, buffer, at)

        if results:
            self._where(self._both(self.inside, there), store)

    def _store_of_rows(self, row: Elements) -> None:
        """The first thread of a row stores what belongs to it as a whole."""
        outputs = [o for o in self.results if self.region.roles[o] == "row"]
        found = [row.element(o, self.place.index("row", o.array_shape.dims)) for o in outputs]
        if outputs and self.in_place:
            barrier()  # others may still read what lies there

        def store() -> None:
            inner = row.with_variables()
            for output, scalar in zip(outputs, found):
                at = self.place.index("row", output.array_shape.dims)
                for buffer in self.results[output]:
                    inner.store(scalar, buffer, at)

        if outputs:
            first = arith.cmpi(arith.CmpIPredicate.eq, self.slice, index_value(0))
            self._where(self._both(self.inside, first), store)

    @staticmethod
    def _both(one: Any, other: Any) -> Any:
        """An i1: both hold, where None always does."""
        return arith.andi(one, other) if one is not None and other is not None else one or other

    @staticmethod
    def _where(condition: Any, body: Callable[[], None]) -> None:
        if condition is None:
            body()
        else:
            when(condition, body)
