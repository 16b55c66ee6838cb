"""Shared memory as copies and products see it that run beside the threads (the async proxy).

Every 16 bytes know whether a copy to them is under way, how many operations under way read them,
and which phase had to end for what a copy wrote; every 4 bytes, which thread wrote them, and which
did so without a `fence.proxy.async` since.
"""

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.memory import WRITTEN
from tfc.testing.ptx.state.phases import BYTES
from tfc.testing.ptx.state.threads import WARP, Lanes, Threads

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
        # The time of the warp at the write, and the thread.
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
        ends = places + (width - 1)
        barriers = self.threads.phases.are_there
        self._refuse(barriers[places // BYTES] | barriers[ends // BYTES], "a write over a barrier "
                     "of phases (mbarrier.inval is missing)", places)  # fmt: skip
        self._refuse(self.arriving[pieces], "a write to shared memory that a copy under way "
                     "writes too", places)  # fmt: skip
        self._refuse(self.readers[pieces] > 0, "a write to shared memory that an operation "
                     "under way reads", places)  # fmt: skip
        self._refuse(self._unseen(pieces, lanes), "a write over what a copy has written, by a "
                     "thread that does not know that it is done", places)  # fmt: skip
        self.barrier[pieces] = -1
        t = self.threads
        stamp = t.seen.time[t.warp[lanes]] << _WHO | (t.thread[lanes] + 1)
        for stamps in (self.unfenced.reshape(-1), self.written.reshape(-1)):
            for word in range(max(width // _WORD, 1)):
                stamps[places // _WORD + word] = stamp

    def fence(self, lanes: Lanes) -> None:
        """What these threads have written, or seen written before a barrier, is seen by all."""
        t = self.threads
        numbers = t.lane_numbers(lanes)
        for slot in np.unique(t.slot[numbers]):
            here = numbers[t.slot[numbers] == slot]
            (words,) = np.nonzero(self.unfenced[slot])
            stamps = self.unfenced[slot, words]
            thread, time = (stamps & (1 << _WHO) - 1) - 1, stamps >> _WHO
            known = t.seen.numbers[here][:, : t.warps_per_block].max(0)
            seen = np.isin(thread, t.thread[here]) | (known[thread // WARP] >= time)
            self.unfenced[slot, words[seen]] = 0

    def check_async_read(self, places: np.ndarray, lanes: np.ndarray) -> None:
        """Refuse bytes (by their places) that an operation of threads must not read yet."""
        self._refuse(self.arriving[places // PIECE], "a read of shared memory that a copy under "
                     "way is still to write", places, True)  # fmt: skip
        unfenced = self.unfenced.reshape(-1)[places // _WORD] != 0
        self._refuse(unfenced, "a read beside the threads of what a thread wrote, without "
                     "fence.proxy.async between", places, True)  # fmt: skip
        self._refuse(self._unknown(places, lanes), "a read beside the threads of what another "
                     "thread wrote, without a barrier between", places, True)  # fmt: skip
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

    def _unknown(self, places: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Whether some of these threads do not know what another thread wrote."""
        t = self.threads
        stamps = self.written.reshape(-1)[places // _WORD]
        writers = (stamps & (1 << _WHO) - 1) - 1
        unknown = np.zeros(len(places), bool)
        are_here = np.isin(writers, t.thread[lanes])  # and their warps, at one instruction
        for warp in np.unique(writers[stamps > 0] // WARP).tolist():
            others = lanes[t.thread[lanes] // WARP != warp]
            for readers, wrote in ((others, are_here), (lanes, ~are_here)):
                known = t.seen.numbers[readers, warp].min(initial=np.iinfo(np.int64).max)
                wrote = wrote & (stamps > 0) & (writers // WARP == warp)
                unknown |= wrote & (stamps >> _WHO > known)
        return unknown

    def begin_write(self, first: int, size: int, lane: int) -> None:
        """A copy to `size` bytes begins, which a thread asks for.

        Raises:
            Violation: another operation is at work there.
        """
        pieces = slice(first // PIECE, (first + size) // PIECE)
        where = np.arange(first, first + size, PIECE)
        self._refuse(self.arriving[pieces], "a copy to shared memory to which another one is "
                     "under way", where, True)  # fmt: skip
        self._refuse(self.readers[pieces] > 0, "a copy to shared memory that an operation under "
                     "way still reads", where, True)  # fmt: skip
        self._check_order(first, size, lane)
        self.arriving[pieces] = True
        slot, offset = divmod(first, self.threads.spaces["shared"].stride)
        for stamps in (self.unfenced, self.written):
            stamps[slot, offset // _WORD : (offset + size) // _WORD] = 0

    def _check_order(self, first: int, size: int, lane: int) -> None:
        """Refuse a copy over what threads use, for all that the one knows that asks for it.

        Of other blocks it knows nothing here.
        """
        t = self.threads
        over = t.phases.are_there[first // BYTES : (first + size) // BYTES]
        self._refuse(over, "a copy over a barrier of phases (mbarrier.inval is missing)",
                     np.arange(first, first + size, BYTES), True)  # fmt: skip
        if first // t.spaces["shared"].stride != t.slot[lane]:
            return
        words = np.arange(first, first + size, _WORD)
        self._refuse(self.unfenced.reshape(-1)[words // _WORD] != 0, "a copy over what a thread "
                     "wrote, without fence.proxy.async between", words, True)  # fmt: skip
        granules = np.arange(first // t.races.granule, -(-(first + size) // t.races.granule))
        is_open = t.races.order.is_open(granules, lane)
        self._refuse(is_open, "a copy over what another thread reads or writes, without a barrier "
                     "between", granules * t.races.granule, True)  # fmt: skip

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
