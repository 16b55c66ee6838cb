"""Copies of whole boxes under way: to shared memory until a barrier's bytes are asked for, from it
until its thread waits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.memory import NEW, WRITTEN
from tfc.testing.ptx.state.proxies import PIECE
from tfc.testing.ptx.state.threads import Lanes, Threads


@dataclass
class Arrival:
    """A copy to shared memory: the place of its barrier, that of its first byte, and its bytes."""

    barrier: int
    first: int
    data: np.ndarray


@dataclass
class Departure:
    """A copy from shared memory: whose, of which group, the pieces that it reads, and its end."""

    lane: int
    group: int
    pieces: np.ndarray
    store: Callable[[], None]
    is_read: bool = False


class Bulk:
    """The copies under way of a batch of blocks."""

    def __init__(self, threads: Threads):
        self.threads = threads
        self.arrivals: list[Arrival] = []
        self.departures: list[Departure] = []
        self.closed = np.zeros(threads.count, np.int64)
        self.fenced: set[tuple[int, int]] = set()

    def begin_arrival(self, barrier: int, first: int, data: np.ndarray, lane: int) -> None:
        """A copy to shared memory begins, which a thread asks for: what lay there is gone.

        Raises:
            Violation: another operation is at work there, or the barrier is not known to it.
        """
        t = self.threads
        if not t.phases.at(barrier).announced:
            raise Violation("async", "a copy is to report to a barrier that no fence (fence.proxy."
                            "async or fence.mbarrier_init) has made known to it")  # fmt: skip
        t.proxies.begin_write(first, len(data), lane)
        t.spaces["shared"].shadow[first : first + len(data)] = NEW
        self.arrivals.append(Arrival(barrier, first, data))

    def land(self, barriers: np.ndarray | None = None) -> None:
        """Let the copies end that report to these barriers (None: all)."""
        if not self.arrivals:
            return
        wanted = None if barriers is None else set(barriers.tolist())
        landed = [a for a in self.arrivals if wanted is None or a.barrier in wanted]
        if not landed:
            return
        self.arrivals = [] if wanted is None else [
            a for a in self.arrivals if a.barrier not in wanted]  # fmt: skip
        t = self.threads
        for arrival in landed:
            place = slice(arrival.first, arrival.first + len(arrival.data))
            t.spaces["shared"].data[place] = arrival.data
            t.spaces["shared"].shadow[place] = WRITTEN
            t.proxies.end_write(arrival.first, len(arrival.data), arrival.barrier)
            t.phases.expect(arrival.barrier, -len(arrival.data), None)

    def begin_departure(self, lane: int, first: int, size: int, store: Callable[[], None]) -> None:
        """A copy from shared memory begins; `store` puts its bytes where they go."""
        pieces = np.arange(first // PIECE, (first + size) // PIECE)
        self.threads.proxies.begin_reads(pieces)
        self.departures.append(Departure(lane, int(self.closed[lane]), pieces, store))

    def commit(self, lanes: Lanes) -> None:
        """Close a group of each thread's copies."""
        self.closed[lanes] += 1

    def wait(self, lanes: Lanes, left: int, only_read: bool) -> None:
        """Wait for all but the last `left` groups of each thread: to be read, or to be stored."""
        t = self.threads
        limit = np.full(t.count, -1)
        limit[lanes] = self.closed[lanes] - left - 1
        stay: list[Departure] = []
        for departure in self.departures:
            if departure.group > limit[departure.lane]:
                stay.append(departure)
                continue
            if not departure.is_read:
                t.proxies.end_reads(departure.pieces)
                departure.is_read = True
            if only_read:
                stay.append(departure)
            else:
                departure.store()
        self.departures = stay

    def finish(self) -> None:
        """All threads have ended.

        Raises:
            Violation: a copy still reads shared memory, which is no longer the block's, or is still
                to write it.
        """
        for departure in self.departures:
            departure.store()
            if not departure.is_read:
                raise Violation("async", "a thread ends while a copy of its own may still read "
                                "shared memory (cp.async.bulk.wait_group is missing)")  # fmt: skip
        if self.arrivals:
            raise Violation("async", "a block ends while a copy to its shared memory is under way: "
                            "nobody has waited for it")  # fmt: skip
