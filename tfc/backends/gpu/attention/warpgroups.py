"""Attention by warpgroups on sm_90a: boxes in, scores and sums in registers, boxes out.

    warpgroup 0     a thread asks for boxes of queries, another for keys and values in stages
    warpgroups 1, 2 have 64 rows each: scores of 128 keys, their weights, and these times the values

    queries         a phase ends when the boxes of a unit's queries have come
    queries_used    … when its results, which take their place, have been read from there
    loaded[s]       … when the boxes of the keys, or of the values, of stage s have come
    used[s]         … when all warps of warpgroups 1 and 2 have multiplied them
    decided         … when these know whether all rows of a unit are far above what a mask hides

Blocks stay, and go from unit to unit, 128 rows of a pair of matrices; so keys and values of the
next come while the results of one are finished. While one warpgroup makes weights of scores, the
other multiplies. Weights stay in registers: as scores lie there, so do the factors of a product.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.attention.hidden import Hidden, hidden_keys
from tfc.backends.gpu.attention.kernels import Block, attention_parts
from tfc.backends.gpu.attention.logits import Logits
from tfc.backends.gpu.attention.online import State, across, quick
from tfc.backends.gpu.attention.warpgroup_tiles import (
    ALIGNMENT,
    FIRST_STAGE,
    GROUPS,
    KEYS,
    ROWS,
    SIZE,
    THREADS,
    WARPS,
    Fragments,
    Tiles,
    tiles_of,
)
from tfc.backends.gpu.grid import block_number, gpu, thread_in_block
from tfc.backends.gpu.matrices import PIECE, load_shared, rounded_pairs, store_shared
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.kernels import divided, shared_memory
from tfc.backends.gpu.products.pieces import packed
from tfc.backends.gpu.stages import Place, where
from tfc.backends.gpu.warpgroups import (
    PHASE_BYTES,
    ROW_BYTES,
    WARPGROUP,
    Matrix,
    announce_phases,
    arrive,
    arrive_with_bytes,
    begin_phases,
    elected,
    fetch_descriptor,
    hold_registers,
    load_box,
    meet,
    show_writes,
    store_box,
    wait_for_boxes,
    wait_for_phase,
)
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.shape import F32, U32

_FEW, _MANY = 40, 232  # registers of threads that ask for boxes, and of those that multiply


def warpgroup_attention_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a kernel that is an attention on GPUs with warpgroups; None for others."""
    tiles = tiles_of(kernel)
    if tiles is None:
        return attention_parts(kernel, in_clusters=True)
    return [
        Part(
            lambda work: _Emitter(kernel, tiles, work).run(),
            tiles.blocks,
            True,
            threads=THREADS,
            shared=tiles.shared_bytes + ALIGNMENT,
            boxes=[(number, found.boxes) for number, found in tiles.boxes],
            resident=1,
        )
    ]


@dataclass(frozen=True)
class _Unit:
    """What a block does before it goes on: some rows of one pair of matrices.

    batch, first_row: which ones, of type index.
    parity: of the phases of barriers that have one for each unit.
    """

    emitter: "_Emitter"
    batch: Any
    first_row: Any
    parity: Scalar

    @property
    def logits(self) -> Logits:
        """The logits of these rows."""
        work, spec = self.emitter.work, self.emitter.spec
        return Logits(work, spec, self.batch, self.first_row, ROWS, KEYS)


Each = Callable[[Any, list[Any], Hidden | None], list[Any]]


