"""The region of an array that the slices and scalars of a key span: read, and written back.

Runs of neighbours and scalar places are one slice, or one dynamic slice if a place is known only
when the program runs; what strides or goes backwards is cut out of that.
"""

from collections.abc import Callable

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.numpy.indexing.keys import Cut, Key, Part
from tfc.frontend.numpy.indexing.places import from_start
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import PRED, S64


class Region:
    """What a key takes of an array before its arrays choose: all dimensions, each a part of it.

    A scalar leaves a dimension of size one; an array leaves its dimension as it is.
    """

    def __init__(self, key: Key):
        self.key = key
        choosing = key.has_arrays
        self.scalars = {
            d: part for d, part in enumerate(key.parts) if isinstance(part, Tensor) and not choosing
        }
        bounds = [_run(part, size, choosing) for part, size in zip(key.parts, key.dims)]
        self.starts, self.sizes = [b[0] for b in bounds], [b[1] for b in bounds]
        self.inner = [_within(part, size) for part, size in zip(key.parts, self.sizes)]

    @property
    def _backwards(self) -> list[int]:
        return [d for d, cut in enumerate(self.inner) if cut.step < 0]

    @property
    def _strides(self) -> bool:
        return any(not cut.is_run for cut in self.inner)

    def _start_tensors(self) -> list[Tensor]:
        """Where the run begins; scalars counted from the start."""
        return [
            ops.convert(from_start(self.scalars[d], size), S64)
            if d in self.scalars
            else ops.constant(start, S64)
            for d, (start, size) in enumerate(zip(self.starts, self.key.dims))
        ]

    def exists(self) -> Tensor | None:
        """pred: whether the scalar places exist; None if there are none to ask."""
        found: Tensor | None = None
        for d, scalar in self.scalars.items():
            place = from_start(scalar, self.key.dims[d])
            high = full_like(self.key.dims[d] - 1, place)
            inside = operation(
                "and", compare("GE", place, full_like(0, place)), compare("LE", place, high)
            )
            found = inside if found is None else operation("and", found, inside)
        return found

    def _outer(self, tensor: Tensor) -> Tensor:
        if self.scalars:
            return ops.dynamic_slice(tensor, self._start_tensors(), self.sizes)
        return ops.slice_(tensor, [(s, s + n, 1) for s, n in zip(self.starts, self.sizes)])

    def _cut(self, outer: Tensor) -> Tensor:
        bounds = [
            (cut.low, cut.low + max(0, (cut.count - 1) * abs(cut.step) + 1), abs(cut.step))
            if cut.count
            else (0, 0, 1)
            for cut in self.inner
        ]
        return ops.reverse(ops.slice_(outer, bounds), self._backwards)

    def read(self, tensor: Tensor) -> Tensor:
        """The region of an array with the key's dimensions."""
        return self._cut(self._outer(tensor))

    def changed(
        self, tensor: Tensor, change: Callable[[Tensor], Tensor], drop: bool = True
    ) -> Tensor:
        """The array with its region replaced by what `change` makes of it.

        Args:
            drop: whether nothing changes if a scalar place does not exist; else the nearest is
                taken.
        """
        outer = self._outer(tensor)
        inner = self._cut(outer)
        new = ops.reverse(change(inner), self._backwards)
        if not new.size:
            return tensor
        if self._strides:
            new = self._put_between(outer, new)
        exists = self.exists() if drop else None
        if exists is not None:
            new = select(ops.broadcast(exists, new.shape, ()), new, outer)
        if self.sizes == list(tensor.shape):
            return new
        return ops.dynamic_update_slice(tensor, new, self._start_tensors())

    def _put_between(self, outer: Tensor, new: Tensor) -> Tensor:
        """The elements `step` apart replaced, by padding the new ones to their places."""
        padding = []
        for cut, size in zip(self.inner, outer.shape):
            step = abs(cut.step)
            last = cut.low + (cut.count - 1) * step
            padding.append((cut.low, size - 1 - last, step - 1))
        zero = ops.full(0, (), new.array_shape.element_type)
        here = ops.pad(ops.full(True, new.shape, PRED), ops.constant(np.False_), padding)
        return select(here, ops.pad(new, zero, padding), outer)


def _run(part: Part, size: int, choosing: bool) -> tuple[int, int]:
    """(start, size) of the run of elements that a part lies in."""
    if isinstance(part, Cut):
        return (part.low, part.count) if part.is_run else (0, size)
    if isinstance(part, int):
        return part, 1
    return (0, size) if choosing else (0, 1)


def _within(part: Part, size: int) -> Cut:
    """What a part takes of the run that it lies in."""
    if not isinstance(part, Cut):
        return Cut(0, size, 1)
    if not part.is_run:
        return part
    return Cut(0, size, 1) if part.step > 0 else Cut(size - 1, size, -1)
