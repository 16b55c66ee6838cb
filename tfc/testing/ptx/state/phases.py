"""Barriers in shared memory (`mbarrier`): threads that arrive, bytes that do, and who waits.

A barrier is in a phase. The phase ends when as many threads have arrived as the barrier is for and
all bytes that were announced have come; the next one begins at once, for as many threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import Lanes, Threads

BYTES = 8  # of a barrier
MOST = (1 << 20) - 1  # arrivals of a phase, and bytes under way


@dataclass
class Phase:
    """A barrier: what its phase still lacks, and the number of that phase.

    announced: whether asynchronous copies are sure to see it.
    """

    expected: int
    pending: int
    bytes: int = 0
    number: int = 0
    announced: bool = False


@dataclass
class Parked:
    """Threads that wait for phases to end, and what to do with some and their barriers then."""

    lanes: np.ndarray
    places: np.ndarray
    numbers: np.ndarray
    go_on: Callable[[np.ndarray, np.ndarray], None]
    end: Any


class Phases:
    """The barriers in the shared memory of a batch of blocks, by their places."""

    def __init__(self, threads: Threads):
        self.threads = threads
        self.all: dict[int, Phase] = {}
        # Of each eight bytes of shared memory, whether they are a barrier.
        self.are_there = np.zeros(len(threads.spaces["shared"].data) // BYTES, bool)
        self.parked: list[Parked] = []
        self.has_ended = False
        self.patient = np.zeros(threads.count, bool)

    def begin(self, places: np.ndarray, counts: np.ndarray) -> None:
        """mbarrier.init."""
        for lane, (place, count) in enumerate(zip(places.tolist(), counts.tolist())):
            if not 0 < count <= MOST:
                raise Violation("barrier", f"a barrier for {count} threads", lane)
            if place in self.all:
                raise Violation("barrier", "a barrier is made where there is one", lane)
            self.all[place] = Phase(count, count)
            self.are_there[place // BYTES] = True

    def end(self, places: np.ndarray) -> None:
        """mbarrier.inval."""
        for lane, place in enumerate(places.tolist()):
            self.at(place, lane)
            del self.all[place]
            self.are_there[place // BYTES] = False

    def at(self, place: int, lane: int | None = 0) -> Phase:
        """The barrier at a place.

        Raises:
            Violation: there is none.
        """
        if place not in self.all:
            raise Violation("barrier", "there is no barrier at this address", lane)
        return self.all[place]

    def announce(self, lanes: Lanes) -> None:
        """Make the barriers of these threads' blocks known to asynchronous copies."""
        stride = self.threads.spaces["shared"].stride
        slots = set(np.unique(self.threads.slot[lanes]).tolist())
        for place, phase in self.all.items():
            phase.announced |= place // stride in slots

    def arrive(self, places: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Count arrivals; the number of the phase that each thread arrived in.

        Raises:
            Violation: a phase has all its threads already.
        """
        states = np.zeros(len(places), np.uint64)
        for lane, (place, count) in enumerate(zip(places.tolist(), counts.tolist())):
            phase = self.at(place, lane)
            states[lane] = phase.number
            phase.pending -= count
            if phase.pending < 0:
                raise Violation("barrier", "more threads arrive in a phase than it is for", lane)
            self._settle(place, phase)
        return states

    def expect(self, place: int, byte_count: int, lane: int | None = 0) -> None:
        """Announce bytes (or, with a minus, say that they have come).

        Raises:
            Violation: there is no barrier, or the bytes are beyond what it can count.
        """
        phase = self.at(place, lane)
        phase.bytes += byte_count
        if abs(phase.bytes) > MOST:
            raise Violation("barrier", "more bytes than a barrier can count", lane)
        self._settle(place, phase)

    def _settle(self, place: int, phase: Phase) -> None:
        if phase.pending or phase.bytes:
            return
        phase.number += 1
        phase.pending = phase.expected
        self.has_ended = True
        self.threads.seen.end_phase(place)
        # What threads did before is seen by those that wait: no race between them.
        self.threads.block_epoch[place // self.threads.spaces["shared"].stride] += 1

    def numbers_of(self, places: np.ndarray, parities: np.ndarray) -> np.ndarray:
        """The number that each barrier's phase must have for those of a parity to have ended."""
        current = np.array([self.at(p, n).number for n, p in enumerate(places.tolist())], np.int64)
        return current + ((current & 1) == parities)

    def are_over(self, places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Whether each barrier has come to a phase of this number."""
        found = [self.at(p, n).number for n, p in enumerate(places.tolist())]
        return np.array(found, np.int64) >= numbers

    def wake(self) -> None:
        """Let those go on whose phase has ended."""
        self.has_ended = False
        waiting, self.parked = self.parked, []
        for entry in waiting:
            over = self.are_over(entry.places, entry.numbers)
            if over.any():
                entry.go_on(entry.lanes[over], entry.places[over])
            if not over.all():
                stay = ~over
                self.parked.append(Parked(entry.lanes[stay], entry.places[stay],
                                          entry.numbers[stay], entry.go_on, entry.end))  # fmt: skip

    def lack(self, place: int) -> str:
        """What a phase waits for, in words."""
        phase = self.at(place)
        return f"{phase.pending} of {phase.expected} arrivals and {phase.bytes} bytes are missing"
