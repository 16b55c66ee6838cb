"""Tiles of a matrix product: blocks of results whose sums are made in registers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.cpu.products.functions import call_part
from tfc.backends.cpu.products.packing import Panels
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    load,
    minimum,
    multiply,
    round_down,
    subtract,
)

DEPTHS = 2  # steps of depth in one turn of a loop: enough to hide its overhead


@dataclass(frozen=True)
class Result:
    """Where the result's rows lie: element (i, j) is at position + i·row_step + j.

    one_block: there is room for one block only, which every block takes in turn.
    """

    memory: Any
    position: Position
    row_step: Position
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
    even: the depth is a multiple of `DEPTHS`.
    special: known sizes become part of the code.
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
    even: bool
    special: bool
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
        """The tiles of a part that begins with a row and column.

        They are made in a function that products of all sizes share. Of the steps in memory it
        knows those of packed panels and which are neighbours.
        """
        left, right = self.left.panel(row), self.right.panel(column)
        steps = [left.line_step, left.depth_step, right.depth_step, out.row_step]
        values = [left.position, left.panel_step, right.position, right.panel_step, out.position]
        values += [self.depth, rows, columns]
        if not self.special:
            stored = -(-self.width // self.vectors.lanes) * self.vectors.lanes
            known = (0, 1, self.height), (0, 1, self.height), (stored,), ()
            steps = [s if s in k else index_value(s) for s, k in zip(steps, known)]
            values = list(map(index_value, values))
        varying = [s for s in steps if not isinstance(s, int)]

        def tiles(memories: list[Any], values: list[Position]) -> None:
            left_at, left_step, right_at, right_step, out_at, depth, rows, columns = values[:8]
            rest = values[8:]
            accumulate = None if self.accumulate is None else rest.pop()
            line, along, down, across = (s if isinstance(s, int) else rest.pop(0) for s in steps)
            left = Panels(memories[0], left_at, left_step, line, along)
            right = Panels(memories[1], right_at, right_step, 1, down)
            inner = replace(self, left=left, right=right, depth=depth, accumulate=accumulate)
            sums = Result(memories[2], out_at, across)

            def panel(j: Position, _: Any) -> None:
                def row(i: Position, _: Any) -> None:
                    inner._tile(left.panel(i), right.panel(j), sums.at(i, j))

                for_range(0, rows, self.height, row)

            for_range(0, columns, self.width, panel)

        key = self.vectors, self.height, self.width, self.even, self.accumulate is None
        call_part(
            "product",
            (key, [s if isinstance(s, int) else None for s in steps]),
            [left.memory, right.memory, out.memory],
            [*values, *varying, *([] if self.accumulate is None else [self.accumulate])],
            tiles,
            any_size=True,
        )

    def _tile(self, left: Panels, right: Panels, out: Result) -> None:
        vectors, count = self.vectors, -(-self.width // self.vectors.lanes)
        packed = right.depth_step == count * vectors.lanes
        lines = [multiply(i, left.line_step) for i in range(self.height)]

        def step(p: Position, sums: Sequence[Any], unroll: int) -> Sequence[Any]:
            sums = list(sums)
            for u in range(unroll):
                across = add(left.position, multiply(add(p, u), left.depth_step))
                down = add(right.position, multiply(add(p, u), right.depth_step))
                row = [
                    vectors.load(
                        right.memory,
                        add(down, j * vectors.lanes),
                        None if packed else self.width - j * vectors.lanes,
                    )
                    for j in range(count)
                ]
                for i in range(self.height):
                    factor = vectors.broadcast(load(left.memory, add(across, lines[i])))
                    for j in range(count):
                        at = i * count + j
                        sums[at] = vectors.multiply_add(factor, row[j], sums[at])
            return sums

        whole = self.depth if self.even else round_down(self.depth, DEPTHS)
        sums: Sequence[Any] = [vectors.zero()] * (self.height * count)
        sums = for_range(0, whole, DEPTHS, lambda p, s: step(p, s, DEPTHS), sums)
        if not self.even:
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
                position = add(out.position, multiply(i, out.row_step), j * vectors.lanes)
                inside = self.width - j * vectors.lanes
                value = sums[i * count + j]
                if accumulate:
                    value = vectors.add(vectors.load(out.memory, position, inside), value)
                vectors.store(value, out.memory, position, inside)
