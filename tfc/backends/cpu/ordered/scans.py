"""Kernels whose steps along one dimension follow each other: scans and cumulative windows.

The dimensions outside of that one in memory are loops around it. Where it is the fastest, the
carried values stay in registers, those of several rows at a time, which do not wait for each other;
else they lie in memory, and each step goes over a whole row, side by side. Threads share the loops
around.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.reductions import MOST_UNROLLED, ROWS, combination, neighbours
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.spaces import access_positions, bind, merge_loops
from tfc.backends.mlir.vectors import index_value
from tfc.errors import UnsupportedError
from tfc.hlo.index_maps import Index
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.mapped import is_pointwise_scan, scan_parts
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

    def emit(
        self, kernel: Kernel, buffers: Sequence[Buffer], read: Instruction, loops: Loops
    ) -> None:
        """Emit the kernel's body.

        Args:
            read: an array of the kernel that the loops walk over.
            loops: run the dimensions around.
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
        outside, together = list(space.sizes[:around]), 1
        side_by_side = any(s != 1 for s in sizes)
        code = len(kernel.computation.instructions) + len(kernel.root["to_apply"].instructions)
        if outside and not side_by_side and code <= MOST_UNROLLED:
            together = gcd(outside[-1], ROWS)
            outside[-1] //= together

        def at_place(scope: Elements, point: Any) -> Elements:
            return scope.with_variables(**bind([place], [point]))

        def in_memory(scope: Elements) -> None:
            def row(point: Any, first: bool) -> Scalars:
                self._over_row(at_place(scope, point), inner, sizes, at, first)
                return []

            row(index_value(0), True)
            for_loop(1, length, 1, lambda point, _: row(point, False))

        def body(points: Sequence[Any]) -> None:
            rows = [Elements(sources(kernel, buffers), bind(space.variables[:around], own))
                    for own in neighbours(space, points, together)]  # fmt: skip
            if side_by_side:
                in_memory(rows[0])
            else:
                self._in_registers(rows, at_place, length, at)

        loops.each(outside, body)

    def _in_registers(
        self,
        rows: Sequence[Elements],
        at_place: Callable[[Elements, Any], Elements],
        length: int,
        at: Indices,
    ) -> None:
        """Go along some rows at once."""

        def step(point: Any, carried: Sequence[Scalars], first: bool) -> list[Scalars]:
            places = [at_place(row, point) for row in rows]
            return [self.step(p, at, c, first) for p, c in zip(places, carried)]

        def split(flat: Scalars) -> list[Scalars]:
            width = len(flat) // len(rows)
            return [flat[n * width : (n + 1) * width] for n in range(len(rows))]

        def after(point: Any, flat: Scalars) -> Scalars:
            return [c for own in step(point, split(flat), False) for c in own]

        begin = index_value(0)
        first = step(begin, [self.start(at_place(row, begin), at) for row in rows], True)
        last = split(for_loop(1, length, 1, after, [c for own in first for c in own]))
        for row, own in zip(rows, last):
            self.keep(at_place(row, begin), at, own)

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


def has_loops_around(root: Instruction, dimension: int) -> bool:
    """Whether a kernel walks along a dimension of its first operand more than once."""
    shape = root.operands[0].array_shape
    order = shape.layout.minor_to_major[::-1]
    return any(shape.dims[d] > 1 for d in order[: order.index(dimension)])


def emit_scan(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
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
    running = Running(shape, dimension, reverse, start, step, load, keep)
    running.emit(kernel, buffers, inputs[0], loops)


def emit_cumulative(
    kernel: Kernel, buffers: Sequence[Buffer], dimension: int, reverse: bool, loops: Loops
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
    running.emit(kernel, buffers, operands[0], loops)
