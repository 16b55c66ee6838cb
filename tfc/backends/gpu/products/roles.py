"""What the warpgroups of a block do that stays: one loads boxes, the others multiply them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.clusters import (
    address_in_cluster,
    arrive_in_cluster,
    load_from_cluster,
    meet_cluster,
    rank_in_cluster,
)
from tfc.backends.gpu.matrices import PIECE, rounded_pair, store_shared
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.box_stores import BoxStores
from tfc.backends.gpu.products.finishing import Mend
from tfc.backends.gpu.products.pieces import packed
from tfc.backends.gpu.products.spec import ProductSpec
from tfc.backends.gpu.products.tile_order import Tile, TileOrder
from tfc.backends.gpu.products.tiles import ROWS, Tiles
from tfc.backends.gpu.stages import Place, where
from tfc.backends.gpu.warpgroups import (
    PHASE_BYTES,
    ROW_BYTES,
    WARPGROUP,
    arrive,
    arrive_with_bytes,
    fetch_descriptor,
    load_box,
    meet,
    wait_for_boxes,
    wait_for_phase,
)
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.scalar import fma
from tfc.backends.mlir.arithmetic.value import Scalar, bitcast, constant, resize, select
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import load_at, stack_memory, store_at
from tfc.backends.mlir.vectors import add, for_range, index_value, minimum, multiply
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F16, F32, U8, U16, U32, Shape
from tfc.passes.analysis.products import root_index

_GROUPS = ROWS // GROUP_ROWS


@dataclass(frozen=True)
class Persistent:
    """A product by blocks that stay.

    index: of the product's element, of the variables b (batch), i (row), j (column).
    mending: (work, batch) -> what makes sums right that are NaN, and may be so wrongly; None if no
        sum may.
    """

    kernel: Kernel
    spec: ProductSpec
    tiles: Tiles
    index: Indices
    mending: Callable[[Work, Any], Mend] | None = None

    @property
    def order(self) -> TileOrder:
        """In which order blocks go through the tiles."""
        return TileOrder(self.spec, self.tiles)

    @property
    def sums(self) -> Shape | None:
        """The array of the sums of shares that a second step adds up, if there are any."""
        tiles = self.tiles
        if tiles.splits == 1 or tiles.adds_up:
            return None
        return Shape(self.spec.sums, (tiles.shared, tiles.splits, ROWS, tiles.columns))


@dataclass(frozen=True)
class Role:
    """What one of the warpgroups does: the kernel, and where stages and barriers are."""

    product: Persistent
    work: Work
    base: Scalar
    phases: Scalar

    @property
    def tiles(self) -> Tiles:
        """The tiles of the product."""
        return self.product.tiles

    def loaded(self, stage: Scalar) -> Scalar:
        """The barrier for the boxes of a stage."""
        return self.phases + stage * PHASE_BYTES

    def used(self, stage: Scalar) -> Scalar:
        """The barrier for those who multiply them."""
        return self.loaded(stage) + self.tiles.stages * PHASE_BYTES

    def at(self, stage: Scalar) -> Scalar:
        """Where a stage begins."""
        return self.base + stage * self.tiles.stage_bytes


class Loads(Role):
    """The thread that asks for boxes."""

    def emit(self) -> None:
        """Emit the loop over tiles, and over the stages of each."""
        for boxes in self.work.boxes:
            fetch_descriptor(boxes)

        def each(tile: Tile, carried: Sequence[Any]) -> Sequence[Any]:
            loop = scf.ForOp(*map(index_value, (0, tile.turns, 1)), list(carried))
            with ir.InsertionPoint(loop.body):
                place = Place.of(list(loop.inner_iter_args))
                turn = add(tile.first, loop.induction_variable)
                self._load(tile, narrow(index_value(turn)), place)
                scf.yield_(place.next(self.tiles.stages).values)
            return list(loop.results)

        self.product.order.each(Place.first(), each)

    def _load(self, tile: Tile, turn: Scalar, place: Place) -> None:
        """Ask for the boxes of a stage, once those that were there have been multiplied."""
        tiles, loaded = self.tiles, self.loaded(place.stage)
        wait_for_phase(self.used(place.stage), place.parity ^ 1)
        arrive_with_bytes(loaded, tiles.stage_bytes)
        batch, to = narrow(index_value(tile.batch)), self.at(place.stage)
        for number, first in enumerate((tile.row, tile.column)):
            operand, line = tiles.operands[number], narrow(index_value(first))
            size, lines = operand.box_bytes, operand.box_lines
            blocks = tiles.cluster if number else 1
            own = tiles.boxes_of(number) // blocks
            after = to + own * blocks * size
            if blocks > 1:  # each brings its part of what all have
                rank = rank_in_cluster()
                to, line = to + rank * (own * size), line + rank * (own * lines)
            for _ in range(own):
                corner = operand.corner(turn, line, batch)
                boxes = self.work.boxes[number]
                load_box(to, boxes, corner.place, loaded, blocks, corner.moved)
                to, line = to + size, line + lines
            to = after


@dataclass(frozen=True)
class Multiplies(Role):
    """A warpgroup that multiplies: the number of the thread in it, and its own."""

    thread: Scalar
    group: Scalar

    def emit(self) -> None:
        """Emit the loop over tiles: their sums, and then what becomes of these."""

        def each(tile: Tile, carried: Sequence[Any]) -> Sequence[Any]:
            place, sums = self._sums(tile, carried)
            self._store(tile, sums)
            return place

        self.product.order.each(Place.first(), each)
        with where(self.thread.eq(0)):
            wait_for_boxes(0, only_read=False)

    # --- Sums -------------------------------------------------------------------------------------

    def _sums(self, tile: Tile, start: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(the place after the tile's stages, the sums of the thread)."""
        kind = self.tiles.kind
        zeros = [constant(kind.sums, 0).value] * kind.count
        loop = scf.ForOp(*map(index_value, (0, tile.turns, 1)), [*start, *zeros])
        with ir.InsertionPoint(loop.body):
            carried = list(loop.inner_iter_args)
            place = Place.of(carried[:2])
            wait_for_phase(self.loaded(place.stage), place.parity)
            sums = self._product(place.stage, carried[2:])
            self._release(place, narrow(loop.induction_variable).ne(0))
            scf.yield_([*place.next(self.tiles.stages).values, *sums])
        end, sums = list(loop.results)[:2], list(loop.results)[2:]
        if not self.tiles.promotes:
            sums = kind.finish(sums)
        self._release(Place.of(end), None)
        return end, sums

    def _release(self, place: Place, condition: Scalar | None) -> None:
        """Let the stage before a place be filled again: its products are done."""
        before = select(place.stage.eq(0), self.tiles.stages, place.stage) - 1
        cluster, lane = self.tiles.cluster, self.thread % WARP
        leads = lane < cluster
        with where(leads if condition is None else leads & condition):
            if cluster > 1:  # a thread for each block of the cluster
                arrive_in_cluster(self.used(before), lane)
            else:
                arrive(self.used(before))

    def _product(self, stage: Scalar, sums: Sequence[Any]) -> list[Any]:
        """The sums with the products of a stage, which may still be under way."""
        tiles, kind, start = self.tiles, self.tiles.kind, self.at(stage)
        lhs = start + self.group * (GROUP_ROWS * ROW_BYTES)
        left, right = (
            form.descriptor(at) for form, at in zip(tiles.forms, (lhs, start + tiles.lhs_bytes))
        )
        if not tiles.promotes:
            return kind.multiply(left, right, tiles.forms, sums, 1)
        zeros = [constant(kind.sums, 0).value] * kind.count
        fresh = kind.multiply(left, right, tiles.forms, zeros, 0)
        return [arith.addf(old, new) for old, new in zip(sums, fresh)]

    # --- Results ----------------------------------------------------------------------------------

    def _store(self, tile: Tile, sums: Sequence[Any]) -> None:
        """Store what comes of the thread's sums, or these if they are those of a share."""
        if self.tiles.adds_up:
            self._store_added(tile, sums)
        elif self.tiles.splits == 1:
            self._store_whole(tile, sums)
        elif tile.is_share is None:
            self._store_share(tile, sums)
        else:
            fork = scf.IfOp(tile.is_share, has_else=True)
            for block, store in (
                (fork.then_block, self._store_share), (fork.else_block, self._store_whole)
            ):  # fmt: skip
                with ir.InsertionPoint(block):
                    store(tile, sums)
                    scf.yield_([])

    def _store_whole(self, tile: Tile, sums: Sequence[Any]) -> None:
        self._store_results(tile, sums, add(tile.row, index(self.group * GROUP_ROWS)))

    def _store_results(self, tile: Tile, sums: Sequence[Any], row: Any) -> None:
        """Store what comes of sums from a row on, from the tile's first column on."""
        sums = self._mended(tile, row, sums)

        def corner(first: int) -> list[Any]:
            return [add(tile.column, first), row, tile.batch]

        for number, ((_, boxes), value) in enumerate(
            zip(self.tiles.results, self.product.kernel.values)
        ):

            def made(first: int, own: Sequence[Any], x: Instruction = value) -> list[list[Any]]:
                return list(self._results(x, tile, row, first, own))

            self._stores.store(2 + number, boxes, sums, made, corner)

    def _mended(self, tile: Tile, row: Any, sums: Sequence[Any]) -> Sequence[Any]:
        """The thread's sums as they should be.

        Where some are not finite, which is rare, they go through memory, so that a loop may look at
        each: no code of its own for every one of them.
        """
        kind = self.product.spec.sums
        if self.product.mending is None:
            return sums
        zero = constant(kind, 0)
        tested = zero
        for total in sums:
            tested = fma(Scalar(total, kind), zero, tested)
        fork = scf.IfOp(tested.ne(tested).value, [zero.value.type] * len(sums), has_else=True)
        with ir.InsertionPoint(fork.then_block):
            mend = self.product.mending(self.work, tile.batch)
            scf.yield_(self._mended_in_memory(mend, tile, row, sums))
        with ir.InsertionPoint(fork.else_block):
            scf.yield_(list(sums))
        return list(fork.results)

    def _mended_in_memory(
        self, mend: Mend, tile: Tile, row: Any, sums: Sequence[Any]
    ) -> Sequence[Any]:
        spec, shape = self.product.spec, Shape(self.product.spec.sums, (len(sums),))
        memory = Buffer(stack_memory(shape), shape)
        for number, total in enumerate(sums):
            store_at(Scalar(total, spec.sums), memory, index_value(number))
        first = self._own(row, tile.column)

        def one(n: Any, _: Any) -> None:
            number = narrow(index_value(n))
            down, right = number / 2 % 2 * 8, number / 4 * 8 + number % 2
            i, j = (_inside(add(at, index(by)), end)
                    for at, by, end in zip(first, (down, right), (spec.m, spec.n)))  # fmt: skip
            store_at(mend(i, j, load_at(memory, n)), memory, n)

        for_range(0, len(sums), 1, one)
        return [load_at(memory, index_value(n)).value for n in range(len(sums))]

    def _own(self, row: Any, column: Any) -> tuple[Any, Any]:
        """The row and the column of the thread's first sum, of those of the warpgroup's first."""
        lane = self.thread % WARP
        own_row = add(row, index(self.thread / WARP * 16 + lane / 4))
        return own_row, add(column, index(lane % 4 * 2))

    def _store_added(self, tile: Tile, sums: Sequence[Any]) -> None:
        """Add up the sums that the blocks of the cluster have, and store what comes of those.

        The threads leave their sums where stages were, as many as are read at once next to each
        other, and then those of other threads. Parts of 64 rows, as wide as the widest box, are
        shared out among the warpgroups of the cluster.
        """
        tiles, kind, count = self.tiles, self.product.spec.sums, len(sums)
        name, together, round_bytes = str(sums[0].type), PIECE // 4, WARPGROUP * PIECE
        own, group_bytes = self.base + self.thread * PIECE, count // together * round_bytes
        meet(constant(U32, 1 + _GROUPS), _GROUPS * WARPGROUP)  # neither reads stages any more
        for number in range(0, count, together):
            offset = number // together * round_bytes
            store_shared(own + self.group * group_bytes, sums[number : number + together], offset)
        meet_cluster(releases=True)
        width = min(max(ROW_BYTES // b.itemsize for _, b in tiles.results), tiles.columns)
        here = index(rank_in_cluster() + self.group * tiles.splits)
        step, end = _GROUPS * tiles.splits, _GROUPS * (tiles.columns // width)
        loop = scf.ForOp(here, index_value(end), index_value(step), [])
        with ir.InsertionPoint(loop.body):
            part = narrow(loop.induction_variable)
            down, right = part % _GROUPS, part / _GROUPS
            at = own + (down * group_bytes + right * (width // 2 // together * round_bytes))

            def share(rank: int | Scalar, at: Scalar = at) -> list[Any]:
                start = address_in_cluster(at, rank)
                offsets = (n * round_bytes for n in range(width // 2 // together))
                return [x for o in offsets for x in load_from_cluster(start, name, together, o)]

            adding = scf.ForOp(*map(index_value, (1, tiles.splits, 1)), share(0))
            with ir.InsertionPoint(adding.body):
                pairs = zip(adding.inner_iter_args, share(narrow(adding.induction_variable)))
                scf.yield_([(Scalar(a, kind) + Scalar(b, kind)).value for a, b in pairs])
            totals = list(adding.results)
            column = add(tile.column, index(right * width))
            row = add(tile.row, index(down * GROUP_ROWS))
            self._store_results(replace(tile, column=column), totals, row)
            scf.yield_([])
        meet_cluster(releases=True)  # others may still read this block's sums

    def _store_share(self, tile: Tile, sums: Sequence[Any]) -> None:
        assert self.tiles.shares is not None
        kind = self.product.spec.sums
        row = add(multiply(tile.place, ROWS), index(self.group * GROUP_ROWS))

        def made(_: int, own: Sequence[Any]) -> list[list[Any]]:
            pairs = (own[n : n + 2] for n in range(0, len(own), 2))
            return [packed([Scalar(s, kind) for s in pair]) for pair in pairs]

        number = 2 + len(self.tiles.results)
        boxes = self.tiles.shares[1]
        self._stores.store(number, boxes, sums, made, lambda first: [first, row])

    @property
    def _stores(self) -> BoxStores:
        held = self.base + self.tiles.results_at + self.group * BoxStores.BYTES
        return BoxStores(self.work, held, self.thread, self.group)

    def _results(
        self, last: Instruction, tile: Tile, row: Any, first: int, sums: Sequence[Any]
    ) -> Iterator[list[Any]]:
        """The words of two neighbours of a result, for each pair of sums from a column on."""
        spec, kernel = self.product.spec, self.product.kernel
        at = root_index(kernel.computation, self.product.index)
        kind = last.array_shape.element_type
        rounds = last.opcode == "convert" and kind in (F16, BF16)
        if rounds := rounds and last.operands[0].array_shape.element_type is F32:
            last = last.operands[0]  # two are rounded by one instruction
        own_row, own_column = self._own(row, add(tile.column, first))
        for number in range(0, len(sums), 2):
            i = add(own_row, 8 * (number // 2 % 2))
            elements = []
            for inner in range(2):
                j = add(own_column, 8 * (number // 4) + inner)
                values = {"b": tile.batch, "i": _inside(i, spec.m), "j": _inside(j, spec.n)}
                scope = Elements(sources(self.work.kernel, self.work.buffers), values)
                assert kernel.product is not None
                total = Scalar(sums[number + inner], spec.sums)
                elements.append(scope.with_value(kernel.product, total).element(last, at))
            if rounds:
                yield [rounded_pair(kind.name, *elements)]
            else:
                yield packed(elements) if kind.bits > 8 else [_both_bytes(*elements)]


def _both_bytes(first: Scalar, second: Scalar) -> Any:
    """Two numbers of 8 bits as neighbours in half a word."""
    low, high = (resize(Scalar(bitcast(x, U8).value, U8), U16) for x in (first, second))
    return (low | high << 8).value


def _inside(x: Any, end: int) -> Any:
    """A row or column that is there, for one that may not be: nothing is stored for that."""
    return x if end == 1 else minimum(x, end - 1)
