"""A block of an attention's gradient goes along columns: what both its passes and results need.

A block keeps its lines (rows or keys) in shared memory while tiles of columns, which are the other,
pass by. What is asked of each tile are elements of arrays of the size of the scores.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfc.backends.gpu.assembly import assembly, index
from tfc.backends.gpu.attention.gradient_spec import GradientSpec, Loaded
from tfc.backends.gpu.attention.ranges import Cuts, Known, Range, Ranges
from tfc.backends.gpu.attention.sources import source_of
from tfc.backends.gpu.attention.visible import Visible
from tfc.backends.gpu.attention.warps import Lanes
from tfc.backends.gpu.grid import block_number, gpu
from tfc.backends.gpu.matrices import commit_copies, wait_for_copies
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.finishing import when
from tfc.backends.gpu.products.kernels import divided, shared_memory
from tfc.backends.gpu.products.pieces import Computed, Copied, Share
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, PRED, U32

# (the number of a tile of columns, the address of its stage, what the loop carries) -> the same.
Turn = Callable[[Any, Scalar, list[Any]], list[Any]]


class ColumnsBlock:
    """What a block has, and how it goes along columns.

    known: statistics by the lines that a lane has.
    """

    def __init__(self, work: Work, spec: GradientSpec):
        self.work, self.spec, self.scores = work, spec, spec.scores
        tile, self.batch = divided(block_number(), spec.line_tiles, spec.size("b"))
        if spec.lines == "r":  # the last rows see the most keys: they go first
            tile = arith.subi(index_value(spec.line_tiles - 1), index_value(tile))
        self.first_line = index_value(multiply(tile, spec.rows))
        self.base = shared_memory()
        self.tiles: dict[Instruction, Any] = {}
        self.column_sources: list[Copied | Computed] = []
        self.known: dict[Instruction, list[Scalar]] = {}
        self.visible = Visible(self.scores, spec.lines)
        self.decided: dict[tuple[Any, ...], Range] = {}

    def enter(self, thread: Scalar, places: Lanes, board_at: int) -> None:
        """Begin the code of the threads that are at work.

        Args:
            places: which scores a lane has.
            board_at: where in shared memory they tell each other what they decide.
        """
        self.thread, self.places = thread, places
        self.ranges = Ranges(
            self.work, self.spec, self.batch, self.first_line, places, thread,
            self.base + board_at, self.meet,
        )  # fmt: skip

    def sources_of(self, tiles: Sequence[Loaded], name: str) -> list[Copied | Computed]:
        """What brings tiles of lines or of columns."""
        lines = (name, self.spec.size(name))
        return [source_of(self.work, x.factor, self.batch, lines, ("p", x.width), x.element_type)
                for x in tiles]  # fmt: skip

    def meet(self) -> None:
        """Wait for all threads that are at work."""
        gpu.barrier()

    # --- Along the columns ------------------------------------------------------------------------

    def used_by(self, wanted: Sequence[Instruction]) -> set[int]:
        """The tiles of columns that values need."""
        needed = self.scores.needed(wanted, list(self.known))
        return {self.spec.number_of(s.factors[self.spec.columns], self.spec.column_factors)
                for s in self.scores.scorings if s.dot in needed}  # fmt: skip

    def tiles_left(self, cuts: Cuts) -> Range:
        """The tiles of columns that are left by cuts."""
        key = tuple(None if cut is None else (cut.column, cut.far) for cut in cuts)
        if key not in self.decided:
            self.decided[key] = self.ranges.within(cuts, self.known)
        return self.decided[key]

    def along(self, tiles: Range, used: set[int], begin: list[Any], turn: Turn) -> list[Any]:
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

    def elements(
        self,
        tile: Any,
        wanted: Sequence[Instruction],
        beyond: Sequence[float],
        made: Mapping[Instruction, Sequence[Any]],
        known: Known | None = None,
    ) -> list[list[Scalar]]:
        """The elements of arrays for each score of a lane's.

        Args:
            tile: its number among those of the columns.
            beyond: what they are behind the last column.
            made: products and other arrays, f32 for each score of a lane's.
            known: statistics; as a rule those that the block knows.
        """
        spec, known = self.spec, self.known if known is None else known
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
                **{x: Scalar(values[number], F32) for x, values in made.items()},
                **{reduce: values[slot] for reduce, values in known.items()},
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

    def made_scores(
        self, stage: Scalar, wanted: Sequence[Instruction]
    ) -> dict[Instruction, list[Any]]:
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
