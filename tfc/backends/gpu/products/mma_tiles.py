"""Tiles multiplied by warps, in fragments: `mma.sync`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.matrices import Kind, Tile, TileForm, multiply, place_of_sum, zeros
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.mlir.arithmetic.value import Scalar


@dataclass(frozen=True)
class MmaTiles:
    """A warp's part of a block's tiles.

    lane: of the thread. row, column: where in the block's tile that of its warp begins.
    """

    schedule: Schedule
    kind: Kind
    forms: tuple[TileForm, TileForm]
    lane: Scalar
    row: Scalar
    column: Scalar

    @property
    def _down(self) -> int:
        return self.schedule.warp_rows // self.kind.rows

    @property
    def _across(self) -> int:
        return self.schedule.warp_columns // self.kind.columns

    def start(self) -> list[Any]:
        """Zeros."""
        return [z for _ in range(self._down * self._across) for z in zeros(self.kind)]

    def step(self, lhs: Scalar, rhs: Scalar, sums: Sequence[Any]) -> list[Any]:
        """The sums with the products of the tiles at two addresses."""
        kind = self.kind
        left, right = Tile(self.forms[0], lhs, self.lane), Tile(self.forms[1], rhs, self.lane)
        width = kind.registers[2]
        parts = [list(sums[n : n + width]) for n in range(0, len(sums), width)]
        at_once = 8 if kind.is_double else 16
        for number in range(self.schedule.depth(kind.bytes) // kind.depth):
            a = [left.rows(self.row, n * kind.rows, number) for n in range(self._down)]
            b = [
                fragment
                for n in range(0, self.schedule.warp_columns, at_once)
                for fragment in right.columns(self.column, n, number)
            ]
            for i in range(self._down):
                for j in range(self._across):
                    at = i * self._across + j
                    parts[at] = multiply(kind, a[i], b[j], parts[at])
        return [x for part in parts for x in part]

    def places(self, sums: Sequence[Any]) -> Iterator[tuple[Scalar, Scalar, list[Any]]]:
        """(row, column, values) of the thread's sums in the block's tile, neighbours together."""
        width = self.kind.registers[2]
        for i in range(self._down):
            for j in range(self._across):
                part = sums[(i * self._across + j) * width :][:width]
                for first in range(0, width, 2):
                    row, column = place_of_sum(self.lane, first)
                    yield (
                        self.row + row + i * self.kind.rows,
                        self.column + column + j * self.kind.columns,
                        list(part[first : first + 2]),
                    )
