"""Levels: which instructions may be merged into one without making a cycle.

Every instruction has a level above those of its operands, so none depends, directly or not, on
another of its level: merging two of one level is safe, and leaves all levels valid. To merge
instructions of different levels, the lower is raised together with what uses it.
"""

from collections.abc import Iterable
from itertools import pairwise

from tfc.hlo.ir import Computation, Instruction

DEPENDENT = "a path leads from one to the other, or may"
_FARTHEST = 500  # instructions that are looked at before giving up


class Levels:
    """The levels of a computation's instructions, some of which are merged.

    Control predecessors, and effects that come earlier, count as operands.
    """

    def __init__(self, computation: Computation):
        self._after: dict[Instruction, list[Instruction]] = {}
        self._group: dict[Instruction, list[Instruction]] = {}
        self._level: dict[Instruction, int] = {}
        before: dict[Instruction, list[Instruction]] = {
            i: [*i.operands, *i.control_predecessors] for i in computation.instructions
        }
        effects = computation.effects
        for earlier, later in pairwise(effects):
            before[later].append(earlier)
        for instruction in computation.instructions:
            known = [i for i in dict.fromkeys(before[instruction]) if i in self._level]
            self._level[instruction] = 1 + max((self._level[i] for i in known), default=-1)
            self._after[instruction] = []
            self._group[instruction] = [instruction]
            for i in known:
                self._after[i].append(instruction)

    def merge(self, a: Instruction, b: Instruction) -> str | None:
        """Make one of two merged sets of instructions, if no path leads from one to the other.

        A direct edge between them is no path: it becomes a part of what they are merged to. The
        reason (DEPENDENT) if there is a path, or if too many instructions would have to be looked
        at to know.
        """
        lower, higher = sorted((a, b), key=self._level.__getitem__)
        raised = self._raise(lower, higher)
        if raised is None:
            return DEPENDENT
        self._level.update(raised)
        small, large = sorted((self._group[lower], self._group[higher]), key=len)
        large += small
        self._group.update((member, large) for member in small)
        return None

    def ordered(self, some: Iterable[Instruction]) -> list[Instruction]:
        """The instructions by level: operands first, merged ones as if they were one."""
        return sorted(some, key=self._level.__getitem__)

    def _raise(self, lower: Instruction, higher: Instruction) -> dict[Instruction, int] | None:
        """The new levels with which `lower` is at the level of `higher`; None if it cannot be."""
        ends, inner = self._group[higher], self._group[lower]
        raised: dict[Instruction, int] = {}
        pending = [(lower, self._level[higher])]
        looked = 0
        while pending:
            instruction, level = pending.pop()
            if raised.get(instruction, self._level[instruction]) >= level:
                continue
            reached_from = self._group[instruction]
            for member in reached_from:
                raised[member] = level
                looked += 1 + len(self._after[member])
                for user in self._after[member]:
                    reached = self._group[user]
                    if reached is ends and reached_from is not inner:
                        return None
                    if reached is not ends and reached is not reached_from:
                        pending.append((user, level + 1))
            if looked > _FARTHEST:
                return None
        return raised
