"""What each thread knows of others, by its own wait or by others': what the warps of its block have
done so far, and which phases of which barriers are over.

A thread tells what it knows where it arrives, and is told where it waits: at barriers of phases, at
those of a block (`bar`), of a cluster, and of a warp (`bar.warp.sync`). A warp has a clock, which
goes on each time that threads of it arrive anywhere: who knows its time knows what it did before.
"""

from collections.abc import Hashable

import numpy as np

from tfc.testing.ptx.state.threads import WARP, Lanes, Threads


class Seen:
    """What the threads of a batch of blocks know: of each warp of the block the time, and then of
    each barrier the number of its phase.

    Attributes:
        time: that of each warp of the batch.
    """

    def __init__(self, threads: Threads):
        self.threads, self.warps = threads, threads.warps_per_block
        self.numbers = np.zeros((threads.count, self.warps), np.int64)
        self.time = np.ones(threads.warps, np.int64)
        self._columns: dict[int, int] = {}  # of a barrier's place, among those of its block
        self._told: dict[Hashable, np.ndarray] = {}
        self._arriving: dict[int, np.ndarray] = {}  # told in a phase that is not over, by place

    def column(self, place: int) -> int:
        """The column of a barrier in `numbers`."""
        if place not in self._columns:
            stride = self.threads.spaces["shared"].stride
            slot = place // stride
            self._columns[place] = self.warps + sum(p // stride == slot for p in self._columns)
            missing = self._columns[place] + 1 - self.numbers.shape[1]
            if missing > 0:
                self.numbers = np.pad(self.numbers, ((0, 0), (0, missing)))
        return self._columns[place]

    def tell(self, where: Hashable, lanes: Lanes) -> None:
        """These threads of a block arrive somewhere, and tell what they know."""
        self._told[where] = _together(self._known(lanes), self._told.get(where))

    def arrive(self, place: int, lanes: Lanes) -> None:
        """These threads arrive in a phase of a barrier: who waits until it is over is told."""
        self._arriving[place] = _together(self._known(lanes), self._arriving.get(place))

    def end_phase(self, place: int) -> None:
        """The phase of a barrier in which threads have arrived is over."""
        arrived = self._arriving.pop(place, None)
        if arrived is not None:
            self._told[place] = _together(arrived, self._told.get(place))

    def _known(self, lanes: Lanes) -> np.ndarray:
        """What these threads of a block know together, and have done; time goes on after it."""
        known = self.numbers[lanes].max(0, initial=0)
        warps = np.unique(self.threads.warp[lanes])
        known[warps % self.warps] = self.time[warps]
        self.time[warps] += 1
        return known

    def learn(self, where: Hashable, lanes: np.ndarray) -> None:
        """These threads have waited somewhere, and are told."""
        told = self._told.get(where)
        if told is not None and len(lanes):
            own = self.numbers[lanes]
            own[:, : len(told)] = np.maximum(own[:, : len(told)], told)
            self.numbers[lanes] = own

    def see(self, place: int, number: int, lanes: np.ndarray) -> None:
        """These threads see that a barrier is in a phase, and are told by those who arrived."""
        column = self.column(place)
        self.numbers[lanes, column] = number
        self.learn(place, lanes)

    def knows(self, lanes: Lanes, warps: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether each thread knows what a warp (by its number in the block, -1 for none) did at a
        time; of its own warp it does."""
        numbers = self.threads.lane_numbers(lanes)
        own = self.threads.thread[numbers] // WARP == warps
        return own | (warps < 0) | (self.numbers[numbers, warps] >= times)

    def at_block_barrier(self, number: int, lanes: np.ndarray, goes_on: bool) -> None:
        """These threads arrive at their blocks' barriers of a number, or go on after them."""
        slots = self.threads.slot[lanes]
        for slot in np.unique(slots).tolist():
            (self.learn if goes_on else self.tell)(("bar", number, slot), lanes[slots == slot])

    def meet(self, warps: np.ndarray, lanes: np.ndarray) -> None:
        """Threads of a warp tell each other what they know."""
        for warp in np.unique(warps):
            chosen = lanes[warps == warp]
            self.numbers[chosen] = self._known(chosen)


def _together(first: np.ndarray, second: np.ndarray | None) -> np.ndarray:
    """What is told by both, where one may not yet know of as many barriers."""
    if second is None:
        return first
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    both = longer.copy()
    both[: len(shorter)] = np.maximum(both[: len(shorter)], shorter)
    return both
