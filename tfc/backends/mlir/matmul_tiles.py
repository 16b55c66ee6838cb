"""Tiles of a matrix product: blocks of results whose sums are made in registers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.packing import Panels
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import Position, Vectors, add, for_range, load, multiply, round_down


@dataclass(frozen=True)
class Result:
    """Where the result's rows lie: element (i, j) is at position + i·row_step + j.

    one_tile: there is room for one tile only, which every tile takes in turn.
    """

    memory: Any
    position: Position
    row_step: int
    one_tile: bool = False

    def at(self, row: Position, column: Position) -> "Result":
        """The part of the result that begins with an element."""
        if self.one_tile:
            return self
        position = add(self.position, multiply(row, self.row_step), column)
        return Result(self.memory, position, self.row_step)


TileFinish = Callable[[Position, Position, Result], None] | None


@dataclass(frozen=True)
class Tiles:
    """Tiles of one height and width, which share their panels' depth.

    accumulate: an i1: add to the sums in memory; None for never.
    last: an i1: these are the last products of the sums; None for always.
    finish: emits what is done with finished sums, for a tile's place and where they are.
    """

    vectors: Vectors
    left: Panels
    right: Panels
    depth: Position
    accumulate: Any
    height: int
    width: int
    last: Any
    finish: TileFinish

    def emit(self, out: Result, rows: Position, columns: Position) -> None:
        """Emit the tiles of a block of the result."""

        def column(j: Position, _: Any) -> None:
            def row(i: Position, _: Any) -> None:
                sums = out.at(i, j)
                self._tile(self.left.panel(i), self.right.panel(j), sums)
                if self.finish is None:
                    return
                if self.last is None:
                    self.finish(i, j, sums)
                    return
                with ir.InsertionPoint(scf.IfOp(self.last).then_block):
                    self.finish(i, j, sums)
                    scf.yield_([])

            for_range(0, rows, self.height, row)

        for_range(0, columns, self.width, column)

    @property
    def _unroll(self) -> int:
        """Steps of depth in one turn of the loop: enough to hide its overhead in a full tile."""
        return 4 if self.height >= 4 and self.width > self.vectors.lanes else 2

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

        unroll = self._unroll
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
                    value = arith.addf(vectors.load(out.memory, position, inside), value)
                vectors.store(value, out.memory, position, inside)
