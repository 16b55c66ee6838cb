"""Kernels whose steps along one dimension follow each other: how the CPU goes along.

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
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.ordered.running import Running, Scalars, cumulative, scan
from tfc.backends.mlir.reductions import MOST_UNROLLED, ROWS, neighbours
from tfc.backends.mlir.spaces import access_positions, bind, merge_loops
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index
from tfc.hlo.ir import Instruction


def emit_scan(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A scan whose step is elementwise, into one buffer for each output and each carry."""
    _Walk(scan(kernel, buffers), kernel, buffers).emit(loops)


def emit_cumulative(
    kernel: Kernel, buffers: Sequence[Buffer], dimension: int, reverse: bool, loops: Loops
) -> None:
    """A reduce-window whose windows hold all elements up to their own, or all after it."""
    _Walk(cumulative(kernel, buffers, dimension, reverse), kernel, buffers).emit(loops)


def has_loops_around(root: Instruction, dimension: int) -> bool:
    """Whether a kernel walks along a dimension of its first operand more than once."""
    shape = root.operands[0].array_shape
    order = shape.layout.minor_to_major[::-1]
    return any(shape.dims[d] > 1 for d in order[: order.index(dimension)])


@dataclass(frozen=True)
class _Walk:
    """The steps of a kernel, and the loops that take them."""

    running: Running
    kernel: Kernel
    buffers: Sequence[Buffer]

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body; `loops` run the dimensions around."""
        running, kernel = self.running, self.kernel
        order = running.shape.layout.minor_to_major[::-1]
        outer = order.index(running.dimension)
        parameters = kernel.computation.parameters
        space = merge_loops(
            running.shape.dims, order, [outer, outer + 1],
            lambda index: access_positions(parameters, running.read, index),
        )  # fmt: skip
        around = sum(1 for g in space.groups if order.index(g[0]) < outer)
        at = running.place(space.index)
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
            rows = [Elements(sources(kernel, self.buffers), bind(space.variables[:around], own))
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
            return [self.running.step(p, at, c, first) for p, c in zip(places, carried)]

        def split(flat: Scalars) -> list[Scalars]:
            width = len(flat) // len(rows)
            return [flat[n * width : (n + 1) * width] for n in range(len(rows))]

        def after(point: Any, flat: Scalars) -> Scalars:
            return [c for own in step(point, split(flat), False) for c in own]

        begin = index_value(0)
        first = step(begin, [self.running.start(at_place(row, begin), at) for row in rows], True)
        last = split(for_loop(1, length, 1, after, [c for own in first for c in own]))
        for row, own in zip(rows, last):
            self.running.keep(at_place(row, begin), at, own)

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
            carried = self.running.start(inner, at) if first else self.running.load(inner, at)
            self.running.keep(inner, at, self.running.step(inner, at, carried, first))

        LoopNest().each(sizes, body)
