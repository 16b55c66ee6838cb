"""Clusters: neighbouring blocks that reach into each other's shared memory, and wait for others.

A block must be there while others reach into it. So a thread reaches others' memory only after a
barrier of the cluster, before which they might not have begun, and some thread of theirs waits at
another barrier of the cluster afterwards, without which they might have ended.

What a thread reads there was written before a barrier of the cluster at which all arrived with
`.release` and it has waited; and a thread writes over what others have read only after a further
one.
"""

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import Lanes, Threads

RANK_SHIFT = 24
"""Where an address of a cluster's shared memory has the number of the block, plus one."""


class Clusters:
    """The clusters of a batch of blocks.

    Attributes:
        turn: how many barriers of its cluster are complete.
    """

    def __init__(self, threads: Threads):
        self.threads, self.size = threads, threads.cluster
        self.turn = np.zeros(threads.blocks // self.size, np.int64)
        self.of = threads.slot // self.size
        self.arrived = np.zeros(threads.count, bool)
        self.ticket = np.full(threads.count, -1)  # the turn in which a thread arrived last
        self.passed = np.zeros(threads.count, np.int64)  # barriers that a thread has waited at
        self.is_at_work = np.zeros(threads.count, bool)  # in another block, for all that is known
        self.reached: dict[int, int] = {}  # of blocks: how many barriers those had passed who did
        # Of blocks, and barriers that a thread has passed: before which of its own barriers a block
        # wrote what that thread may read.
        self.visible = np.zeros((threads.blocks, 1), np.int64)
        self.relaxes = np.zeros(threads.blocks // self.size, bool)  # someone, at the next barrier
        # Of granules of shared memory: barriers after which they may be written again.
        self.read_until: np.ndarray | None = None

    # --- Barriers ---------------------------------------------------------------------------------

    def arrive(self, lanes: Lanes, releases: bool) -> None:
        """barrier.cluster.arrive, which `releases` what was done before or is relaxed.

        Raises:
            Violation: a thread arrives twice, or what it did in another block may not be done.
        """
        loose = self.is_at_work[lanes]
        if loose.any() and not releases:
            raise Violation("barrier", "a thread arrives at a barrier of its cluster without "
                            ".release, after it arrived at a barrier in another block",
                            int(np.flatnonzero(loose)[0]))  # fmt: skip
        self.is_at_work[lanes] = False
        again = self.arrived[lanes] | (self.ticket[lanes] >= self.passed[lanes])
        if again.any():
            raise Violation("barrier", "a thread arrives at a barrier of its cluster without "
                            "having waited at the one before",
                            int(np.flatnonzero(again)[0]))  # fmt: skip
        self.arrived[lanes] = True
        if releases:
            self._tell(lanes)
        self.ticket[lanes] = self.turn[self.of[lanes]]
        if not releases:
            self.relaxes[self.of[lanes]] = True
        self.settle()

    def settle(self) -> None:
        """Complete the barriers at which all threads that have not ended have arrived."""
        away, count = ~self.arrived & ~self.threads.exited, len(self.turn)
        missing = np.bincount(self.of[away], minlength=count)
        come = np.bincount(self.of[self.arrived], minlength=count)
        complete = (missing == 0) & (come > 0)
        if complete.any():
            self.turn += complete
            self.arrived &= ~complete[self.of]
            self.threads.block_epoch += np.repeat(complete, self.size)
            self._make_visible(complete)

    def _make_visible(self, complete: np.ndarray) -> None:
        """The blocks of these clusters may read what was written before their barriers."""
        if self.turn.max() >= self.visible.shape[1]:
            self.visible = np.pad(self.visible, ((0, 0), (0, self.visible.shape[1])))
        slots = np.flatnonzero(np.repeat(complete, self.size))
        turns, relaxes = (x[slots // self.size] for x in (self.turn, self.relaxes))
        before = self.visible[slots, turns - 1]
        self.visible[slots, turns] = np.where(relaxes, before, self.threads.block_epoch[slots])
        self.relaxes[complete] = False

    def are_over(self, lanes: np.ndarray) -> np.ndarray:
        """Whether the barrier at which each thread arrived is complete.

        Raises:
            Violation: a thread waits without having arrived.
        """
        early = self.ticket[lanes] < self.passed[lanes]
        if early.any():
            raise Violation("barrier", "a thread waits at a barrier of its cluster at which it has "
                            "not arrived", int(np.flatnonzero(early)[0]))  # fmt: skip
        return self.turn[self.of[lanes]] > self.ticket[lanes]

    def go_on(self, lanes: np.ndarray) -> None:
        """These threads have waited."""
        self.passed[lanes] = self.ticket[lanes] + 1
        slots = self.threads.slot[lanes]
        for slot in np.unique(slots).tolist():
            self.threads.seen.learn(("cluster", slot), lanes[slots == slot])

    def _tell(self, lanes: Lanes) -> None:
        numbers = self.threads.lane_numbers(lanes)
        slots = self.threads.slot[numbers]
        for slot in np.unique(slots).tolist():
            self.threads.seen.tell(("cluster", slot), numbers[slots == slot])

    # --- Others' memory ---------------------------------------------------------------------------

    def places(self, lanes: np.ndarray, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(blocks of the batch, addresses in theirs) of addresses of clusters' shared memory."""
        slots, inside = self._places(lanes, addresses)
        self.is_at_work[lanes] |= slots != self.threads.slot[lanes]
        return slots, inside

    def _places(self, lanes: np.ndarray, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ranks = (addresses >> RANK_SHIFT).astype(np.int64) - 1
        own = self.threads.slot[lanes]
        slots = np.where(ranks < 0, own, own // self.size * self.size + ranks)
        passed, are_others = self.passed[lanes], slots != own
        for slot in np.unique(slots[are_others]).tolist():
            there = np.flatnonzero(are_others & (slots == slot))
            # Those that have passed fewest barriers, and most.
            for number in {int(there[passed[there].argmin()]), int(there[passed[there].argmax()])}:
                self.reach(int(lanes[number]), slot, number)
        return slots, addresses & ((1 << RANK_SHIFT) - 1)

    def read(self, lanes: np.ndarray, addresses: np.ndarray, width: int) -> np.ndarray:
        """The places of what threads read in their clusters' shared memory.

        Raises:
            Violation: it may not be written yet; and as `reach` says.
        """
        t = self.threads
        slots, inside = self._places(lanes, addresses)
        places = t.spaces["shared"].places(inside, slots, width)
        passed, is_own = self.passed[lanes], slots == t.slot[lanes]
        t.races.read(places[is_own], width, lanes[is_own])
        if self.read_until is None:
            self.read_until = np.zeros(len(t.races.writer), np.int64)
        for at in t.races.granules(places, width):
            early = ~is_own & ~t.races.is_written_before(at, self.visible[slots, passed])
            if early.any():
                lane = int(np.flatnonzero(early)[0])
                raise Violation("race", "a thread reads what another block of its cluster wrote, "
                                "without a barrier of the cluster between that releases it",
                                lane, int(inside[lane]))  # fmt: skip
            np.maximum.at(self.read_until, at[~is_own], passed[~is_own] + 1)
        return places

    def check_write(self, granules: np.ndarray, lanes: Lanes) -> None:
        """A thread writes to its block's memory.

        Raises:
            Violation: another block may still read there.
        """
        if self.read_until is None:
            return
        early = self.passed[lanes] < self.read_until[granules]
        if early.any():
            raise Violation("race", "a thread writes what another block of its cluster reads, "
                            "without a barrier of the cluster between",
                            int(np.flatnonzero(early)[0]))  # fmt: skip

    def reach(self, lane: int, slot: int, number: int | None = None) -> None:
        """A thread reaches into the shared memory of a block.

        Raises:
            Violation: the block is of another cluster, or might not be there.
        """
        t = self.threads
        if slot == t.slot[lane]:
            return
        if slot // self.size != self.of[lane]:
            raise Violation("out-of-bounds", "an address of a block outside of the cluster", number)
        if not self.passed[lane]:
            raise Violation("barrier", "a thread reaches into a block that may not have begun: no "
                            "barrier of the cluster lies before", number)  # fmt: skip
        self.reached[slot] = max(self.reached.get(slot, 0), int(self.passed[lane]))

    def finish(self) -> None:
        """All threads have ended.

        Raises:
            Violation: a block might have ended before others reached into it.
        """
        for slot, passed in self.reached.items():
            if self.passed[self.threads.slot == slot].max() <= passed:
                raise Violation("barrier", "a thread reaches into a block that may have ended: no "
                                "barrier of the cluster comes after")  # fmt: skip
