"""Which schedule a product gets: the one that a model of its time says is best.

The model counts cycles: blocks run in waves over the multiprocessors; a block takes as long as the
slowest of its products, its reads of shared memory and its share of the L2 cache's bandwidth, and
time to begin and to end. What is lost where tiles reach beyond the edges, and where the last wave
is not full, comes out of the counts. The numbers are those of an A100 as they are commonly given,
and estimates of what lies between; none was fitted to a measurement.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from tfc.backends.choices import chosen
from tfc.backends.gpu.clusters import cycles_of_joining
from tfc.backends.gpu.products.operands import copy_width
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.spec import ProductSpec
from tfc.backends.gpu.shared import BLOCK_BYTES
from tfc.hlo.shape import F64, ElementType


@dataclass(frozen=True)
class Rates:
    """What a GPU does in a cycle.

    multiprocessors: how many it has; the others are of one of them.
    products: of 16-bit numbers by `mma.sync`, of f64, of f32 and 32-bit integers one by one.
    l2_bytes, shared_bytes: that it reads.
    shared_size: bytes of shared memory. registers: of 32 bits.
    """

    multiprocessors: int = 108
    products: int = 1024
    double_products: int = 64
    single_products: int = 64
    l2_bytes: int = 48
    shared_bytes: int = 128
    shared_size: int = 99 << 10
    registers: int = 65_536


A100 = Rates(shared_size=163 << 10)

# (rows, columns, rows of a warp, columns of a warp), the largest first.
_MMA = (
    (128, 256, 64, 64), (256, 128, 64, 64), (128, 128, 64, 64), (128, 128, 64, 32),
    (128, 64, 64, 32), (64, 128, 32, 64), (64, 64, 32, 32), (32, 64, 16, 32), (64, 32, 32, 16),
    (32, 32, 16, 16),
)  # fmt: skip
_DOUBLE = (
    (128, 64, 32, 32),
    (64, 64, 32, 32),
    (64, 64, 32, 16),
    (32, 64, 16, 32),
    (32, 32, 16, 16),
)
_SINGLE = ((128, 128, 32, 64), (128, 64, 32, 32), (64, 64, 32, 32), (32, 64, 16, 32))
_SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_CLUSTERS = (2, 4, 8)
START = 1500
"""Cycles until the first products."""
_SECOND_STEP = 6000  # cycles of a further launch
_MOST_BY_BYTES = 32 * 64  # sums of a warp where bytes pass through registers one by one
_NOT_HIDDEN = 0.3
_DRAM_BYTES = 1000  # of the whole GPU, in a cycle


def schedule_for(spec: ProductSpec, rates: Rates = A100, in_clusters: bool = False) -> Schedule:
    """The schedule of a product: what was measured to be best, or the model's.

    Args:
        in_clusters: whether blocks that share sums are clusters.
    """

    def ranked() -> list[Schedule]:
        return _ranked(spec, rates, in_clusters)

    about = f"{spec}, in clusters" if in_clusters else spec
    return chosen(about, lambda: ranked()[0], lambda: ranked()[1:]) or ranked()[0]


@lru_cache(maxsize=1024)
def _ranked(spec: ProductSpec, rates: Rates, in_clusters: bool) -> list[Schedule]:
    """The schedules that there are for a product, by the time that the model says."""
    return sorted(candidates(spec, in_clusters), key=lambda one: cycles(spec, one, rates))


def cycles_in_clusters(spec: ProductSpec, rates: Rates = A100) -> float:
    """How long a product takes by the model where blocks that share sums are clusters."""
    return cycles(spec, _ranked(spec, rates, in_clusters=True)[0], rates)


def candidates(spec: ProductSpec, in_clusters: bool = False) -> Iterator[Schedule]:
    """The schedules that there are for a product; the first is the one for small ones."""
    tiles = _SINGLE if spec.kind is None else _DOUBLE if spec.sums == F64 else _MMA
    size, by_bytes = factor_bytes(spec), _goes_by_bytes(spec)
    for tile in reversed(tiles):
        if by_bytes and tile[2] * tile[3] > _MOST_BY_BYTES:
            continue
        for pieces, stages in ((4, 4), (4, 3), *(() if by_bytes else ((8, 3), (8, 2)))):
            schedule = Schedule(*tile, pieces=pieces, stages=stages)
            if not is_possible(schedule, spec.sums):
                continue
            steps = -(-spec.k // schedule.depth(size))
            for splits in _SPLITS:
                share = -(-steps // splits)
                if splits > 1 and (share < 4 or -(-steps // share) != splits):
                    continue
                if not in_clusters or splits == 1:
                    yield replace(schedule, splits=splits)
                elif splits in _CLUSTERS:
                    yield replace(schedule, splits=splits, in_cluster=True)


def _goes_by_bytes(spec: ProductSpec) -> bool:
    """Whether bytes pass through registers one by one: there is room for few of them."""
    return factor_bytes(spec) == 1 and not all(copy_width(spec, s) for s in spec.sides)


def factor_bytes(spec: ProductSpec) -> int:
    """Bytes of an element in shared memory."""
    return spec.kind.bytes if spec.kind else spec.sums.bits // 8


def is_possible(schedule: Schedule, sums: ElementType) -> bool:
    """Whether each thread brings as many pieces, and the block's memory suffices."""
    share = schedule.pieces * min(schedule.rows, schedule.columns)
    staged = (schedule.rows + 8) * (schedule.columns + 8) * sums.bits // 8
    wanted = max(staged, schedule.stages * schedule.stage_bytes())
    return share % schedule.threads == 0 and wanted <= BLOCK_BYTES


