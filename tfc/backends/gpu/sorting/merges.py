"""Sorts of long rows by any comparator: tiles are sorted, then runs merged, two of them into one.

    sort     each tile in shared memory (networks.py)
    split    where each tile of a merged run begins in the two │ for runs of a tile, of two tiles …
    merge    the parts of the two that make a tile             │

A binary search finds how many elements before a tile are of the first run; of equal elements those
of the first run are first, so all is stable. In shared memory the part of the second run lies in
reverse, so the tile goes up and then down, and the last steps of a network put it in order.

A comparator that contradicts itself could make searches say that a tile begins before the one
before it, or that more comes between than a tile holds. Who splits sees that; then tiles are parts
of the runs as they lie. A network only exchanges, so no element is lost either way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.grid import Grid, block_number, thread_in_block
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.sorting.networks import Store, Tiles, is_later, network_part
from tfc.backends.gpu.sorting.shared_tiles import SharedTile
from tfc.backends.gpu.sorting.sort_rows import Scalars, SortRows
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type
from tfc.backends.mlir.loops import found_when, when, while_loop
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import Shape

_LESS, _GREATER = arith.CmpIPredicate.ult, arith.CmpIPredicate.ugt
_EQUAL = arith.CmpIPredicate.eq


def merge_parts(tiles: Tiles) -> list[Part]:
    """The functions; those of a level have the width of its runs as number."""
    levels = _levels(tiles)
    shared = shared_bytes(tiles.shared)
    # From the results to scratch memory and back, so that the last level stores the results.
    splits = [_split(tiles, from_results) for from_results in (False, True)]
    merges = [_merge(tiles, from_results) for from_results in (False, True)]
    parts = [network_part(tiles, lambda work: _first_store(tiles, work))]
    for number, width in enumerate(levels):
        from_results = (len(levels) - number) % 2 == 0
        parts += [
            Part(splits[from_results], tiles.blocks, numbers=[(width,)]),
            Part(merges[from_results], tiles.blocks, True, [(width,)], tiles.threads, shared),
        ]
    return parts


def merge_memory(tiles: Tiles) -> Shape:
    """The scratch memory: elements, where tiles begin, and which runs are not merged."""
    return scratch_shape(_arrays(tiles))


def _arrays(tiles: Tiles) -> list[Shape]:
    size, kind = tiles.rows * tiles.length, tiles.number_type
    return [*(Shape(t, (size,)) for t in tiles.types), *[Shape(kind, (tiles.blocks,))] * 2]


def _levels(tiles: Tiles) -> list[int]:
    """The widths of the runs that are merged."""
    widths, width = [], tiles.size
    while width < tiles.length:
        widths.append(width)
        width *= 2
    return widths


def _split(tiles: Tiles, from_results: bool) -> Callable[[Work], None]:
    return lambda work: _Merge(tiles, work, from_results).split()


def _merge(tiles: Tiles, from_results: bool) -> Callable[[Work], None]:
    return lambda work: _Merge(tiles, work, from_results).merge()


def _first_store(tiles: Tiles, work: Work) -> Store:
    """Where sorted tiles go; all runs are to be merged."""
    memory = _Memory(tiles, work)
    to_results = len(_levels(tiles)) % 2 == 0
    is_first = arith.cmpi(_EQUAL, thread_in_block(), index_value(0))
    when(is_first, lambda: memory.keep_apart(block_number(), index_value(0)))

    def store(rows: SortRows, row: Any, place: Any, element: Scalars) -> None:
        if to_results:
            rows.store(row, place, element)
        else:
            memory.store(row, place, element)

    return store


class _Memory:
    """The scratch memory."""

    def __init__(self, tiles: Tiles, work: Work):
        self._tiles = tiles
        *self._held, self._begins, self._apart = scratch_arrays(work.scratch, _arrays(tiles))

    def load(self, row: Any, place: Any) -> Scalars:
        """An element."""
        return [load_at(a, self._position(row, place)) for a in self._held]

    def store(self, row: Any, place: Any, element: Scalars) -> None:
        """Set an element."""
        for value, array in zip(element, self._held):
            store_at(value, array, self._position(row, place))

    def begin(self, tile: Any) -> Any:
        """How many elements of the first run are before a tile, all of type `index`."""
        return index(load_at(self._begins, tile))

    def keep_begin(self, tile: Any, count: Any) -> None:
        """Set it."""
        store_at(self._number(count), self._begins, tile)

    def is_apart(self, tile: Any, width: Any) -> Any:
        """Whether the runs that begin with a tile are not to be merged."""
        return arith.cmpi(_EQUAL, index(load_at(self._apart, tile)), width)

    def keep_apart(self, tile: Any, width: Any) -> None:
        """Say that those of a width are not."""
        store_at(self._number(width), self._apart, tile)

    def _number(self, count: Any) -> Scalar:
        kind = self._tiles.number_type
        return Scalar(arith.index_castui(mlir_type(kind), count), kind)

    def _position(self, row: Any, place: Any) -> Any:
        return arith.addi(arith.muli(row, index_value(self._tiles.length)), place)


@dataclass(frozen=True)
class _Place:
    """A tile of a row and the runs that it is of, all of type `index`.

    row: its number.
    tile, first: the tile, and that with which its runs begin, among those of all rows.
    start: where the first run begins.
    firsts, seconds: how many elements the two have.
    begin, end: of the tile, from `start` on.
    """

    row: Any
    tile: Any
    first: Any
    start: Any
    firsts: Any
    seconds: Any
    begin: Any
    end: Any

    @staticmethod
    def of(tiles: Tiles, tile: Any, width: Any) -> "_Place":
        """That of a tile among those of all rows, for runs of a width."""
        of_row, length = index_value(tiles.of_row), index_value(tiles.length)
        row, number = arith.divui(tile, of_row), arith.remui(tile, of_row)
        place = arith.muli(number, index_value(tiles.size))
        both = arith.muli(width, index_value(2))
        begin = arith.andi(place, arith.subi(both, index_value(1)))
        start = arith.subi(place, begin)
        first = arith.subi(tile, arith.divui(begin, index_value(tiles.size)))
        middle = arith.minui(arith.addi(start, width), length)
        end = arith.minui(arith.addi(start, both), length)
        last = arith.minui(arith.addi(place, index_value(tiles.size)), length)
        return _Place(
            row, tile, first, start, arith.subi(middle, start), arith.subi(end, middle),
            begin, arith.subi(last, start),
        )  # fmt: skip

    @property
    def middle(self) -> Any:
        """Where the second run begins."""
        return arith.addi(self.start, self.firsts)


class _Merge:
    """The code of a level: of a thread that finds where a tile begins, of a block that merges."""

    def __init__(self, tiles: Tiles, work: Work, from_results: bool):
        self.tiles, self.rows, self.memory = tiles, SortRows(work), _Memory(tiles, work)
        self.from_results = from_results
        (self.width,) = work.numbers

    def _load(self, row: Any, place: Any) -> Scalars:
        rows = self.rows.result if self.from_results else self.memory.load
        return rows(row, place)

    def _store(self, row: Any, place: Any, element: Scalars) -> None:
        rows = self.memory.store if self.from_results else self.rows.store
        rows(row, place, element)

    # --- Splitting --------------------------------------------------------------------------------

    def split(self) -> None:
        """Find where each tile begins."""
        Grid().each([self.tiles.blocks], lambda point: self._split(point[0]))

    def _split(self, tile: Any) -> None:
        at = _Place.of(self.tiles, tile, self.width)
        begin, end = self._searched(at, [at.begin, at.end])
        self.memory.keep_begin(tile, begin)
        # Unsigned: fewer than none are more than there can be.
        taken, size = arith.subi(end, begin), arith.subi(at.end, at.begin)
        contradicts = arith.cmpi(_GREATER, taken, size)
        when(contradicts, lambda: self.memory.keep_apart(at.first, self.width))

    def _searched(self, at: _Place, counts: Sequence[Any]) -> list[Any]:
        """How many of the first elements of the merged run are of the first run, for each count.

        The searches take turns, so that none waits for what another reads.
        """
        none = index_value(0)
        bounds = []
        for count in counts:
            more = arith.cmpi(_GREATER, count, at.seconds)
            least = arith.select(more, arith.subi(count, at.seconds), none)
            bounds += [least, arith.minui(count, at.firsts)]
        pairs = [slice(2 * n, 2 * n + 2) for n in range(len(counts))]

        def goes_on(state: Sequence[Any]) -> Any:
            open_ones = [arith.cmpi(_LESS, *state[p]) for p in pairs]
            return arith.ori(*open_ones)

        def halve(state: Sequence[Any]) -> Sequence[Any]:
            return [b for p, c in zip(pairs, counts) for b in self._halved(at, c, *state[p])]

        found = while_loop(bounds, goes_on, halve)
        return [found[p][0] for p in pairs]

    def _halved(self, at: _Place, count: Any, low: Any, high: Any) -> list[Any]:
        """The bounds of a search after another look, if they are not one."""
        probe = arith.divui(arith.addi(low, high), index_value(2))
        is_open = arith.cmpi(_LESS, low, high)
        opposite = arith.subi(arith.subi(count, index_value(1)), probe)
        # Where the search has ended, some element that there is.
        first = arith.select(is_open, arith.addi(at.start, probe), at.start)
        second = arith.select(is_open, arith.addi(at.middle, opposite), at.start)
        x, y = (self._load(at.row, place) for place in (first, second))
        is_later = self.rows.is_before(y, x).value
        further = arith.select(is_later, low, arith.addi(probe, index_value(1)))
        nearer = arith.select(is_later, probe, high)
        return [arith.select(is_open, further, low), arith.select(is_open, nearer, high)]

    # --- Merging ----------------------------------------------------------------------------------

    def merge(self) -> None:
        """Bring the parts of a tile, merge them and store the tile."""
        tiles = self.tiles
        at = _Place.of(tiles, block_number(), self.width)
        begin, end = self._parts(at)
        firsts = arith.subi(end, begin)
        count = arith.subi(at.end, at.begin)
        gap = arith.subi(index_value(tiles.size), arith.subi(count, firsts))
        tile = SharedTile(shared_arrays(tiles.shared), tiles.threads, self._swaps)
        nobody = [constant(t, 0) for t in tiles.types]

        def bring(number: Any) -> None:
            back = arith.subi(index_value(tiles.size - 1), number)
            is_first = arith.cmpi(_LESS, number, firsts)
            of_first = arith.addi(arith.addi(at.start, begin), number)
            of_second = arith.addi(arith.addi(at.middle, arith.subi(at.begin, begin)), back)
            place = arith.select(is_first, of_first, of_second)
            order = arith.select(is_first, number, arith.addi(firsts, back))
            is_one = arith.ori(is_first, arith.cmpi(arith.CmpIPredicate.uge, number, gap))
            element = found_when(is_one, lambda: self._load(at.row, place), nobody)
            order = arith.select(is_one, order, index_value(tiles.size))
            tile.put(number, [*element, self._number(order)])

        tile.each(tiles.size, bring)
        barrier()
        tile.merge(tiles.size, index_value(tiles.size // 2))

        def keep(number: Any) -> None:
            place = arith.addi(arith.addi(at.start, at.begin), number)

            def store() -> None:
                self._store(at.row, place, tile.get(number)[:-1])

            when(arith.cmpi(_LESS, number, count), store)

        tile.each(tiles.size, keep)

    def _parts(self, at: _Place) -> tuple[Any, Any]:
        """How many elements of the first run are before the tile, and before the next one."""
        both = arith.addi(at.firsts, at.seconds)
        is_last = arith.cmpi(_EQUAL, at.end, both)
        following = arith.select(is_last, at.tile, arith.addi(at.tile, index_value(1)))
        end = arith.select(is_last, at.firsts, self.memory.begin(following))
        is_apart = self.memory.is_apart(at.first, self.width)
        return (
            arith.select(is_apart, arith.minui(at.begin, at.firsts), self.memory.begin(at.tile)),
            arith.select(is_apart, arith.minui(at.end, at.firsts), end),
        )

    def _number(self, order: Any) -> Scalar:
        kind = self.tiles.number_type
        return Scalar(arith.index_castui(mlir_type(kind), order), kind)

    def _swaps(self, lower: Scalars, upper: Scalars) -> Scalar:
        """Of two places at most one has no element; that is after all elements."""
        size = self.tiles.size
        some = lower[-1].ne(size) & upper[-1].ne(size)
        later = is_later(self.rows, lower, upper)
        return (some & later) | (lower[-1].eq(size) & upper[-1].ne(size))
