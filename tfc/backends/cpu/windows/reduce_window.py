"""Reduce-window: a kernel that slides a window over an array.

It accumulates a stretch of neighbouring results side by side, in the result buffer: for each
element of the window it goes over those of them whose window has that element inside the array.
Padding is so left out of the loops rather than tested for.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.cpu.ordered.scans import emit_cumulative, has_loops_around
from tfc.backends.cpu.windows.sliding import SlidingWindows
from tfc.backends.mlir.accumulations import combination
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.reductions import STRETCH
from tfc.backends.mlir.spaces import bind
from tfc.backends.mlir.vectors import index_value
from tfc.backends.mlir.windows import Scalars, bounds_inside, guarded
from tfc.hlo.index_maps import Condition
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.windows import window_of


def is_one_walk(root: Instruction) -> bool:
    """True for a reduce-window whose windows have all that came before, as those of a running sum
    have, with no dimension around."""
    running = window_of(root).cumulative(root.operands[0].array_shape.dims)
    return running is not None and not has_loops_around(root, running[0])


def emit_reduce_window(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A reduce-window into one result buffer for each of its operands.

    Args:
        loops: run the outer dimensions.
    """
    running = window_of(kernel.root).cumulative(kernel.root.operands[0].array_shape.dims)
    if running is not None:
        emit_cumulative(kernel, buffers, *running, loops)
    else:
        _ReduceWindow(kernel, buffers).emit(loops)


class _ReduceWindow:
    """The loops: outer dimensions, stretch, window, neighbours along the fastest dimension."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer]):
        self.kernel, self.buffers, self.root = kernel, buffers, kernel.root
        count = len(self.root.operands) // 2
        self.operands, self.inits = self.root.operands[:count], self.root.operands[count:]
        self.results = buffers[-count:]
        self.dims = self.operands[0].array_shape.dims
        self.combine, _ = combination(self.root["to_apply"])
        shape = self.results[0].shape
        order = shape.layout.minor_to_major[::-1]
        wide = [d for d in order if shape.dims[d] > 1]
        self.fast = wide[-1] if wide else (order[-1] if order else None)
        self.count = 1 if self.fast is None else shape.dims[self.fast]
        self.windows = SlidingWindows(window_of(self.root), self.dims, shape.dims, order, self.fast)

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body."""

        def body(points: Sequence[Any]) -> None:
            scope = Elements(sources(self.kernel, self.buffers), self.windows.space.bind(points))
            for_loop(0, self.count, STRETCH, lambda low, _: self._stretch(scope, low))

        loops.each(self.windows.space.sizes, body)

    def _stretch(self, scope: Elements, low: Any) -> Scalars:
        high = arith.minsi(arith.addi(low, index_value(STRETCH)), index_value(self.count))
        self._each(scope, low, high, self._start)
        if 0 not in self.dims:
            LoopNest().each(
                self.windows.window.size,
                lambda points: self._element(
                    scope.with_variables(**bind(self.windows.offsets, points)), low, high
                ),
            )
        return []

    def _each(
        self, scope: Elements, low: Any, high: Any, body: Callable[[Elements], Scalars]
    ) -> Scalars:
        """`body` for each neighbour from low to high-1."""
        neighbour = [self.windows.neighbour]
        return for_loop(
            low, high, 1, lambda p, _: body(scope.with_variables(**bind(neighbour, [p])))
        )

    def _start(self, scope: Elements) -> Scalars:
        for init, result in zip(self.inits, self.results):
            scope.store(scope.element(init, ()), result, self.windows.at)
        return []

    def _element(self, scope: Elements, low: Any, high: Any) -> None:
        """One element of the window, for all neighbours that have it inside the array."""
        around: list[Condition] = []  # the same for all neighbours
        each: list[Condition] = []
        for d, conditions in enumerate(self.windows.conditions):
            if d == self.fast:
                low, high = self._bounds(scope, d, low, high)
                each = conditions[1:]
            else:
                around += conditions

        def accumulate(inner: Elements) -> Scalars:
            new = [inner.element(o, self.windows.index) for o in self.operands]
            old = [inner.load(r, self.windows.at) for r in self.results]
            for value, result in zip(self.combine(old, new), self.results):
                inner.store(value, result, self.windows.at)
            return []

        def neighbours(inner: Elements) -> Scalars:
            return self._each(inner, low, high, lambda one: guarded(one, each, accumulate))

        guarded(scope, around, neighbours)

    def _bounds(self, scope: Elements, fast: int, low: Any, high: Any) -> tuple[Any, Any]:
        """The neighbours from `low` to `high` whose element of the window is inside."""
        d = self.windows.window.dimensions[fast]
        start = scope.index_value(self.windows.offsets[fast] * d.window_dilation - d.low)
        size = d.dilated(self.dims[fast])
        return bounds_inside(start, d.stride, size, (low, high), d.reach(self.count))
