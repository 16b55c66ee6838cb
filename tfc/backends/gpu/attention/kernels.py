"""An attention as parts: blocks that go along the keys, and a second step if they share them.

Blocks that share keys are a cluster where there are such: then each makes its part of the results
from what all of them have in shared memory, without a second step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfc.backends.gpu.assembly import assembly, index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.attention.hidden import Hidden, hidden_keys
from tfc.backends.gpu.attention.logits import Logits
from tfc.backends.gpu.attention.online import State, across, base_of, precise, quick
from tfc.backends.gpu.attention.sources import source_of
from tfc.backends.gpu.attention.spec import Spec, spec_in
from tfc.backends.gpu.attention.warps import WarpTiles, warp_tiles
from tfc.backends.gpu.clusters import (
    MOST_BLOCKS,
    address_in_cluster,
    load_from_cluster,
    meet_cluster,
)
from tfc.backends.gpu.grid import Grid, block_number, gpu, thread_in_block
from tfc.backends.gpu.matrices import (
    PIECE,
    commit_copies,
    load_shared,
    store_shared,
    wait_for_copies,
)
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.finishing import when, when_below
from tfc.backends.gpu.products.kernels import divided, shared_memory
from tfc.backends.gpu.products.pieces import Computed, Copied, Share
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.exponential import exp
from tfc.backends.mlir.arithmetic.value import Scalar, constant, maximum
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import scratch_arrays, scratch_shape
from tfc.backends.mlir.vectors import add, for_range, index_value, minimum, multiply
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.index_maps import constant as known
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, U32, Shape
from tfc.passes.analysis.products import moved_index

_ROW_BYTES = 8  # of a row in shared memory: its largest logit, and the total of its weights
# (row, column) of a result in the whole matrix, of type index, and its sum.
Finish = Callable[[Any, Any, Scalar], None]


def attention_parts(kernel: Kernel, in_clusters: bool = False) -> list[Part] | None:
    """The parts of a kernel that is an attention; None for others.

    Args:
        in_clusters: whether blocks that share keys are clusters, if these have room for them.
    """
    spec = spec_in(kernel.computation)
    if spec is None:
        return None
    cluster = spec.splits if in_clusters and spec.splits <= MOST_BLOCKS else 1
    block = Block(kernel, spec, cluster)
    count = spec.size("b") * spec.row_tiles * spec.splits
    # Sums stay in registers, whatever that costs in blocks at the same time.
    parts = [Part(block.emit, count, True, threads=spec.threads, shared=block.shared_bytes,
                  resident=1, cluster=cluster)]  # fmt: skip
    if spec.splits > cluster:
        parts.append(Part(block.join, spec.size("b") * spec.size("r") * spec.size("d")))
    return parts


def partial_means(kernel: Kernel) -> Shape | None:
    """The bytes of what blocks leave that share keys, if some do."""
    spec = spec_in(kernel.computation)
    return None if spec is None or spec.splits == 1 else scratch_shape(spec.partial)


@dataclass(frozen=True)
class Block:
    """A block: its rows stay in shared memory, keys and values pass by in two stages.

    cluster: blocks of a cluster, which share the keys of its rows.
    """

    kernel: Kernel
    spec: Spec
    cluster: int = 1

    @property
    def rows_at(self) -> int:
        """Where in shared memory is what a block of a cluster knows of its rows."""
        return -(-self.spec.shared_bytes // PIECE) * PIECE

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        if self.cluster == 1:
            return self.spec.shared_bytes
        return self.rows_at + self.spec.rows * _ROW_BYTES

    def emit(self, work: Work) -> None:
        """Emit the code of the block whose rows and keys are those of its number."""
        _Emitter(self, work).run()

    @cached_property
    def root_index(self) -> tuple[Index, ...]:
        """Where the root has what is made of a result."""
        index = self.spec.attention.mixed_index
        for x in self._after():
            index = moved_index(x, index)
        return index

    def _after(self) -> list[Instruction]:
        """What follows the last product."""
        found, x = [], self.kernel.root
        while x is not self.spec.attention.mixed:
            found.append(x)
            (x,) = x.operands
        return found[::-1]

    def finish(self, work: Work, batch: Any) -> Finish:
        """Store elements of the root."""

        def finish(row: Any, column: Any, mean: Scalar) -> None:
            inputs = {**sources(work.kernel, work.buffers), self.spec.attention.mixed: mean}
            scope = Elements(inputs, {"b": batch, "r": row, "d": column})
            value = scope.element(work.root, self.root_index)
            scope.store(value, work.buffers[-1], self.root_index)

        return finish

    # --- Shares of keys ---------------------------------------------------------------------------

    def kept(self, work: Work) -> tuple[list[Buffer], tuple[Index, ...]]:
        """Where shares are left, and the index of a row in them."""
        spec = self.spec
        sizes = (("s", spec.splits), ("b", spec.size("b")), ("r", spec.size("r")))
        where = tuple(variable(name, size) for name, size in sizes)
        return scratch_arrays(work.scratch, spec.partial), where

    def join(self, work: Work) -> None:
        """Emit the second step: the mean of the shares' means, in their order."""
        spec = self.spec
        (sums, rows), (_, *where) = self.kept(work)
        column = variable("d", spec.size("d"))

        def body(points: Sequence[Any]) -> None:
            batch, row, place = points
            scope = Elements({}, {"b": batch, "r": row, "d": place})
            shares = range(spec.splits)
            largest, totals = (
                [scope.load(rows, (known(s), *where, known(n))) for s in shares] for n in (0, 1)
            )
            mixed = [scope.load(sums, (known(s), *where, column)) for s in shares]
            self.finish(work, batch)(row, place, joined(largest, totals, mixed))

        Grid().each([spec.size(n) for n in "brd"], body)


