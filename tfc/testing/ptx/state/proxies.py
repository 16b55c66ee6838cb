"""Shared memory as copies and products see it that run beside the threads (the async proxy).

Every 16 bytes know whether a copy to them is under way, and how many operations under way read
them; every 4 bytes, which thread wrote them without a `fence.proxy.async` since.
"""

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.memory import WRITTEN
from tfc.testing.ptx.state.threads import Lanes, Threads

PIECE = 16  # bytes: what copies and products move at least
_WORD = 4
_WHO = 11


class Proxies:
    """Who is at work beside the threads on the shared memory of a batch of blocks."""

    def __init__(self, threads: Threads):
        self.threads = threads
        shared = threads.spaces["shared"]
        self.arriving = np.zeros(len(shared.data) // PIECE, bool)
        self.readers = np.zeros(len(shared.data) // PIECE, np.int32)
        self.unfenced = np.zeros((threads.blocks, shared.stride // _WORD), np.int64)

    def check_read(self, places: np.ndarray, width: int) -> None:
        """Refuse what a thread reads while a copy to there is under way."""
        self._refuse(self.arriving[places // PIECE], "a read of shared memory that a copy "
                     "under way is still to write", places)  # fmt: skip

    def note_write(self, places: np.ndarray, width: int, lanes: Lanes) -> None:
        """Note what threads write themselves.

        Raises:
            Violation: an operation under way reads there, or writes.
        """
        pieces = places // PIECE
        self._refuse(self.arriving[pieces], "a write to shared memory that a copy under way "
                     "writes too", places)  # fmt: skip
        self._refuse(self.readers[pieces] > 0, "a write to shared memory that an operation "
                     "under way reads", places)  # fmt: skip
        t = self.threads
        stamp = t.block_epoch[t.slot[lanes]] << _WHO | (t.thread[lanes] + 1)
        flat = self.unfenced.reshape(-1)
        for word in range(max(width // _WORD, 1)):
            flat[places // _WORD + word] = stamp

    def fence(self, lanes: Lanes) -> None:
        """What these threads have written, or seen written before a barrier, is seen by all."""
        t = self.threads
        for slot in np.unique(t.slot[lanes]):
            own = np.zeros(t.block_size + 1, bool)
            own[t.thread[lanes][t.slot[lanes] == slot] + 1] = True
            stamps = self.unfenced[slot]
            seen = own[stamps & (1 << _WHO) - 1] | (stamps >> _WHO < t.block_epoch[slot])
            self.unfenced[slot] = np.where(seen, 0, stamps)

    def check_async_read(self, places: np.ndarray) -> None:
        """Refuse bytes (by their places) that an operation beside the threads must not read yet."""
        self._refuse(self.arriving[places // PIECE], "a read of shared memory that a copy under "
                     "way is still to write", places, True)  # fmt: skip
        unfenced = self.unfenced.reshape(-1)[places // _WORD] != 0
        self._refuse(unfenced, "a read beside the threads of what a thread wrote, without "
                     "fence.proxy.async between", places, True)  # fmt: skip
        shared = self.threads.spaces["shared"]
        new = shared.shadow[places] != WRITTEN
        if new.any():
            address = int(places[new][0]) % shared.stride
            raise Violation("uninitialized", "a read beside the threads of shared memory that was "
                            "never written", None, address)  # fmt: skip

    def begin_write(self, first: int, size: int) -> None:
        """A copy to `size` bytes begins.

        Raises:
            Violation: another operation is at work there.
        """
        pieces = slice(first // PIECE, (first + size) // PIECE)
        where = np.arange(first, first + size, PIECE)
        self._refuse(self.arriving[pieces], "a copy to shared memory to which another one is "
                     "under way", where, True)  # fmt: skip
        self._refuse(self.readers[pieces] > 0, "a copy to shared memory that an operation under "
                     "way still reads", where, True)  # fmt: skip
        self.arriving[pieces] = True
        slot, offset = divmod(first, self.threads.spaces["shared"].stride)
        self.unfenced[slot, offset // _WORD : (offset + size) // _WORD] = 0

    def end_write(self, first: int, size: int) -> None:
        """The bytes of a copy have come."""
        self.arriving[first // PIECE : (first + size) // PIECE] = False

    def begin_reads(self, pieces: np.ndarray) -> None:
        """An operation that reads these pieces, by their numbers, begins."""
        self.readers[pieces] += 1

    def end_reads(self, pieces: np.ndarray) -> None:
        """It has read them."""
        self.readers[pieces] -= 1

    def _refuse(
        self, wrong: np.ndarray, what: str, places: np.ndarray, is_beside: bool = False
    ) -> None:
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            address = int(places[lane]) % self.threads.spaces["shared"].stride
            raise Violation("async", what, None if is_beside else lane, address)
