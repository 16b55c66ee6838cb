"""Sorts by any comparator, stably: tiles of rows, each of them in shared memory.

A tile has several rows, or a part of one. Places beyond the row's end count as greater than all, so
they never move. Equal elements are told apart by where they were: their numbers move with them. So
a comparator that contradicts itself loses no element.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.grid import THREADS, block_number
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.sorting.shared_tiles import SharedTile
from tfc.backends.gpu.sorting.sort_rows import (
    Scalars,
    SortRows,
    padded_length,
    rows_and_length,
    sorted_types,
)
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.loops import when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import PRED, U32, U64, ElementType, Shape

_MOST = 2048  # elements of a tile
_MOST_BYTES = 32 << 10
_LEAST = 64

_LESS = arith.CmpIPredicate.ult

Store = Callable[[SortRows, Any, Any, Scalars], None]
"""(rows, number of the row, place in it, element)"""


@dataclass(frozen=True)
class Tiles:
    """How rows lie in tiles.

    rows, length: the rows.
    padded: the power of two that a row is taken for.
    size: elements of a tile, a power of two.
    """

    rows: int
    length: int
    padded: int
    size: int
    types: tuple[ElementType, ...]

    @property
    def of_row(self) -> int:
        """Tiles of a row; 1 if a tile holds one or more rows."""
        return -(-self.length // self.size) if self.padded > self.size else 1

    @property
    def blocks(self) -> int:
        """Tiles in all."""
        together = max(self.size // self.padded, 1)
        return -(-self.rows // together) * self.of_row

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return min(THREADS, self.size // 2)

    @property
    def number_type(self) -> ElementType:
        """The type of the elements' numbers."""
        return U32 if self.length < 2**32 else U64

    @property
    def shared(self) -> list[Shape]:
        """The tile in shared memory: elements and their numbers."""
        return [Shape(t, (self.size,)) for t in (*self.types, self.number_type)]


def tiles_of(kernel: Kernel) -> Tiles:
    """The tiles of a sort."""
    rows, length = rows_and_length(kernel)
    types = sorted_types(kernel.root)
    bytes_of_one = sum(t.bytes for t in types) + 8
    padded = padded_length(length)
    size = _MOST
    while size > _LEAST and size * bytes_of_one > _MOST_BYTES:
        size //= 2
    while size > _LEAST and size >= 2 * rows * padded:
        size //= 2
    return Tiles(rows, length, padded, size, types)


def network_part(tiles: Tiles, store: Callable[[Work], Store] | None = None) -> Part:
    """The function that sorts each tile.

    Args:
        store: what it does with the elements; if left out, they are the results.
    """

    def emit(work: Work) -> None:
        own = store(work) if store else lambda rows, *element: rows.store(*element)
        _Network(work, tiles).emit(own)

    return Part(emit, tiles.blocks, True, threads=tiles.threads, shared=shared_bytes(tiles.shared))


class _Network:
    """The code of a block of threads."""

    def __init__(self, work: Work, tiles: Tiles):
        self.tiles, self.rows = tiles, SortRows(work)
        self.tile = SharedTile(shared_arrays(tiles.shared), tiles.threads, self._swaps)

    def emit(self, store: Store) -> None:
        """Bring a tile of the operands, sort what it has of each row, and store that."""
        tiles, tile = self.tiles, self.tile

        def bring(number: Any) -> None:
            row, place = self._place(number)
            own = Scalar(arith.index_castui(mlir_type(tiles.number_type), place), tiles.number_type)

            def put() -> None:
                tile.put(number, [*self.rows.operand(row, place), own])

            when(self._is_inside(number), put)

        tile.each(tiles.size, bring)
        barrier()
        # Stretches of a row's size are sorted, each by itself.
        if tiles.padded > 1:
            tile.sort(tiles.size, self._is_inside, min(tiles.size, tiles.padded))

        def keep(number: Any) -> None:
            row, place = self._place(number)

            def put() -> None:
                store(self.rows, row, place, tile.get(number)[:-1])

            when(self._is_inside(number), put)

        tile.each(tiles.size, keep)

    def _place(self, number: Any) -> tuple[Any, Any]:
        """The row of the tile's element with a number, and the place in the row."""
        tiles, size = self.tiles, index_value(self.tiles.size)
        if tiles.of_row > 1:
            of_row = index_value(tiles.of_row)
            first = arith.muli(arith.remui(block_number(), of_row), size)
            return arith.divui(block_number(), of_row), arith.addi(first, number)
        at, padded = arith.addi(arith.muli(block_number(), size), number), index_value(tiles.padded)
        return arith.divui(at, padded), arith.remui(at, padded)

    def _is_inside(self, number: Any) -> Any:
        row, place = self._place(number)
        inside = arith.cmpi(_LESS, place, index_value(self.tiles.length))
        return arith.andi(inside, arith.cmpi(_LESS, row, index_value(self.tiles.rows)))

    def _swaps(self, lower: Scalars, upper: Scalars) -> Scalar:
        return is_later(self.rows, lower, upper)


def is_later(rows: SortRows, lower: Scalars, upper: Scalars) -> Scalar:
    """Whether an element is after another one; of equal ones, that with the higher number is."""
    first = rows.is_before(lower[:-1], upper[:-1])
    second = rows.is_before(upper[:-1], lower[:-1])
    later = arith.cmpi(arith.CmpIPredicate.ugt, lower[-1].value, upper[-1].value)
    return second | (~first & Scalar(later, PRED))