class _Emitter:
    """The code of a block."""

    def __init__(self, kernel: Kernel, tiles: Tiles, work: Work):
        self.block, self.tiles, self.work = Block(kernel, tiles.spec), tiles, work
        self.spec = tiles.spec
        self.thread = narrow(thread_in_block())
        self.base = (shared_memory() + (ALIGNMENT - 1)) / ALIGNMENT * ALIGNMENT
        self.hidden: Hidden | None = hidden_keys(self.spec.attention)

    def run(self) -> None:
        """Emit it all."""
        with where(self.thread.eq(0)):
            for number, arrivals in enumerate((1, GROUPS, WARPS)):
                begin_phases(self._phase(number), arrivals)
            for stage in range(self.tiles.stages):
                for number in range(2):
                    begin_phases(self.loaded(number, constant(U32, stage)), 1)
                    begin_phases(self.used(number, constant(U32, stage)), WARPS)
            announce_phases()
        gpu.barrier()
        group = self.thread / WARPGROUP
        fork = scf.IfOp(group.eq(0).value, has_else=True)
        with ir.InsertionPoint(fork.then_block):
            hold_registers(_FEW, more=False)
            for warp, load in enumerate((self._load_keys, self._load_queries)):
                with where((self.thread / WARP).eq(warp)), where(elected().ne(0)):
                    load()
            scf.yield_([])
        with ir.InsertionPoint(fork.else_block):
            hold_registers(_MANY, more=True)
            _Multiplies(self, self.thread % WARPGROUP, group - 1).run()
            scf.yield_([])

    # --- Where things are -------------------------------------------------------------------------

    def _phase(self, number: int | Scalar) -> Scalar:
        return self.base + self.tiles.phases_at + number * PHASE_BYTES

    @property
    def queries(self) -> Scalar:
        """The barrier for the queries of a unit that have come."""
        return self._phase(0)

    @property
    def queries_used(self) -> Scalar:
        """The barrier for the warpgroups that have no use any more for the place of queries."""
        return self._phase(1)

    @property
    def decided(self) -> Scalar:
        """The barrier for the warps that have decided."""
        return self._phase(2)

    def loaded(self, number: int, stage: Scalar) -> Scalar:
        """The barrier for the keys (0) or values (1) of a stage that have come."""
        return self._phase(stage + (FIRST_STAGE + number * self.tiles.stages))

    def used(self, number: int, stage: Scalar) -> Scalar:
        """The barrier for those who multiply them."""
        return self.loaded(number, stage) + 2 * self.tiles.stages * PHASE_BYTES

    def at(self, number: int, stage: Scalar) -> Scalar:
        """Where the keys (0) or the values (1) of a stage begin."""
        first = (self.tiles.row_bytes, self.tiles.values_at)[number]
        return self.base + first + stage * self.tiles.stage_bytes("pd"[number])

    def decisions(self, unit: _Unit) -> Scalar:
        """Where warps say what they decide: others may still read that of the unit before."""
        return self.base + self.tiles.decisions_at + unit.parity * (WARPS * 4)

    # --- Loops ------------------------------------------------------------------------------------

    def each_unit(
        self, carried: list[Any], body: Callable[[_Unit, list[Any]], list[Any]]
    ) -> list[Any]:
        """Emit the loop over the units of this block."""
        tiles = self.tiles
        units, step = index_value(tiles.units), index_value(tiles.blocks)
        loop = scf.ForOp(block_number(), units, step, [constant(U32, 0).value, *carried])
        with ir.InsertionPoint(loop.body):
            parity, *held = loop.inner_iter_args
            tile, batch = divided(loop.induction_variable, tiles.row_tiles, self.spec.size("b"))
            # The last rows see the most keys: they go first.
            last = arith.subi(index_value(tiles.row_tiles - 1), index_value(tile))
            unit = _Unit(self, batch, multiply(last, ROWS), Scalar(parity, U32))
            made = body(unit, held)
            scf.yield_([(unit.parity ^ 1).value, *made])
        return list(loop.results)[1:]

    def along(
        self, unit: _Unit, start: list[Any], each: Each, decide: Callable[[list[Any]], None]
    ) -> list[Any]:
        """Emit the loops over the stages that all rows see, over those that some see, and then,
        unless all rows are far above what a mask hides, over those that none does.

        Args:
            start: what the loops carry at first.
            each: (tile, what they carry, what hides nothing there) -> the same after it.
            decide: what comes before all know whether they are.
        """
        first, end = index_value(0), index_value(self.tiles.key_tiles)
        if self.hidden is None:
            return self._loop(first, end, start, each, None)
        visible = unit.logits.visible(self.hidden, first, end)
        clear = unit.logits.clear(self.hidden, visible)
        carried = self._loop(first, clear, start, each, self.hidden)
        carried = self._loop(clear, visible, carried, each, None)
        decide(carried)
        wait_for_phase(self.decided, unit.parity)
        further = arith.select(self._is_far(unit).ne(0).value, visible, end)
        return self._loop(visible, further, carried, each, None)

    def _loop(
        self, first: Any, end: Any, start: list[Any], each: Each, clear: Hidden | None
    ) -> list[Any]:
        loop = scf.ForOp(first, end, index_value(1), start)
        with ir.InsertionPoint(loop.body):
            scf.yield_(each(loop.induction_variable, list(loop.inner_iter_args), clear))
        return list(loop.results)

    def _is_far(self, unit: _Unit) -> Scalar:
        """What all warps have decided, for those that have waited for it."""
        far = constant(U32, 1)
        for first in range(0, WARPS, 4):
            for word in load_shared(self.decisions(unit), "i32", 4, first * 4):
                far = far & Scalar(word, U32)
        return far

    # --- The threads that ask for boxes -----------------------------------------------------------

    def _load_queries(self) -> None:
        """Ask for the queries of unit after unit, where those before have become results."""
        slabs = self.tiles.slabs("p")

        def each(unit: _Unit, _: list[Any]) -> list[Any]:
            wait_for_phase(self.queries_used, unit.parity ^ 1)
            arrive_with_bytes(self.queries, ROWS * ROW_BYTES * slabs)
            values = {"r": unit.first_row, "b": unit.batch}
            self._ask(0, self.base, values, slabs, ROWS, self.queries)
            return []

        self.each_unit([], each)

    def _load_keys(self) -> None:
        """Ask for keys and values, stage after stage, unit after unit."""
        tiles = self.tiles
        for boxes in self.work.boxes:
            fetch_descriptor(boxes)

        def each(unit: _Unit, carried: list[Any]) -> list[Any]:
            def stage(tile: Any, carried: list[Any], _: Hidden | None) -> list[Any]:
                place = Place.of(carried)
                values = {"j": multiply(tile, KEYS), "b": unit.batch}
                for number, name in enumerate("pd"):
                    loaded, at = self.loaded(number, place.stage), self.at(number, place.stage)
                    wait_for_phase(self.used(number, place.stage), place.parity ^ 1)
                    arrive_with_bytes(loaded, tiles.stage_bytes(name))
                    self._ask(number + 1, at, values, tiles.slabs(name), KEYS, loaded)
                return place.next(tiles.stages).values

            return self.along(unit, carried, stage, lambda _: None)

        self.each_unit(Place.first(), each)

    def _ask(
        self, number: int, to: Scalar, values: dict[str, Any], slabs: int, count: int, phase: Scalar
    ) -> None:
        """Ask for the boxes of some lines, slab after slab."""
        _, found = self.tiles.boxes[number]
        for slab in range(slabs):
            corner = found.corner(constant(U32, slab * ROW_BYTES // SIZE), values)
            load_box(to + slab * count * ROW_BYTES, self.work.boxes[number], corner, phase)


class _Multiplies:
    """The code of a warpgroup that multiplies: the number of the thread in it, and its own."""

    def __init__(self, emitter: _Emitter, thread: Scalar, group: Scalar):
        self.emitter, self.tiles, self.thread, self.group = emitter, emitter.tiles, thread, group
        self.scoring, self.mixing = emitter.tiles.kinds
        self.lanes = Fragments(thread, group * GROUP_ROWS, self.mixing.count)
        self.own = emitter.base + group * (GROUP_ROWS * ROW_BYTES)

    def run(self) -> None:
        """Emit it all."""
        emitter, slots = self.emitter, self.lanes.slots

        def each(unit: _Unit, carried: list[Any]) -> list[Any]:
            def stage(tile: Any, carried: list[Any], clear: Hidden | None) -> list[Any]:
                return self._turn(unit, tile, carried, clear)

            wait_for_phase(emitter.queries, unit.parity)
            start = [*carried, *State.start(self.lanes).values()]
            made = emitter.along(unit, start, stage, lambda c: self._decide(unit, c))
            self._store(unit, State.of(made[2:], slots))
            return made[:2]

        emitter.each_unit(Place.first(), each)
        with where(self.thread.eq(0)):
            wait_for_boxes(0, only_read=False)

    def _turn(self, unit: _Unit, tile: Any, carried: list[Any], clear: Hidden | None) -> list[Any]:
        """A stage: its scores, what these weigh, and the values by their weights."""
        emitter, tiles = self.emitter, self.tiles
        place = Place.of(carried[:2])
        state = State.of(carried[2:], self.lanes.slots)
        wait_for_phase(emitter.loaded(0, place.stage), place.parity)
        scores = self._scores(emitter.at(0, place.stage))
        self._release(0, place)
        logits = unit.logits.of(self.lanes, scores, multiply(tile, KEYS), clear)
        state, weights = state.weighed(self.lanes, logits, quick)
        words = rounded_pairs(self.mixing.lhs, weights)
        wait_for_phase(emitter.loaded(1, place.stage), place.parity)
        form = Matrix(False, KEYS)
        values = form.descriptor(emitter.at(1, place.stage))
        sums = self.mixing.multiply_held(words, values, form, state.sums)
        self._release(1, place)
        state = State(state.largest, state.totals, sums)
        return [*place.next(tiles.stages).values, *state.values()]

    def _scores(self, keys: Scalar) -> list[Any]:
        """The sums of the warpgroup's queries and a stage's keys, slab after slab."""
        form, slabs = Matrix(True, ROW_BYTES // SIZE), self.tiles.slabs("p")
        sums = [_undefined()] * self.scoring.count
        for slab in range(slabs):
            left = form.descriptor(self.own + slab * ROWS * ROW_BYTES)
            right = form.descriptor(keys + slab * KEYS * ROW_BYTES)
            under_way = 0 if slab == slabs - 1 else 1
            sums = self.scoring.multiply(
                left, right, (form, form), sums, under_way, fresh=slab == 0
            )
        return sums

    def _release(self, number: int, place: Place) -> None:
        """Let the keys or the values of a stage be replaced: this warp has multiplied them."""
        with where((self.thread % WARP).eq(0)):
            arrive(self.emitter.used(number, place.stage))

    def _decide(self, unit: _Unit, carried: list[Any]) -> None:
        """Say whether the warp's rows are far above what is hidden."""
        emitter, state = self.emitter, State.of(carried[2:], self.lanes.slots)
        assert emitter.hidden is not None
        far = unit.logits.far(self.lanes, state.largest, emitter.hidden)
        warp = self.group * (WARPGROUP // WARP) + self.thread / WARP
        with where((self.thread % WARP).eq(0)):
            store_shared(emitter.decisions(unit) + warp * 4, [far.value])
            arrive(emitter.decided)

    # --- Results ----------------------------------------------------------------------------------

    def _store(self, unit: _Unit, state: State) -> None:
        """Store what comes of the means, through the memory of the warpgroup's queries."""
        emitter, lanes = self.emitter, self.lanes
        totals = [across(lanes, t, lambda x, y: x + y) for t in state.totals]
        parts = [constant(F32, 1) / t for t in totals]
        means = [Scalar(x, F32) * parts[lanes.slot(n)] for n, x in enumerate(state.sums)]
        lane = self.thread % WARP
        line = lane / 4
        start = self.own + (self.thread / WARP * 16 + line) * ROW_BYTES + lane % 4 * 4
        meet(self.group + 1, WARPGROUP)  # all have read the queries
        for number in range(0, len(means), 2):
            slot, column = lanes.place(number)
            slab, piece = column * SIZE // ROW_BYTES, column * SIZE % ROW_BYTES // PIECE
            at = start + (constant(U32, piece) ^ line) * PIECE + slab * ROWS * ROW_BYTES
            pair = [self._result(unit, slot, column + n, means[number + n]) for n in range(2)]
            store_shared(at, packed(pair), slot * 8 * ROW_BYTES)
        show_writes()
        meet(self.group + 1, WARPGROUP)
        with where(self.thread.eq(0)):
            _, found = self.tiles.boxes[3]
            row = add(unit.first_row, index(self.group * GROUP_ROWS))
            for slab in range(self.tiles.slabs("d")):
                first = constant(U32, slab * ROW_BYTES // SIZE)
                corner = found.corner(first, {"r": row, "b": unit.batch})
                store_box(emitter.work.boxes[3], corner, self.own + slab * ROWS * ROW_BYTES)
            wait_for_boxes(0, only_read=True)
            arrive(emitter.queries_used)

    def _result(self, unit: _Unit, slot: int, column: int, mean: Scalar) -> Scalar:
        """What the kernel stores for a mean."""
        work, block = self.emitter.work, self.emitter.block
        row = add(unit.first_row, index(self.lanes.row(slot)))
        inputs = {**sources(work.kernel, work.buffers), block.spec.attention.mixed: mean}
        values = {"b": unit.batch, "r": row, "d": add(index(self.lanes.column), column)}
        return Elements(inputs, values).element(work.root, block.root_index)


def _undefined() -> Any:
    return ir.Operation.create("llvm.mlir.undef", [ir.F32Type.get()]).result
