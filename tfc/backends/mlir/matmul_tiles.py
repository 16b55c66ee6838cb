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
            for_range(0, rows, high, lambda i, _: part(i, j))

        for_range(0, columns, wide, some)

    def _part(
        self, out: Result, row: Position, column: Position, rows: Position, columns: Position
    ) -> None:
        """The tiles of a part that begins with a row and column."""

        def panel(j: Position, _: Any) -> None:
            right = self.right.panel(add(column, j))
            self._call_rows(self.left.panel(row), right, out.at(0, j), rows)

        for_range(0, columns, self.width, panel)

    def _call_rows(self, left: Panels, right: Panels, out: Result, rows: Position) -> None:
        """The tiles of a panel of columns, in a function that equal products share."""

        def tiles(memories: list[Any], values: list[Position]) -> None:
            left_at, left_step, right_at, out_at, depth, count, *accumulate = values
            inner = replace(
                self,
                left=replace(left, memory=memories[0], position=left_at, panel_step=left_step),
                right=replace(right, memory=memories[1], position=right_at),
                depth=depth,
                accumulate=accumulate[0] if accumulate else None,
            )
            sums = replace(out, memory=memories[2], position=out_at)

            def row(i: Position, _: Any) -> None:
                inner._tile(inner.left.panel(i), inner.right, sums.at(i, 0))

            for_range(0, count, self.height, row)

        known = (left.line_step, left.depth_step, right.line_step, right.depth_step, out.row_step)
        values = [left.position, left.panel_step, right.position, out.position, self.depth, rows]
        call_part(
            "product",
            (self.vectors, self.height, self.width, *known, self.accumulate is None),
            [left.memory, right.memory, out.memory],
            [*values, *([] if self.accumulate is None else [self.accumulate])],
            tiles,
        )

    def _tile(self, left: Panels, right: Panels, out: Result) -> None:
        vectors, count = self.vectors, -(-self.width // self.vectors.lanes)
        packed = right.line_step == 1 and right.depth_step == count * vectors.lanes

        def step(p: Position, sums: Sequence[Any], unroll: int) -> Sequence[Any]:
            across = add(left.position, multiply(p, left.depth_step))
            down = add(right.position, multiply(p, right.depth_step))
            sums = list(sums)
            for u in range(unroll):
                row = [
                    vectors.load(
                        right.memory,
                        add(down, u * right.depth_step + j * vectors.lanes),
                        None if packed else self.width - j * vectors.lanes,
                    )
                    for j in range(count)
                ]
                for i in range(self.height):
                    at = add(across, u * left.depth_step + i * left.line_step)
                    factor = vectors.broadcast(load(left.memory, at))
                    for j in range(count):
                        at = i * count + j
                        sums[at] = vectors.multiply_add(factor, row[j], sums[at])
            return sums

        unroll = 2  # enough to hide the loop's overhead
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
