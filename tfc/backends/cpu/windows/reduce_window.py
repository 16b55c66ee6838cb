"""Reduce-window: a kernel that slides a window over an array.

It accumulates a stretch of neighbouring results side by side, in the result buffer: for each
element of the window it goes over those of them whose window has that element inside the array.
Padding is so left out of the loops rather than tested for.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.cpu.ordered.scans import emit_cumulative, has_loops_around
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.reductions import STRETCH, combination
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.index_maps import Condition, Index, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.windows import window_of

Scalars = Sequence[Scalar]


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


def along(d: WindowDimension, size: int, at: Index, k: Index) -> tuple[Index, list[Condition]]:
    """Where in the array element `k` of window `at` is, and when it is inside, along a dimension.

    Args:
        size: the array's size.
    """
    dilated = at * d.stride + k * d.window_dilation - d.low
    conditions = [Condition(dilated, 0, d.padded(size) - d.low - d.high)]
    if d.base_dilation > 1:
        conditions.append(Condition(dilated % d.base_dilation, 0, 1))
    return d.place(at, k), conditions


def offsets_of(window: Window) -> list[Index]:
    """The variables that say which element of the window."""
    return [variable(f"k{d}", n) for d, n in enumerate(window.size)]


class _ReduceWindow:
    """The loops: outer dimensions, stretch, window, neighbours along the fastest dimension."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer]):
        self.kernel, self.buffers, self.root = kernel, buffers, kernel.root
        count = len(self.root.operands) // 2
        self.operands, self.inits = self.root.operands[:count], self.root.operands[count:]
        self.results = buffers[-count:]
        self.window, self.dims = window_of(self.root), self.operands[0].array_shape.dims
        self.combine, _ = combination(self.root["to_apply"])
        shape = self.results[0].shape
        order = shape.layout.minor_to_major[::-1]
        wide = [d for d in order if shape.dims[d] > 1]
        self.fast = wide[-1] if wide else (order[-1] if order else None)
        self.space = make_space(shape.dims, [[d] for d in order if d != self.fast], "o")
        self.count = 1 if self.fast is None else shape.dims[self.fast]
        self.along = variable("i", self.count)
        at = list(self.space.index)
        if self.fast is not None:
            at[self.fast] = self.along
        self.at = tuple(at)
        self.offsets = offsets_of(self.window)

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body."""

        def body(points: Sequence[Any]) -> None:
            scope = Elements(sources(self.kernel, self.buffers), self.space.bind(points))
            for_loop(0, self.count, STRETCH, lambda low, _: self._stretch(scope, low))

        loops.each(self.space.sizes, body)

    def _stretch(self, scope: Elements, low: Any) -> Scalars:
        high = arith.minsi(arith.addi(low, index_value(STRETCH)), index_value(self.count))
        self._each(scope, low, high, self._start)
        if 0 not in self.dims:
            LoopNest().each(
                self.window.size,
                lambda points: self._element(
                    scope.with_variables(**bind(self.offsets, points)), low, high
                ),
            )
        return []

    def _each(
        self, scope: Elements, low: Any, high: Any, body: Callable[[Elements], Scalars]
    ) -> Scalars:
        """`body` for each neighbour from low to high-1."""
        return for_loop(
            low, high, 1, lambda p, _: body(scope.with_variables(**bind([self.along], [p])))
        )

    def _start(self, scope: Elements) -> Scalars:
        for init, result in zip(self.inits, self.results):
            scope.store(scope.element(init, ()), result, self.at)
        return []

    def _element(self, scope: Elements, low: Any, high: Any) -> None:
        """One element of the window, for all neighbours that have it inside the array."""
        index: list[Index] = []
        around: list[Condition] = []  # the same for all neighbours
        each: list[Condition] = []
        for d, n, at, k in zip(self.window.dimensions, self.dims, self.at, self.offsets):
            place, conditions = along(d, n, at, k)
            index.append(place)
            if len(index) - 1 == self.fast:
                low, high = self._bounds(scope, d, n, k, low, high)
                each += conditions[1:]
            else:
                around += conditions

        def accumulate(inner: Elements) -> Scalars:
            new = [inner.element(o, tuple(index)) for o in self.operands]
            old = [inner.load(r, self.at) for r in self.results]
            for value, result in zip(self.combine(old, new), self.results):
                inner.store(value, result, self.at)
            return []

        def neighbours(inner: Elements) -> Scalars:
            return self._each(inner, low, high, lambda one: guarded(one, each, accumulate))

        guarded(scope, around, neighbours)

    def _bounds(
        self, scope: Elements, d: WindowDimension, size: int, k: Index, low: Any, high: Any
    ) -> tuple[Any, Any]:
        """The neighbours from `low` to `high` whose element `k` is inside."""
        shift = d.low - k * d.window_dilation
        first = (shift + d.stride - 1) // d.stride
        end = (shift + d.padded(size) - d.low - d.high - 1) // d.stride + 1
        if first.high > 0:
            low = arith.maxsi(low, scope.index_value(first))
        if end.low < self.count:
            high = arith.minsi(high, scope.index_value(end))
        return low, high


def guarded(
    scope: Elements,
    conditions: Sequence[Condition],
    body: Callable[[Elements], Scalars],
    otherwise: Scalars = (),
) -> Scalars:
    """The scalars of `body` where all conditions hold, else others."""
    tested = [c for c in conditions if not c.always]
    if any(c.never for c in tested):
        return otherwise
    if not tested:
        return body(scope)
    types = [o.element_type for o in otherwise]
    guard = scf.IfOp(scope.holds(tested), [mlir_type(t) for t in types], has_else=bool(types))
    with ir.InsertionPoint(guard.then_block):
        scf.yield_([s.value for s in body(scope.with_variables())])
    if types:
        with ir.InsertionPoint(guard.else_block):
            scf.yield_([o.value for o in otherwise])
    return [Scalar(r, t) for r, t in zip(guard.results, types)]
