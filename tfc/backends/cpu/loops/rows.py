"""Row kernels: reductions along rows with what is computed from them, one row after the other.

    for each row:  for c: m = max(m, x[r,c])
                   for c: e[c] = exp(x[r,c] - m); s += e[c]
                   for c: y[r,c] = e[c] / s

row_plan.py says which loops there are. A row is read from memory once and from a cache by the loops
that follow. What belongs to a row as a whole is computed between the loops.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.cpu.loops.streams import (
    LINE_BYTES,
    Stage,
    flush_stages,
    staged,
    store_in_stages,
    wait_for_stores,
)
from tfc.backends.cpu.loops.tiled_movement import Tiling
from tfc.backends.mlir.accumulations import FEW, chunked_loop, combined
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, nest, sources
from tfc.backends.mlir.loops import LoopBody, for_loop
from tfc.backends.mlir.row_values import (
    LoopSums,
    is_of_row,
    known_order,
    reduced_operands,
    result_buffers,
)
from tfc.backends.mlir.scratch import scratch_arrays, scratch_shape
from tfc.backends.mlir.spaces import Indices, Space, access_positions, bind, merge_loops, step_of
from tfc.backends.mlir.vectors import Position, add, index_value, minimum, prefetch
from tfc.hlo.index_maps import Index, linearize
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.row_plan import STREAMED_BYTES, RowLoop, RowPlan
from tfc.passes.analysis.row_region import Place

Sources = dict[Instruction, Buffer | Scalar]

# Elements of a row that are computed while as many of the next one are fetched, if it is a long row
# and computing them takes some time.
_STRETCH = 512
_FEWEST_STRETCHES = 4
_LEAST_WORK = 4


@dataclass(frozen=True)
class RowBuffer(Buffer):
    """An array of which one row is in memory, the one that starts at a position."""

    start: Index

    def position(self, index: Sequence[Index]) -> Index:
        """The element's place in the row."""
        return linearize(index, self.shape.dims) - self.start


def row_workspace(plan: RowPlan) -> Shape | None:
    """The scratch memory of a row kernel."""
    return scratch_shape(plan.scratch) if plan.scratch else None


def emit_rows(
    plan: RowPlan, kernel: Kernel, buffers: Sequence[Buffer], scratch: Any, loops: Loops
) -> None:
    """Emit the loops of a row kernel; `scratch` is memory of its `row_workspace`, if any."""
    _Rows(plan, kernel, buffers, scratch).emit(loops)


