"""The gradient of an attention: scores and weights computed again, tile by tile, and never stored.

A block keeps its lines (rows or keys) in shared memory while the other ones pass by, first for each
statistic of its rows, then for its results. Nothing is added up across blocks, so that results are
the same bits each time: rows and keys have kernels of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfc.backends.gpu.assembly import assembly, index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.attention.gradient_spec import GradientSpec, Loaded, gradient_in
from tfc.backends.gpu.attention.online import QUICK, across
from tfc.backends.gpu.attention.ranges import Cuts, Range, Ranges
from tfc.backends.gpu.attention.sources import source_of
from tfc.backends.gpu.attention.two_parts import TwoParts
from tfc.backends.gpu.attention.visible import Visible
from tfc.backends.gpu.attention.warps import warp_tiles
from tfc.backends.gpu.grid import block_number, gpu, thread_in_block
from tfc.backends.gpu.matrices import commit_copies, load_shared, store_shared, wait_for_copies
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.finishing import when, when_below
from tfc.backends.gpu.products.kernels import divided, shared_memory
from tfc.backends.gpu.products.pieces import Computed, Copied, Share
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.elemental import emitting
from tfc.backends.mlir.arithmetic.narrow_floats import with_instructions
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, maximum, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import add, for_range, index_value, multiply
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, PRED, U32
from tfc.passes.analysis.products import moved_index
from tfc.passes.attention.forward import Indices
from tfc.passes.attention.scores import Mixing, Statistic
from tfc.passes.rewriting.replacing import reducer

_FEW_SUMS = 128  # numbers in a line of all results

# (the number of a tile of columns, the address of its stage, what the loop carries) -> the same.
Turn = Callable[[Any, Scalar, list[Any]], list[Any]]


def gradient_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a kernel that is a part of an attention's gradient; None for others."""
    spec = gradient_in(kernel.computation)
    if spec is None:
        return None
    count = spec.size("b") * spec.line_tiles

    def emit(work: Work) -> None:
        # With the instructions the assembler keeps more at the same time: beside many sums that is
        # more than there are registers.
        few = sum(spec.width(m) for m in spec.scores.mixings) <= _FEW_SUMS
        with with_instructions(few), emitting(QUICK if spec.by_matrices else {}):
            GradientBlock(work, spec).run()

    return [Part(emit, count, True, threads=spec.threads, shared=spec.shared_bytes, resident=1)]


@dataclass(frozen=True)
class _Result:
    """A result of the kernel: its buffer, and the path from what makes it to what is stored."""

    number: int
    path: list[Instruction]

    def index(self, start: Indices) -> Indices:
        """Where it has what the first of the path has at an index."""
        for x in self.path[1:]:
            start = moved_index(x, start)
        return start


