"""Shared memory as copies and products see it that run beside the threads (the async proxy).

Every 16 bytes know whether a copy to them is under way, how many operations under way read them,
and which phase had to end for what a copy wrote; every 4 bytes, which thread wrote them, and which
did so without a `fence.proxy.async` since.
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
        # Which barrier, as its column among what threads have seen, and which phase of it had the
        # bytes that lie there; -1 for none.
        self.barrier = np.full(len(shared.data) // PIECE, -1)
        self.phase = np.zeros(len(shared.data) // PIECE, np.int64)
        # Barriers of the block until the write, and the thread.
        self.written = np.zeros((threads.blocks, shared.stride // _WORD), np.int64)
        self.unfenced = np.zeros_like(self.written)

    def check_read(self, places: np.ndarray, lanes: Lanes) -> None:
        """Refuse what a thread reads while a copy to there is under way, for all that it knows."""
        self._refuse(self.arriving[places // PIECE], "a read of shared memory that a copy "
                     "under way is still to write", places)  # fmt: skip
        self._refuse(self._unseen(places // PIECE, lanes), "a read of what a copy has written, by "
                     "a thread that does not know that it is done", places)  # fmt: skip

    def _unseen(self, pieces: np.ndarray, lanes: Lanes) -> np.ndarray:
        """Whether each thread does not know of the copy that wrote its piece."""
        column = self.barrier[pieces]
        known = self.threads.seen.numbers[self.threads.lane_numbers(lanes), column]
        return (column >= 0) & (known < self.phase[pieces])

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
        self._refuse(self._unseen(pieces, lanes), "a write over what a copy has written, by a "
                     "thread that does not know that it is done", places)  # fmt: skip
        self.barrier[pieces] = -1
        t = self.threads
        stamp = t.block_epoch[t.slot[lanes]] << _WHO | (t.thread[lanes] + 1)
        for stamps in (self.unfenced.reshape(-1), self.written.reshape(-1)):
            for word in range(max(width // _WORD, 1)):
                stamps[places // _WORD + word] = stamp

    def fence(self, lanes: Lanes) -> None:
        """What these threads have written, or seen written before a barrier, is seen by all."""
        t = self.threads
        for slot in np.unique(t.slot[lanes]):
            own = np.zeros(t.block_size + 1, bool)
            own[t.thread[lanes][t.slot[lanes] == slot] + 1] = True
            stamps = self.unfenced[slot]
            seen = own[stamps & (1 << _WHO) - 1] | (stamps >> _WHO < t.block_epoch[slot])
            self.unfenced[slot] = np.where(seen, 0, stamps)

    def check_async_read(self, places: np.ndarray, lanes: np.ndarray) -> None:
        """Refuse bytes (by their places) that an operation of threads must not read yet."""
        self._refuse(self.arriving[places // PIECE], "a read of shared memory that a copy under "
                     "way is still to write", places, True)  # fmt: skip
        unfenced = self.unfenced.reshape(-1)[places // _WORD] != 0
        self._refuse(unfenced, "a read beside the threads of what a thread wrote, without "
                     "fence.proxy.async between", places, True)  # fmt: skip
        t = self.threads
        stamps = self.written.reshape(-1)[places // _WORD]
        others = ~np.isin(stamps & (1 << _WHO) - 1, t.thread[lanes] + 1)
        late = stamps >> _WHO == t.block_epoch[t.slot[lanes[0]]]
        self._refuse(others & late, "a read beside the threads of what another thread wrote, "
                     "without a barrier between", places, True)  # fmt: skip
        pieces = np.unique(places // PIECE)
        pieces = pieces[np.unique(self.barrier[pieces] << 32 | self.phase[pieces],
                                  return_index=True)[1]]  # fmt: skip
        for piece in pieces:  # one for each copy that wrote some
            unseen = self._unseen(np.full(len(lanes), piece), lanes)
            self._refuse(unseen, "a read beside the threads of what a copy has written, for a "
                         "thread that does not know that it is done",
                         np.full(len(lanes), piece * PIECE), True)  # fmt: skip
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
        for stamps in (self.unfenced, self.written):
            stamps[slot, offset // _WORD : (offset + size) // _WORD] = 0

    def end_write(self, first: int, size: int, barrier: int) -> None:
        """The bytes of a copy have come, which a barrier (by its place) counts."""
        pieces = slice(first // PIECE, (first + size) // PIECE)
        self.arriving[pieces] = False
        self.barrier[pieces] = self.threads.seen.column(barrier)
        self.phase[pieces] = self.threads.phases.at(barrier).number + 1

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
