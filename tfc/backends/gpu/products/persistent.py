"""Products by warpgroups: blocks that stay, and go from tile to tile of the results (sm_90a).

    warpgroup 0     one thread asks for boxes of both operands, stage after stage, tile after tile
    warpgroups 1, 2 multiply what has come, 64 rows of the tile each, and store their part of it

    loaded[s]       a phase ends when the boxes of stage s have come
    used[s]         … when all warps of warpgroups 1 and 2 have multiplied them

So the boxes of the next tile come while the results of one are finished. Results pass through
shared memory in boxes of 64 rows and 128 bytes, of which each warpgroup has two: one is stored
while the next is written. Elements beyond the operands are zeros, those beyond the result are not
stored.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.driver.interface import Boxes
from tfc.backends.gpu.grid import Grid, gpu, thread_in_block
from tfc.backends.gpu.matrices import PIECE, rounded_pair, store_shared
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.finishing import when_below
from tfc.backends.gpu.products.kernels import (
    divided,
    finishing,
    partial_sums,
    product_index,
    shared_memory,
)
from tfc.backends.gpu.products.pieces import packed
from tfc.backends.gpu.products.spec import ProductSpec, spec_of
from tfc.backends.gpu.products.tile_order import Tile, TileOrder
from tfc.backends.gpu.products.tiles import ROWS, THREADS, Tiles, shared_sums, tiles_for
from tfc.backends.gpu.stages import Place, where
from tfc.backends.gpu.warpgroups import (
    PHASE_BYTES,
    ROW_BYTES,
    WARPGROUP,
    announce_phases,
    arrive,
    arrive_in_cluster,
    arrive_with_bytes,
    begin_phases,
    elected,
    fetch_descriptor,
    hold_registers,
    load_box,
    meet,
    meet_cluster,
    rank_in_cluster,
    show_writes,
    store_box,
    wait_for_boxes,
    wait_for_phase,
)
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, constant, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.vectors import add, index_value, minimum, multiply
from tfc.hlo.index_maps import constant as known
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F16, F32, U32, Shape
from tfc.passes.analysis.products import root_index

_GROUPS = ROWS // GROUP_ROWS
_ALIGNMENT = 1024
_FEW, _MANY = 40, 232  # registers of threads that ask for boxes, and of those that multiply


def warpgroup_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a kernel whose product goes by warpgroups; None if another form is better."""
    spec = spec_of(kernel)
    tiles = tiles_for(kernel, spec) if spec else None
    if spec is None or tiles is None:
        return None
    parts = [persistent_part(kernel, spec, tiles)]
    if tiles.splits > 1:
        second = Persistent(kernel, spec, tiles)
        parts.append(Part(second.add_up, tiles.shared * ROWS * tiles.columns))
    return parts


def product_sums(kernel: Kernel) -> Shape | None:
    """The sums of shares of a product, whichever form it has: the plan is for all GPUs."""
    spec = spec_of(kernel)
    if spec is None:
        return None
    found = [s for s in (partial_sums(kernel), shared_sums(kernel, spec)) if s is not None]
    return max(found, key=lambda shape: shape.byte_size, default=None)


def persistent_part(kernel: Kernel, spec: ProductSpec, tiles: Tiles) -> Part:
    """The part of a kernel that multiplies such tiles, or shares of their sums."""
    product = Persistent(kernel, spec, tiles)
    shares = [] if tiles.shares is None else [tiles.shares]
    return Part(
        product.emit,
        product.order.blocks,
        True,
        threads=THREADS,
        shared=tiles.shared_bytes + _ALIGNMENT,
        boxes=[*tiles.operands, *tiles.results, *shares],
        cluster=tiles.cluster,
        resident=1,  # else the assembler does not know how many registers there are to share out
    )


