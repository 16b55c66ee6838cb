"""Steps along one dimension that follow each other, in scans and cumulative windows.

What a step does is said here, once; how a backend goes along is its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.accumulations import combination
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.mapped import is_pointwise_scan, scan_parts
from tfc.hlo.shape import Shape

Scalars = Sequence[Scalar]


@dataclass(frozen=True)
class Running:
    """What a kernel does at each place, given by functions of (scope, index of the array …).

    read: an array of the kernel that is read on the way.
    shape: the array that is walked over, in the layout that says in which order.
    dimension, reverse: along which dimension, and whether from its end.
    start: the carried values before the first step.
    step: (scope, index, carried, whether it is the first) -> carried; stores what a step gives.
    load: the carried values that the step before left in memory.
    keep: leave them there.
    """

    read: Instruction
    shape: Shape
    dimension: int
    reverse: bool
    start: Callable[[Elements, Indices], Scalars]
    step: Callable[[Elements, Indices, Scalars, bool], Scalars]
    load: Callable[[Elements, Indices], Scalars]
    keep: Callable[[Elements, Indices, Scalars], None]

    def place(self, index: Indices) -> Indices:
        """Where in the array a step is, given its number as the index along the dimension."""
        if not self.reverse:
            return tuple(index)
        last = self.shape.dims[self.dimension] - 1
        return tuple(last - i if d == self.dimension else i for d, i in enumerate(index))


def scan(kernel: Kernel, buffers: Sequence[Buffer]) -> Running:
    """A scan whose step is elementwise, into one buffer for each output and each carry.

    Raises:
        UnsupportedError: the step is not.
    """
    root = kernel.root
    if not is_pointwise_scan(root):
        raise UnsupportedError(
            "a kernel needs the pass expand for a scan whose step is not elementwise"
        )
    count, outputs, dimension = scan_parts(root)
    inputs, inits = root.operands[:count], root.operands[count:]
    results = buffers[len(kernel.operands) :]
    stacked, carries = results[:outputs], results[outputs:]

    def inside(at: Indices) -> Indices:
        return at[:dimension] + at[dimension + 1 :]

    def start(scope: Elements, at: Indices) -> Scalars:
        return [scope.element(i, inside(at)) for i in inits]

    def step(scope: Elements, at: Indices, carried: Scalars, _: bool) -> Scalars:
        here = [scope.element(i, at) for i in inputs]
        made = emit_scalar_computation(root["to_apply"], [*here, *carried])
        for value, result in zip(made, stacked):
            scope.store(value, result, at)
        return made[outputs:]

    def load(scope: Elements, at: Indices) -> Scalars:
        return [scope.load(c, inside(at)) for c in carries]

    def keep(scope: Elements, at: Indices, carried: Scalars) -> None:
        for value, carry in zip(carried, carries):
            scope.store(value, carry, inside(at))

    shape = stacked[0].shape if stacked else inputs[0].array_shape
    reverse = root.attributes.get("is_reverse", False)
    return Running(inputs[0], shape, dimension, reverse, start, step, load, keep)


def cumulative(kernel: Kernel, buffers: Sequence[Buffer], dimension: int, reverse: bool) -> Running:
    """A reduce-window whose windows hold all elements up to their own, or all after it."""
    root = kernel.root
    count = len(root.operands) // 2
    operands, inits, results = root.operands[:count], root.operands[count:], buffers[-count:]
    combine, _ = combination(root["to_apply"])

    def start(scope: Elements, _: Indices) -> Scalars:
        return [scope.element(i, ()) for i in inits]

    def step(scope: Elements, at: Indices, carried: Scalars, first: bool) -> Scalars:
        here = [scope.element(o, at) for o in operands]
        # In reverse the new element stands on the left: all stay in the order of the array.
        made = combine(here, carried) if reverse and not first else combine(carried, here)
        for value, result in zip(made, results):
            scope.store(value, result, at)
        return made

    def load(scope: Elements, at: Indices) -> Scalars:
        before = at[dimension] + (1 if reverse else -1)
        return [scope.load(r, (*at[:dimension], before, *at[dimension + 1 :])) for r in results]

    def keep(*_: Any) -> None:
        """The step has stored it."""

    shape = results[0].shape
    return Running(operands[0], shape, dimension, reverse, start, step, load, keep)
