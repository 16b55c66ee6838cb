"""Packing: give blocks with lifetimes offsets in one arena, so that those alive together are apart.

Each block goes into the smallest gap that fits between the blocks it is alive with (best fit), in
the order of time or the largest first, whichever is better. Where that is not the lower bound, the
block that ends highest goes first and all are placed again, a number of times; that comes within a
few percent of the bound on real programs. The order of size looks at every block for each block, so
very large modules are packed in the order of time, which looks only at those alive.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tfc.errors import OutOfMemoryError

_MOST_BYTES = 1 << 62  # beyond which sums of sizes and offsets are no words any more
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
_MOST_BY_SIZE = 4096
_MOST_ROUNDS = 64
_MOST_PLACED = 4096  # blocks, in all rounds of one order


@dataclass(frozen=True)
class Block:
    """Memory wanted from `start` to `end`, both included; sizes are in bytes."""

    size: int
    start: int
    end: int


@dataclass(frozen=True)
class Packing:
    """The offset of each block and the size of the arena that holds them.

    lower_bound: the most bytes alive at one time; no packing can be smaller.
    """

    offsets: tuple[int, ...]
    size: int
    lower_bound: int


def aligned(size: int) -> int:
    """The size rounded up to a multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def pack(blocks: Sequence[Block]) -> Packing:
    """Offsets for the blocks, in their order: the best of the ways of placing them.

    Raises:
        OutOfMemoryError: no machine can address what is needed at one time.
    """
    bound = lower_bound(blocks)
    if bound >= _MOST_BYTES:
        raise OutOfMemoryError(
            f"the program needs {bound} bytes for temporaries, more than any machine can address: "
            "make its arrays smaller"
        )
    best: Packing | None = None
    for offsets in _attempts(blocks):
        size = max((o + aligned(b.size) for o, b in zip(offsets, blocks)), default=0)
        if best is None or size < best.size:
            best = Packing(tuple(offsets), size, bound)
        if best.size == bound:
            break
    assert best is not None
    return best


def _attempts(blocks: Sequence[Block]) -> Iterator[list[int]]:
    """Offsets for the blocks, placed in one order after the other."""
    yield _pack_by_time(blocks)
    if len(blocks) > _MOST_BY_SIZE:
        return
    # Of one size, the block that lives longest goes first, so that short-lived ones fill the gaps;
    # or the earliest, which is best where all are of one size.
    orders = [
        sorted(range(len(blocks)), key=lambda i: (-aligned(blocks[i].size), tie(blocks[i]), i))
        for tie in (lambda b: b.start - b.end, lambda b: b.start)
    ]
    for _ in range(min(_MOST_ROUNDS, 1 + _MOST_PLACED // (len(blocks) + 1))):
        for order in orders:
            offsets = _pack_in_order(blocks, order)
            yield offsets
            highest = max(order, key=lambda i: offsets[i] + blocks[i].size)
            order.remove(highest)
            order.insert(0, highest)


def lower_bound(blocks: Sequence[Block]) -> int:
    """The most bytes alive at one time."""
    change: dict[int, int] = {}
    for block in blocks:
        change[block.start] = change.get(block.start, 0) + aligned(block.size)
        change[block.end + 1] = change.get(block.end + 1, 0) - aligned(block.size)
    most = alive = 0
    for time in sorted(change):
        alive += change[time]
        most = max(most, alive)
    return most


def _pack_in_order(blocks: Sequence[Block], order: Sequence[int]) -> list[int]:
    starts = np.array([b.start for b in blocks], np.int64)
    ends = np.array([b.end for b in blocks], np.int64)
    sizes = np.array([aligned(b.size) for b in blocks], np.int64)
    offsets = np.zeros(len(blocks), np.int64)
    placed = np.zeros(len(blocks), bool)
    for i in order:
        beside = placed & (starts <= ends[i]) & (ends >= starts[i])
        offsets[i] = _best_gap(offsets[beside], sizes[beside], int(sizes[i]))
        placed[i] = True
    return [int(o) for o in offsets]


def _pack_by_time(blocks: Sequence[Block]) -> list[int]:
    offsets = [0] * len(blocks)
    alive: list[tuple[int, int]] = []  # a heap of (end, block)
    for i in sorted(range(len(blocks)), key=lambda i: (blocks[i].start, -blocks[i].size, i)):
        while alive and alive[0][0] < blocks[i].start:
            heapq.heappop(alive)
        beside = [j for _, j in alive]
        taken = np.array([offsets[j] for j in beside], np.int64)
        sizes = np.array([aligned(blocks[j].size) for j in beside], np.int64)
        offsets[i] = _best_gap(taken, sizes, aligned(blocks[i].size))
        heapq.heappush(alive, (blocks[i].end, i))
    return offsets


def _best_gap(offsets: np.ndarray, sizes: np.ndarray, size: int) -> int:
    """The offset of the smallest gap of at least `size` between taken ranges, or their end."""
    if not len(offsets):
        return 0
    order = np.argsort(offsets, kind="stable")
    reached = np.maximum.accumulate((offsets + sizes)[order])
    starts = np.concatenate([[0], reached[:-1]])
    gaps = offsets[order] - starts
    fitting = np.flatnonzero(gaps >= size)
    if not len(fitting):
        return int(reached[-1])
    return int(starts[fitting[np.argmin(gaps[fitting])]])
