"""What a part needs of its neighbours: windows that reach over the ends of an operand's parts.

    x cut in two, windows of 3 with a padding of 1:  device 0 has [0 1 2 3] and needs [. 0 1 2 3 4]
                                                     device 1 has [4 5 6 7] and needs [3 4 5 6 7 .]

The elements that neighbours have come by collective-permutes of just them, those beyond the array's
ends are the op's padding, and the op is computed on what is then there, without a padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S32, Shape
from tfc.passes.spmd.emitter import Emitter
from tfc.passes.spmd.logical_mesh import Axes


@dataclass(frozen=True)
class Needed:
    """The elements that the part at place p needs: `length` from p * per + first on.

    low, high: the padding, after dilation, that is left for the op.
    """

    per: int
    first: int
    length: int
    low: int = 0
    high: int = 0

    def ranges(self, size: int, count: int) -> list[tuple[int, int]]:
        """For each place the needed elements that an array of a size has; (0, 0) for none."""
        found = []
        for place in range(count):
            first = place * self.per + self.first
            begin, end = max(first, 0), min(first + self.length, size)
            found.append((begin, end) if begin < end else (0, 0))
        return found

    def hops(self, size: int, count: int) -> tuple[int, int]:
        """How many places before and behind its own what a part needs is, at most: (-1, 1)."""
        part = -(-size // count)
        pairs = [(p, pair) for p, pair in enumerate(self.ranges(size, count)) if pair[1]]
        before = min((begin // part - p for p, (begin, _) in pairs), default=0)
        behind = max(((end - 1) // part - p for p, (_, end) in pairs), default=0)
        return min(before, 0), max(behind, 0)


@dataclass(frozen=True)
class Reach:
    """An operand's dimension of which more than a part is needed.

    The k elements along the factor from p * k on need (k - 1) * step + extent of the dimension from
    p * k * step + offset on, where its elements are `dilation` apart.

    operand, dimension: which, of so many elements (`size`).
    factor: of the result's dimension, or, if it is summed over, of another operand's.
    fill: the operand that stands beyond the ends; None for zero.
    """

    operand: int
    dimension: int
    size: int
    factor: int
    step: int
    offset: int
    extent: int
    dilation: int = 1
    fill: int | None = None

    def needed(self, part: int, count: int) -> Needed | None:
        """What `count` parts of so many elements along the factor need.

        None where parts need different paddings, or elements of others than their neighbours.
        """
        b = self.dilation
        if not part or not self.size or part * self.step % b:
            return None
        span = (part - 1) * self.step + self.extent
        begin, end = -(-self.offset // b), (self.offset + span - 1) // b + 1
        if end <= begin:
            return None
        low = begin * b - self.offset
        high = span - 1 - low - (end - begin - 1) * b
        found = Needed(part * self.step // b, begin, end - begin, low, high)
        before, behind = found.hops(self.size, count)
        return found if before >= -1 and behind <= 1 else None


class Halos:
    """Makes what parts need along one dimension, of `size` elements cut along axes."""

    def __init__(self, emitter: Emitter, dimension: int, size: int, axes: Axes):
        self.emitter, self.dimension, self.size, self.axes = emitter, dimension, size, axes
        self.count = emitter.mesh.count(axes)
        self.part = emitter.mesh.part(size, axes)

    def made(self, x: Instruction, needed: Needed, value: Instruction) -> Instruction:
        """The elements needed of an array's part, with a scalar beyond the array's ends."""
        before, behind = needed.hops(self.size, self.count)
        ranges = list(enumerate(needed.ranges(self.size, self.count)))
        start, pieces = before * self.part, [x]
        if before:
            kept = min(begin - (p - 1) * self.part for p, (begin, end) in ranges if end)
            start += kept
            pieces.insert(0, self._from(x, before, kept, self.part))
        if behind:
            ends = [end - (p + 1) * self.part for p, (_, end) in ranges if end]
            pieces.append(self._from(x, behind, 0, max(ends)))
        joined = x
        if len(pieces) > 1:
            joined = builder.instruction("concatenate", pieces, dimensions=(self.dimension,))
        offsets = [p * needed.per + needed.first - p * self.part - start for p, _ in ranges]
        made = self._window(joined, offsets, needed.length, value)
        last = (self.count - 1) * needed.per + needed.first + needed.length
        if needed.first >= 0 and last <= self.size:
            return made
        return self._masked(made, needed, value)

    def _bounds(self, x: Instruction, begin: int, end: int) -> Instruction:
        dims = x.array_shape.dims
        bounds = [(0, n, 1) for n in dims]
        bounds[self.dimension] = begin, end, 1
        return builder.instruction("slice", [x], slice=tuple(bounds))

    def _from(self, x: Instruction, hop: int, begin: int, end: int) -> Instruction:
        """Some elements of the part so many places behind; zeros where there is none."""
        groups = self.emitter.mesh.groups(self.axes)
        pairs = tuple(
            (group[p + hop], group[p])
            for group in groups
            for p in range(self.count)
            if 0 <= p + hop < self.count
        )
        return self.emitter.made(builder.instruction(
            "collective-permute", [self._bounds(x, begin, end)], channel_id=1,
            source_target_pairs=pairs,
        ))  # fmt: skip

    def _window(
        self, x: Instruction, offsets: Sequence[int], length: int, value: Instruction
    ) -> Instruction:
        """So many elements from each place's offset on, which may lie beyond the ends."""
        dims = x.array_shape.dims
        low = max(0, -min(offsets))
        high = max(0, max(offsets) + length - dims[self.dimension])
        if low or high:
            padding = tuple(
                (low, high, 0) if d == self.dimension else (0, 0, 0) for d in range(len(dims))
            )
            x = builder.instruction("pad", [x, value], padding=padding)
        if len(set(offsets)) == 1:
            return self._bounds(x, offsets[0] + low, offsets[0] + low + length)
        sizes = list(dims)
        sizes[self.dimension] = length
        starts = [builder.constant(0, S32)] * len(dims)
        starts[self.dimension] = self.emitter.by_place(self.axes, np.array(offsets) + low)
        return builder.instruction("dynamic-slice", [x, *starts], dynamic_slice_sizes=tuple(sizes))

    def _masked(self, x: Instruction, needed: Needed, value: Instruction) -> Instruction:
        """The elements, with a scalar for those beyond the array's ends."""
        shape = x.array_shape
        first = np.arange(self.count) * needed.per + needed.first
        at = builder.broadcast(self.emitter.by_place(self.axes, first), shape.dims, ())
        at = builder.binary("add", builder.iota(Shape(S32, shape.dims), self.dimension), at)
        is_behind = builder.compare("GE", at, builder.full(0, at.array_shape))
        is_before = builder.compare("LT", at, builder.full(self.size, at.array_shape))
        is_inside = builder.binary("and", is_behind, is_before)
        return builder.instruction(
            "select", [is_inside, x, builder.broadcast(value, shape.dims, ())]
        )
