"""What a launch did, as counts: instructions, transactions of memory, bank conflicts."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

SECTOR = 32  # bytes that global memory moves at once
BANKS = 32


@dataclass
class Traffic:
    """Accesses of global memory.

    Attributes:
        accesses: by threads.
        bytes: that they asked for.
        transactions: sectors of 32 bytes that the accesses of each warp touch.
        ideal: sectors that would do if each warp's bytes lay together.
    """

    accesses: int = 0
    bytes: int = 0
    transactions: int = 0
    ideal: int = 0

    @property
    def uncoalesced(self) -> int:
        """Transactions beyond the ideal."""
        return self.transactions - self.ideal


@dataclass
class Report:
    """The counts of one launch.

    Attributes:
        instructions: that threads ran, by opcode; `total` adds them up.
        loads, stores: of global memory.
        bulk_loads, bulk_stores: copies between it and shared memory that run beside the threads, as
            accesses; bytes of a box outside of its tensor are none.
        products: those of warpgroups, by shape.
        shared_accesses: instructions of warps on shared memory.
        bank_conflicts: how often a warp had to access shared memory again for one instruction.
        atomics: done by threads.
        barriers: that blocks passed.
        divergent_branches: branches at which the threads of some warp parted.
        printed: what `vprintf` wrote.
    """

    instructions: Counter[str] = field(default_factory=Counter)
    loads: Traffic = field(default_factory=Traffic)
    stores: Traffic = field(default_factory=Traffic)
    bulk_loads: Traffic = field(default_factory=Traffic)
    bulk_stores: Traffic = field(default_factory=Traffic)
    products: Counter[str] = field(default_factory=Counter)
    shared_accesses: int = 0
    bank_conflicts: int = 0
    atomics: int = 0
    barriers: int = 0
    divergent_branches: int = 0
    printed: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Instructions that threads ran."""
        return self.instructions.total()

    def count_global(
        self, traffic: Traffic, addresses: np.ndarray, width: int, warps: np.ndarray
    ) -> None:
        """Count an access of `width` bytes at each address."""
        if not len(addresses):
            return
        traffic.accesses += len(addresses)
        traffic.bytes += len(addresses) * width
        spread = warps << 48
        first = (addresses.astype(np.int64) // SECTOR) + spread
        keys = first
        if width > SECTOR:
            last = (addresses.astype(np.int64) + width - 1) // SECTOR + spread
            keys = np.concatenate([first, last])
        touched = _distinct(keys)
        lanes = np.bincount(warps - warps[0], minlength=1)
        traffic.transactions += touched
        least = int((-(-(lanes * width) // SECTOR)).sum())
        traffic.ideal += min(least, touched)

    def count_shared(self, addresses: np.ndarray, width: int, warps: np.ndarray) -> None:
        """Count an access of shared memory: wide ones go in halves or quarters of a warp."""
        if not len(addresses):
            return
        words = addresses.astype(np.int64) // 4
        parts = max(width // 4, 1)
        group = warps * parts
        if parts > 1:
            position = np.arange(len(warps)) - np.searchsorted(warps, warps)
            group = group + position * parts // 32
            words = (words[:, None] + np.arange(parts)).ravel()
            group = np.repeat(group, parts)
        self.shared_accesses += _distinct(group)
        start = np.searchsorted(group, group)
        if not ((words - words[start]) == (np.arange(len(words)) - start)).all():
            self.bank_conflicts += _conflicts(words, group)


def _distinct(keys: np.ndarray) -> int:
    steps = np.diff(keys)
    if (steps >= 0).all():
        return int(np.count_nonzero(steps)) + 1
    return len(np.unique(keys))


def _conflicts(words: np.ndarray, group: np.ndarray) -> int:
    """Rounds beyond the first that the groups' accesses take: words of one bank take turns."""
    distinct = np.unique((group << 32) | words)
    own = distinct >> 32
    degrees = np.bincount((own - own[0]) * BANKS + distinct % BANKS)
    degrees = np.append(degrees, np.zeros(-len(degrees) % BANKS, int)).reshape(-1, BANKS)
    rounds = degrees.max(1)
    return int((rounds[rounds > 0] - 1).sum())
