"""The sums of a tile of results, which stay in registers while products are added to them.

    for each contracted position:
        row = vectors of one operand                  (neighbours along the tile's rows)
        for each row of the tile:
            sums of the row += element × row          (a multiply-add for each vector)

Products of matrices and convolutions are this loop, around which they differ in what is read where.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    load,
    maximum,
    minimum,
    prefetch,
)

_LINE = 64  # bytes


@dataclass(frozen=True)
class RegisterTile:
    """`height` rows of `width` neighbours each; sums are vectors, row by row."""

    vectors: Vectors
    height: int
    width: int

    @cached_property
    def insides(self) -> list[int]:
        """How many elements of each vector of a row belong to the tile."""
        lanes = self.vectors.lanes
        return [min(self.width - at, lanes) for at in range(0, self.width, lanes)]

    def zeros(self) -> list[Any]:
        """Sums of nothing."""
        return [self.vectors.zero()] * (self.height * len(self.insides))

    def row(self, memory: Any, at: Position, *, whole: bool = False) -> list[Any]:
        """The vectors of a row that begins at a position.

        Args:
            whole: what follows the row up to a whole vector may be read, too.
        """
        lanes = self.vectors.lanes
        return [
            self.vectors.load(memory, add(at, j * lanes), None if whole else inside)
            for j, inside in enumerate(self.insides)
        ]

    def load(self, memory: Any, rows: Iterable[Position]) -> list[Any]:
        """The sums that lie in memory, whose rows begin at positions."""
        return [value for at in rows for value in self.row(memory, at)]

    def fetch(self, memory: Any, rows: Iterable[Position]) -> None:
        """Have the sums' places brought to the first cache, where rows begin at positions."""
        step = max(_LINE // self.vectors.element_type.bytes, self.vectors.lanes)
        for at in rows:
            for column in range(0, self.width, step):
                prefetch(memory, add(at, column))

    def finished(self, sums: Sequence[Any]) -> Sequence[Any]:
        """The sums of the tile's rows, once all products are added."""
        return sums

    def store(
        self, sums: Sequence[Any], memory: Any, rows: Iterable[Position], *, adds: bool = False
    ) -> None:
        """Put the sums where rows begin at positions, or add them to what is there."""
        values, lanes = iter(sums), self.vectors.lanes
        for at in rows:
            for j, inside in enumerate(self.insides):
                value, place = next(values), add(at, j * lanes)
                if adds:
                    value = self.vectors.add(self.vectors.load(memory, place, inside), value)
                self.vectors.store(value, memory, place, inside)

    def broadcasts(self, memory: Any, rows: Iterable[Position]) -> Iterable[Any]:
        """For each row, the element at a position in all lanes; made as they are used."""
        return (self.vectors.broadcast(load(memory, at)) for at in rows)

    def add_products(
        self, sums: Sequence[Any], factors: Iterable[Any], row: Sequence[Any]
    ) -> list[Any]:
        """The sums, with each row's factor times the vectors of `row` added to them."""
        old = iter(sums)
        return [self.vectors.multiply_add(f, v, next(old)) for f in factors for v in row]

    def add_lane_products(
        self, sums: Sequence[Any], values: Sequence[Any], row: Sequence[Any]
    ) -> list[Any]:
        """The sums, with vectors of each row's own times those of `row` added to them."""
        return [
            self.vectors.multiply_add(x, row[k % len(row)], total)
            for k, (x, total) in enumerate(zip(values, sums))
        ]


def each_panel(
    columns: int, width: int, body: Callable[[Position, int], None],
    part: tuple[Position, Position] | None = None,
) -> None:  # fmt: skip
    """Emit loops over panels of columns: `body` gets the first of a panel and how many they are.

    Args:
        width: how many each panel has but the last.
        part: the first of the columns that are wanted, and the end; each a panel's.
    """
    low, high = part or (0, columns)
    rest = columns % width
    for_range(low, minimum(high, columns - rest), width, lambda c, _: body(c, width))
    if rest:
        first = columns - rest
        for_range(maximum(low, first), high, rest, lambda c, _: body(first, rest))


def sum_up(
    depth: Position, whole: Position, unroll: int,
    step: Callable[[Position, Sequence[Any]], Sequence[Any]], sums: Sequence[Any],
    begin: Callable[[Position], None] | None = None,
) -> Sequence[Any]:  # fmt: skip
    """The sums after a step for each contracted position: several in a turn, then one by one.

    Args:
        whole: the positions, a multiple of `unroll`, for which there are whole turns.
        begin: emits what else each of these turns does.
    """

    def turn(p: Position, sums: Sequence[Any]) -> Sequence[Any]:
        if begin is not None:
            begin(p)
        for u in range(unroll):
            sums = step(add(p, u), sums)
        return sums

    sums = for_range(0, whole, unroll, turn, sums)
    return sums if whole is depth else for_range(whole, depth, 1, step, sums)