class _Rows:
    """The loops around the rows, and where values lie."""

    def __init__(self, plan: RowPlan, kernel: Kernel, buffers: Sequence[Buffer], scratch: Any):
        self.plan, self.region = plan, plan.region
        self.in_place = bool(kernel.in_place)
        self.inputs: Sources = sources(kernel, buffers)
        self.order = known_order(self.region)
        reduced = [r.operands[0] for loop in plan.loops for r in loop.reduces]
        dims = max((o.array_shape.dims for o in reduced), key=len)
        kept = next(n for n in range(len(dims)) if prod(dims[n:]) == self.region.space.length)
        self.dims, self.kept_rank = dims, kept
        self.rows = merge_loops(
            dims, range(kept), [],
            lambda index: [p for loop in plan.loops for p in self._positions(loop, index)],
        )  # fmt: skip
        self.columns = {
            loop: merge_loops(
                dims, range(kept, len(dims)), [],
                lambda index, loop=loop: self._positions(loop, self._joined(index)), prefix="c",
            )
            for loop in plan.loops
        }  # fmt: skip
        self.place = self._place(self.rows.index)
        self.results = result_buffers(self.region, buffers)
        self.scratch = scratch_arrays(scratch, plan.scratch) if plan.scratch else []

    def _joined(self, index: Indices) -> Indices:
        """An index with the row of the loops around it."""
        return (*self.rows.index[: self.kept_rank], *index[self.kept_rank :])

    def _place(self, index: Indices) -> Place:
        row = linearize(index[: self.kept_rank], self.dims[: self.kept_rank])
        return Place(row, linearize(index, self.dims))

    def _positions(self, loop: RowLoop, index: Indices) -> list[Index]:
        """The positions in memory that a loop along a row touches."""
        place, known = self._place(index), {i for i in self.order if is_of_row(self.region, i)}
        found: list[Index] = []
        for value in (*(o for r in loop.reduces for o in reduced_operands(r)), *loop.stored):
            at = place.index("full", value.array_shape.dims)
            found += access_positions(self.inputs, value, at, known)
            found.append(Buffer(None, value.array_shape).position(at))
        return found

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body."""
        top = Elements(self.inputs, {})
        for i in self.order:
            if self.region.roles[i] == "scalar":
                self.inputs[i] = top.element(i, self.place.index("scalar", i.array_shape.dims))
        self.staged = {
            loop: staged
            for loop in self.plan.loops
            if not (loop.reduces or self.in_place) and (staged := self._stages(loop))
        }
        loops.each(self.rows.sizes, self._row)
        if self.staged:
            wait_for_stores()

    def _stages(self, loop: RowLoop) -> tuple[Tiling, Sequence[Stage | None]] | None:
        """The tiles of a loop that only stores large results, and a stage for each of them."""
        columns, buffers = self.columns[loop], self._stored(loop)
        place = self._place(self._joined(columns.index))
        index = place.index("full", buffers[0].shape.dims)
        variables = (*self.rows.variables, *columns.variables)
        space = Space((), variables, (*self.rows.sizes, *columns.sizes), index)
        if len(columns.sizes) != 1 or any(b.shape.dims != buffers[0].shape.dims for b in buffers):
            return None
        tiles, stages = staged(space, buffers, None)
        return (tiles, stages) if tiles else None

    def _stored(self, loop: RowLoop) -> list[Buffer]:
        """Where a loop stores, one place after the other of each value."""
        return [buffer for value in loop.stored for buffer in self._buffers(value)]

    def _stream(self, loop: RowLoop, points: Sequence[Any], inputs: Sources) -> None:
        """Emit a loop that has stages."""
        tiles, stages = self.staged[loop]
        index, buffers = tiles.space.index, self._stored(loop)

        def store(scope: Elements, place: Position) -> None:
            elements = [scope.element(v, index) for v in loop.stored for _ in self._buffers(v)]
            store_in_stages(scope, index, elements, buffers, stages, place)

        def flush(scope: Callable[[Position], Elements], first: Position) -> None:
            self._fetch(loop, tiles.edges[len(self.rows.sizes)], scope)
            flush_stages(scope, index, stages, first)

        tiles.emit(LoopNest().each, points, inputs, store, flush)

    def _fetch(self, loop: RowLoop, size: int, scope: Callable[[Position], Elements]) -> None:
        """Bring what the next row reads in the place of a stretch into the cache.

        Memory would else have nothing to read while a row is computed and stored.

        Args:
            size: how many elements the stretch has.
            scope: the values at one of them.
        """
        for buffer, at, step in self._far(loop):
            line = LINE_BYTES // buffer.shape.element_type.bytes
            for first in range(0, size, line):
                there = add(scope(first).index_value(at), step)
                prefetch(buffer.memref, minimum(there, buffer.shape.storage_size - 1))

    def _fetches(self, loop: RowLoop) -> bool:
        """Whether a loop fetches the next row: the last one, which finds its own in a cache."""
        sizes = self.columns[loop].sizes
        if loop is not self.plan.loops[-1] or loop is self.plan.loops[0] or len(sizes) != 1:
            return False
        long = sizes[0] >= _FEWEST_STRETCHES * _STRETCH and sizes[0] % _STRETCH == 0
        return long and loop.work >= _LEAST_WORK and bool(self._far(loop))

    def _far(self, loop: RowLoop) -> list[tuple[Buffer, Index, int]]:
        """The large operands of which each row reads another: the place in a row, and its step."""
        place = self._place(self._joined(self.columns[loop].index))
        found: list[tuple[Buffer, Index, int]] = []
        for operand, buffer in self.inputs.items():
            if self.region.roles.get(operand) != "full" or not isinstance(buffer, Buffer):
                continue
            at = buffer.position(place.index("full", buffer.shape.dims))
            step = step_of(at, self.rows.variables[-1]) if self.rows.variables else None
            if step and buffer.shape.byte_size >= STREAMED_BYTES:
                found.append((buffer, at, step))
        return found

    def _row(self, points: Sequence[Any]) -> None:
        """Everything that is done for one row."""
        variables = bind(self.rows.variables, points)
        known, stored = dict(self.inputs), dict[Instruction, Buffer]()
        row = Elements(known, variables)
        for loop in self.plan.loops:
            self._between(row, known, loop.level - 1)
            inputs = {**known, **stored}
            if loop in self.staged:
                self._stream(loop, points, inputs)
            else:
                known |= self._loop(Elements(inputs, variables), loop)
            stored |= {v: self._buffers(v)[0] for v in loop.stored}
        self._between(row, known, max(self.plan.levels.values()))
        for output in self.results:
            if self.region.roles[output] == "row":
                at = self.place.index("row", output.array_shape.dims)
                for buffer in self.results[output]:
                    row.store(row.element(output, at), buffer, at)

    def _between(self, row: Elements, known: Sources, level: int) -> None:
        """The values of the whole row that are known after the loops of a level."""
        for i in self.order:
            if self.plan.levels[i] <= level and i not in known and is_of_row(self.region, i):
                known[i] = row.element(i, self.place.index("row", i.array_shape.dims))

    def _buffers(self, value: Instruction) -> list[Buffer]:
        """Where a value is stored; its first place is where it is read again."""
        if value in self.results:
            return self.results[value]
        where = self.plan.kept[value]
        if isinstance(where, int):
            start = self.place.row * self.region.space.length
            return [RowBuffer(self.scratch[where].memref, value.array_shape, start)]
        return [Buffer(self.results[where][0].memref, value.array_shape)]

    def _loop(self, scope: Elements, loop: RowLoop) -> Mapping[Instruction, Scalar]:
        """Emit one loop along the row; the totals of what it accumulates."""
        work = LoopSums.of(loop)
        identities = [identity for _, _, how in work.sums for identity in how.identities]
        inits = work.inits(scope)
        space = self.columns[loop]
        place = self._place(self._joined(space.index))

        def element(inner: Elements, value: Instruction) -> Scalar:
            return inner.element(value, place.index("full", value.array_shape.dims))

        def step(inner: Elements, totals: Sequence[Scalar]) -> Sequence[Scalar]:
            new = work.widen([element(inner, o) for o in work.operands])
            after = work.combine(totals, new)
            values = [(v, element(inner, v)) for v in loop.stored]
            for value, scalar in values:
                at = place.index("full", value.array_shape.dims)
                for buffer in self._buffers(value):
                    inner.store(scalar, buffer, at)
            return after

        def innermost(size: int, body: LoopBody, carried: Sequence[Scalar]) -> Sequence[Scalar]:
            return chunked_loop(size, body, carried, identities, prod(space.sizes))

        def in_stretches(size: int, body: LoopBody, carried: Sequence[Scalar]) -> Sequence[Scalar]:
            def stretch(start: Any, state: Sequence[Scalar]) -> Sequence[Scalar]:
                def there(first: Position) -> Elements:
                    return scope.with_variables(**bind(space.variables, [add(start, first)]))

                self._fetch(loop, _STRETCH, there)
                return chunked_loop(
                    _STRETCH, lambda place, s: body(add(start, place), s), state, identities, size
                )

            return for_loop(0, size, _STRETCH, stretch, carried)

        if self._fetches(loop):
            innermost = in_stretches
        if prod(space.sizes) <= FEW and work.exact and not loop.stored:
            places = product(*([index_value(n) for n in range(size)] for size in space.sizes))
            scopes = [scope.with_variables(**bind(space.variables, p)) for p in places]
            parts = [work.widen([element(s, o) for o in work.operands]) for s in scopes]
            totals = work.combine(inits, combined(parts, work.combine))
        else:
            totals = nest(scope, space.variables, space.sizes, inits, step, innermost)
        return work.known(totals, self.order)
