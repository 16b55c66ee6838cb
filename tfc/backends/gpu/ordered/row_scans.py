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
from tfc.backends.gpu.ordered.prefixes import Line, Prefixes, Scalars, prefixes_of
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
    """The functions."""
    rows = row_plan(line)
    shared = shared_bytes(rows.shared)
    if rows.pieces == 1:
        return [Part(lambda w: _whole(w, line, rows), rows.blocks, True, shared=shared)]
    again = _in_one_piece(rows_of(rows.count, rows.pieces, rows.types, line.cheap))
    return [
        Part(lambda w: _totals(w, line, rows), rows.blocks, True, shared=shared),
        Part(lambda w: _running(w, line, rows, again), again.blocks, True,
             shared=shared_bytes(again.shared)),
        Part(lambda w: _pieces(w, line, rows), rows.blocks, True, shared=shared),
    ]  # fmt: skip


def _in_one_piece(rows: Rows) -> Rows:
    return replace(rows, tiles=-(-rows.length // rows.tile))


# --- What is walked along -------------------------------------------------------------------------

Load = Callable[[Any], tuple[Elements, Scalars]]  # number of a step -> scope, element
Store = Callable[[Elements, Any, Scalars], None]  # scope, number of the step, total


class _Array:
    """The row with a number, of the kernel's array."""

    def __init__(self, work: Work, line: Line):
        dims = line.shape.dims
        self.line, self.prefixes = line, prefixes_of(work.kernel, work.buffers)
        self.inputs = sources(work.kernel, work.buffers)
        self.space = make_space(dims, [*([d] for d in line.order), [line.dimension]])
        self.at = line.place(self.space.index)

    def scope(self, row: Any) -> Elements:
        """The scope of a row."""
        points = point_of(row, self.space.sizes[:-1])
        return Elements(self.inputs, bind(self.space.variables[:-1], points))

    def init(self, row: Elements) -> Scalars:
        """The total before the row."""
        start = row.with_variables(**bind(self.space.variables[-1:], [index_value(0)]))
        return self.prefixes.init(start, self.at)

    def load(self, row: Elements) -> Load:
        """How elements of the row are loaded."""

        def load(place: Any) -> tuple[Elements, Scalars]:
            scope = row.with_variables(**bind(self.space.variables[-1:], [place]))
            return scope, self.prefixes.element(scope, self.at)

        return load

    def store(self, scope: Elements, place: Any, totals: Scalars) -> None:
        """Store what a place gives."""
        last = arith.cmpi(_EQUAL, place, index_value(self.line.length - 1))
        self.prefixes.store(scope.with_variables(), self.at, totals, last)


def _whole(work: Work, line: Line, rows: Rows) -> None:
    """Rows, each by the same threads from its beginning to its end."""
    array, own = _Array(work, line), _Place(rows)
    row = array.scope(own.row)
    walk = _Walk(rows, own, array.prefixes)
    walk.along(array.load(row), array.init(row), array.store)


def _totals(work: Work, line: Line, rows: Rows) -> None:
    """The total of each piece."""
    array, own = _Array(work, line), _Place(rows)
    walk = _Walk(rows, own, array.prefixes)
    total = walk.along(array.load(array.scope(own.row)), None, None)
    first = arith.cmpi(_EQUAL, thread_in_block(), index_value(0))
    arrays = scratch_arrays(work.scratch, rows.totals)

    def store() -> None:
        for value, kept in zip(total, arrays):
            store_at(value, kept, own.group)

    when(first, store)


def _running(work: Work, line: Line, rows: Rows, again: Rows) -> None:
    """Running totals of the pieces' totals, which take their places."""
    array, own = _Array(work, line), _Place(again)
    arrays = scratch_arrays(work.scratch, rows.totals)
    start = arith.muli(own.row, index_value(rows.pieces))
    row = array.scope(own.row)

    def load(place: Any) -> tuple[Elements, Scalars]:
        return row, [load_at(a, arith.addi(start, place)) for a in arrays]

    def store(_: Elements, place: Any, totals: Scalars) -> None:
        for total, kept in zip(totals, arrays):
            store_at(total, kept, arith.addi(start, place))

    inclusive = replace(array.prefixes, exclusive=False)
    _Walk(again, own, inclusive).along(load, array.init(row), store)


def _pieces(work: Work, line: Line, rows: Rows) -> None:
    """The places of each piece, after the pieces before it."""
    array, own = _Array(work, line), _Place(rows)
    arrays: Sequence[Buffer] = scratch_arrays(work.scratch, rows.totals)
    row = array.scope(own.row)
    is_first = Scalar(arith.cmpi(_EQUAL, own.piece, index_value(0)), PRED)
    # The piece before; what the first piece reads there is not used.
    before = arith.subi(own.group, arith.select(is_first.value, index_value(0), index_value(1)))
    carried = [select(is_first, i, load_at(a, before))
               for i, a in zip(array.init(row), arrays)]  # fmt: skip
    _Walk(rows, own, array.prefixes).along(array.load(row), carried, array.store)


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

    def __init__(self, rows: Rows, own: _Place, prefixes: Prefixes):
        self.rows, self.own = rows, own
        self.combine, self.exclusive = prefixes.combine, prefixes.exclusive
        self.shared = shared_arrays(rows.shared) if rows.warps > 1 else []
        self.lane = own.lane

    def along(self, load: Load, carried: Scalars | None, store: Store | None) -> Scalars:
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
            return self._tile(number, first, load, totals, store, carried is None)

        if rows.tiles == 1:
            return tile(index_value(0), before)
        return for_loop(0, rows.tiles, 1, tile, before)

    def _tile(
        self, number: Any, first: Any, load: Load, before: Scalars, store: Store | None,
        alone: bool,
    ) -> Scalars:  # fmt: skip
        rows, found, running = self.rows, [], []
        last: Scalars | None = None
        for item in range(rows.items):
            place = arith.addi(first, index_value(item * rows.width))
            inside = arith.andi(arith.cmpi(_LESS, place, index_value(rows.length)),
                                self.own.inside)  # fmt: skip
            place = arith.minui(place, index_value(rows.length - 1))
            found.append((place, inside, *load(place)))
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