class GradientBlock:
    """The code of a block."""

    def __init__(self, work: Work, spec: GradientSpec):
        self.work, self.spec, self.scores = work, spec, spec.scores
        tile, self.batch = divided(block_number(), spec.line_tiles, spec.size("b"))
        if spec.lines == "r":  # the last rows see the most keys: they go first
            tile = arith.subi(index_value(spec.line_tiles - 1), index_value(tile))
        self.first_line = index_value(multiply(tile, spec.rows))
        self.thread, self.base = narrow(thread_in_block()), shared_memory()
        self.tiles: dict[Instruction, Any] = {
            **{
                s.dot: warp_tiles(spec.scoring_tiling(s), self.thread) for s in self.scores.scorings
            },
            **{m.dot: warp_tiles(spec.mixing_tiling(m), self.thread) for m in self.scores.mixings},
        }
        self.places = self.tiles[self.scores.scorings[0].dot]  # all scores lie alike
        self.column_sources = self._sources(spec.column_factors, spec.columns)
        self.known: dict[Instruction, list[Scalar]] = {}
        self.visible = Visible(self.scores, spec.lines)
        self.ranges = Ranges(
            work, spec, self.batch, self.first_line, self.places, self.thread,
            self.base + spec.stages_at,
        )  # fmt: skip
        self.decided: dict[tuple[Any, ...], Range] = {}

    def _sources(self, tiles: Sequence[Loaded], name: str) -> list[Copied | Computed]:
        lines = (name, self.spec.size(name))
        return [source_of(self.work, x.factor, self.batch, lines, ("p", x.width), x.element_type)
                for x in tiles]  # fmt: skip

    def run(self) -> None:
        """Emit it all."""
        spec = self.spec
        for number, source in enumerate(self._sources(spec.line_factors, spec.lines)):
            form = spec.form(spec.line_factors[number], spec.rows, True)
            share, at = Share(form, self.thread, spec.threads), self.base + spec.line_place(number)
            source.put(share, at, source.fetch(share, at, self.first_line, index_value(0)))
        self.compute()

    def compute(self) -> None:
        """Emit what comes once the lines are on their way: statistics, sums, and their results."""
        for statistics in self._passes():
            self._gather(statistics)
        sums = self._mix()
        for statistic in self.scores.statistics:
            self._store_statistic(statistic)
        for mixing in self.scores.mixings:
            self._store_mixed(mixing, sums[mixing.dot])

    # --- Statistics -------------------------------------------------------------------------------

    def _passes(self) -> list[list[Statistic]]:
        """The statistics in the order in which they need each other, those together that do not."""
        found: list[list[Statistic]] = []
        known: list[Instruction] = []
        left = list(self.scores.statistics)
        while left:
            waiting = {s.reduce for s in left}
            ready = [
                s for s in left
                if waiting.isdisjoint(self.scores.needed([s.reduce.operands[0]], known))
            ]  # fmt: skip
            found.append(ready)
            known += [s.reduce for s in ready]
            left = [s for s in left if s not in ready]
        return found

    def _gather(self, statistics: Sequence[Statistic]) -> None:
        """Go along the columns for statistics."""
        slots = self.places.slots
        combine = [_combiner(s) for s in statistics]
        starts = [float(s.reduce.operands[1]["literal"].array) for s in statistics]
        begin = [constant(F32, x).value for x in starts for _ in range(slots)]
        arrays = [s.reduce.operands[0] for s in statistics]
        maxima = [reducer(s.reduce["to_apply"]) == "maximum" for s in statistics]
        cuts = self.visible.cuts(arrays, maxima, list(self.known))
        tiles = self._tiles(cuts)

        def turn(tile: Any, stage: Scalar, values: list[Any]) -> list[Any]:
            totals = [Scalar(v, F32) for v in values]
            for number, elements in enumerate(self._elements(tile, stage, arrays, starts)):
                slot = self.places.place(number)[0]
                for n, element in enumerate(elements):
                    at = n * slots + slot
                    totals[at] = combine[n](totals[at], element)
            return [t.value for t in totals]

        result = self._along(tiles, self._used(arrays), begin, turn)
        for n, statistic in enumerate(statistics):
            own = [Scalar(v, F32) for v in result[n * slots : (n + 1) * slots]]
            own = [across(self.places, x, combine[n]) for x in own]
            if maxima[n]:
                own = [self._with_hidden(x, cuts, tiles, n) for x in own]
            self.known[statistic.reduce] = own

    def _with_hidden(self, largest: Scalar, cuts: Cuts, tiles: Range, number: int) -> Scalar:
        """A maximum with the elements of what was left out."""
        whole = self.ranges.all()
        missing = (tiles.begin.ne(whole.begin), tiles.end.ne(whole.end))
        for cut, is_missing in zip(cuts, missing):
            if cut is not None:
                element = constant(F32, cut.elements[number])
                largest = select(is_missing, maximum(largest, element), largest)
        return largest

    # --- Results ----------------------------------------------------------------------------------

    def _mix(self) -> dict[Instruction, list[Any]]:
        """Go along the columns for the sums of the results."""
        mixings = self.scores.mixings
        starts = [[*self._parts_of(m).start(), *self.tiles[m.dot].start()] for m in mixings]
        weights = [self._weights(m) for m in mixings]
        if not mixings:
            return {}

        def turn(tile: Any, stage: Scalar, values: list[Any]) -> list[Any]:
            elements = list(self._elements(tile, stage, weights, [0.0] * len(weights)))
            made: list[Any] = []
            for n, mixing in enumerate(mixings):
                carried, values = values[: len(starts[n])], values[len(starts[n]) :]
                made += self._mixed(mixing, [e[n] for e in elements], stage, carried)
            return made

        used = self._used(weights)
        used |= {self.spec.number_of(m.values, self.spec.column_factors) for m in mixings}
        cuts = self.visible.cuts(weights, [False] * len(weights), list(self.known))
        tiles = self._tiles(cuts)
        result = self._along(tiles, used, [x for start in starts for x in start], turn)
        found = {}
        for mixing, start in zip(mixings, starts):
            carried, result = result[: len(start)], result[len(start) :]
            parts = self._parts_of(mixing)
            found[mixing.dot] = parts.finished(carried[: parts.powers], carried[parts.powers :])
        return found

    def _parts_of(self, mixing: Mixing) -> TwoParts:
        """How weights are multiplied that are more than 16 bits; others are not asked about it."""
        tiles, values = self.tiles[mixing.dot], mixing.values.value.array_shape.element_type
        return TwoParts(values if self.spec.in_parts(mixing) else F32, self.places, tiles.slot)

    def _weights(self, mixing: Mixing) -> Instruction:
        """The weights, before they are rounded where the product does that."""
        x = mixing.weights.value
        before = x.operands[0] if x.opcode == "convert" else x
        rounds = self.spec.by_matrices and before.array_shape.element_type == F32
        return before if rounds else x

    def _mixed(
        self, mixing: Mixing, weights: list[Scalar], stage: Scalar, carried: list[Any]
    ) -> list[Any]:
        """The sums, behind what is carried beside them, with a tile's."""
        spec, tiles = self.spec, self.tiles[mixing.dot]
        number = spec.number_of(mixing.values, spec.column_factors)
        values = stage + spec.column_place(number)
        if not spec.in_parts(mixing):
            return tiles.mix(weights, self.base + spec.weights_at, values, carried)
        parts = self._parts_of(mixing)
        words, powers, sums = parts.split(weights, carried[: parts.powers], carried[parts.powers :])
        for each in words:
            sums = tiles.mix_words(each, values, sums)
        return [*powers, *sums]

    # --- Along the columns ------------------------------------------------------------------------

    def _used(self, wanted: Sequence[Instruction]) -> set[int]:
        """The tiles of columns that values need."""
        needed = self.scores.needed(wanted, list(self.known))
        return {self.spec.number_of(s.factors[self.spec.columns], self.spec.column_factors)
                for s in self.scores.scorings if s.dot in needed}  # fmt: skip

    def _tiles(self, cuts: Cuts) -> Range:
        """The tiles of columns that are left by cuts."""
        key = tuple(None if cut is None else (cut.column, cut.far) for cut in cuts)
        if key not in self.decided:
            self.decided[key] = self.ranges.within(cuts, self.known)
        return self.decided[key]

    def _along(self, tiles: Range, used: set[int], begin: list[Any], turn: Turn) -> list[Any]:
        """What a loop carries after tiles of columns: one is worked on, the next on its way."""
        stages = self.base + self.spec.stages_at
        self._bring(used, stages, tiles.begin, tiles.end)
        start = [constant(U32, 0).value, *begin]
        loop = scf.ForOp(tiles.begin.value, tiles.end.value, constant(U32, 1).value, start)
        with ir.InsertionPoint(loop.body):
            offset, *values = loop.inner_iter_args
            tile, reading = Scalar(loop.induction_variable, U32), Scalar(offset, U32)
            writing = constant(U32, self.spec.stage_bytes) - reading
            wait_for_copies()
            gpu.barrier()
            self._bring(used, stages + writing, tile + 1, tiles.end)
            made = turn(index(tile), stages + reading, list(values))
            scf.yield_([writing.value, *made])
        wait_for_copies()
        gpu.barrier()
        return list(loop.results)[1:]

    def _bring(self, used: set[int], to: Scalar, tile: Scalar, end: Scalar) -> None:
        """Begin to bring a tile of each matrix that is used, if it is before the end."""
        spec, line = self.spec, multiply(index(tile), self.spec.keys)

        def bring() -> None:
            (thread,) = assembly("mov.u32 $0, %tid.x;", ["i32"], [])
            for number in sorted(used):
                form = spec.form(spec.column_factors[number], spec.keys, True)
                share = Share(form, Scalar(thread, U32), spec.threads)
                at, source = to + spec.column_place(number), self.column_sources[number]
                source.put(share, at, source.fetch(share, at, line, index_value(0)))

        when((tile < end).value, bring)
        commit_copies()

    def _elements(
        self, tile: Any, stage: Scalar, wanted: Sequence[Instruction], beyond: Sequence[float]
    ) -> list[list[Scalar]]:
        """The elements of arrays for each score of a lane's, and others beyond the last column."""
        spec, made = self.spec, self._scores(stage, wanted)
        inputs = sources(self.work.kernel, self.work.buffers)
        rows = [add(self.first_line, index(self.places.row(slot)))
                for slot in range(self.places.slots)]  # fmt: skip
        lines = [self._inside(spec.lines, row, spec.rows) for row in rows]
        first = add(multiply(tile, spec.keys), index(self.places.column))
        found = []
        for number in range(len(next(iter(made.values())))):
            slot, offset = self.places.place(number)
            column = add(first, offset)
            given: Mapping[Instruction, Any] = {
                **inputs,
                **{dot: Scalar(values[number], F32) for dot, values in made.items()},
                **{reduce: values[slot] for reduce, values in self.known.items()},
            }
            at = {"b": self.batch, spec.lines: lines[slot],
                  spec.columns: self._inside(spec.columns, column, spec.keys)}  # fmt: skip
            scope, end = Elements(given, at), index_value(spec.size(spec.columns))
            there = Scalar(arith.cmpi(arith.CmpIPredicate.ult, column, end), PRED)
            elements = [convert(scope.element(x, self.scores.at[x]), F32) for x in wanted]
            if spec.size(spec.columns) % spec.keys:
                elements = [select(there, e, other) for e, other in zip(elements, beyond)]
            found.append(elements)
        return found

    def _scores(self, stage: Scalar, wanted: Sequence[Instruction]) -> dict[Instruction, list[Any]]:
        """The products that arrays need, for each score of a lane's."""
        spec, found = self.spec, {}
        needed = self.scores.needed(wanted, list(self.known))
        for scoring in self.scores.scorings:
            if scoring.dot in needed:
                line = spec.number_of(scoring.factors[spec.lines], spec.line_factors)
                column = spec.number_of(scoring.factors[spec.columns], spec.column_factors)
                found[scoring.dot] = self.tiles[scoring.dot].scores(
                    self.base + spec.line_place(line), stage + spec.column_place(column)
                )
        return found

    def _inside(self, name: str, place: Any, tile: int) -> Any:
        """A row or key that there is, for what a tile has beyond the last."""
        size = self.spec.size(name)
        return arith.minui(place, index_value(size - 1)) if size % tile else place

    def meet(self) -> None:
        """Wait for all threads that are at work."""
        gpu.barrier()

    # --- What goes out ----------------------------------------------------------------------------

    @cached_property
    def _results(self) -> dict[Instruction, _Result]:
        """The results by what they are made of: a statistic, or a product."""
        root = self.work.root
        ends = {*(s.reduce for s in self.scores.statistics), *self.scores.products}
        found = {}
        for number, x in enumerate(root.operands if root.opcode == "tuple" else (root,)):
            path = [x]
            while path[-1] not in ends:
                path.append(path[-1].operands[0])
            found[path[-1]] = _Result(number, path[::-1])
        return found

    def _store(self, result: _Result, made: Scalar, at: Indices, variables: dict[str, Any]) -> None:
        """Store what comes of a value that is made at an index."""
        kernel = self.work.kernel
        inputs = {**sources(kernel, self.work.buffers), result.path[0]: made}
        scope = Elements(inputs, {"b": self.batch, **variables})
        buffer = self.work.buffers[len(kernel.operand_shapes) + result.number]
        where = result.index(at)
        scope.store(scope.element(result.path[-1], where), buffer, where)

    def _store_statistic(self, statistic: Statistic) -> None:
        """Store a statistic, if it is read elsewhere."""
        result = self._results.get(statistic.reduce)
        if result is None:
            return
        for slot, value in enumerate(self.known[statistic.reduce]):
            row = add(self.first_line, index(self.places.row(slot)))

            def store(row: Any = row, value: Scalar = value) -> None:
                self._store(result, value, statistic.index, {self.spec.lines: row})

            first = (index(self.places.column), 1)  # of the lanes that know it
            when_below([(row, self.spec.size(self.spec.lines)), first], store)

    def _store_mixed(self, mixing: Mixing, sums: Sequence[Any]) -> None:
        """Put sums in order in shared memory, and store what comes of them."""
        spec, result = self.spec, self._results[mixing.dot]
        length = spec.line_of(mixing)
        self.meet()
        for row, column, values in self.tiles[mixing.dot].results(sums):
            store_shared(self.base + (row * length + column) * 4, values)
        self.meet()
        width = -(-mixing.width // WARP) * WARP  # a warp's elements are of one row

        def body(start: Any, _: Any) -> None:
            number = self.thread + narrow(index_value(start))
            row, column = number / width, number % width
            place, beside = add(self.first_line, index(row)), index(column)
            edges = ((place, spec.size(spec.lines), spec.rows), (beside, mixing.width, width))

            def store() -> None:
                (value,) = load_shared(self.base + (row * length + column) * 4, "f32")
                variables = {spec.lines: place, "d": beside}
                self._store(result, Scalar(value, F32), mixing.index, variables)

            when_below([(x, end) for x, end, tile in edges if end % tile], store)

        for_range(0, spec.rows * width, spec.threads, body)


def _combiner(statistic: Statistic) -> Callable[[Scalar, Scalar], Scalar]:
    if reducer(statistic.reduce["to_apply"]) == "maximum":
        return maximum
    return lambda x, y: x + y
