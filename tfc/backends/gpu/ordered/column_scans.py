"""Running totals along any other than the fastest dimension: a thread for each line, side by side.

Where there are few lines, each goes in pieces, by three functions as rows do (`row_scans.py`): the
total of each piece, running totals of these, and each piece after those before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.ordered.prefixes import Line, Prefixes, Scalars, prefixes_of
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.arithmetic.value import Scalar, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import PRED, Shape

_FULL = 1 << 16  # threads that keep a GPU busy
_LEAST = 32  # elements of a piece

_EQUAL = arith.CmpIPredicate.eq


@dataclass(frozen=True)
class Columns:
    """How lines are shared out: their number, their length, and the elements of a piece."""

    line: Line
    piece: int

    @property
    def pieces(self) -> int:
        """Pieces of a line."""
        return -(-self.line.length // self.piece)

    @property
    def totals(self) -> list[Shape]:
        """The arrays of the totals of pieces, piece by piece: none if each line is one."""
        size = self.line.count * self.pieces
        return [Shape(t, (size,)) for t in self.line.types * (self.pieces > 1)]


def column_plan(line: Line) -> Columns:
    """How the lines are shared out."""
    pieces = max(min(_FULL // line.count, line.length // _LEAST), 1)
    if pieces < 4:  # reading everything twice would not pay
        pieces = 1
    return Columns(line, -(-line.length // pieces))


def column_parts(line: Line) -> list[Part]:
    """The functions."""
    columns = column_plan(line)
    threads = line.count * columns.pieces
    if columns.pieces == 1:
        return [Part(lambda w: _Pieces(w, columns).emit(), threads)]
    return [
        Part(lambda w: _Pieces(w, columns).totals(), threads),
        Part(lambda w: _Pieces(w, columns).running(), line.count),
        Part(lambda w: _Pieces(w, columns).emit(), threads),
    ]


class _Pieces:
    """The code of the functions."""

    def __init__(self, work: Work, columns: Columns):
        self.columns, line = columns, columns.line
        self.length, self.dims = line.length, line.shape.dims
        self.prefixes: Prefixes = prefixes_of(work.kernel, work.buffers)
        self.inputs = sources(work.kernel, work.buffers)
        self.space = make_space(self.dims, [*([d] for d in line.order), [line.dimension]])
        self.at = line.place(self.space.index)
        self.kept = scratch_arrays(work.scratch, columns.totals) if columns.totals else []

    def totals(self) -> None:
        """The total of each piece; nobody asks for that of the last one."""

        def body(points: Sequence[Any]) -> None:
            row, first, end = self._piece(points)
            total = self.prefixes.element(self._scope(row, first), self.at)
            after = arith.addi(first, index_value(1))
            total = for_loop(after, end, 1, lambda p, t: self._step(self._scope(row, p), t), total)
            for value, array in zip(total, self.kept):
                store_at(value, array, self._number(points[0], points[1:]))

        Grid().each(self._sizes(), body)

    def running(self) -> None:
        """Running totals of the pieces' totals, which take their places."""

        def body(points: Sequence[Any]) -> None:
            start = self._scope(self._row(points), index_value(0))

            def step(piece: Any, total: Scalars) -> Scalars:
                at = self._number(piece, points)
                total = self.prefixes.combine(total, [load_at(a, at) for a in self.kept])
                for value, array in zip(total, self.kept):
                    store_at(value, array, at)
                return total

            for_loop(0, self.columns.pieces - 1, 1, step, self.prefixes.init(start, self.at))

        Grid().each(self.space.sizes[:-1], body)

    def emit(self) -> None:
        """The places of each piece, after the pieces before it."""

        def body(points: Sequence[Any]) -> None:
            row, first, end = self._piece(points)
            start = self.prefixes.init(self._scope(row, index_value(0)), self.at)
            if self.kept:
                start = self._after_others(points, start)

            def step(place: Any, before: Scalars) -> Scalars:
                scope = self._scope(row, place)
                after = self._step(scope, before)
                last = arith.cmpi(_EQUAL, place, index_value(self.length - 1))
                wanted = before if self.prefixes.exclusive else after
                self.prefixes.store(scope, self.at, wanted, last)
                return after

            for_loop(first, end, 1, step, start)

        Grid().each(self._sizes(), body)

    def _after_others(self, points: Sequence[Any], start: Scalars) -> Scalars:
        """The total before a piece: that of the pieces before it, or what the line begins with."""
        is_first = Scalar(arith.cmpi(_EQUAL, points[0], index_value(0)), PRED)
        one = arith.select(is_first.value, index_value(0), index_value(1))
        at = self._number(arith.subi(points[0], one), points[1:])
        return [select(is_first, s, load_at(a, at)) for s, a in zip(start, self.kept)]

    def _sizes(self) -> list[int]:
        return [self.columns.pieces, *self.space.sizes[:-1]]

    def _row(self, points: Sequence[Any]) -> Elements:
        return Elements(self.inputs, bind(self.space.variables[:-1], points))

    def _piece(self, points: Sequence[Any]) -> tuple[Elements, Any, Any]:
        """The line's scope, the first place of a thread's piece, and where it ends."""
        first = arith.muli(points[0], index_value(self.columns.piece))
        end = arith.addi(first, index_value(self.columns.piece))
        return self._row(points[1:]), first, arith.minui(end, index_value(self.length))

    def _scope(self, row: Elements, place: Any) -> Elements:
        return row.with_variables(**bind(self.space.variables[-1:], [place]))

    def _step(self, scope: Elements, before: Scalars) -> Scalars:
        return self.prefixes.combine(before, self.prefixes.element(scope, self.at))

    def _number(self, piece: Any, points: Sequence[Any]) -> Any:
        """Where the total of a piece of a line is kept."""
        number = piece
        for point, size in zip(points, self.space.sizes[:-1]):
            number = arith.addi(arith.muli(number, index_value(size)), point)
        return number
