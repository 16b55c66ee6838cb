"""Which phases of which barriers each thread knows to be over, by its own wait or by others'.

A thread tells what it knows where it arrives, and is told where it waits: at barriers of phases, at
those of a block (`bar`), and of a warp (`bar.warp.sync`).
"""

from collections.abc import Hashable

import numpy as np

from tfc.testing.ptx.state.threads import Lanes, Threads


class Seen:
    """What the threads of a batch of blocks know: for each barrier the number of its phase."""

    def __init__(self, threads: Threads):
        self.threads = threads
        self.numbers = np.zeros((threads.count, 1), np.int64)
        self._columns: dict[int, int] = {}  # of a barrier's place, among those of its block
        self._told: dict[Hashable, np.ndarray] = {}

    def column(self, place: int) -> int:
        """The column of a barrier in `numbers`."""
        if place not in self._columns:
            stride = self.threads.spaces["shared"].stride
            slot = place // stride
            self._columns[place] = sum(p // stride == slot for p in self._columns)
            missing = self._columns[place] + 1 - self.numbers.shape[1]
            if missing > 0:
                self.numbers = np.pad(self.numbers, ((0, 0), (0, missing)))
        return self._columns[place]

    def tell(self, where: Hashable, lanes: Lanes) -> None:
        """These threads arrive somewhere, and tell what they know."""
        known = self.numbers[lanes].max(0, initial=0)
        told = self._told.get(where)
        if told is not None:
            known[: len(told)] = np.maximum(known[: len(told)], told)
        self._told[where] = known

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

    def at_block_barrier(self, number: int, lanes: np.ndarray, goes_on: bool) -> None:
        """These threads arrive at their blocks' barriers of a number, or go on after them."""
        slots = self.threads.slot[lanes]
        for slot in np.unique(slots).tolist():
            (self.learn if goes_on else self.tell)(("bar", number, slot), lanes[slots == slot])

    def meet(self, groups: np.ndarray, lanes: np.ndarray) -> None:
        """Threads of equal groups tell each other what they know."""
        for group in np.unique(groups):
            chosen = lanes[groups == group]
            self.numbers[chosen] = self.numbers[chosen].max(0)
