"""Races in shared memory: accesses of different threads between barriers, one of them a write.

Each granule (the fewest bytes that an access of the kernel has) remembers its last writer and its
readers with the number of the barrier before: a stamp.

    stamp  =  barriers of the block so far  ·  barriers of the warp so far  ·  who

`who` is a thread's number + 1, or says that several threads of one warp, or of several, did it.
"""

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.order import Order
from tfc.testing.ptx.state.threads import WARP, Lanes, Threads

_WHO = 11
_WARP_BITS = 21
_MASK = (1 << _WHO) - 1
_SAME_WARP, _MANY = 1025, _MASK  # _SAME_WARP + the number of the warp


class Races:
    """Who accessed shared memory last, for a batch of blocks."""

    def __init__(self, threads: Threads, bytes_in_all: int, granule: int):
        self.granule = granule
        self.writer = np.zeros(-(-bytes_in_all // granule), np.int64)
        self.reader = np.zeros_like(self.writer)
        self.threads = threads
        self.order: Order | None = None  # where warps wait for some of the others

    def _stamps(self, lanes: Lanes) -> np.ndarray:
        t = self.threads
        block = t.block_epoch[t.slot[lanes]] << (_WHO + _WARP_BITS)
        return block | (t.warp_epoch[t.warp[lanes]] << _WHO) | (t.thread[lanes] + 1)

    def granules(self, places: np.ndarray, width: int) -> list[np.ndarray]:
        """The granules of accesses: the first of each, the second …"""
        first = places // self.granule
        return [first + n for n in range(max(width // self.granule, 1))]

    def _conflicts(self, old: np.ndarray, mine: np.ndarray) -> np.ndarray:
        """Where an older access is of another thread, and no barrier lies between."""
        by, who = old & _MASK, mine & _MASK
        same_block = (old >> (_WHO + _WARP_BITS)) == (mine >> (_WHO + _WARP_BITS))
        own_warp = (who - 1) // WARP
        warp = np.where(by >= _SAME_WARP, by - _SAME_WARP, (by - 1) // WARP)
        warp = np.where(by == _MANY, -1, warp)
        ordered = (warp == own_warp) & ((old >> _WHO) < (mine >> _WHO))
        return same_block & (by != 0) & (by != who) & ~ordered

    def is_written_before(self, granules: np.ndarray, epochs: np.ndarray) -> np.ndarray:
        """Whether granules were last written before so many barriers of their blocks."""
        return self.writer[granules] >> (_WHO + _WARP_BITS) < epochs

    def read(self, places: np.ndarray, width: int, lanes: Lanes) -> None:
        """Note reads.

        Raises:
            Violation: another thread wrote, and no barrier lies between.
        """
        mine = self._stamps(lanes)
        for at in self.granules(places, width):
            self._check(self._conflicts(self.writer[at], mine), places, "reads", "wrote")
            self._note_read(at, mine)
            if self.order is not None:
                self._check(self.order.note_read(at, lanes), places, "reads", "wrote")

    def _note_read(self, at: np.ndarray, mine: np.ndarray) -> None:
        old = self.reader[at]
        self.reader[at] = mine
        together = self.reader[at]
        several = (together & _MASK) != (mine & _MASK)
        warp = (mine & _MASK) - 1 >> 5
        if several.any():
            code = np.where(((together & _MASK) - 1) // WARP == warp, _SAME_WARP + warp, _MANY)
            # Codes rise from one warp's to many, whatever the order of the lanes.
            np.maximum.at(self.reader, at[several], (mine & ~_MASK | code)[several])
        others = self._conflicts(old, mine)
        if others.any():
            by = old & _MASK
            old_warp = np.where(by >= _SAME_WARP, by - _SAME_WARP, (by - 1) // WARP)
            code = np.where((by != _MANY) & (old_warp == warp), _SAME_WARP + warp, _MANY)
            np.maximum.at(self.reader, at[others], (mine & ~_MASK | code)[others])

    def write(self, places: np.ndarray, width: int, lanes: Lanes, values: list[np.ndarray]) -> None:
        """Note writes.

        Raises:
            Violation: another thread read or wrote, and no barrier lies between; threads that write
                the same values in one instruction are none.
        """
        mine = self._stamps(lanes)
        clusters = self.threads.clusters
        for index, at in enumerate(self.granules(places, width)):
            if clusters is not None:
                clusters.check_write(at, lanes)
            self._check(self._conflicts(self.writer[at], mine), places, "writes", "wrote")
            self._check(self._conflicts(self.reader[at], mine), places, "writes", "read")
            if self.order is not None:
                wrote, read = self.order.note_write(at, lanes)
                self._check(wrote, places, "writes", "wrote")
                self._check(read, places, "writes", "read")
            self.writer[at] = mine
            several = self.writer[at] != mine
            if several.any():
                self._differ(at, several, places, values, index * self.granule)

    def _differ(
        self, at: np.ndarray, several: np.ndarray, places: np.ndarray, values: list[np.ndarray],
        byte: int,
    ) -> None:  # fmt: skip
        parts = np.stack([np.ascontiguousarray(v).view(np.uint8).reshape(len(at), -1)
                          for v in values], 1).reshape(len(at), -1)  # fmt: skip
        part = parts[:, byte : byte + self.granule]
        last = np.zeros((len(self.writer), part.shape[1]), np.uint8)
        last[at] = part
        self._check((last[at] != part).any(1), places, "writes", "wrote at the same time")

    def _check(self, wrong: np.ndarray, places: np.ndarray, does: str, did: str) -> None:
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            size = self.threads.spaces["shared"].stride
            raise Violation(
                "race",
                f"a thread {does} shared memory that another {did}, without a barrier between",
                lane,
                int(places[lane]) % size,
            )
