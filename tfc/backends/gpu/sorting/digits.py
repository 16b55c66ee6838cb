"""Sorts of long rows by keys, digit by digit from the lowest: each digit moves all elements stably.

    count    how often each value of the digit occurs in each tile of a row
    scan     so where the elements of each value and tile begin, in the order (value, tile)
    move     each element behind those before it that have its value

A warp takes a stretch of the tile, 32 neighbours at a time. Lanes whose digits are alike find each
other without memory, and count in shared memory what the warp has seen of the value, in the order
of the row: no atomics, so each element's place is known, and the same each time. Elements move with
all that belongs to them, from the operands to scratch memory, there to and fro, and to the results.

What lies in shared memory is found by the value of the digit: how many lanes then meet in a bank
depends on the data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tfc.backends.gpu.assembly import index, number
from tfc.backends.gpu.grid import THREADS, block_number, thread_in_block
from tfc.backends.gpu.ordered.row_scans import Rows, Walked, rows_of, walk_parts
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.sorting.sort_rows import (
    Scalars,
    SortRows,
    rows_and_length,
    sorted_types,
)
from tfc.backends.gpu.warps import WARP, lanes_alike, ones, warp_barrier
from tfc.backends.mlir.arithmetic.value import Scalar, constant, resize, select
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.integer_keys import integer_key
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.loops import when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import PRED, U32, ElementType, Shape
from tfc.passes.analysis.sort_keys import SortKey, sort_keys

_BITS = 8  # of a digit: as many values as a block has threads
_VALUES = 1 << _BITS
_WARPS = THREADS // WARP
_ITEMS = ((8, 16), (16, 8), (1 << 30, 4))  # bytes of an element -> elements of a thread

_LESS = arith.CmpIPredicate.ult


class KeyedRows(Protocol):
    """Rows of elements, given a row's number and a place in it, of type `index`."""

    def operand(self, row: Any, place: Any) -> Scalars:
        """The element that is there at first."""
        ...

    def key(self, element: Scalars) -> Scalar:
        """What elements are sorted by: an unsigned integer of 32 or 64 bits."""
        ...

    def store(self, row: Any, place: Any, element: Scalars) -> None:
        """Store the element that is there at last."""
        ...


