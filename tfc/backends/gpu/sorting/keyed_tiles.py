"""Sorts by keys of rows that a block holds: its elements are in registers, some in each thread.

An element is its key and its number in the tile, so no two are equal and the order is stable; where
the key says all there is of it, it is the key alone. Of keys of few bits both are one word. Thread
t has the elements t · items … , and those that the network compares are in

    one thread    registers
    one warp      two lanes: what the other has comes by `shfl`
    one block     two warps: it comes through shared memory

    for block = 2, 4, 8 …                             each half of a block is in order
      compare i with its mirror in the block           the lower half is now ≤ the upper one
      for step = block/4 … 2, 1: i with i + step       each half is put in order alike

Of who is compared with another thread's element the lower thread keeps the lesser. Places beyond a
row's end have a number that is greater than all. At the end the numbers say which of the operands,
that are in shared memory, belongs where.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index, number
from tfc.backends.gpu.grid import THREADS, block_number, thread_in_block
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.sorting.sort_rows import (
    Scalars,
    SortRows,
    padded_length,
    rows_and_length,
    sorted_types,
)
from tfc.backends.gpu.warps import WARP, from_lane
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    maximum,
    minimum,
    resize,
    select,
)
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.integer_keys import element_of_key, integer_key, is_whole_element
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.loops import for_loop, when
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.hlo.shape import U32, U64, ElementType, Shape
from tfc.passes.analysis.sort_keys import SortKey, sort_keys

_MOST = 4096  # elements of a tile
_MOST_BYTES = 48 << 10
_LEAST = 64
_ITEMS = 16  # elements of a thread, where there are enough for a warp
_WARPS = 2  # that a block has at least, if there are rows for them
_BANKS = 128  # bytes that all banks hold together
_RESIDENT = 512  # threads that a multiprocessor has registers for, at least
_ABSENT = 1 << 31  # in the number of an element that is not there
_MOST_ROWS = 1 << 31  # whose numbers, and those of a tile beyond them, have 32 bits


@dataclass(frozen=True)
class KeyedTiles:
    """How rows lie in tiles.

    rows, length: the rows.
    padded: the power of two that a row is taken for.
    size: elements of a tile, a power of two, which holds one or more rows.
    types: of an element's scalars.
    keys: what elements are ordered by.
    is_whole: whether the key says all there is of an element.
    """

    rows: int
    length: int
    padded: int
    size: int
    types: tuple[ElementType, ...]
    keys: tuple[SortKey, ...]
    is_whole: bool

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return min(max(self.size // _ITEMS, WARP), THREADS)

    @property
    def items(self) -> int:
        """Elements of a thread."""
        return self.size // self.threads

    @property
    def blocks(self) -> int:
        """Tiles in all."""
        return -(-self.rows * self.padded // self.size)

    @property
    def parts(self) -> tuple[ElementType, ...]:
        """The unsigned integers that are compared for an element, one after the other."""
        bits = sum(key.bits for key in self.keys)
        if self.is_whole:
            return (U32 if bits <= 32 else U64,)
        if bits <= 32:
            return (U32 if bits + self.size.bit_length() <= 32 else U64,)
        return (U64, U32)

    @property
    def shared(self) -> list[Shape]:
        """What is in shared memory: parts that are exchanged, operands."""
        held = () if self.is_whole else self.types
        return [Shape(t, (self.size,)) for t in (*self.parts, *held)]


def keyed_tiles_of(kernel: Kernel) -> KeyedTiles | None:
    """The tiles of a sort; None if a row does not fit one, or its comparator has no keys."""
    rows, length = rows_and_length(kernel)
    comparator, types = kernel.root["to_apply"], sorted_types(kernel.root)
    keys = sort_keys(comparator)
    padded = padded_length(length)
    if not keys or not rows * length or rows > _MOST_ROWS:
        return None
    is_whole = is_whole_element(keys, comparator)

    def of_size(size: int) -> KeyedTiles:
        return KeyedTiles(rows, length, padded, size, types, keys, is_whole)

    size = max(padded, _LEAST)
    if size > _MOST or shared_bytes(of_size(size).shared) > _MOST_BYTES:
        return None
    while size < min(_ITEMS * WARP * _WARPS, rows * padded):
        if shared_bytes(of_size(2 * size).shared) > _MOST_BYTES:
            break
        size *= 2
    return of_size(size)


def keyed_tiles_part(tiles: KeyedTiles) -> Part:
    """The function that sorts each tile."""
    shared = shared_bytes(tiles.shared)
    return Part(lambda work: _Tile(work, tiles).emit(), tiles.blocks, True,
                threads=tiles.threads, shared=shared,
                resident=max(_RESIDENT // tiles.threads, 1))  # fmt: skip


class _Tile:
    """The code of a block of threads."""

    def __init__(self, work: Work, tiles: KeyedTiles):
        self.tiles, self.rows = tiles, SortRows(work)
        arrays = shared_arrays(tiles.shared)
        self.exchanged, self.held = arrays[: len(tiles.parts)], arrays[len(tiles.parts) :]
        self.thread = number(thread_in_block())
        self.network = _Network(tiles, self.exchanged, self.thread)

    def emit(self) -> None:
        """Bring a tile of the operands, sort what it has of each row, and store that."""
        tiles = self.tiles
        elements = [self._bring(self._striped(item)) for item in range(tiles.items)]
        if tiles.padded < tiles.size:
            elements = self._by_rows(elements)
        elements = self.network.sort(elements)
        told_type = tiles.parts[0] if tiles.is_whole else U32
        (told,) = shared_arrays([Shape(told_type, (tiles.size,))])  # in place of what was exchanged
        barrier()
        for item, element in enumerate(elements):
            store_at(resize(element[-1], told_type), told, self._apart(self._own(item), told_type))
        barrier()
        for item in range(tiles.items):
            self._keep(self._striped(item), told)

    def _striped(self, item: int) -> Scalar:
        """Numbers of which neighbouring threads have neighbours, as memory likes it."""
        return self.thread + item * self.tiles.threads

    def _own(self, item: int) -> Scalar:
        """Numbers of which each thread has neighbours, and a row's threads the row."""
        return self.thread * self.tiles.items + item

    def _by_rows(self, elements: Sequence[Scalars]) -> list[Scalars]:
        """What is at a thread's own places, of elements at those where they were brought from."""
        for item, element in enumerate(elements):
            for part, array in zip(element, self.exchanged):
                store_at(part, array, self._apart(self._striped(item), part.element_type))
        barrier()
        return [
            [load_at(a, self._apart(self._own(item), a.shape.element_type)) for a in self.exchanged]
            for item in range(len(elements))
        ]

    def _apart(self, place: Scalar, told_type: ElementType) -> Any:
        """Where what is at a place lies, so that lanes meet in no bank, whether they access
        neighbours or places that are as far apart as threads have elements."""
        line = (_BANKS // told_type.bytes).bit_length() - 1
        return index(place ^ (place >> line & (self.tiles.items - 1)))

    def _bring(self, own: Scalar) -> Scalars:
        """The parts of an element."""
        tiles = self.tiles
        row, place, is_there = self._position(own)
        element = self.rows.operand(index(row), index(place))
        for value, array in zip(element, self.held):
            store_at(value, array, index(own))
        key = integer_key(tiles.keys, self.rows.comparator, element)
        wide = tiles.parts[0]
        key = resize(key, wide)
        if is_there is not None:
            key = select(is_there, key, constant(wide, (1 << wide.bits) - 1))
            own = select(is_there, own, own | _ABSENT)
        if tiles.is_whole:
            return [key]
        if len(tiles.parts) > 1:
            return [key, own]
        shift = 32 if wide is U64 else tiles.size.bit_length() - 1
        return [key << shift | resize(own, wide)]

    def _position(self, own: Scalar) -> tuple[Scalar, Scalar, Scalar | None]:
        """The row and the place of an element, which are those of another one if there is none such
        in the rows, and whether there is; None if there always is."""
        tiles = self.tiles
        bits = tiles.padded.bit_length() - 1
        together = tiles.size >> bits
        place = own & (tiles.padded - 1)
        row = number(block_number()) * together + (own >> bits)
        is_there = None
        if tiles.length < tiles.padded:
            is_there = place < tiles.length
            place = minimum(place, tiles.length - 1)
        if tiles.rows % together:
            is_row = row < tiles.rows
            is_there = is_row if is_there is None else is_there & is_row
            row = minimum(row, tiles.rows - 1)
        return row, place, is_there

    def _keep(self, own: Scalar, told: Buffer) -> None:
        """Store the element that is at a place of the tile."""
        tiles = self.tiles
        row, place, is_there = self._position(own)
        found = load_at(told, self._apart(own, told.shape.element_type))

        def put() -> None:
            if tiles.is_whole:
                (key,) = tiles.keys
                element: Scalars = [element_of_key(key, found)]
            else:
                source = index(resize(found, U32) & (tiles.size - 1))
                element = [load_at(array, source) for array in self.held]
            self.rows.store(index(row), index(place), element)

        if is_there is None:
            put()
        else:
            when(is_there.value, put)


class _Network:
    """Emits the network for the elements of a thread."""

    def __init__(self, tiles: KeyedTiles, exchanged: Sequence[Buffer], thread: Scalar):
        self.tiles, self.exchanged, self.thread = tiles, exchanged, thread

    def sort(self, elements: list[Scalars]) -> list[Scalars]:
        """Put each stretch of a row's size in order."""
        items, padded = self.tiles.items, self.tiles.padded
        width = 2
        while width <= min(items, padded):
            elements = self._within(elements, width)
            width *= 2
        across = padded // items  # threads that have a row
        elements = self._lanes(elements, min(across, WARP))
        width = 2 * WARP
        while width <= across:
            elements = self._warps(elements, width)
            width *= 2
        return elements

    # --- In one thread ----------------------------------------------------------------------------

    def _within(self, elements: list[Scalars], width: int) -> list[Scalars]:
        """Put blocks of `width` elements in order, of which each half is."""
        elements = list(elements)
        for low in range(len(elements)):
            high = low ^ (width - 1)
            if low < high:
                self._order(elements, low, high)
        return self._steps(elements, width // 4)

    def _steps(self, elements: list[Scalars], step: int) -> list[Scalars]:
        """Compare those a step apart, half of it, and so on down to neighbours."""
        elements = list(elements)
        while step:
            for low in range(len(elements)):
                if not low & step:
                    self._order(elements, low, low + step)
            step //= 2
        return elements

    def _order(self, elements: list[Scalars], low: int, high: int) -> None:
        x, y = elements[low], elements[high]
        if len(x) == 1:
            elements[low], elements[high] = [minimum(x[0], y[0])], [maximum(x[0], y[0])]
            return
        swaps = _is_after(x, y)
        elements[low] = [select(swaps, b, a) for a, b in zip(x, y)]
        elements[high] = [select(swaps, a, b) for a, b in zip(x, y)]

    # --- In several -------------------------------------------------------------------------------

    def _lanes(self, elements: list[Scalars], across: int) -> list[Scalars]:
        """Put what `across` neighbouring lanes have in order; what each has is."""
        if across < 2:
            return elements

        def block(turn: Any, state: Sequence[Scalar]) -> Sequence[Scalar]:
            half = constant(U32, 1) << number(turn)
            mirrored = self._split(state)[::-1]
            met = [self._from_lane(e, half * 2 - 1) for e in mirrored]
            kept = self._kept(self._split(state), met, half)
            return _flat(self._down_lanes(kept, turn))

        turns = across.bit_length() - 1
        return self._split(for_loop(0, turns, 1, block, _flat(elements)))

    def _down_lanes(self, elements: list[Scalars], turns: Any) -> list[Scalars]:
        """Steps of half of 2^turns lanes, half of that … one lane, and those within a thread."""

        def step(turn: Any, state: Sequence[Scalar]) -> Sequence[Scalar]:
            last = number(turns) if not isinstance(turns, int) else constant(U32, turns)
            distance = constant(U32, 1) << (last - 1 - number(turn))
            own = self._split(state)
            return _flat(self._kept(own, [self._from_lane(e, distance) for e in own], distance))

        moved = self._split(for_loop(0, turns, 1, step, _flat(elements)))
        return self._steps(moved, self.tiles.items // 2)

    def _warps(self, elements: list[Scalars], width: int) -> list[Scalars]:
        """Put what `width` threads have in order, of which each half is."""
        elements = self._kept(
            elements, self._from_thread(elements[::-1], width - 1), constant(U32, width // 2)
        )
        distance = width // 4
        while distance >= WARP:
            met = self._from_thread(elements, distance)
            elements = self._kept(elements, met, constant(U32, distance))
            distance //= 2
        return self._down_lanes(elements, WARP.bit_length() - 1)

    def _kept(
        self, own: Sequence[Scalars], met: Sequence[Scalars], distance: Scalar
    ) -> list[Scalars]:
        """What a thread keeps of its own and another's elements: of a thread that has the bit of
        the distance in its number, the greater ones."""
        is_upper = (self.thread & distance).ne(0)
        kept = []
        for x, y in zip(own, met):
            takes = _is_after(x, y) ^ is_upper
            kept.append([select(takes, b, a) for a, b in zip(x, y)])
        return kept

    def _from_lane(self, element: Scalars, distance: Scalar) -> Scalars:
        return [from_lane(part, distance) for part in element]

    def _from_thread(self, elements: Sequence[Scalars], mask: int) -> list[Scalars]:
        """The elements of the thread whose number differs in the bits of a mask."""
        threads = self.tiles.threads
        barrier()
        for item, element in enumerate(elements):
            for part, array in zip(element, self.exchanged):
                store_at(part, array, index(self.thread + item * threads))
        barrier()
        other = self.thread ^ mask
        return [[load_at(array, index(other + item * threads)) for array in self.exchanged]
                for item in range(len(elements))]  # fmt: skip

    def _split(self, scalars: Sequence[Scalar]) -> list[Scalars]:
        parts = len(self.tiles.parts)
        return [scalars[n : n + parts] for n in range(0, len(scalars), parts)]


def _flat(elements: Sequence[Scalars]) -> list[Scalar]:
    return [part for element in elements for part in element]


def _is_after(x: Scalars, y: Scalars) -> Scalar:
    later = x[0] > y[0]
    return later if len(x) == 1 else later | (x[0].eq(y[0]) & (x[1] > y[1]))
