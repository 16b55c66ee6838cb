"""Running totals along the fastest dimension: lanes, warps, blocks, and pieces of long rows.

    short rows    several of them in a warp
    middling ones a warp each
    long ones     a block each; where there are few of them, in pieces, by three functions:

        the total of each piece │ running totals of these │ each piece, after those before it

A warp reads 32 neighbours at a time, several times; lanes combine theirs by exchanges, warps
through shared memory. All is combined in the order of the row and in the same grouping each time. A
lane beyond the row's end takes the last element: what it makes of it is behind all that is stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.gpu.grid import THREADS, block_number, point_of, thread_in_block
from tfc.backends.gpu.ordered.prefixes import Line, Scalars, prefixes_of
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.warps import WARP, from_lane_before, from_last_lane
from tfc.backends.mlir.arithmetic.value import Scalar, constant, select
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.loops import for_loop, when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import PRED, ElementType, Shape

_WARP_ROW = 1024  # elements of a row that one warp walks along
_ITEMS = 8  # elements that a thread holds
_WARPS = THREADS // WARP
_FULL = 256  # blocks that keep a GPU busy
_LEAST_PIECES = 4
_MOST_PIECES = 4096

_LESS, _EQUAL = arith.CmpIPredicate.ult, arith.CmpIPredicate.eq


@dataclass(frozen=True)
class Rows:
    """How rows are shared out.

    count, length: of the rows.
    types: of their totals.
    items: how many times a warp reads neighbours before warps combine.
    width: lanes of a row.
    warps: that go along a row together.
    tiles: of a piece; a tile is what the lanes of a row have at a time.
    """

    count: int
    length: int
    types: tuple[ElementType, ...]
    items: int
    width: int
    warps: int
    tiles: int

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.width * self.warps * self.items

    @property
    def pieces(self) -> int:
        """Pieces of a row."""
        return -(-self.length // (self.tile * self.tiles))

    @property
    def blocks(self) -> int:
        """Blocks of a launch that goes over all rows."""
        return -(-self.count * self.pieces * self.width * self.warps // THREADS)

    @property
    def totals(self) -> list[Shape]:
        """The arrays of the totals of pieces: none if each row is one."""
        return [Shape(t, (self.count * self.pieces,)) for t in self.types * (self.pieces > 1)]

    @property
    def shared(self) -> list[Shape]:
        """The arrays in which warps leave their totals, for two tiles in turn."""
        return [Shape(t, (2 * self.warps,)) for t in self.types * (self.warps > 1)]


def rows_of(count: int, length: int, types: tuple[ElementType, ...], cheap: bool) -> Rows:
    """How rows of a length are shared out."""
    width = min(1 << (length - 1).bit_length(), WARP)
    warps = 1 if length <= _WARP_ROW else _WARPS
    items = min(_ITEMS if cheap else 1, -(-length // (width * warps)))
    tile = width * warps * items
    whole = -(-length // tile)
    if warps == 1 or count >= _FULL or whole <= _LEAST_PIECES:
        return Rows(count, length, types, items, width, warps, whole)
    tiles = max(count * length // (tile * _MOST_PIECES), 1)
    return Rows(count, length, types, items, width, warps, tiles)


def row_plan(line: Line) -> Rows:
    """How the rows of a line that goes along the fastest dimension are shared out."""
    return rows_of(line.count, line.length, line.types, line.cheap)


def row_parts(line: Line) -> list[Part]:
    """The functions of running totals along a line's rows."""
    rows = row_plan(line)
    return walk_parts(rows, lambda work, row: _of_line(work, line, row),
                      lambda work: scratch_arrays(work.scratch, rows.totals))  # fmt: skip


# --- What is walked along -------------------------------------------------------------------------

Load = Callable[[Any], tuple[Elements, Scalars]]  # number of a step -> scope, element
Store = Callable[[Elements, Any, Scalars], None]  # scope, number of the step, total


@dataclass(frozen=True)
class Walked:
    """A row.

    init: emits the total before it.
    load: emits an element, and gives the scope in which it did.
    combine: totals of two stretches of which the second follows the first.
    exclusive: whether `store` takes the total before a place, else the one with it.
    """

    init: Callable[[], Scalars]
    load: Load
    combine: Callable[[Scalars, Scalars], Scalars]
    exclusive: bool
    store: Store


RowOf = Callable[[Work, Any], Walked]
"""The row with a number, of type `index`."""


