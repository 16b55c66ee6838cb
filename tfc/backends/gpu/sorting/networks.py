"""Sorts by any comparator, stably, as a network of exchanges.

    for block = 2, 4, 8 … until a block holds a row       each half of a block is in order
      compare i with its mirror in the block               the lower half is now ≤ the upper one
      for step = block/4 … 2, 1: compare i with i + step   each half is put in order alike

All comparisons of a step go to different pairs. Places beyond the row's end count as greater than
all, so they never move. Equal elements are told apart by where they were: their numbers move with
them. So a comparator that contradicts itself loses no element.

A block of threads has a tile of elements in shared memory: several rows, or a part of one. Steps
within tiles need no launch of their own; a row of several tiles takes a launch for each step
between tiles, and one for all those within them that follow.

Where an element lies in shared memory: neighbouring threads compare low places of which one bit is
zero, so in every other stretch of what all banks hold once the bits of places are flipped, and no
two of them share a bank.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.grid import THREADS, block_number, thread_in_block
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.sorting.sort_rows import (
    Scalars,
    SortRows,
    rows_and_length,
    sorted_types,
)
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type, select
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.loops import for_each, when, while_loop
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import load_at, scratch_arrays, store_at
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import PRED, U32, U64, ElementType, Shape

_MOST = 2048  # elements of a tile
_MOST_BYTES = 32 << 10
_LEAST = 64
_BANKS = 128  # bytes that all banks hold together
_MIRROR = 0  # the second number of a launch that compares with the mirror in the block
_WITHIN = 1  # the first number of a launch for what lies within tiles

_LESS = arith.CmpIPredicate.ult


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
        return max(self.padded // self.size, 1)

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
        """The tile in shared memory."""
        return [Shape(t, (self.size,)) for t in (*self.types, self.number_type)]


def tiles_of(kernel: Kernel) -> Tiles:
    """The tiles of a sort."""
    rows, length = rows_and_length(kernel)
    types = sorted_types(kernel.root)
    bytes_of_one = sum(t.bytes for t in types) + 8
    padded = 1 << max(length - 1, 0).bit_length()
    size = _MOST
    while size > _LEAST and size * bytes_of_one > _MOST_BYTES:
        size //= 2
    while size > _LEAST and size >= 2 * rows * padded:
        size //= 2
    return Tiles(rows, length, padded, size, types)


def network_numbers(kernel: Kernel) -> Shape | None:
    """Where each element of sorted rows was: scratch memory, if rows have several tiles."""
    tiles = tiles_of(kernel)
    return Shape(tiles.number_type, (kernel.results[0].size,)) if tiles.of_row > 1 else None


def network_parts(kernel: Kernel) -> list[Part]:
    """The functions: tiles are sorted, then all else is compared."""
    tiles = tiles_of(kernel)
    shared = shared_bytes(tiles.shared)

    def first(work: Work) -> None:
        _Network(work, tiles).sort_tile()

    def further(work: Work) -> None:
        _Network(work, tiles).compare()

    launches = _launches(tiles)
    parts = [Part(first, tiles.blocks, True, threads=tiles.threads, shared=shared)]
    if launches:
        parts.append(Part(further, tiles.blocks, True, launches, tiles.threads, shared))
    return parts


def _launches(tiles: Tiles) -> list[tuple[int, int]]:
    """The numbers of each launch after the first: the block and the step, or `_WITHIN`."""
    found, block = [], 2 * tiles.size
    while block <= tiles.padded:
        found.append((block, _MIRROR))
        step = block // 4
        while step >= tiles.size:
            found.append((block, step))
            step //= 2
        found.append((_WITHIN, tiles.size // 2))
        block *= 2
    return found


class _Network:
    """The code of a block of threads."""

    def __init__(self, work: Work, tiles: Tiles):
        self.work, self.tiles, self.rows = work, tiles, SortRows(work)
        self.held = shared_arrays(tiles.shared)
        # The first place of the tile in what all rows would be with `padded` elements each.
        self.start = arith.muli(block_number(), index_value(tiles.size))

    def sort_tile(self) -> None:
        """Bring a tile of the operands, sort what it has of each row, and store that."""
        tiles = self.tiles
        self._bring(lambda row, place: [*self.rows.operand(row, place), self._number(place)])
        end = index_value(2 * min(tiles.size, tiles.padded))

        def block(state: Sequence[Any]) -> Sequence[Any]:
            (size,) = state
            self._step(size, index_value(_MIRROR))
            self._steps(arith.divui(size, index_value(4)))
            return [arith.muli(size, index_value(2))]

        if tiles.padded > 1:
            while_loop([index_value(2)], lambda s: arith.cmpi(_LESS, s[0], end), block)
        self._store()

    def compare(self) -> None:
        """One step between tiles, or all steps within one that are left."""
        size, step = self.work.numbers
        within = arith.cmpi(arith.CmpIPredicate.eq, size, index_value(_WITHIN))
        choice = scf.IfOp(within, has_else=True)
        with ir.InsertionPoint(choice.then_block):
            self._bring(self._stored)
            self._steps(step)
            self._store()
            scf.yield_([])
        with ir.InsertionPoint(choice.else_block):
            self._between(size, step)
            scf.yield_([])

    # --- Within a tile ----------------------------------------------------------------------------

    def _bring(self, element: Callable[[Any, Any], Scalars]) -> None:
        def one(number: Any) -> None:
            def bring() -> None:
                self._keep_held(number, element(*self._place(number)))

            when(self._is_inside(number), bring)

        self._each(self.tiles.size, one)
        barrier()

    def _store(self) -> None:
        def one(number: Any) -> None:
            def store() -> None:
                self._keep(*self._place(number), self._held(number))

            when(self._is_inside(number), store)

        self._each(self.tiles.size, one)

    def _steps(self, first: Any) -> None:
        """The steps from a first one down to 1; none if it is 0."""

        def step(state: Sequence[Any]) -> Sequence[Any]:
            self._step(None, state[0])
            return [arith.divui(state[0], index_value(2))]

        def goes_on(state: Sequence[Any]) -> Any:
            return arith.cmpi(arith.CmpIPredicate.ugt, state[0], index_value(0))

        while_loop([first], goes_on, step)

    def _step(self, block: Any, step: Any) -> None:
        """One step of the whole tile; a block's mirrors if a block is given."""

        def one(pair: Any) -> None:
            low, high = mirrors(pair, block) if block is not None else apart(pair, step)

            def order() -> None:
                lower, upper = self._held(low), self._held(high)
                swaps = self._swaps(lower, upper)
                # Lanes that store nothing would leave others to be put together anew.
                self._keep_held(low, [select(swaps, u, v) for v, u in zip(lower, upper)])
                self._keep_held(high, [select(swaps, v, u) for v, u in zip(lower, upper)])

            # Where the higher one is inside of its row, so is the lower one.
            when(self._is_inside(high), order)

        self._each(self.tiles.size // 2, one)
        barrier()

    def _each(self, count: int, body: Callable[[Any], None]) -> None:
        """The threads of the block take the numbers below `count` in turn."""
        threads = self.tiles.threads
        if count <= threads:
            inside = arith.cmpi(_LESS, thread_in_block(), index_value(count))
            when(inside, lambda: body(thread_in_block()))
            return

        def turn(number: Any) -> None:
            start = arith.muli(number, index_value(threads))
            body(arith.addi(start, thread_in_block()))

        for_each(0, count // threads, turn)

    def _place(self, number: Any) -> tuple[Any, Any]:
        """The row of the tile's element with a number, and the place in the row."""
        at, padded = arith.addi(self.start, number), index_value(self.tiles.padded)
        return arith.divui(at, padded), arith.remui(at, padded)

    def _is_inside(self, number: Any) -> Any:
        row, place = self._place(number)
        inside = arith.cmpi(_LESS, place, index_value(self.tiles.length))
        return arith.andi(inside, arith.cmpi(_LESS, row, index_value(self.tiles.rows)))

    def _held(self, number: Any) -> Scalars:
        return [load_at(a, exchanged(number, a)) for a in self.held]

    def _keep_held(self, number: Any, values: Scalars) -> None:
        for value, array in zip(values, self.held):
            store_at(value, array, exchanged(number, array))

    # --- Between tiles ----------------------------------------------------------------------------

    def _between(self, block: Any, step: Any) -> None:
        """A step of a row of several tiles; the launch has threads for all pairs, in two turns."""
        tiles = self.tiles
        row = arith.divui(block_number(), index_value(tiles.of_row))
        tile = arith.remui(block_number(), index_value(tiles.of_row))
        start = arith.muli(tile, index_value(tiles.size // 2))
        is_mirror = arith.cmpi(arith.CmpIPredicate.eq, step, index_value(_MIRROR))
        # A step is not 0 where it is used.
        safe = arith.select(is_mirror, index_value(1), step)

        def one(number: Any) -> None:
            pair = arith.addi(start, number)
            paired = zip(mirrors(pair, block), apart(pair, safe))
            low, high = (arith.select(is_mirror, m, a) for m, a in paired)
            inside = arith.cmpi(_LESS, high, index_value(tiles.length))

            def order() -> None:
                lower, upper = self._stored(row, low), self._stored(row, high)

                def exchange() -> None:
                    self._keep(row, low, upper)
                    self._keep(row, high, lower)

                when(self._swaps(lower, upper).value, exchange)

            when(inside, order)

        self._each(tiles.size // 2, one)

    def _stored(self, row: Any, place: Any) -> Scalars:
        (numbers,) = self._numbers()
        return [*self.rows.result(row, place), load_at(numbers, self._position(row, place))]

    def _keep(self, row: Any, place: Any, values: Scalars) -> None:
        *element, was = values
        self.rows.store(row, place, element)
        for array in self._numbers():
            store_at(was, array, self._position(row, place))

    def _numbers(self) -> list[Buffer]:
        shape = network_numbers(self.work.kernel)
        return scratch_arrays(self.work.scratch, [shape]) if shape is not None else []

    def _position(self, row: Any, place: Any) -> Any:
        return arith.addi(arith.muli(row, index_value(self.tiles.length)), place)

    def _number(self, place: Any) -> Scalar:
        kind = self.tiles.number_type
        return Scalar(arith.index_castui(mlir_type(kind), place), kind)

    def _swaps(self, lower: Scalars, upper: Scalars) -> Scalar:
        """Whether two elements are to change places."""
        first = self.rows.is_before(lower[:-1], upper[:-1])
        second = self.rows.is_before(upper[:-1], lower[:-1])
        later = arith.cmpi(arith.CmpIPredicate.ugt, lower[-1].value, upper[-1].value)
        return second | (~first & Scalar(later, PRED))


def apart(pair: Any, step: Any) -> tuple[Any, Any]:
    """The places of a pair that are a step apart, a power of two."""
    low = arith.addi(pair, arith.andi(pair, arith.subi(index_value(0), step)))
    return low, arith.addi(low, step)


def mirrors(pair: Any, block: Any) -> tuple[Any, Any]:
    """The places of a pair that are each other's mirrors in a block."""
    half = arith.divui(block, index_value(2))
    low = arith.addi(pair, arith.andi(pair, arith.subi(index_value(0), half)))
    return low, arith.xori(low, arith.subi(block, index_value(1)))


def exchanged(place: Any, array: Buffer) -> Any:
    """Where in shared memory an element lies."""
    size = max(array.shape.element_type.bytes, 1)
    if size < 4:  # of which the banks hold what two neighbouring stretches have
        return place
    stretch = _BANKS // size
    odd = arith.andi(arith.divui(place, index_value(stretch)), index_value(1))
    return arith.xori(place, arith.muli(odd, index_value(stretch - 1)))
