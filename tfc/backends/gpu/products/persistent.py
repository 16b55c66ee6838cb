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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.grid import block_number, gpu, thread_in_block
from tfc.backends.gpu.matrices import PIECE, rounded_pair, store_shared
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.choice import schedule_for
from tfc.backends.gpu.products.kernels import Block, divided, product_index, shared_memory
from tfc.backends.gpu.products.pieces import packed
from tfc.backends.gpu.products.spec import ProductSpec, spec_of
from tfc.backends.gpu.products.tiles import ROWS, THREADS, Tiles, tiles_for
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
from tfc.backends.mlir.vectors import add, index_value, minimum, multiply, subtract
from tfc.hlo.shape import BF16, F16, F32, U32
from tfc.passes.analysis.products import root_index

_GROUPS = ROWS // GROUP_ROWS
_ALIGNMENT = 1024
_FEW, _MANY = 40, 232  # registers of threads that ask for boxes, and of those that multiply
_SUPER_ROWS = 8  # of tiles, that blocks with neighbouring numbers go down before they go right


def warpgroup_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a kernel whose product goes by warpgroups; None if another form is better."""
    spec = spec_of(kernel)
    tiles = tiles_for(kernel, spec) if spec else None
    if spec is None or tiles is None:
        return None
    parts = [persistent_part(kernel, spec, tiles)]
    if tiles.splits > 1:
        second = Block(kernel, spec, replace(schedule_for(spec), splits=tiles.splits))
        parts.append(Part(second.add_up, spec.batch * spec.m * spec.n))
    return parts


def persistent_part(kernel: Kernel, spec: ProductSpec, tiles: Tiles) -> Part:
    """The part of a kernel that multiplies such tiles, or shares of their sums."""
    product = Persistent(kernel, spec, tiles)
    return Part(
        product.emit,
        _blocks(tiles),
        True,
        threads=THREADS,
        shared=tiles.shared_bytes + _ALIGNMENT,
        boxes=[*tiles.operands, tiles.result],
        cluster=tiles.cluster,
    )


def _blocks(tiles: Tiles) -> int:
    """The blocks of the launch: whole clusters."""
    return min(tiles.units, tiles.blocks) // tiles.cluster * tiles.cluster


@dataclass(frozen=True)
class _Tile:
    """A tile of the results, or a share of it, all of type index.

    batch, split: of which pair of matrices, and the number of the share.
    row, column: where the tile's begin.
    first, turns: the stage at which the share begins, and how many it has.
    """

    batch: Any
    split: Any
    row: Any
    column: Any
    first: Any
    turns: Any


@dataclass(frozen=True)
class _Place:
    """Where in the ring of stages a thread is."""

    stage: Scalar
    parity: Scalar

    @property
    def values(self) -> list[Any]:
        """What loops carry."""
        return [self.stage.value, self.parity.value]

    def next(self, stages: int) -> "_Place":
        """The stage after it; once around, the parity of phases is the other one."""
        is_last = self.stage.eq(stages - 1)
        turned = select(is_last, self.parity ^ 1, self.parity)
        return _Place(select(is_last, 0, self.stage + 1), turned)


def _place(values: Sequence[Any]) -> _Place:
    return _Place(Scalar(values[0], U32), Scalar(values[1], U32))


@dataclass(frozen=True)
class Persistent:
    """The kernel of a product."""

    kernel: Kernel
    spec: ProductSpec
    tiles: Tiles

    def emit(self, work: Work) -> None:
        """Emit the code of a block."""
        tiles, thread = self.tiles, narrow(thread_in_block())
        base = (shared_memory() + (_ALIGNMENT - 1)) / _ALIGNMENT * _ALIGNMENT
        phases = base + tiles.phases_at
        with _when(thread.eq(0)):
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
            with _when(thread < WARP), _when(elected().ne(0)):
                _Loads(self, work, base, phases).emit()
            scf.yield_([])
        with ir.InsertionPoint(fork.else_block):
            hold_registers(_MANY, more=True)
            _Multiplies(self, work, base, phases, thread % WARPGROUP, group - 1).emit()
            scf.yield_([])
        if tiles.cluster > 1:  # the others may still arrive at barriers of this block
            meet_cluster(at_last=True)

    def each_tile(
        self, carried: Sequence[Any], body: Callable[[_Tile, Sequence[Any]], Sequence[Any]]
    ) -> Sequence[Any]:
        """Emit the loop over the tiles of this block."""
        tiles = self.tiles
        first, cluster = block_number(), tiles.cluster
        if cluster > 1:
            _, first = divided(first, cluster, _blocks(tiles) // cluster)
        units, step = (index_value(n // cluster) for n in (tiles.units, _blocks(tiles)))
        loop = scf.ForOp(first, units, step, list(carried))
        with ir.InsertionPoint(loop.body):
            tile = self._tile(loop.induction_variable)
            scf.yield_(list(body(tile, list(loop.inner_iter_args))))
        return list(loop.results)

    def _tile(self, number: Any) -> _Tile:
        """Blocks that run at the same time share rows and columns: the tiles go down some rows,
        then one to the right, so that the level-2 cache has what several of them need. Those of a
        cluster have one below the other, and the same number."""
        tiles, (down, across) = self.tiles, self.tiles.grid
        down, high = down // tiles.cluster, _SUPER_ROWS // tiles.cluster
        number, split = divided(number, tiles.count // tiles.cluster, tiles.splits)
        tile, batch = divided(number, down * across, self.spec.batch)
        if down % high == 0 and across > 1:
            inside, outer = divided(tile, high * across, down // high)
            row, column = divided(inside, high, across)
            row = add(multiply(outer, high), row)
        else:
            row, column = divided(tile, down, across)
        if tiles.cluster > 1:
            row = add(multiply(row, tiles.cluster), index(rank_in_cluster()))
        first = multiply(split, tiles.share)
        turns: Any = tiles.turns
        if tiles.splits > 1:
            turns = minimum(tiles.share, subtract(tiles.turns, first))
        return _Tile(
            batch, split, multiply(row, ROWS), multiply(column, tiles.columns), first, turns
        )  # fmt: skip


@contextmanager
def _when(condition: Scalar) -> Iterator[None]:
    """A context in which code is emitted that runs where a condition holds."""
    with ir.InsertionPoint(scf.IfOp(condition.value).then_block):
        yield
        scf.yield_([])


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

    def start(self) -> list[Any]:
        """The first place in the ring."""
        return [constant(U32, 0).value] * 2


class _Loads(_Role):
    """The thread that asks for boxes."""

    def emit(self) -> None:
        """Emit the loop over tiles, and over the stages of each."""
        for boxes in self.work.boxes:
            fetch_descriptor(boxes)

        def each(tile: _Tile, carried: Sequence[Any]) -> Sequence[Any]:
            loop = scf.ForOp(*map(index_value, (0, tile.turns, 1)), list(carried))
            with ir.InsertionPoint(loop.body):
                place = _place(list(loop.inner_iter_args))
                turn = add(tile.first, loop.induction_variable)
                self._load(tile, narrow(index_value(turn)), place)
                scf.yield_(place.next(self.tiles.stages).values)
            return list(loop.results)

        self.product.each_tile(self.start(), each)

    def _load(self, tile: _Tile, turn: Scalar, place: _Place) -> None:
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

        def each(tile: _Tile, carried: Sequence[Any]) -> Sequence[Any]:
            place, sums = self._sums(tile, carried)
            self._store(tile, sums)
            return place

        self.product.each_tile(self.start(), each)
        with _when(self.thread.eq(0)):
            wait_for_boxes(0, only_read=False)

    # --- Sums -------------------------------------------------------------------------------------

    def _sums(self, tile: _Tile, start: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(the place after the tile's stages, the sums of the thread)."""
        kind = self.tiles.kind
        zeros = [constant(kind.sums, 0).value] * kind.count
        loop = scf.ForOp(*map(index_value, (0, tile.turns, 1)), [*start, *zeros])
        with ir.InsertionPoint(loop.body):
            carried = list(loop.inner_iter_args)
            place = _place(carried[:2])
            wait_for_phase(self.loaded(place.stage), place.parity)
            sums = self._product(place.stage, carried[2:])
            self._release(place, narrow(loop.induction_variable).ne(0))
            scf.yield_([*place.next(self.tiles.stages).values, *sums])
        end, sums = list(loop.results)[:2], list(loop.results)[2:]
        if not self.tiles.promotes:
            sums = kind.finish(sums)
        self._release(_place(end), None)
        return end, sums

    def _release(self, place: _Place, condition: Scalar | None) -> None:
        """Let the stage before a place be filled again: its products are done."""
        before = select(place.stage.eq(0), self.tiles.stages, place.stage) - 1
        cluster, lane = self.tiles.cluster, self.thread % WARP
        leads = lane < cluster
        with _when(leads if condition is None else leads & condition):
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

    def _store(self, tile: _Tile, sums: Sequence[Any]) -> None:
        """Store the results of the thread's sums, in boxes of 64 rows and 128 bytes."""
        tiles = self.tiles
        _, boxes = tiles.result
        width = ROW_BYTES // boxes.itemsize
        row = add(tile.row, index(self.group * GROUP_ROWS))
        held = self.base + tiles.results_at + self.group * (2 * GROUP_ROWS * ROW_BYTES)
        for number, first in enumerate(range(0, tiles.columns, width)):
            at = held + number % 2 * (GROUP_ROWS * ROW_BYTES)
            own = sums[first // 2 : (first + width) // 2]
            results = list(self._results(tile, row, first, own))
            with _when(self.thread.eq(0)):
                wait_for_boxes(1, only_read=True)
            meet(self.group + 1, WARPGROUP)
            self._put(at, results)
            show_writes()
            meet(self.group + 1, WARPGROUP)
            with _when(self.thread.eq(0)):
                matrix = add(multiply(tile.split, self.product.spec.batch), tile.batch)
                corner = [add(tile.column, first), row, matrix][: len(boxes.dims)]
                places = [narrow(index_value(c)) for c in corner]
                store_box(self.work.boxes[2], places, at)

    def _results(
        self, tile: _Tile, row: Any, first: int, sums: Sequence[Any]
    ) -> Iterator[list[Any]]:
        """The words of two neighbours' results, for each pair of sums from a column on; of the
        sums themselves if they are those of a share."""
        spec, kernel = self.product.spec, self.product.kernel
        if self.tiles.splits > 1:
            for number in range(0, len(sums), 2):
                yield packed([Scalar(s, spec.sums) for s in sums[number : number + 2]])
            return
        at = root_index(kernel.computation, product_index(kernel, spec))
        kind, last = kernel.results[0].element_type, kernel.root
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
