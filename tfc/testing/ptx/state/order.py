"""Whether accesses to shared memory by different warps are in an order that those know.

Barriers of phases, and those of some of a block's threads, put in order what those threads do that
arrive at them and wait: not what the rest of the block does meanwhile. So each granule remembers
which warp wrote it and when, and when each warp read it, by the clocks of `Seen`.
"""

import numpy as np

from tfc.testing.ptx.state.threads import WARP, Lanes, Threads


class Order:
    """Which warps accessed the granules of shared memory last, and when."""

    def __init__(self, threads: Threads, granules: int):
        self.threads = threads
        self.writer = np.full(granules, -1, np.int16)
        self.written = np.zeros(granules, np.int64)
        self.read_at = np.zeros((granules, threads.warps_per_block), np.int32)

    def note_read(self, at: np.ndarray, lanes: Lanes) -> np.ndarray:
        """Note that threads read granules; whether each does not know of who wrote its own."""
        t = self.threads
        own = t.warp[lanes]
        self.read_at[at, own % t.warps_per_block] = t.seen.time[own]
        return ~t.seen.knows(lanes, self.writer[at], self.written[at])

    def note_write(self, at: np.ndarray, lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
        """Note that threads write granules; whether each does not know of who wrote its own, and of
        who read it."""
        t = self.threads
        own = t.warp[lanes]
        warps = own % t.warps_per_block
        wrote = ~t.seen.knows(lanes, self.writer[at], self.written[at])
        read = self._are_read(at, lanes)
        self.writer[at], self.written[at] = warps, t.seen.time[own]
        return wrote, read

    def is_open(self, at: np.ndarray, lane: int) -> np.ndarray:
        """Whether a thread does not know of all who accessed granules of its block."""
        lanes = np.full(len(at), lane)
        return self._are_read(at, lanes) | ~self.threads.seen.knows(
            lanes, self.writer[at], self.written[at]
        )

    def _are_read(self, at: np.ndarray, lanes: Lanes) -> np.ndarray:
        t = self.threads
        late = self.read_at[at] > t.seen.numbers[lanes][:, : t.warps_per_block]
        late[np.arange(len(at)), t.thread[lanes] // WARP] = False
        return late.any(1)
