"""The tiles of columns that a block of a gradient goes along, as numbers in registers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.attention.gradient_spec import GradientSpec
from tfc.backends.gpu.attention.hidden import FAR
from tfc.backends.gpu.attention.visible import Cut, Far
from tfc.backends.gpu.attention.warps import Lanes
from tfc.backends.gpu.grid import gpu
from tfc.backends.gpu.matrices import load_shared, store_shared
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.warps import WARP, from_lane
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import add, for_range, index_value, multiply
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import PRED, U32

Cuts = tuple[Cut | None, Cut | None]
Known = Mapping[Instruction, Sequence[Scalar]]
_AT_ONCE = 4  # rows whose numbers a thread asks for before it looks at them


@dataclass(frozen=True)
class Range:
    """Tiles from `begin` on and before `end`, in 32 bits: registers are scarce."""

    begin: Scalar
    end: Scalar


@dataclass(frozen=True)
class Ranges:
    """What decides on the tiles of a block.

    first_line: of the block, and batch: its pair of matrices; of type index.
    places: which lines a lane has. thread: in the block.
    board: an address in shared memory that nothing is on the way to.
    meet: waits for all threads of the block that are at work.
    """

    work: Work
    spec: GradientSpec
    batch: Any
    first_line: Any
    places: Lanes
    thread: Scalar
    board: Scalar
    meet: Callable[[], None] = gpu.barrier

    def all(self) -> Range:
        """All tiles."""
        return Range(constant(U32, 0), constant(U32, self.spec.tiles))

    def within(self, cuts: Cuts, known: Known) -> Range:
        """The tiles that are left; all of them unless all rows are far above what is hidden.

        All threads of the block must come here.

        Args:
            known: statistics, by the lines that a lane has.
        """
        if cuts == (None, None):
            return self.all()
        found = self._left(cuts)
        facts = list(dict.fromkeys(fact for cut in cuts if cut for fact in cut.far))
        if not facts:
            return found
        own = self.spec.lines == "r"
        far = self._far_here(facts, known) if own else self._far_outside(facts, found)
        all_far = self._everywhere(far)
        whole = self.all()
        return Range(
            select(all_far, found.begin, whole.begin), select(all_far, found.end, whole.end)
        )

    def _left(self, cuts: Cuts) -> Range:
        """The tiles that have a column between the cuts."""
        spec, (before, behind) = self.spec, cuts
        begin, end = index_value(0), index_value(spec.tiles)
        if behind is not None:
            last = add(self.first_line, spec.rows - 1)
            last = arith.minui(last, index_value(spec.size(spec.lines) - 1))
            column = add(self._column(behind, last), spec.keys - 1)
            end = arith.minui(arith.divui(column, index_value(spec.keys)), end)
        if before is not None:
            first = self._column(before, self.first_line)
            begin = arith.minui(arith.divui(first, index_value(spec.keys)), end)
        return Range(narrow(begin), narrow(end))

    def _column(self, cut: Cut, line: Any) -> Any:
        found = Elements({}, {"b": self.batch, self.spec.lines: line}).index_value(cut.column)
        return arith.maxsi(found, index_value(0))

    # --- Whether weights that are hidden are 0 ----------------------------------------------------

    def _far(self, facts: Sequence[Far], known: Mapping[Instruction, Any], row: Any) -> Scalar:
        """Whether the numbers of a row are far above what is hidden."""
        inputs = {**sources(self.work.kernel, self.work.buffers), **known}
        scope = Elements(inputs, {"b": self.batch, "r": row})
        far = constant(U32, 1)
        for fact in facts:
            value = scope.element(fact.value, fact.index)
            far = far & convert((value - fact.low) >= FAR, U32)
        return far

    def _far_here(self, facts: Sequence[Far], known: Known) -> Scalar:
        """Of the rows that a lane has."""
        spec, far = self.spec, constant(U32, 1)
        size = index_value(spec.size("r"))
        for slot in range(self.places.slots):
            row = add(self.first_line, index(self.places.row(slot)))
            there = arith.minui(row, index_value(spec.size("r") - 1))
            given = {reduce: values[slot] for reduce, values in known.items()}
            beyond = Scalar(arith.cmpi(arith.CmpIPredicate.uge, row, size), PRED)
            far = far & (self._far(facts, given, there) | convert(beyond, U32))
        return far

    def _far_outside(self, facts: Sequence[Far], inside: Range) -> Scalar:
        """Of a thread's part of the rows that are left out."""
        spec = self.spec
        begin, end = (multiply(index(x), spec.keys) for x in (inside.begin, inside.end))
        size, step = spec.size("r"), spec.threads * _AT_ONCE

        def of_rows(start: Any, stop: Any, far: Any) -> Any:
            """Of the rows from one on, before another."""

            def body(first: Any, carried: Sequence[Any]) -> list[Any]:
                found = Scalar(carried[0], U32)
                last = arith.subi(index_value(stop), index_value(1))
                for number in range(_AT_ONCE):
                    row = add(first, index(self.thread), number * spec.threads)
                    # One that has been looked at is looked at again.
                    found = found & self._far(facts, {}, arith.minui(row, last))
                return [found.value]

            return for_range(start, stop, step, body, [far])[0]

        far = of_rows(0, arith.minui(begin, index_value(size)), constant(U32, 1).value)
        far = of_rows(arith.minui(end, index_value(size)), index_value(size), far)
        return Scalar(far, U32)

    def _everywhere(self, far: Scalar) -> Scalar:
        """Whether a number is 1 in all threads of the block, else 0."""
        for bit in (1, 2, 4, 8, 16):
            far = far & from_lane(far, bit)
        store_shared(self.board + self.thread / WARP * 4, [far.value])
        self.meet()
        for first in range(0, self.spec.warps, 4):
            count = min(self.spec.warps, 4)
            for word in load_shared(self.board, "i32", count, first * 4):
                far = far & Scalar(word, U32)
        self.meet()
        return far.ne(0)