@dataclass(frozen=True)
class Digits:
    """How rows are sorted digit by digit.

    rows, length: the rows.
    types: of an element's scalars.
    bits: of the keys; those beyond are 0.
    of: the rows' elements, in the code of a function.
    keeps: whether sorted rows stay in scratch memory, instead of being stored by `of`.
    """

    rows: int
    length: int
    types: tuple[ElementType, ...]
    bits: int
    of: Callable[[Work], KeyedRows]
    keeps: bool = False

    @property
    def items(self) -> int:
        """Elements of a thread."""
        size = sum(t.bytes for t in self.types)
        return next(items for most, items in _ITEMS if size <= most)

    @property
    def passes(self) -> int:
        """How many digits the keys have."""
        return -(-self.bits // _BITS)

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return THREADS * self.items

    @property
    def tiles(self) -> int:
        """Tiles of a row."""
        return -(-self.length // self.tile)

    @property
    def counted(self) -> Rows:
        """How the counts of each row are walked along."""
        return rows_of(self.rows, _VALUES * self.tiles, (U32,), True)

    @property
    def halves(self) -> int:
        """How many times all elements are in scratch memory."""
        return min(self.passes - (not self.keeps), 2)

    @property
    def kept_half(self) -> int:
        """Which of these has the sorted rows, if they are kept."""
        return (self.passes - 1) % 2

    @property
    def arrays(self) -> list[Shape]:
        """The scratch memory: elements, counts, totals of counts."""
        size = self.halves * self.rows * self.length
        held = [Shape(t, (size,)) for t in self.types if size]
        counts = Shape(U32, (self.rows * _VALUES * self.tiles,))
        return [*held, counts, *self.counted.totals]


@dataclass(frozen=True)
class _SortedRows:
    """The rows of a sort, whose comparator goes by keys."""

    rows: SortRows
    keys: tuple[SortKey, ...]

    def operand(self, row: Any, place: Any) -> Scalars:
        return self.rows.operand(row, place)

    def key(self, element: Scalars) -> Scalar:
        return integer_key(self.keys, self.rows.comparator, element)

    def store(self, row: Any, place: Any, element: Scalars) -> None:
        self.rows.store(row, place, element)


def digits_of(kernel: Kernel) -> Digits | None:
    """How a sort goes by digits; None if its comparator does not go by keys."""
    root = kernel.root
    rows, length = rows_and_length(kernel)
    keys, types = sort_keys(root["to_apply"]), sorted_types(root)
    if not keys or length >= 1 << 32:
        return None
    bits = sum(k.bits for k in keys)
    return Digits(rows, length, types, bits, lambda work: _SortedRows(SortRows(work), keys))


def digit_memory(digits: Digits) -> Shape:
    """The scratch memory."""
    return scratch_shape(digits.arrays)


_Source = Callable[["_Tile", Any, Any], Scalars]  # (tile, place, half) -> element
_Target = Callable[["_Tile", Any, Scalars, Any], None]  # (tile, place, element, half)


def digit_parts(digits: Digits) -> list[Part]:
    """The functions, several times over: each digit is counted, scanned and moved."""
    blocks, last = digits.rows * digits.tiles, digits.passes - 1
    shared = shared_bytes([_SEEN])
    scans = walk_parts(
        digits.counted,
        lambda work, row: _counts_of(digits, _counts(digits, work), row),
        lambda work: scratch_arrays(work.scratch, digits.arrays)[-1:],
    )
    counts = {s: _count(digits, s) for s in (_operand, _held)}
    moves = {
        (s, t): _move(digits, s, t) for s in (_operand, _held) for t in (_keep_held, _keep_result)
    }
    parts = []
    for digit in range(digits.passes):
        source = _operand if digit == 0 else _held
        target = _keep_result if digit == last and not digits.keeps else _keep_held
        numbers = [(digit * _BITS, (digit + 1) % 2)]  # the first ones to be kept go to half 0
        parts += [
            Part(counts[source], blocks, True, numbers, shared=shared),
            *scans,
            Part(moves[source, target], blocks, True, numbers, shared=shared),
        ]
    return parts


def _count(digits: Digits, source: _Source) -> Callable[[Work], None]:
    return lambda work: _Tile(digits, work).count(source)


def _move(digits: Digits, source: _Source, target: _Target) -> Callable[[Work], None]:
    return lambda work: _Tile(digits, work).move(source, target)


def _operand(tile: "_Tile", place: Any, _: Any) -> Scalars:
    return tile.rows.operand(tile.row, place)


def _held(tile: "_Tile", place: Any, half: Any) -> Scalars:
    return [load_at(a, tile.position(place, half)) for a in tile.held]


def _keep_held(tile: "_Tile", place: Any, element: Scalars, half: Any) -> None:
    other = arith.subi(index_value(1), half)
    for value, array in zip(element, tile.held):
        store_at(value, array, tile.position(place, other))


def _keep_result(tile: "_Tile", place: Any, element: Scalars, _: Any) -> None:
    tile.rows.store(tile.row, place, element)


# --- Scans of counts ------------------------------------------------------------------------------


def _counts(digits: Digits, work: Work) -> Buffer:
    place = len(digits.arrays) - len(digits.counted.totals) - 1
    return scratch_arrays(work.scratch, digits.arrays)[place]


def _counts_of(digits: Digits, counts: Buffer, row: Any) -> Walked:
    """The counts of a row, which become the numbers of elements before those counted."""
    start = arith.muli(row, index_value(_VALUES * digits.tiles))

    def load(place: Any) -> tuple[Elements, Scalars]:
        return Elements({}, {}), [load_at(counts, arith.addi(start, place))]

    def store(_: Elements, place: Any, totals: Scalars) -> None:
        store_at(totals[0], counts, arith.addi(start, place))

    return Walked(
        lambda: [constant(U32, 0)], load, lambda x, y: [x[0] + y[0]], exclusive=True, store=store
    )


# --- Tiles ----------------------------------------------------------------------------------------

_SEEN = Shape(U32, (_WARPS * _VALUES,))  # what each warp has seen of each value


@dataclass(frozen=True)
class _Item:
    """An element, the number of the counter of its digit, how many of its warp's are before it,
    and whether there is such an element."""

    element: Scalars
    counter: Any
    before: Scalar
    inside: Any


class _Tile:
    """The code of a block of threads."""

    def __init__(self, digits: Digits, work: Work):
        self.digits, self.rows = digits, digits.of(work)
        tiles = index_value(digits.tiles)
        self.row = arith.divui(block_number(), tiles)
        self.tile = arith.remui(block_number(), tiles)
        arrays = scratch_arrays(work.scratch, digits.arrays)
        self.held = arrays[: len(digits.types)] if digits.halves else []
        self.counts = _counts(digits, work)
        (self.seen,) = shared_arrays([_SEEN])
        shift, self.half = work.numbers
        self._shift = number(shift)
        thread = thread_in_block()
        self._lane = number(arith.remui(thread, index_value(WARP)))
        self._warp = arith.divui(thread, index_value(WARP))

    def position(self, place: Any, half: Any) -> Any:
        """Where an element of the row is in scratch memory."""
        digits = self.digits
        row = arith.addi(arith.muli(half, index_value(digits.rows)), self.row)
        return arith.addi(arith.muli(row, index_value(digits.length)), place)

    def count(self, source: _Source) -> None:
        """Count the values of the tile's digits."""
        self._look(source)
        barrier()
        total = constant(U32, 0)
        for warp in range(_WARPS):
            total = total + load_at(self.seen, self._of_thread(warp))
        store_at(total, self.counts, self._count_place())

    def move(self, source: _Source, target: _Target) -> None:
        """Store the tile's elements behind those before them."""
        items = self._look(source)
        barrier()
        begin = load_at(self.counts, self._count_place())
        for warp in range(_WARPS):
            seen = load_at(self.seen, self._of_thread(warp))
            store_at(begin, self.seen, self._of_thread(warp))
            begin = begin + seen
        barrier()
        for item in items:
            place = load_at(self.seen, item.counter) + item.before
            when(item.inside, lambda i=item, p=place: target(self, index(p), i.element, self.half))

    def _count_place(self) -> Any:
        """Where the count of the tile for the value with the thread's number is."""
        value = arith.addi(arith.muli(self.row, index_value(_VALUES)), thread_in_block())
        return arith.addi(arith.muli(value, index_value(self.digits.tiles)), self.tile)

    def _of_thread(self, warp: int) -> Any:
        """The counter of a warp for the value with the thread's number."""
        return arith.addi(index_value(warp * _VALUES), thread_in_block())

    def _look(self, source: _Source) -> list[_Item]:
        """Go through the tile, and count in `seen` what each warp sees of each value."""
        for warp in range(_WARPS):
            store_at(constant(U32, 0), self.seen, self._of_thread(warp))
        barrier()
        start = arith.addi(
            arith.muli(self.tile, index_value(self.digits.tile)),
            arith.addi(
                arith.muli(self._warp, index_value(WARP * self.digits.items)), index(self._lane)
            ),
        )
        found = []
        for item in range(self.digits.items):
            place = arith.addi(start, index_value(item * WARP))
            inside = arith.cmpi(_LESS, place, index_value(self.digits.length))
            place = arith.minui(place, index_value(self.digits.length - 1))
            found.append((source(self, place, self.half), inside))
        return [self._item(element, inside) for element, inside in found]

    def _item(self, element: Scalars, inside: Any) -> _Item:
        key = self.rows.key(element)
        digit = resize((key >> resize(self._shift, key.element_type)) & (_VALUES - 1), U32)
        alike = lanes_alike(select(Scalar(inside, PRED), digit, _VALUES))
        lanes_before = (constant(U32, 1) << self._lane) - 1
        rank = ones(alike & lanes_before)
        counter = arith.addi(arith.muli(self._warp, index_value(_VALUES)), index(digit))
        seen = load_at(self.seen, counter)
        warp_barrier()
        is_first = arith.andi(rank.eq(0).value, inside)
        when(is_first, lambda: store_at(seen + ones(alike), self.seen, counter))
        warp_barrier()
        return _Item(element, counter, seen + rank, inside)
