"""Kernels whose steps along one dimension follow each other: scans and cumulative windows.

The dimensions outside of that one in memory are loops around it. Where it is the fastest, the
carried values stay in registers; else they lie in memory, and each step goes over a whole row, side
by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import LoopNest, for_loop, index_constant
from tfc.backends.mlir.reductions import combination
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.spaces import access_positions, bind, merge_loops
from tfc.backends.mlir.value import Scalar
from tfc.errors import UnsupportedError
from tfc.hlo.indexing import Index
from tfc.hlo.ir import Instruction
from tfc.hlo.mapped import is_pointwise_scan, scan_parts
from tfc.hlo.shape import Shape

Scalars = Sequence[Scalar]


@dataclass(frozen=True)
class Running:
    """What a kernel does at each place, given by functions of (scope, index of the array …).

    shape: the array that is walked over, in the layout that says in which order.
    dimension, reverse: along which dimension, and whether from its end.
    start: the carried values before the first step.
    step: (scope, index, carried, whether it is the first) -> carried; stores what a step gives.
    load: the carried values that the step before left in memory.
    keep: leave them there.
    """

    shape: Shape
    dimension: int
    reverse: bool
    start: Callable[[Elements, Indices], Scalars]
    step: Callable[[Elements, Indices, Scalars, bool], Scalars]
    load: Callable[[Elements, Indices], Scalars]
    keep: Callable[[Elements, Indices, Scalars], None]

    def emit(self, kernel: Kernel, buffers: Sequence[Buffer], read: Instruction) -> None:
        """Emit the kernel's body.

        Args:
            read: an array of the kernel that the loops walk over.
        """
        order = self.shape.layout.minor_to_major[::-1]
        outer = order.index(self.dimension)
        parameters = kernel.computation.parameters
        space = merge_loops(
            self.shape.dims, order, [outer, outer + 1],
            lambda index: access_positions(parameters, read, index),
        )  # fmt: skip
        around = sum(1 for g in space.groups if order.index(g[0]) < outer)
        index = list(space.index)
        if self.reverse:
            index[self.dimension] = self.shape.dims[self.dimension] - 1 - index[self.dimension]
        at = tuple(index)
        place, inner = space.variables[around], space.variables[around + 1 :]
        length, sizes = space.sizes[around], space.sizes[around + 1 :]

        def at_place(scope: Elements, point: Any) -> Elements:
            return scope.with_variables(**bind([place], [point]))

        def in_registers(scope: Elements) -> None:
            first = at_place(scope, index_constant(0))
            carried = self.step(first, at, self.start(first, at), True)
            last = for_loop(
                1, length, 1, lambda p, c: self.step(at_place(scope, p), at, c, False), carried
            )
            self.keep(first, at, last)

        def in_memory(scope: Elements) -> None:
            self._over_row(at_place(scope, index_constant(0)), inner, sizes, at, first=True)

            def row(point: Any, _: Scalars) -> Scalars:
                self._over_row(at_place(scope, point), inner, sizes, at, first=False)
                return []

            for_loop(1, length, 1, row)

        def body(points: Sequence[Any]) -> None:
            scope = Elements(sources(kernel, buffers), bind(space.variables[:around], points))
            in_memory(scope) if any(s != 1 for s in sizes) else in_registers(scope)

        LoopNest().each(space.sizes[:around], body)

    def _over_row(
        self,
        scope: Elements,
        variables: Sequence[Index],
        sizes: Sequence[int],
        at: Indices,
        first: bool,
    ) -> None:
        def body(points: Sequence[Any]) -> None:
            inner = scope.with_variables(**bind(variables, points))
            carried = self.start(inner, at) if first else self.load(inner, at)
            self.keep(inner, at, self.step(inner, at, carried, first))

        LoopNest().each(sizes, body)


def emit_scan(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    """A scan whose step is elementwise, into one buffer for each output and each carry.

    Raises:
        UnsupportedError: the step is not.
    """
    root = kernel.root
    if not is_pointwise_scan(root):
        raise UnsupportedError(
            "the CPU backend needs the pass expand for a scan whose step is not elementwise"
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
    Running(shape, dimension, reverse, start, step, load, keep).emit(kernel, buffers, inputs[0])


def emit_cumulative(
    kernel: Kernel, buffers: Sequence[Buffer], dimension: int, reverse: bool
) -> None:
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

    running = Running(results[0].shape, dimension, reverse, start, step, load, keep)
    running.emit(kernel, buffers, operands[0])
