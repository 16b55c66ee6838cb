"""Tiles multiplied by threads, number by number: what `mma.sync` would round, or has no form for.

A warp is 4 x 8 threads. A thread has every fourth row and every eighth column of its warp's tile,
or as many neighbours as a piece holds of every so many where lines go across the sums; so the
threads that read at the same time read the same pieces, or pieces in different banks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.matrices import PIECE, TileForm, load_shared
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.mlir.arithmetic.value import Scalar, constant, fma, mlir_type
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import F32, ElementType

_DOWN, _ACROSS = 4, 8  # threads of a warp


@dataclass(frozen=True)
class _Lines:
    """The rows (columns) of a tile that a thread multiplies.

    first: where its warp's begin; own: the thread's number among `threads` down (across).
    """

    form: TileForm
    element_type: ElementType
    first: Scalar
    own: Scalar
    threads: int
    count: int

    @property
    def each(self) -> int:
        """Elements of a piece."""
        return PIECE * 8 // self.element_type.bits

    def place(self, number: int) -> Scalar:
        """The row (column) of a number of the thread's."""
        if self.form.along:
            return self.first + self.own + self.threads * number
        group, rest = divmod(number, self.each)
        return self.first + self.own * self.each + (group * self.threads * self.each + rest)

    def load(self, base: Scalar, piece: Scalar) -> list[list[Any]]:
        """For each sum of a piece, the thread's elements."""
        form, each, name = self.form, self.each, str(mlir_type(self.element_type))
        if form.along:
            rows = [
                load_shared(base + form.place(self.place(n), piece), name, each)
                for n in range(self.count)
            ]
            return [list(column) for column in zip(*rows)]
        found = []
        for number in range(each):
            line = piece * each + number
            found.append([
                x
                for n in range(0, self.count, each)
                for x in load_shared(base + form.place(line, self.place(n) / each), name, each)
            ])  # fmt: skip
        return found


@dataclass(frozen=True)
class RegisterTiles:
    """A thread's part of a block's tiles.

    row, column: where in the block's tile that of the warp begins.
    """

    schedule: Schedule
    sums: ElementType
    forms: tuple[TileForm, TileForm]
    lane: Scalar
    row: Scalar
    column: Scalar

    def _lines(self) -> tuple[_Lines, _Lines]:
        schedule, lane = self.schedule, self.lane
        return (
            _Lines(self.forms[0], self.sums, self.row, lane / _ACROSS, _DOWN,
                   schedule.warp_rows // _DOWN),
            _Lines(self.forms[1], self.sums, self.column, lane % _ACROSS, _ACROSS,
                   schedule.warp_columns // _ACROSS),
        )  # fmt: skip

    def start(self) -> list[Any]:
        """Zeros."""
        rows, columns = self._lines()
        return [constant(self.sums, 0).value] * (rows.count * columns.count)

    def step(self, lhs: Scalar, rhs: Scalar, sums: Sequence[Any]) -> list[Any]:
        """The sums with the products of the tiles at two addresses."""
        rows, columns = self._lines()
        bounds = [index_value(n) for n in (0, self.schedule.pieces, 1)]
        loop = scf.ForOp(*bounds, list(sums))
        with ir.InsertionPoint(loop.body):
            piece = narrow(loop.induction_variable)
            totals = [Scalar(x, self.sums) for x in loop.inner_iter_args]
            for left, right in zip(rows.load(lhs, piece), columns.load(rhs, piece)):
                pairs = [(a, b) for a in left for b in right]
                totals = [self._add(t, a, b) for t, (a, b) in zip(totals, pairs)]
            scf.yield_([t.value for t in totals])
        return list(loop.results)

    def _add(self, total: Scalar, a: Any, b: Any) -> Scalar:
        x, y = Scalar(a, self.sums), Scalar(b, self.sums)
        return fma(x, y, total) if self.sums == F32 else total + x * y

    def places(self, sums: Sequence[Any]) -> Iterator[tuple[Scalar, Scalar, list[Any]]]:
        """(row, column, values) of the thread's sums in the block's tile, neighbours together."""
        rows, columns = self._lines()
        together = 1 if self.forms[1].along else columns.each
        for i in range(rows.count):
            for j in range(0, columns.count, together):
                at = i * columns.count + j
                yield rows.place(i), columns.place(j), list(sums[at : at + together])