@dataclass(frozen=True)
class Persistent:
    """The kernel of a product."""

    kernel: Kernel
    spec: ProductSpec
    tiles: Tiles

    @property
    def order(self) -> TileOrder:
        """In which order blocks go through the tiles."""
        return TileOrder(self.spec, self.tiles)

    def emit(self, work: Work) -> None:
        """Emit the code of a block."""
        tiles, thread = self.tiles, narrow(thread_in_block())
        base = (shared_memory() + (_ALIGNMENT - 1)) / _ALIGNMENT * _ALIGNMENT
        phases = base + tiles.phases_at
        with where(thread.eq(0)):
            for stage in range(tiles.stages):
                begin_phases(phases + stage * PHASE_BYTES, 1)
                used = tiles.stages + stage
                warps = _GROUPS * WARPGROUP // WARP * tiles.cluster
                begin_phases(phases + used * PHASE_BYTES, warps)
            announce_phases()
        if tiles.cluster > 1:
            meet_cluster(at_last=False)
        else:
            gpu.barrier()
        group = thread / WARPGROUP
        fork = scf.IfOp(group.eq(0).value, has_else=True)
        with ir.InsertionPoint(fork.then_block):
            hold_registers(_FEW, more=False)
            with where(thread < WARP), where(elected().ne(0)):
                _Loads(self, work, base, phases).emit()
            scf.yield_([])
        with ir.InsertionPoint(fork.else_block):
            hold_registers(_MANY, more=True)
            _Multiplies(self, work, base, phases, thread % WARPGROUP, group - 1).emit()
            scf.yield_([])
        if tiles.cluster > 1:  # the others may still arrive at barriers of this block
            meet_cluster(at_last=True)

    # --- Sums of shares ---------------------------------------------------------------------------

    def add_up(self, work: Work) -> None:
        """Emit the second step: the sums of the shares, in their order, and what comes after."""
        tiles, spec = self.tiles, self.spec
        dims = (tiles.shared, tiles.splits, ROWS, tiles.columns)
        (buffer,) = scratch_arrays(work.scratch, [Shape(spec.sums, dims)])
        names = zip("tsij", dims)
        tile, _, row, column = (variable(name, size) for name, size in names)
        inside = product_index(self.kernel, spec)

        def body(points: Sequence[Any]) -> None:
            number, i, j = points
            scope = Elements({}, {"t": number, "i": i, "j": j})
            total = scope.load(buffer, (tile, known(0), row, column))
            for split in range(1, tiles.splits):
                total = total + scope.load(buffer, (tile, known(split), row, column))
            rank, cluster = divided(number, tiles.cluster, tiles.shared // tiles.cluster)
            first = add(cluster, tiles.whole // tiles.cluster)
            batch, first_row, first_column = self.order.corner(first, rank)
            place = add(first_row, i), add(first_column, j)
            edges = zip(place, (spec.m, spec.n), (ROWS, tiles.columns))
            when_below(
                [(x, end) for x, end, step in edges if end % step],
                lambda: finishing(work, inside, batch)(*place, total).store(),
            )

        Grid().each([tiles.shared, ROWS, tiles.columns], body)


@dataclass(frozen=True)
class _Role:
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


class _Loads(_Role):
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
        sums, batch, to = turn * tiles.depth, narrow(index_value(tile.batch)), self.at(place.stage)
        for number, first in enumerate((tile.row, tile.column)):
            (_, boxes), form = tiles.operands[number], tiles.forms[number]
            line, lines = narrow(index_value(first)), boxes.box[1 if form.along else 0]
            blocks = tiles.cluster if number else 1
            own = tiles.boxes_of(number) // blocks
            after = to + own * blocks * tiles.box_bytes(number)
            if blocks > 1:  # each brings its part of what all have
                rank = rank_in_cluster()
                to, line = to + rank * (own * tiles.box_bytes(number)), line + rank * (own * lines)
            for _ in range(own):
                corner = [sums, line] if form.along else [line, sums]
                last = [batch] if len(boxes.dims) == 3 else []
                load_box(to, self.work.boxes[number], [*corner, *last], loaded, blocks)
                to, line = to + tiles.box_bytes(number), line + lines
            to = after


@dataclass(frozen=True)
class _Multiplies(_Role):
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
        if self.tiles.splits == 1:
            self._store_results(tile, sums)
        elif tile.is_share is None:
            self._store_share(tile, sums)
        else:
            fork = scf.IfOp(tile.is_share, has_else=True)
            for block, store in (
                (fork.then_block, self._store_share), (fork.else_block, self._store_results)
            ):  # fmt: skip
                with ir.InsertionPoint(block):
                    store(tile, sums)
                    scf.yield_([])

    def _store_results(self, tile: Tile, sums: Sequence[Any]) -> None:
        row = add(tile.row, index(self.group * GROUP_ROWS))

        def corner(first: int) -> list[Any]:
            return [add(tile.column, first), row, tile.batch]

        for number, ((_, boxes), value) in enumerate(
            zip(self.tiles.results, self.product.kernel.values)
        ):

            def made(first: int, own: Sequence[Any], x: Instruction = value) -> list[list[Any]]:
                return list(self._results(x, tile, row, first, own))

            self._store_boxes(2 + number, boxes, sums, made, corner)

    def _store_share(self, tile: Tile, sums: Sequence[Any]) -> None:
        assert self.tiles.shares is not None
        kind = self.product.spec.sums
        row = add(multiply(tile.place, ROWS), index(self.group * GROUP_ROWS))

        def made(_: int, own: Sequence[Any]) -> list[list[Any]]:
            pairs = (own[n : n + 2] for n in range(0, len(own), 2))
            return [packed([Scalar(s, kind) for s in pair]) for pair in pairs]

        number = 2 + len(self.tiles.results)
        self._store_boxes(number, self.tiles.shares[1], sums, made, lambda first: [first, row])

    def _store_boxes(
        self,
        number: int,
        boxes: Boxes,
        sums: Sequence[Any],
        made: Callable[[int, Sequence[Any]], list[list[Any]]],
        corner: Callable[[int], list[Any]],
    ) -> None:
        """Store boxes of 64 rows and 128 bytes.

        Args:
            number: of the descriptor.
            made: (first column, sums) -> the words of two neighbours, for each pair of sums.
            corner: where the box of a first column begins.
        """
        width = ROW_BYTES // boxes.itemsize
        held = self.base + self.tiles.results_at + self.group * (2 * GROUP_ROWS * ROW_BYTES)
        for turn, first in enumerate(range(0, self.tiles.columns, width)):
            at = held + turn % 2 * (GROUP_ROWS * ROW_BYTES)
            results = made(first, sums[first // 2 : (first + width) // 2])
            with where(self.thread.eq(0)):
                wait_for_boxes(1, only_read=True)
            meet(self.group + 1, WARPGROUP)
            self._put(at, results)
            show_writes()
            meet(self.group + 1, WARPGROUP)
            with where(self.thread.eq(0)):
                places = [narrow(index_value(c)) for c in corner(first)[: len(boxes.dims)]]
                store_box(self.work.boxes[number], places, at)

    def _results(
        self, last: Instruction, tile: Tile, row: Any, first: int, sums: Sequence[Any]
    ) -> Iterator[list[Any]]:
        """The words of two neighbours of a result, for each pair of sums from a column on."""
        spec, kernel = self.product.spec, self.product.kernel
        at = root_index(kernel.computation, product_index(kernel, spec))
        kind = last.array_shape.element_type
        rounds = last.opcode == "convert" and kind in (F16, BF16)
        if rounds := rounds and last.operands[0].array_shape.element_type is F32:
            last = last.operands[0]  # two are rounded by one instruction
        lane = self.thread % WARP
        own_row = add(row, index(self.thread / WARP * 16 + lane / 4))
        own_column = add(tile.column, index(lane % 4 * 2), first)
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
            yield [rounded_pair(kind.name, *elements)] if rounds else packed(elements)

    def _put(self, at: Scalar, results: Sequence[Sequence[Any]]) -> None:
        """Write a box's results, whose pieces are exchanged as boxes have them.

        A pair is a word or two. Of two words, a half of the warp goes at once, four rows: where
        these are odd they take the pieces in another order, so that all are in different banks.
        """
        lane = self.thread % WARP
        line = lane / 4
        start = at + (self.thread / WARP * 16 + line) * ROW_BYTES
        words = len(results[0])
        steps = len(results) // 2  # of eight columns, for two rows each
        odd = (line % 2).ne(0)
        for step in range(steps):
            for lower in range(2):
                if words == 1:
                    piece, offset = constant(U32, step), lane % 4 * 4
                    values = results[2 * step + lower]
                else:
                    other = results[2 * (step ^ 2) + lower]
                    values = [select(odd, Scalar(x, U32), Scalar(y, U32)).value
                              for x, y in zip(other, results[2 * step + lower])]  # fmt: skip
                    piece = select(odd, constant(U32, step ^ 2), step) * 2 + lane % 4 / 2
                    offset = lane % 2 * 8
                place = start + (piece ^ line) * PIECE + offset
                store_shared(place, values, lower * 8 * ROW_BYTES)


def _inside(x: Any, end: int) -> Any:
    """A row or column that is there, for one that may not be: nothing is stored for that."""
    return x if end == 1 else minimum(x, end - 1)