def cycles(spec: ProductSpec, schedule: Schedule, rates: Rates) -> float:
    """How long the product takes by the model."""
    tiles = -(-spec.m // schedule.rows) * -(-spec.n // schedule.columns) * spec.batch
    size, depth = factor_bytes(spec), schedule.depth(factor_bytes(spec))
    stages = -(-spec.k // depth)
    steps = -(-stages // schedule.splits)
    together = _blocks_at_once(spec, schedule, rates)
    each = _cycles_of_step(spec, schedule, rates, depth, size)
    blocks = tiles * schedule.splits
    waves = -(-blocks // (rates.multiprocessors * together))
    at_once = min(together, -(-blocks // rates.multiprocessors))
    result = schedule.rows * schedule.columns * 8 / rates.l2_bytes
    # One block alone waits for what is on the way; two hide it from each other.
    hidden = min(1.0, at_once * schedule.warps * (schedule.stages - 1) / 16)
    total = waves * (START + at_once * (steps * each / max(hidden, 0.2) + result))
    if schedule.in_cluster:
        size = schedule.rows * schedule.columns * spec.sums.bits / 8
        total += cycles_of_joining(at_once * size)
    elif schedule.splits > 1:
        sums = spec.batch * spec.m * spec.n * spec.sums.bits / 8 * (2 * schedule.splits)
        total += _SECOND_STEP + sums / _DRAM_BYTES
    return total


def _cycles_of_step(
    spec: ProductSpec, schedule: Schedule, rates: Rates, depth: int, size: int
) -> float:
    """Of a stage of one block that has a multiprocessor for itself."""
    products = schedule.rows * schedule.columns * depth
    rate = rates.single_products * 4 / max(size, 4)
    if spec.kind is not None:
        rate = rates.double_products if spec.kind.is_double else rates.products * 2 / size
    read = schedule.warps * (schedule.warp_rows + schedule.warp_columns) * depth * size
    if spec.kind is None:  # each thread reads what it multiplies; broadcasts are free
        read = products * size * (1 / (schedule.warp_rows / 4) + 1 / (schedule.warp_columns / 8))
        read /= 4
    times = (
        products / rate, read / rates.shared_bytes, schedule.stage_bytes() / rates.l2_bytes
    )  # fmt: skip
    # The slowest hides most of the others, which take turns to issue with it.
    return max(times) + _NOT_HIDDEN * (sum(times) - max(times))


def _blocks_at_once(spec: ProductSpec, schedule: Schedule, rates: Rates) -> int:
    """Blocks that a multiprocessor holds."""
    sums = schedule.rows * schedule.columns * spec.sums.bits // 32 // schedule.threads
    registers = min(255, sums + 64) * schedule.threads
    shared = max(
        schedule.stages * schedule.stage_bytes(),
        schedule.rows * (schedule.columns + 8) * spec.sums.bits // 8,
    )
    return max(1, min(rates.registers // registers, rates.shared_size // shared, 8))