def joined(largest: Sequence[Scalar], totals: Sequence[Scalar], sums: Sequence[Scalar]) -> Scalar:
    """The mean of what shares of keys have of a row, in their order: each its largest logit, the
    total of its weights, and a sum by these."""
    base = largest[0]
    for other in largest[1:]:
        base = maximum(base, other)
    base = base_of(base)
    total = mixed = constant(F32, 0)
    for most, weight, own in zip(largest, totals, sums):
        scale = exp(most - base)
        total = total + weight * scale
        mixed = mixed + own * scale
    return mixed / total


class _Emitter:
    """The code of a block."""

    def __init__(self, block: Block, work: Work):
        self.block, self.work, self.spec = block, work, block.spec
        spec = self.spec
        shares = spec.splits // block.cluster
        blocks = spec.row_tiles * spec.size("b") * shares
        rank, number = divided(block_number(), block.cluster, blocks)
        tile, rest = divided(number, spec.row_tiles, spec.size("b") * shares)
        self.batch, share = divided(rest, spec.size("b"), shares)
        self.split = rank if block.cluster > 1 else share
        # The last rows see the most keys: they go first.
        last = arith.subi(index_value(spec.row_tiles - 1), tile)
        self.first_row = index_value(multiply(last, spec.rows))
        self.thread, self.base = narrow(thread_in_block()), shared_memory()
        self.tiles: WarpTiles = warp_tiles(spec.tiling, self.thread)
        self.hidden: Hidden | None = hidden_keys(spec.attention)
        self.logits = Logits(work, spec, self.batch, self.first_row, spec.rows, spec.keys)
        a, (first, second) = spec.attention, spec.element_types
        sides = (("r", a.query, "p", first), ("j", a.key, "p", first), ("j", a.value, "d", second))
        self.sources: list[Copied | Computed] = [
            source_of(work, factor, self.batch, (line, spec.size(line)),
                      (along, spec.size(along)), kind)
            for line, factor, along, kind in sides
        ]  # fmt: skip

    def run(self) -> None:
        """Emit it all."""
        spec, stages = self.spec, self.base + self.spec.forms["r"].bytes
        share, queries = self._share("r", self.thread), self.sources[0]
        queries.put(
            share, self.base, queries.fetch(share, self.base, self.first_row, index_value(0))
        )
        first = multiply(self.split, spec.share)
        end = minimum(add(first, spec.share), spec.tiles)
        state = State.start(self.tiles)
        visible = self.logits.visible(self.hidden, first, end)
        state = self._along(first, visible, state, stages)
        if self.hidden is not None:
            further = self._rest(state, visible, end, stages)
            state = self._along(visible, further, state, stages)
        self._finish(state)

    # --- Along the keys ---------------------------------------------------------------------------

    def _rest(self, state: State, visible: Any, end: Any, stages: Scalar) -> Any:
        """Where to stop: where we are if all rows are far above what is hidden, else at the end."""
        assert self.hidden is not None
        far = self.logits.far(self.tiles, state.largest, self.hidden)
        store_shared(stages + self.thread / WARP * 4, [far.value])
        gpu.barrier()
        for word in load_shared(stages, "i32", self.spec.warps):
            far = far & Scalar(word, U32)
        gpu.barrier()
        return arith.select(far.ne(0).value, visible, index_value(end))

    def _along(self, first: Any, end: Any, state: State, stages: Scalar) -> State:
        """The state after the tiles of keys from one number to another."""
        begin = [constant(U32, 0).value, *state.values()]
        self._bring(stages, first, end)
        loop = scf.ForOp(index_value(first), index_value(end), index_value(1), begin)
        with ir.InsertionPoint(loop.body):
            offset, *values = loop.inner_iter_args
            reading = Scalar(offset, U32)
            writing = constant(U32, self.spec.stage_bytes) - reading
            wait_for_copies()
            gpu.barrier()
            self._bring(stages + writing, add(loop.induction_variable, 1), end)
            held = State.of(values, self.tiles.slots)
            made = self._turn(held, loop.induction_variable, stages + reading)
            scf.yield_([writing.value, *made.values()])
        wait_for_copies()
        gpu.barrier()
        return State.of(list(loop.results)[1:], self.tiles.slots)

    def _turn(self, state: State, tile: Any, keys: Scalar) -> State:
        """One tile of keys, whose keys and then values are at an address."""
        scores = self.tiles.scores(self.base, keys)
        logits = self.logits.of(self.tiles, scores, multiply(tile, self.spec.keys))
        power = precise if self.spec.kinds is None else quick  # of what is rounded to 16 bits
        state, weights = state.weighed(self.tiles, logits, power)
        at, values = self.base + self.spec.weights_at, keys + self.spec.forms["j"].bytes
        sums = self.tiles.mix(weights, at, values, state.sums)
        return State(state.largest, state.totals, sums)

    # --- What comes in and goes out ---------------------------------------------------------------

    def _share(self, name: str, thread: Scalar) -> Share:
        return Share(self.spec.forms[name], thread, self.spec.threads)

    def _bring(self, to: Scalar, tile: Any, end: Any) -> None:
        """Begin to bring a tile of keys and values, if it is before the end.

        Where pieces lie is computed anew for each tile: registers are scarcer than additions.
        """
        line = multiply(tile, self.spec.keys)
        places = ((1, "j", to), (2, "d", to + self.spec.forms["j"].bytes))

        def bring() -> None:
            (thread,) = assembly("mov.u32 $0, %tid.x;", ["i32"], [])
            for number, name, at in places:
                share = self._share(name, Scalar(thread, U32))
                held = self.sources[number].fetch(share, at, line, index_value(0))
                self.sources[number].put(share, at, held)

        when(arith.cmpi(arith.CmpIPredicate.ult, index_value(tile), index_value(end)), bring)
        commit_copies()

    def _finish(self, state: State) -> None:
        """Put the sums in order, and store what comes of them."""
        spec = self.spec
        totals = [across(self.tiles, t, lambda x, y: x + y) for t in state.totals]
        sums = [Scalar(x, F32) for x in state.sums]
        if spec.splits == 1:
            sums = [x / totals[self.tiles.slot(n)] for n, x in enumerate(sums)]
        for row, column, values in self.tiles.results([x.value for x in sums]):
            store_shared(self.base + (row * spec.line + column) * 4, values)
        finish, cluster = self.block.finish(self.work, self.batch), self.block.cluster
        bases, thread = [self.base], self.thread
        if cluster > 1:
            for slot, values in enumerate(zip(state.largest, totals)):
                at = self.base + (self.tiles.row(slot) * _ROW_BYTES + self.block.rows_at)
                store_shared(at, [x.value for x in values])
            meet_cluster(releases=True)
            bases = [address_in_cluster(self.base, rank) for rank in range(cluster)]
            thread = thread + narrow(self.split) * spec.threads
        else:
            if spec.splits > 1:
                finish = self._keep(state.largest, totals)
            gpu.barrier()

        width = -(-spec.size("d") // WARP) * WARP  # a warp's elements are of one row

        def body(start: Any, _: Any) -> None:
            number = thread + narrow(index_value(start))
            row, column = number / width, number % width
            place, beside = add(self.first_row, index(row)), index(column)
            edges = ((place, spec.size("r"), spec.rows), (beside, spec.size("d"), width))

            def store() -> None:
                finish(place, beside, self._mean(bases, row, column))

            bounds = [(x, end) for x, end, tile in edges if end % tile]
            if count % step:
                bounds.append((index(number), count))
            when_below(bounds, store)

        count, step = spec.rows * width, spec.threads * cluster
        for_range(0, count, step, body)
        if cluster > 1:  # others may still read what this block has
            meet_cluster(releases=True)

    def _mean(self, bases: Sequence[Scalar], row: Scalar, column: Scalar) -> Scalar:
        """A result, or a share of it, from the memory of all blocks of the cluster."""
        at = (row * self.spec.line + column) * 4
        if self.block.cluster == 1:
            return Scalar(load_shared(bases[0] + at, "f32")[0], F32)
        known_of_row = row * _ROW_BYTES + self.block.rows_at
        rows = [load_from_cluster(base + known_of_row, "f32", 2) for base in bases]
        sums = [load_from_cluster(base + at, "f32")[0] for base in bases]
        largest, totals = ([Scalar(values[n], F32) for values in rows] for n in (0, 1))
        return joined(largest, totals, [Scalar(x, F32) for x in sums])

    def _keep(self, largest: Sequence[Scalar], totals: Sequence[Scalar]) -> Finish:
        """Leave what is known of the rows, and then the sums, to the second step."""
        (sums, rows), where = self.block.kept(self.work)
        column = variable("d", self.spec.size("d"))
        for slot, values in enumerate(zip(largest, totals)):
            row = add(self.first_row, index(self.tiles.row(slot)))

            def store(row: Any = row, values: Any = values) -> None:
                scope = Elements({}, {"s": self.split, "b": self.batch, "r": row})
                for number, value in enumerate(values):
                    scope.store(value, rows, (*where, known(number)))

            when_below([(row, self.spec.size("r"))], store)

        def keep(row: Any, place: Any, value: Scalar) -> None:
            variables = {"s": self.split, "b": self.batch, "r": row, "d": place}
            scope = Elements({}, variables)
            scope.store(value, sums, (*where, column))

        return keep
