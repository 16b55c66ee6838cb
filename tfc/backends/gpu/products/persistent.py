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

from collections.abc import Sequence
from functools import partial
from typing import Any

from tfc.backends.choices import chosen
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.clusters import meet_cluster
from tfc.backends.gpu.grid import Grid, gpu, thread_in_block
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.choice import A100, START, cycles_in_clusters
from tfc.backends.gpu.products.finishing import when_below
from tfc.backends.gpu.products.kernels import (
    divided,
    finishing,
    partial_sums,
    product_index,
    product_parts,
    shared_memory,
)
from tfc.backends.gpu.products.roles import Loads, Multiplies, Persistent
from tfc.backends.gpu.products.spec import ProductSpec, spec_of
from tfc.backends.gpu.products.tiles import ROWS, THREADS, Tiles, tiles_for
from tfc.backends.gpu.stages import where
from tfc.backends.gpu.warpgroups import (
    PHASE_BYTES,
    WARPGROUP,
    announce_phases,
    begin_phases,
    elected,
    hold_registers,
)
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.vectors import add
from tfc.hlo.index_maps import constant as known
from tfc.hlo.index_maps import variable
from tfc.hlo.shape import Shape

_GROUPS = ROWS // GROUP_ROWS
BY_WARPGROUPS, IN_SMALL_TILES = "by warpgroups", "in small tiles"
_ALIGNMENT = 1024
_LEAST_GAIN = 1.5
_FEW, _MANY = 40, 232  # registers of threads that ask for boxes, and of those that multiply


def warpgroup_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a product on GPUs with warpgroups; None if only the plain form is for it."""
    product = _persistent(kernel)
    if product is None:
        return product_parts(kernel, in_clusters=True)
    return persistent_parts(product)


def product_sums(kernel: Kernel) -> Shape | None:
    """The sums of shares of a product, whichever form it has: the plan is for all GPUs."""
    product = _persistent(kernel)
    found = partial_sums(kernel), product.sums if product else None
    return max((s for s in found if s is not None), key=lambda s: s.byte_size, default=None)


def _persistent(kernel: Kernel) -> Persistent | None:
    spec = spec_of(kernel)
    tiles = tiles_for(kernel, spec) if spec else None
    if spec is None or tiles is None or is_sooner_in_small_tiles(spec, tiles):
        return None
    return Persistent(kernel, spec, tiles, product_index(kernel, spec))


def is_sooner_in_small_tiles(spec: ProductSpec, tiles: Tiles) -> bool:
    """Whether a product that has tiles for few blocks takes less in small ones by `mma.sync`, whose
    sums clusters share: by measurement, else by the models, whose errors may not be alike."""
    if tiles.units > tiles.blocks // 2:
        return False
    around = START + ROWS * tiles.columns * 8 / A100.l2_bytes  # before and after, as there
    ways = [BY_WARPGROUPS, IN_SMALL_TILES]
    if _LEAST_GAIN * cycles_in_clusters(spec) < around + tiles.cycles:
        ways.reverse()
    taken = chosen(f"form of {spec}", lambda: ways[0], lambda: ways[1:])
    return (taken or ways[0]) == IN_SMALL_TILES


def persistent_parts(product: Persistent) -> list[Part]:
    """The parts of a product: what multiplies tiles, and the second step if these share sums."""
    tiles, parts = product.tiles, [_multiplying(product)]
    if tiles.splits > 1 and not tiles.adds_up:
        parts.append(Part(partial(_add_up, product), tiles.shared * ROWS * tiles.columns))
    return parts


def _multiplying(product: Persistent) -> Part:
    tiles = product.tiles
    shares = [] if tiles.shares is None else [tiles.shares]
    return Part(
        partial(_emit, product),
        product.order.blocks,
        True,
        threads=THREADS,
        shared=tiles.shared_bytes + _ALIGNMENT,
        boxes=[*((o.buffer, o.boxes) for o in tiles.operands), *tiles.results, *shares],
        cluster=tiles.splits if tiles.adds_up else tiles.cluster,
        resident=1,  # else the assembler does not know how many registers there are to share out
    )


def _emit(product: Persistent, work: Work) -> None:
    """Emit the code of a block."""
    tiles, thread = product.tiles, narrow(thread_in_block())
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
        meet_cluster(releases=False)
    else:
        gpu.barrier()
    group = thread / WARPGROUP
    fork = scf.IfOp(group.eq(0).value, has_else=True)
    with ir.InsertionPoint(fork.then_block):
        hold_registers(_FEW, more=False)
        with where(thread < WARP), where(elected().ne(0)):
            Loads(product, work, base, phases).emit()
        if tiles.adds_up:  # as often as those that multiply
            meet_cluster(releases=True)
            meet_cluster(releases=True)
        scf.yield_([])
    with ir.InsertionPoint(fork.else_block):
        hold_registers(_MANY, more=True)
        Multiplies(product, work, base, phases, thread % WARPGROUP, group - 1).emit()
        scf.yield_([])
    if tiles.cluster > 1:  # the others may still arrive at barriers of this block
        meet_cluster(releases=True)


def _add_up(product: Persistent, work: Work) -> None:
    """Emit the second step: the sums of the shares, in their order, and what comes after."""
    tiles, spec = product.tiles, product.spec
    assert product.sums is not None
    (buffer,) = scratch_arrays(work.scratch, [product.sums])
    names = zip("tsij", product.sums.dims)
    tile, _, row, column = (variable(name, size) for name, size in names)

    def body(points: Sequence[Any]) -> None:
        number, i, j = points
        scope = Elements({}, {"t": number, "i": i, "j": j})
        total = scope.load(buffer, (tile, known(0), row, column))
        for split in range(1, tiles.splits):
            total = total + scope.load(buffer, (tile, known(split), row, column))
        rank, cluster = divided(number, tiles.cluster, tiles.shared // tiles.cluster)
        first = add(cluster, tiles.whole // tiles.cluster)
        batch, first_row, first_column = product.order.corner(first, rank)
        place = add(first_row, i), add(first_column, j)
        edges = zip(place, (spec.m, spec.n), (ROWS, tiles.columns))

        def finish() -> None:
            mend = product.mending
            right = total if mend is None else mend(work, batch)(*place, total)
            finishing(work, product.index, batch)(*place, right).store()

        when_below([(x, end) for x, end, step in edges if end % step], finish)

    Grid().each([tiles.shared, ROWS, tiles.columns], body)
