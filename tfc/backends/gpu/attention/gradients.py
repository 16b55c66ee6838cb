"""The gradient of an attention: scores and weights computed again, tile by tile, and never stored.

A block keeps its lines (rows or keys) in shared memory while the other ones pass by, first for each
statistic of its rows, then for its results. Nothing is added up across blocks, so that results are
the same bits each time: rows and keys have kernels of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.attention.columns import ColumnsBlock
from tfc.backends.gpu.attention.gradient_spec import gradient_in
from tfc.backends.gpu.attention.online import QUICK
from tfc.backends.gpu.attention.statistics import gather
from tfc.backends.gpu.attention.two_parts import TwoParts
from tfc.backends.gpu.attention.warps import warp_tiles
from tfc.backends.gpu.grid import thread_in_block
from tfc.backends.gpu.matrices import load_shared, store_shared
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.finishing import when_below
from tfc.backends.gpu.products.pieces import Share
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.elemental import emitting
from tfc.backends.mlir.arithmetic.narrow_floats import with_instructions
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.vectors import add, for_range, index_value
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32
from tfc.passes.analysis.products import moved_index
from tfc.passes.attention.forward import Indices
from tfc.passes.attention.scores import Mixing, Statistic

_FEW_SUMS = 128  # numbers in a line of all results


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


class GradientBlock(ColumnsBlock):
    """The code of a block."""

    def run(self) -> None:
        """Emit it all."""
        spec, thread = self.spec, narrow(thread_in_block())
        tilings = {
            **{s.dot: spec.scoring_tiling(s) for s in self.scores.scorings},
            **{m.dot: spec.mixing_tiling(m) for m in self.scores.mixings},
        }
        self.tiles = {dot: warp_tiles(tiling, thread) for dot, tiling in tilings.items()}
        # All scores lie alike.
        self.enter(thread, self.tiles[self.scores.scorings[0].dot], spec.stages_at)
        self.column_sources = self.sources_of(spec.column_factors, spec.columns)
        for number, source in enumerate(self.sources_of(spec.line_factors, spec.lines)):
            form = spec.form(spec.line_factors[number], spec.rows, True)
            share, at = Share(form, self.thread, spec.threads), self.base + spec.line_place(number)
            source.put(share, at, source.fetch(share, at, self.first_line, index_value(0)))
        self.compute()

    def compute(self) -> None:
        """Emit what comes once the lines are on their way: statistics, sums, and their results."""
        gather(self)
        sums = self._mix()
        for statistic in self.scores.statistics:
            self._store_statistic(statistic)
        for mixing in self.scores.mixings:
            self._store_mixed(mixing, sums[mixing.dot])

    # --- Results ----------------------------------------------------------------------------------

    def _mix(self) -> dict[Instruction, list[Any]]:
        """Go along the columns for the sums of the results."""
        mixings = self.scores.mixings
        starts = [[*self._parts_of(m).start(), *self.tiles[m.dot].start()] for m in mixings]
        weights = [self._weights(m) for m in mixings]
        if not mixings:
            return {}

        def turn(tile: Any, stage: Scalar, values: list[Any]) -> list[Any]:
            made = self.made_scores(stage, weights)
            elements = self.elements(tile, weights, [0.0] * len(weights), made)
            found: list[Any] = []
            for n, mixing in enumerate(mixings):
                carried, values = values[: len(starts[n])], values[len(starts[n]) :]
                found += self._mixed(mixing, [e[n] for e in elements], stage, carried)
            return found

        used = self.used_by(weights)
        used |= {self.spec.number_of(m.values, self.spec.column_factors) for m in mixings}
        cuts = self.visible.cuts(weights, [False] * len(weights), list(self.known))
        tiles = self.tiles_left(cuts)
        result = self.along(tiles, used, [x for start in starts for x in start], turn)
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

    # --- What goes out ----------------------------------------------------------------------------

    @cached_property
    def _results(self) -> dict[Instruction, _Result]:
        """The results by what they are made of: a statistic, or a product."""
        ends = {*(s.reduce for s in self.scores.statistics), *self.scores.products}
        found = {}
        for number, x in enumerate(self.work.kernel.values):
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
