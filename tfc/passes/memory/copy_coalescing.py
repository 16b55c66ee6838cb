"""Sharing: which values lie in one buffer.

    c = f32[8] tanh(b)     b is not needed any more: b and c are one buffer

Where values touch (see liveness.py), they become one buffer unless they are needed at the same time
elsewhere. Most bytes saved from being copied go first; then what only saves memory, in the order of
the program. A buffer that must lie in a certain place (an argument's or a result's memory) never
becomes one with another such.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tfc.passes.analysis.aliases import Leaf
from tfc.passes.analysis.liveness import CopyPair, LiveIntervals

Place = TypeVar("Place")
LiveInterval = tuple[int, int, int]  # first and last time, and the number of the value


@dataclass(eq=False)
class SharedBuffer(Generic[Place]):
    """The values that share memory, and when they are needed, in order.

    place: where it must lie, if that is said.
    """

    values: list[Leaf]
    intervals: list[LiveInterval]
    place: Place | None = None

    @property
    def first(self) -> int:
        """When the first value is written."""
        return self.intervals[0][0]

    @property
    def last(self) -> int:
        """When the last value is read."""
        return max(end for _, end, _ in self.intervals[-2:])

    def joined(self) -> list[tuple[int, int]]:
        """The intervals of all values as one list, those that touch made one."""
        times: list[tuple[int, int]] = []
        for start, end, _ in self.intervals:
            if times and start <= times[-1][1]:
                times[-1] = (times[-1][0], max(end, times[-1][1]))
            else:
                times.append((start, end))
        return times


@dataclass
class _Sharing(Generic[Place]):
    numbers: dict[Leaf, int]
    buffers: dict[Leaf, SharedBuffer[Place]]
    allowed: set[tuple[int, int, int]] = field(default_factory=set)  # two values, and the time

    def join(self, old: Leaf, new: Leaf) -> None:
        """Put two values into one buffer, if they never get into each other's way."""
        small, large = self.buffers[old], self.buffers[new]
        if small is large or (small.place is not None and large.place is not None):
            return
        if len(small.intervals) > len(large.intervals):
            small, large = large, small
        if any(self._collides(interval, large.intervals) for interval in small.intervals):
            return
        for interval in small.intervals:
            insort(large.intervals, interval)
        large.values += small.values
        large.place = small.place if large.place is None else large.place
        for leaf in small.values:
            self.buffers[leaf] = large

    def _collides(self, interval: LiveInterval, others: list[LiveInterval]) -> bool:
        """True if an interval overlaps another by more than a touch.

        The others overlap each other in single moments at most, so their ends are in order, too.
        """
        start, end, value = interval
        at = max(bisect_left(others, (start,)) - 1, 0)
        for first, last, other in others[at:]:
            if first > end:
                return False
            low, high = max(first, start), min(last, end)
            pair = (min(value, other), max(value, other))
            if low < high or (low == high and (*pair, low) not in self.allowed):
                return True
        return False


def share(
    intervals: Mapping[Leaf, LiveIntervals],
    copy_pairs: Iterable[CopyPair],
    places: Mapping[Leaf, Place],
    together: Iterable[tuple[Leaf, Leaf]] = (),
) -> dict[Leaf, SharedBuffer[Place]]:
    """The buffer of each value.

    Args:
        places: where some must lie.
        together: pairs of values that are in one buffer, whatever is said of the times.
    """
    numbers = {leaf: n for n, leaf in enumerate(intervals)}
    buffers = {
        leaf: SharedBuffer([leaf], [(a, b, numbers[leaf]) for a, b in s.times], places.get(leaf))
        for leaf, s in intervals.items()
    }
    for one, other in together:
        joined = buffers[one]
        joined.values.append(other)
        joined.intervals = sorted(joined.intervals + buffers[other].intervals)
        buffers[other] = joined
    sharing = _Sharing(numbers, buffers)
    ordered = sorted(copy_pairs, key=lambda touch: -touch.gain)
    for touch in ordered:
        pair = sorted((numbers[touch.old], numbers[touch.new]))
        sharing.allowed.add((pair[0], pair[1], touch.time))
    for touch in ordered:
        sharing.join(touch.old, touch.new)
    return buffers
