"""Tiles of matrices in shared memory, of which each block of threads works on a few.

A tile's rows are one element longer than its columns are many, so that neither the elements of a
row nor those of a column share a bank.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.grid import below, thread_in_block
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import add_freely, multiply_freely
from tfc.backends.mlir.loops import for_each, for_loop, found_when, when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.shape import ElementType, Shape

EDGE = 32  # rows and columns of a tile, unless the matrix has fewer


def edge_of(size: int) -> int:
    """The rows or columns of a tile: a power of two."""
    return min(EDGE, 1 << max(size - 1, 0).bit_length())


def tile_shape(element_type: ElementType, rows: int, columns: int) -> Shape:
    """The shared memory of a tile."""
    return Shape(element_type, (rows * _stride(columns),))


def _stride(columns: int) -> int:
    """From row to row; a single column has no gaps, which LLVM would read along with it."""
    return columns + 1 if columns > 1 else 1


@dataclass(frozen=True)
class Tile:
    """A tile in shared memory."""

    buffer: Buffer
    rows: int
    columns: int

    def get(self, row: Any, column: Any) -> Scalar:
        """An element."""
        return load_at(self.buffer, self._position(row, column))

    def put(self, row: Any, column: Any, value: Scalar) -> None:
        """Set an element."""
        store_at(value, self.buffer, self._position(row, column))

    def fill(
        self,
        threads: int,
        down: bool,
        inside: Callable[[Any, Any], Any],
        element: Callable[[Any, Any], Scalar],
    ) -> None:
        """Set all elements, with zero where `inside` does not hold; there are threads for all rows.

        Args:
            down: whether neighbouring threads take elements of a column.
        """
        zero = constant(self.buffer.shape.element_type, 0)

        def one(row: Any, column: Any) -> None:
            (value,) = found_when(inside(row, column), lambda: [element(row, column)], [zero])
            self.put(row, column, value)

        self.each(threads, down, one)
        if self.columns > 1:  # LLVM reads gaps of small tiles along with what lies around them
            row = thread_in_block()
            when(below(row, self.rows), lambda: self.put(row, self.columns, zero))

    def each(self, threads: int, down: bool, body: Callable[[Any, Any], None]) -> None:
        """Emit `body` for each (row, column), which the threads of the block take in turn."""
        width = index_value(self.rows if down else self.columns)

        def at(number: Any) -> None:
            far, near = arith.divui(number, width), arith.remui(number, width)
            body(*((near, far) if down else (far, near)))

        count = self.rows * self.columns
        if count <= threads:
            when(below(thread_in_block(), count), lambda: at(thread_in_block()))
        else:
            for_each(0, count // threads,
                     lambda turn: at(add(multiply(turn, threads), thread_in_block())))  # fmt: skip

    def _position(self, row: Any, column: Any) -> Any:
        return index_value(add(multiply(row, _stride(self.columns)), column))


def each_product(
    sizes: tuple[int, int, int],
    threads: int,
    down: bool,
    factors: tuple[Callable[[Any, Any], Scalar], Callable[[Any, Any], Scalar]],
    body: Callable[[Any, Any, Scalar], None],
) -> None:
    """Emit `body` for each element (row, column) of a product of tiles and its value.

    Args:
        sizes: rows, columns, and the terms of each sum, powers of two.
        down: whether neighbouring threads take elements of a column.
        factors: of (row, term), and of (term, column).
    """
    rows, columns, terms = sizes
    width = rows if down else columns
    count = max(rows * columns // threads, 1)

    def sums() -> None:
        near = arith.remui(thread_in_block(), index_value(width))
        far = arith.divui(thread_in_block(), index_value(width))
        # Of all elements of a thread one place is the same, and so is what is read for it.
        fars = [add(far, n * (threads // width)) for n in range(count)]
        own, other = factors if down else factors[::-1]

        def term(place: Any, totals: Any) -> list[Scalar]:
            shared = own(near, place) if down else own(place, near)
            found = [other(place, f) if down else other(f, place) for f in fars]
            return [add_freely(t, multiply_freely(f, shared)) for t, f in zip(totals, found)]

        zero = constant(own(index_value(0), index_value(0)).element_type, 0)
        totals = for_loop(0, terms, 1, term, [zero] * count)
        for other_place, total in zip(fars, totals):
            body(*((near, other_place) if down else (other_place, near)), total)

    if rows * columns < threads:
        when(below(thread_in_block(), rows * columns), sums)
    else:
        sums()
