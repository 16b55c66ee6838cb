"""Tiles of a matrix product: blocks of results whose sums are made in registers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.mlir.functions import call_part
from tfc.backends.mlir.packing import Panels
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    load,
    minimum,
    multiply,
    round_down,
    subtract,
)


@dataclass(frozen=True)
class Result:
    """Where the result's rows lie: element (i, j) is at position + i·row_step + j.

    one_block: there is room for one block only, which every block takes in turn.
    """

    memory: Any
    position: Position
    row_step: int
    one_block: bool = False

    def at(self, row: Position, column: Position) -> "Result":
        """The part of the result that begins with an element."""
        position = add(self.position, multiply(row, self.row_step), column)
        return Result(self.memory, position, self.row_step)

    def block(self, row: Position, column: Position) -> "Result":
        """The block of the result that begins with an element."""
        return self if self.one_block else self.at(row, column)


# (first row, first column, rows, columns, sums): what is done with a finished part of a block.
BlockFinish = Callable[[Position, Position, Position, Position, Result], None] | None


@dataclass(frozen=True)
class Tiles:
    """Tiles of one height and width, which share their panels' depth.

    accumulate: an i1: add to the sums in memory; None for never.
    last: an i1: these are the last products of the sums; None for always.
    finish: emits what is done with finished sums, at most `finished` rows and columns at
        a time.
    source: what the panels of columns are packed from by their first tile, if they are not yet.
    """

    vectors: Vectors
    left: Panels
    right: Panels
    depth: Position
    accumulate: Any
    height: int
    width: int
    last: Any
    finish: BlockFinish
    finished: tuple[int, int]
    source: Panels | None = None

    def emit(self, out: Result, row: Position, rows: Position, columns: Position) -> None:
        """Emit the tiles of a block of the result, which begins with a row."""
        if self.finish is None:
            self._part(out.block(row, 0), 0, 0, rows, columns)
            return
        high, wide = self.finished

        def part(i: Position, j: Position) -> None:
            height, width = minimum(high, subtract(rows, i)), minimum(wide, subtract(columns, j))
            sums = out.block(add(row, i), j)
            self._part(sums, i, j, height, width)
            assert self.finish is not None
            if self.last is None:
                self.finish(i, j, height, width, sums)
                return
            with ir.InsertionPoint(scf.IfOp(self.last).then_block):
                self.finish(i, j, height, width, sums)
                scf.yield_([])

        def some(j: Position, _: Any) -> None:
            start = 0
            if self.source is not None:
                part(0, j)
                start = high
            for_range(start, rows, high, lambda i, _: part(i, j))

        for_range(0, columns, wide, some)

    def _part(
        self, out: Result, row: Position, column: Position, rows: Position, columns: Position
    ) -> None:
        """The tiles of a part that begins with a row and column."""

        def panel(j: Position, _: Any) -> None:
            right, source = self.right.panel(add(column, j)), None
            if self.source is not None and isinstance(row, int) and row == 0:
                source = self.source.panel(add(column, j))
            self._call_rows(self.left.panel(row), right, out.at(0, j), rows, source)

        for_range(0, columns, self.width, panel)

    def _call_rows(
        self, left: Panels, right: Panels, out: Result, rows: Position, source: Panels | None
    ) -> None:
        """The tiles of a panel of columns, in a function that equal products share."""

        def tiles(memories: list[Any], values: list[Position]) -> None:
            left_at, left_step, right_at, out_at, depth, count, *rest = values
            inner = replace(
                self,
                left=replace(left, memory=memories[0], position=left_at, panel_step=left_step),
                right=replace(right, memory=memories[1], position=right_at),
                depth=depth,
                accumulate=rest[0] if self.accumulate is not None else None,
            )
            sums = replace(out, memory=memories[2], position=out_at)
            first = 0
            if source is not None:
                place = replace(source, memory=memories[3], position=rest[-1])
                inner._tile(inner.left, inner.right, sums, place)
                first = self.height

            def row(i: Position, _: Any) -> None:
                inner._tile(inner.left.panel(i), inner.right, sums.at(i, 0))

            for_range(first, count, self.height, row)

        known = [left.line_step, left.depth_step, right.line_step, right.depth_step, out.row_step]
        memories = [left.memory, right.memory, out.memory]
        values = [left.position, left.panel_step, right.position, out.position, self.depth, rows]
        values += [] if self.accumulate is None else [self.accumulate]
        if source is not None:
            known.append(source.depth_step)
            memories.append(source.memory)
            values.append(source.position)
        call_part(
            "product",
            (self.vectors, self.height, self.width, *known, self.accumulate is None),
            memories,
            values,
            tiles,
        )

    def _tile(self, left: Panels, right: Panels, out: Result, source: Panels | None = None) -> None:
        """One tile, which packs its panel of columns on the way if there is a source."""
        vectors, count = self.vectors, -(-self.width // self.vectors.lanes)
        packed = right.line_step == 1 and right.depth_step == count * vectors.lanes

        def step(p: Position, sums: Sequence[Any], unroll: int) -> Sequence[Any]:
            across = add(left.position, multiply(p, left.depth_step))
            down = add(right.position, multiply(p, right.depth_step))
            sums = list(sums)
            for u in range(unroll):
                row = []
                for j in range(count):
                    place = add(down, u * right.depth_step + j * vectors.lanes)
                    if source is None:
                        inside = None if packed else self.width - j * vectors.lanes
                        row.append(vectors.load(right.memory, place, inside))
                        continue
                    start = add(source.position, multiply(add(p, u), source.depth_step))
                    row.append(vectors.load(source.memory, add(start, j * vectors.lanes)))
                    vectors.store(row[-1], right.memory, place)
                for i in range(self.height):
                    at = add(across, u * left.depth_step + i * left.line_step)
                    factor = vectors.broadcast(load(left.memory, at))
                    for j in range(count):
                        at = i * count + j
                        sums[at] = vectors.multiply_add(factor, row[j], sums[at])
            return sums

        # Two steps hide the loop's overhead; who packs has other things to wait for.
        unroll = 1 if source is not None else 2
        whole = round_down(self.depth, unroll)
        sums: Sequence[Any] = [vectors.zero()] * (self.height * count)
        sums = for_range(0, whole, unroll, lambda p, s: step(p, s, unroll), sums)
        sums = for_range(whole, self.depth, 1, lambda p, s: step(p, s, 1), sums)
        if self.accumulate is None:
            self._store(sums, out, accumulate=False)
            return
        choice = scf.IfOp(self.accumulate, has_else=True)
        for block, accumulate in ((choice.then_block, True), (choice.else_block, False)):
            with ir.InsertionPoint(block):
                self._store(sums, out, accumulate=accumulate)
                scf.yield_([])

    def _store(self, sums: Sequence[Any], out: Result, *, accumulate: bool) -> None:
        vectors, count = self.vectors, -(-self.width // self.vectors.lanes)
        for i in range(self.height):
            for j in range(count):
                position = add(out.position, i * out.row_step + j * vectors.lanes)
                inside = self.width - j * vectors.lanes
                value = sums[i * count + j]
                if accumulate:
                    value = vectors.add(vectors.load(out.memory, position, inside), value)
                vectors.store(value, out.memory, position, inside)