def _of_line(work: Work, line: Line, row: Any) -> Walked:
    """A row of the kernel's array."""
    space = make_space(line.shape.dims, [*([d] for d in line.order), [line.dimension]])
    prefixes, at = prefixes_of(work.kernel, work.buffers), line.place(space.index)
    points = point_of(row, space.sizes[:-1])
    own = Elements(sources(work.kernel, work.buffers), bind(space.variables[:-1], points))

    def scope(place: Any) -> Elements:
        return own.with_variables(**bind(space.variables[-1:], [place]))

    def load(place: Any) -> tuple[Elements, Scalars]:
        here = scope(place)
        return here, prefixes.element(here, at)

    def store(here: Elements, place: Any, totals: Scalars) -> None:
        last = arith.cmpi(_EQUAL, place, index_value(line.length - 1))
        prefixes.store(here.with_variables(), at, totals, last)

    return Walked(
        lambda: prefixes.init(scope(index_value(0)), at),
        load, prefixes.combine, prefixes.exclusive, store,
    )  # fmt: skip


# --- The functions --------------------------------------------------------------------------------


def walk_parts(
    rows: Rows, row_of: RowOf, totals_of: Callable[[Work], Sequence[Buffer]]
) -> list[Part]:
    """The functions that go along rows.

    Args:
        totals_of: the arrays of `rows.totals`, if there are any.
    """
    shared = shared_bytes(rows.shared)

    def whole(work: Work) -> None:
        own = _Place(rows)
        row = row_of(work, own.row)
        _Walk(rows, own, row).along(row.init(), row.store)

    if rows.pieces == 1:
        return [Part(whole, rows.blocks, True, shared=shared)]
    again = rows_of(rows.count, rows.pieces, rows.types, rows.items > 1)
    again = replace(again, tiles=-(-again.length // again.tile))

    def totals(work: Work) -> None:
        own = _Place(rows)
        total = _Walk(rows, own, row_of(work, own.row)).along(None, None)
        first = arith.cmpi(_EQUAL, thread_in_block(), index_value(0))
        arrays = totals_of(work)
        when(first, lambda: _store_all(total, arrays, own.group))

    def running(work: Work) -> None:
        own = _Place(again)
        row = _of_totals(row_of(work, own.row), totals_of(work), own.row, rows.pieces)
        _Walk(again, own, row).along(row.init(), row.store)

    def pieces(work: Work) -> None:
        own = _Place(rows)
        row = row_of(work, own.row)
        is_first = Scalar(arith.cmpi(_EQUAL, own.piece, index_value(0)), PRED)
        # The piece before; what the first piece reads there is not used.
        step = arith.select(is_first.value, index_value(0), index_value(1))
        before = arith.subi(own.group, step)
        carried = [
            select(is_first, i, load_at(a, before)) for i, a in zip(row.init(), totals_of(work))
        ]
        _Walk(rows, own, row).along(carried, row.store)

    return [
        Part(totals, rows.blocks, True, shared=shared),
        Part(running, again.blocks, True, shared=shared_bytes(again.shared)),
        Part(pieces, rows.blocks, True, shared=shared),
    ]


def _of_totals(row: Walked, arrays: Sequence[Buffer], number: Any, pieces: int) -> Walked:
    """The totals of a row's pieces, whose running totals take their places."""
    start = arith.muli(number, index_value(pieces))
    return replace(
        row,
        load=lambda p: (Elements({}, {}), [load_at(a, arith.addi(start, p)) for a in arrays]),
        exclusive=False,
        store=lambda _, p, totals: _store_all(totals, arrays, arith.addi(start, p)),
    )


def _store_all(totals: Scalars, arrays: Sequence[Buffer], place: Any) -> None:
    for total, array in zip(totals, arrays):
        store_at(total, array, place)


# --- How it is walked -----------------------------------------------------------------------------


class _Place:
    """Where a thread works, all of type `index`: group (a piece of a row), row, piece, warp, lane,
    and an i1 that says whether there is such a group; if not, it goes along with the last one."""

    def __init__(self, rows: Rows):
        thread = thread_in_block()
        group, groups = block_number(), rows.count * rows.pieces
        lanes = rows.width * rows.warps
        self.lane = arith.remui(thread, index_value(rows.width))
        self.warp = arith.divui(thread, index_value(WARP))
        if lanes < THREADS:
            within = arith.divui(thread, index_value(lanes))
            group = arith.addi(arith.muli(group, index_value(THREADS // lanes)), within)
        self.inside = arith.cmpi(_LESS, group, index_value(groups))
        self.group = arith.minui(group, index_value(groups - 1))
        self.row = arith.divui(self.group, index_value(rows.pieces))
        self.piece = arith.remui(self.group, index_value(rows.pieces))


class _Walk:
    """The code along a piece of a row."""

    def __init__(self, rows: Rows, own: _Place, row: Walked):
        self.rows, self.own, self.load = rows, own, row.load
        self.combine, self.exclusive = row.combine, row.exclusive
        self.shared = shared_arrays(rows.shared) if rows.warps > 1 else []
        self.lane = own.lane

    def along(self, carried: Scalars | None, store: Store | None) -> Scalars:
        """Walk along the piece.

        Args:
            carried: the total before it; None if only its own total is wanted.
            store: what to do with the total at each place.

        Returns:
            The total with the piece, if it is not the row's last one.
        """
        rows, own = self.rows, self.own
        start = arith.muli(own.piece, index_value(rows.tile * rows.tiles))
        if rows.warps > 1:
            apart = index_value(rows.width * rows.items)
            start = arith.addi(start, arith.muli(own.warp, apart))
        start = arith.addi(start, self.lane)
        before = carried or [constant(t, 0) for t in rows.types]

        def tile(number: Any, totals: Scalars) -> Scalars:
            first = arith.addi(start, arith.muli(number, index_value(rows.tile)))
            return self._tile(number, first, totals, store, carried is None)

        if rows.tiles == 1:
            return tile(index_value(0), before)
        return for_loop(0, rows.tiles, 1, tile, before)

    def _tile(
        self, number: Any, first: Any, before: Scalars, store: Store | None, alone: bool
    ) -> Scalars:
        rows, found, running = self.rows, [], []
        last: Scalars | None = None
        for item in range(rows.items):
            place = arith.addi(first, index_value(item * rows.width))
            inside = arith.andi(arith.cmpi(_LESS, place, index_value(rows.length)),
                                self.own.inside)  # fmt: skip
            place = arith.minui(place, index_value(rows.length - 1))
            found.append((place, inside, *self.load(place)))
        for *_, element in found:
            totals = self._lanes(element)
            totals = totals if last is None else self.combine(last, totals)
            last = [from_last_lane(t) for t in totals]
            running.append(totals)
        assert last is not None
        earlier, whole = self._warps(number, last)
        after = self.combine(before, whole)
        if alone:
            is_first = Scalar(arith.cmpi(_EQUAL, number, index_value(0)), PRED)
            return [select(is_first, w, a) for w, a in zip(whole, after)]
        if store is not None:
            self._store(found, running, self._before_warp(before, earlier), store)
        return after

    def _lanes(self, totals: Scalars) -> Scalars:
        """The totals up to each lane of a row."""
        distance = 1
        while distance < self.rows.width:
            reached = Scalar(arith.cmpi(arith.CmpIPredicate.uge, self.lane, index_value(distance)),
                             PRED)  # fmt: skip
            others = [from_lane_before(t, distance) for t in totals]
            made = self.combine(others, totals)
            totals = [select(reached, m, t) for m, t in zip(made, totals)]
            distance *= 2
        return totals

    def _warps(self, number: Any, last: Scalars) -> tuple[Scalars | None, Scalars]:
        """The total of the tile's warps before the own one, and of all of them.

        The first is None if there is one warp, and anything in the first warp.
        """
        rows = self.rows
        if rows.warps == 1:
            return None, last
        # Tiles take turns, so that none overwrites what some warp has yet to read.
        turn = arith.muli(arith.remui(number, index_value(2)), index_value(rows.warps))
        leader = arith.cmpi(_EQUAL, self.lane, index_value(0))

        def leave() -> None:
            for total, array in zip(last, self.shared):
                store_at(total, array, arith.addi(turn, self.own.warp))

        when(leader, leave)
        barrier()
        parts = [
            [load_at(a, arith.addi(turn, index_value(w))) for a in self.shared]
            for w in range(rows.warps)
        ]
        whole = earlier = parts[0]
        for warp in range(1, rows.warps):
            if warp > 1:
                is_own = Scalar(arith.cmpi(_EQUAL, self.own.warp, index_value(warp)), PRED)
                earlier = [select(is_own, w, e) for w, e in zip(whole, earlier)]
            whole = self.combine(whole, parts[warp])
        return earlier, whole

    def _before_warp(self, before: Scalars, earlier: Scalars | None) -> Scalars:
        """The total before the warp's part of the tile."""
        if earlier is None:
            return before
        is_first = Scalar(arith.cmpi(_EQUAL, self.own.warp, index_value(0)), PRED)
        both = self.combine(before, earlier)
        return [select(is_first, b, x) for b, x in zip(before, both)]

    def _store(
        self, found: Sequence[Any], running: Sequence[Scalars], before: Scalars, store: Store
    ) -> None:
        end: Scalars = before
        for (place, inside, scope, _), totals in zip(found, running):
            totals = self.combine(before, totals)
            wanted = totals
            if self.exclusive:
                is_first = Scalar(arith.cmpi(_EQUAL, self.lane, index_value(0)), PRED)
                wanted = [select(is_first, e, from_lane_before(t, 1)) for e, t in zip(end, totals)]
                end = [from_last_lane(t) for t in totals]
            when(inside, lambda s=scope, p=place, w=wanted: store(s, p, w))
