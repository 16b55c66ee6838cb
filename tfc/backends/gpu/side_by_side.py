"""Equal kernels that do not need each other as one launch, whose blocks run side by side.

    q = dot_0(x, wq)                        dot_0_x3(x, wq, q, x, wk, k, x, wv, v)
    k = dot_0(x, wk)               -->          block b is one of the kernel number b / blocks,
    v = dot_0(x, wv)                            and there the block number b mod blocks

One launch takes less than several, and the multiprocessors that the few blocks of one kernel leave
idle have those of the others. The queries, keys and values of an attention are such kernels, the
gradients of their weights, and the updates of a network's weights.

A kernel goes to where an equal one runs before, if nothing in between needs or changes what it
writes, or changes what it reads. It stays where it is if the merged one would write more than the
level-2 cache keeps for those who read it next.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tfc.backends.gpu.steps import Branch, Copy, Launch, Loop, Repeat, Step, Steps
from tfc.hlo.shape import leaves
from tfc.passes.memory.buffers import Slice

_MOST_TOGETHER = 8
_MOST_ARGUMENTS = 4096 - 256  # bytes that every driver takes, without what alignment may add
_MOST_BLOCKS = (1 << 31) - 1
_MOST_WRITTEN = 8 << 20  # bytes
_WINDOW = 64  # steps that a kernel goes past, at most
_POINTER_BYTES, _DESCRIPTOR_BYTES = 8, 128


class SideBySide:
    """Merges launches.

    functions: the functions that run several kernels: that of one of them, and how many.

    Args:
        is_whole: whether a launch is all that its kernel does, and writes nothing but its results.
    """

    def __init__(self, is_whole: Callable[[Launch], bool]):
        self.is_whole = is_whole
        self.functions: dict[str, tuple[str, int]] = {}

    def steps(self, steps: Steps) -> Steps:
        """The steps, with equal kernels merged; also in those of loops and branches."""
        groups: list[list[Step]] = []
        for step in steps:
            group = self._group(step, groups) if isinstance(step, Launch) else None
            if group is None:
                groups.append([self._within(step)])
            else:
                group.append(step)
        return tuple(self._one(group) for group in groups)

    def _within(self, step: Step) -> Step:
        match step:
            case Loop():
                return Loop(self.steps(step.condition), step.selector, self.steps(step.body))
            case Repeat():
                return Repeat(self.steps(step.body), step.count)
            case Branch():
                return replace(step, branches=tuple(self.steps(b) for b in step.branches))
            case _:
                return step

    def _group(self, launch: Launch, groups: Sequence[list[Step]]) -> list[Step] | None:
        """The steps before that a launch may join; None if it stays where it is."""
        window = groups[-_WINDOW:]
        equal = [group for group in window if self._fits(launch, group)]
        if not equal or not self.is_whole(launch):
            return None
        for group in reversed(window):
            if not all(self._independent(launch, other) for other in group):
                return None
            if any(group is other for other in equal):
                return group
        return None

    def _fits(self, launch: Launch, group: Sequence[Step]) -> bool:
        """Whether a launch is equal to those of a group, which has room for it."""
        first, count = group[0], len(group) + 1
        if not isinstance(first, Launch) or first.function != launch.function:
            return False
        size = _POINTER_BYTES * len(launch.buffers) + _DESCRIPTOR_BYTES * len(launch.boxes)
        written = sum(place.size for place in _results(launch))
        return (
            count <= _MOST_TOGETHER
            and count * size <= _MOST_ARGUMENTS
            and count * launch.blocks[0] <= _MOST_BLOCKS
            and count * written <= _MOST_WRITTEN
        )

    def _independent(self, launch: Launch, other: Step) -> bool:
        """Whether a launch may come before a step as well as after it."""
        match other:
            case Copy():
                read, written = [other.source], [other.target]
            case Launch() if self.is_whole(other):
                read, written = list(other.buffers), _results(other)
            case Launch():
                read = written = list(other.buffers)
            case _:  # what a host does, a loop or a branch
                return False
        own = _results(launch)
        return not (_meet(own, read) or _meet(own, written) or _meet(launch.buffers, written))

    def _one(self, group: Sequence[Step]) -> Step:
        """The step that does what several do."""
        first, *others = group
        if not others:
            return first
        launches = [step for step in group if isinstance(step, Launch)]
        one, count = launches[0], len(launches)
        sets = [launch.buffers for launch in launches]
        name = f"{one.function}_x{count}"
        self.functions[name] = one.function, count
        return replace(
            one,
            function=name,
            buffers=tuple(place for buffers in sets for place in buffers),
            blocks=(count * one.blocks[0], *one.blocks[1:]),
            boxes=tuple(
                (number + turn * len(one.buffers), boxes)
                for turn in range(count)
                for number, boxes in one.boxes
            ),
            beside=tuple(launch.instruction for launch in launches[1:]),
        )


def _results(launch: Launch) -> list[Slice]:
    """What a whole kernel writes: its last buffers."""
    return list(launch.buffers[-sum(1 for _ in leaves(launch.instruction.shape)) :])


def _meet(some: Sequence[Slice], others: Sequence[Slice]) -> bool:
    """Whether any of some buffers has a byte with any of others."""
    return any(_overlap(one, other) for one in some for other in others)


def _overlap(one: Slice, other: Slice) -> bool:
    if (one.space, one.index) != (other.space, other.index):
        return False
    end = min(one.offset + one.size, other.offset + other.size)
    return max(one.offset, other.offset) < end
