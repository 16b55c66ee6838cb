"""Tiles of a product or a convolution: blocks of results whose sums are made in registers.

    for each panel of columns, for each panel of rows:
        for each place of a window, which a product of matrices has one of:
            for each contracted position:
                tile += column of the left operand × row of the right one

All these loops are one function, which products and convolutions of all sizes share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.cpu.products.functions import call_part
from tfc.backends.cpu.products.packing import Panels
from tfc.backends.cpu.products.register_tile import RegisterTile, sum_up
from tfc.backends.cpu.products.word_tiles import tile_of
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    minimum,
    multiply,
    prefetch,
    round_down,
    subtract,
)

UNROLL = 2  # contracted positions in one turn of a loop: enough to hide its overhead
_LINE = 64  # bytes
_TALL = 4  # rows of a tile whose arithmetic hides that it fetches
_SHORT = 4  # contracted positions that are code rather than a loop: the channels of an image


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


@dataclass(frozen=True)
class Walk:
    """The places of a window along a dimension: how many, and how far apart in both operands."""

    count: Position
    left_step: Position
    right_step: Position


@dataclass(frozen=True)
class Tiles:
    """Tiles of one height and width.

    depth: how many positions are contracted at each place of the window.
    even: `depth` is a multiple of `unroll`.
    special: known sizes become part of the code.
    accumulate: an i1: add to the sums in memory; None for never.
    walks: the places of the window, dimension by dimension.
    unroll: how many contracted positions one turn of a loop has.
    """

    vectors: Vectors
    height: int
    width: int
    left: Panels
    right: Panels
    depth: Position
    even: bool
    special: bool
    accumulate: Any = None
    walks: Sequence[Walk] = ()
    unroll: int = UNROLL

    def call(
        self, out: Result, rows: Position, columns: Position, more: Position | None = None
    ) -> None:
        """Emit a call of the function that makes the tiles of a block of the result.

        Args:
            more: how many columns there are in panels from the block's first on; `columns` if left
                out.

        Of the steps in memory it knows those of packed panels and which are neighbours. Of rows
        that are apart it gets where each begins, as values that are unrelated to LLVM. Of rows a
        step apart LLVM would compute one's address from another's in the innermost loop, where
        addresses then take all integer registers; its scheduler puts off what needs one until so
        many products wait for their factors that vectors go to the stack.
        """
        left, right, depth = self.left, self.right, self.depth
        steps = [left.depth_step, right.depth_step, out.row_step]
        start, lines = left.position, [multiply(left.line_step, i) for i in range(self.height)]
        near = left.line_step in (0, 1)
        if not near:
            start, lines = 0, [add(start, line) for line in lines]
        values = [left.panel_step, right.position, right.panel_step, out.position, rows, columns]
        values.append(columns if more is None else more)
        values += [v for w in self.walks for v in (w.count, w.left_step, w.right_step)]
        if not self.special:
            stored = len(self._tile.insides) * self.vectors.lanes
            known = (0, 1, self.height), (stored,), ()
            steps = [s if s in k else index_value(s) for s, k in zip(steps, known)]
            start, lines = (index_value(start), lines) if near else (0, map(index_value, lines))
            values = list(map(index_value, values))
            if not (isinstance(depth, int) and depth <= _SHORT):
                depth = index_value(depth)
        accumulate = [] if self.accumulate is None else [self.accumulate]
        call_part(
            "tiles",
            (
                self.vectors,
                self.height,
                self.width,
                self.even,
                self.unroll,
                len(accumulate),
                len(self.walks),
            ),
            [left.memory, right.memory, out.memory],
            [depth, *steps, start, *lines, *values, *accumulate],
            self._body,
            any_size=True,
        )

    @property
    def _tile(self) -> RegisterTile:
        return tile_of(self.vectors, self.height, self.width)

    def _body(self, memories: list[Any], values: list[Position]) -> None:
        """The loops over tiles, in terms of the function's arguments."""
        depth, along, down, across, left_at, *values = values
        lines, values = values[: self.height], values[self.height :]
        left_step, right_at, right_step, out_at, rows, columns, more, *rest = values
        inner = replace(
            self,
            left=Panels(memories[0], left_at, left_step, 0, along),
            right=Panels(memories[1], right_at, right_step, 1, down),
            depth=depth,
            walks=[Walk(*rest[3 * n : 3 * n + 3]) for n in range(len(self.walks))],
            accumulate=None if self.accumulate is None else rest[-1],
        )
        sums = Result(memories[2], out_at, across)

        def panel(j: Position, _: Any) -> None:
            def row(i: Position, _: Any) -> None:
                inner._make(i, j, sums.at(i, j), lines, more)

            for_range(0, rows, self.height, row)

        for_range(0, columns, self.width, panel)

    def _make(
        self, row: Position, column: Position, out: Result, lines: Sequence[Position],
        more: Position,
    ) -> None:  # fmt: skip
        """One tile, from the panels that begin with a row and a column."""
        tile, left, right = self._tile, self.left.panel(row), self.right.panel(column)
        packed = right.depth_step == len(tile.insides) * self.vectors.lanes
        whole = self.depth if self.even else round_down(self.depth, self.unroll)

        looks_ahead = packed and not self.special and self.height >= _TALL
        ahead = self._ahead(row, column, more) if looks_ahead else None

        def place(from_left: Position, from_right: Position, sums: Sequence[Any]) -> Sequence[Any]:
            def begin(p: Position) -> None:
                if ahead is not None:
                    at = add(from_right, multiply(p, right.depth_step), ahead)
                    prefetch(right.memory, at, second=True)

            def step(p: Position, sums: Sequence[Any]) -> Sequence[Any]:
                across = add(from_left, multiply(p, left.depth_step))
                vectors = tile.row(
                    right.memory, add(from_right, multiply(p, right.depth_step)), whole=packed
                )
                elements = tile.broadcasts(left.memory, [add(across, i) for i in lines])
                return tile.add_products(sums, elements, vectors)

            return sum_up(self.depth, whole, self.unroll, step, sums, begin)

        ends = [add(out.position, multiply(i, out.row_step)) for i in range(self.height)]
        if not self.special:
            tile.fetch(out.memory, ends)
        sums = _walk(self.walks, left.position, right.position, place, tile.zeros())
        sums = tile.finished(sums)
        if self.accumulate is None:
            tile.store(sums, out.memory, ends)
            return
        choice = scf.IfOp(self.accumulate, has_else=True)
        for block, adds in ((choice.then_block, True), (choice.else_block, False)):
            with ir.InsertionPoint(block):
                tile.store(sums, out.memory, ends, adds=adds)
                scf.yield_([])

    def _ahead(self, row: Position, column: Position, more: Position) -> Position:
        """How far ahead of what a tile reads of the right operand there is a line for it to fetch.

        The first tiles of a panel fetch the next one: in each turn of the loop a line each.
        """
        tile, element = self._tile, self.vectors.element_type.bytes
        stored = len(tile.insides) * self.vectors.lanes
        line = max(_LINE // element, 1)
        shares = max(self.unroll * stored // line, 1)
        number = arith.divui(index_value(row), index_value(self.height))
        takes = arith.andi(
            arith.cmpi(arith.CmpIPredicate.ult, number, index_value(shares)),
            arith.cmpi(
                arith.CmpIPredicate.ult, index_value(add(column, self.width)), index_value(more)
            ),
        )
        there = add(multiply(self.right.panel_step, self.width), multiply(number, line))
        return arith.select(takes, index_value(there), index_value(0))


def _walk(
    walks: Sequence[Walk], left: Position, right: Position,
    place: Callable[[Position, Position, Sequence[Any]], Sequence[Any]], sums: Sequence[Any],
) -> Sequence[Any]:  # fmt: skip
    """The sums after all places of a window, whose first is at positions of the operands."""
    if not walks:
        return place(left, right, sums)
    walk, *inner = walks

    def step(t: Position, sums: Sequence[Any]) -> Sequence[Any]:
        from_left = add(left, multiply(t, walk.left_step))
        from_right = add(right, multiply(t, walk.right_step))
        return _walk(inner, from_left, from_right, place, sums)

    return for_range(0, walk.count, 1, step, sums)


# (first row, first column, rows, columns, sums): what is done with a finished part of a block.
BlockFinish = Callable[[Position, Position, Position, Position, Result], None]


@dataclass(frozen=True)
class Finishing:
    """What finishes sums once their last products are added.

    emit: emits it, for at most `most` rows and columns at a time: those are in the first cache.
    last: an i1: these are the last products of the sums; None for always.
    """

    emit: BlockFinish
    most: tuple[int, int]
    last: Any

    def emit_around(
        self, tiles: Tiles, out: Result, row: Position, rows: Position, columns: Position
    ) -> None:
        """Emit the tiles of a block that begins with a row, part by part, and finish each."""
        high, wide = self.most

        def part(i: Position, j: Position) -> None:
            height, width = minimum(high, subtract(rows, i)), minimum(wide, subtract(columns, j))
            sums = out.block(add(row, i), j)
            here = replace(tiles, left=tiles.left.panel(i), right=tiles.right.panel(j))
            here.call(sums, height, width, subtract(columns, j))
            if self.last is None:
                self.emit(i, j, height, width, sums)
                return
            with ir.InsertionPoint(scf.IfOp(self.last).then_block):
                self.emit(i, j, height, width, sums)
                scf.yield_([])

        def some(j: Position, _: Any) -> None:
            for_range(0, rows, high, lambda i, _: part(i, j))

        for_range(0, columns, wide, some)
