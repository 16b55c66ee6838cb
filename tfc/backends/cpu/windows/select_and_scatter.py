"""Select-and-scatter: a kernel that visits windows in order, since several may choose one place.

    before                  max-pool's gradient: of each window, where its greatest element is
    for each window         gets the element of the source that belongs to the window
      for each element      is it the one?
      result[place of the one] += source[window]

Where windows do not reach along the fastest dimension in memory (channels), a stretch of neighbours
is looked at side by side; what each has found so far lies on the stack, without branches.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.cpu.windows.sliding import SlidingWindows
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type, select
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, nest, sources, store_elements
from tfc.backends.mlir.loops import for_each
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.scratch import load_at, stack_memory, store_at
from tfc.backends.mlir.spaces import bind
from tfc.backends.mlir.vectors import index_value
from tfc.backends.mlir.windows import Scalars, guarded
from tfc.hlo.index_maps import constant as index_of
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import PRED, S32, S64, Shape

NEIGHBOURS = 64  # what is known of them stays in the first-level cache
_FEWEST = 8


def emit_select_and_scatter(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    """The init value everywhere, then one element of the source after the other."""
    root, result = kernel.root, buffers[-1]
    store_elements(kernel, buffers, root.operands[2], result, LoopNest())
    if 0 in root.operands[0].array_shape.dims:
        return
    fast = _fast_dimension(root, result.shape)
    if fast is None:
        _one_by_one(kernel, buffers)
    else:
        _SideBySide(kernel, buffers, fast).emit()


def _fast_dimension(root: Instruction, result: Shape) -> int | None:
    """The fastest dimension in memory of all arrays, if windows do not reach along it."""
    operand, source = (o.array_shape for o in root.operands[:2])
    fastest = {s.layout.minor_to_major[:1] for s in (operand, source, result)}
    if len(fastest) > 1 or operand.rank == 0:
        return None
    ((fast,),) = fastest
    window = window_of(root).dimensions[fast]
    alone = window.size == 1 and operand.dims[fast] == source.dims[fast]
    plain = (window.stride, window.low, window.high, window.base_dilation) == (1, 0, 0, 1)
    return fast if alone and plain and operand.dims[fast] >= _FEWEST else None


def _windows(root: Instruction, fast: int | None = None) -> SlidingWindows:
    """The windows in row-major order, in which they are to be visited."""
    dims, counts = (o.array_shape.dims for o in root.operands[:2])
    return SlidingWindows(window_of(root), dims, counts, range(len(counts)), fast)


class _SideBySide:
    """Windows for a stretch of neighbours: what each was given, has found, and where."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer], fast: int):
        self.kernel, self.buffers, self.root, self.result = (
            kernel,
            buffers,
            kernel.root,
            buffers[-1],
        )
        self.windows = _windows(kernel.root, fast)
        self.count = kernel.root.operands[0].array_shape.dims[fast]
        sizes = self.windows.window.size
        self.number = index_of(0)  # which element of the window
        for d, offset in enumerate(self.windows.offsets):
            self.number = self.number + offset * prod(sizes[d + 1 :])
        self.element_type = self.result.shape.element_type
        types = (self.element_type, self.element_type, S32)
        shapes = [Shape(t, (NEIGHBOURS,)) for t in types]
        self.given, self.values, self.chosen = (Buffer(stack_memory(s), s) for s in shapes)

    def emit(self) -> None:
        """Emit the kernel's body."""

        def visit(points: Sequence[Any]) -> None:
            outer = self.windows.space.bind(points)
            scope = Elements(sources(self.kernel, self.buffers), outer)
            stretches = -(-self.count // NEIGHBOURS)
            LoopNest().each([stretches], lambda part: self._stretch(scope, part[0]))

        LoopNest().each(self.windows.space.sizes, visit)

    def _stretch(self, scope: Elements, part: Any) -> None:
        low = arith.muli(part, index_value(NEIGHBOURS))
        high = arith.addi(low, index_value(NEIGHBOURS))
        high = arith.minsi(high, index_value(self.count))

        def neighbours(around: Elements, visit: Callable[[Elements, Any], None]) -> Scalars:
            def one(place: Any) -> None:
                inner = around.with_variables(**bind([self.windows.neighbour], [place]))
                visit(inner, arith.subi(place, low))

            for_each(low, high, one)
            return []

        def elements(visit: Callable[[Elements, Any, Scalar], None]) -> None:
            """Go over the elements of the window that are inside, and over the neighbours."""

            def element(points: Sequence[Any]) -> None:
                def inside(around: Elements) -> Scalars:
                    number = arith.index_cast(mlir_type(S32), around.index_value(self.number))
                    here = Scalar(number, S32)
                    return neighbours(around, lambda inner, lane: visit(inner, lane, here))

                inner = scope.with_variables(**bind(self.windows.offsets, points))
                guarded(inner, self.windows.every_condition, inside)

            LoopNest().each(self.windows.window.size, element)

        neighbours(scope, self._begin)
        elements(self._look)
        elements(self._scatter)

    def _begin(self, scope: Elements, lane: Any) -> None:
        store_at(scope.element(self.root.operands[1], self.windows.at), self.given, lane)
        store_at(constant(self.element_type, 0), self.values, lane)
        store_at(constant(S32, -1), self.chosen, lane)

    def _look(self, scope: Elements, lane: Any, here: Scalar) -> None:
        """See one more element of the window."""
        old, best = load_at(self.values, lane), load_at(self.chosen, lane)
        new = scope.element(self.root.operands[0], self.windows.index)
        (wins,) = emit_scalar_computation(self.root["select"], [old, new])
        none = arith.cmpi(arith.CmpIPredicate.slt, best.value, constant(S32, 0).value)
        takes = Scalar(none, PRED) | ~wins
        store_at(select(takes, new, old), self.values, lane)
        store_at(select(takes, here, best), self.chosen, lane)

    def _scatter(self, scope: Elements, lane: Any, here: Scalar) -> None:
        """Add what is given where this element of the window was chosen."""
        old, given = scope.load(self.result, self.windows.index), load_at(self.given, lane)
        (new,) = emit_scalar_computation(self.root["scatter"], [old, given])
        best = load_at(self.chosen, lane).value
        chosen = Scalar(arith.cmpi(arith.CmpIPredicate.eq, best, here.value), PRED)
        scope.store(select(chosen, new, old), self.result, self.windows.index)


def _one_by_one(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    root, result = kernel.root, buffers[-1]
    operand, source, _ = root.operands
    windows = _windows(root)
    element_type = result.shape.element_type
    flat = Buffer(result.memref, Shape(element_type, (result.shape.storage_size,)))
    target = (variable("selected", result.shape.storage_size),)

    def look(scope: Elements, best: Scalars) -> Scalars:
        """(found, value, position) with one more element of the window seen."""

        def seen(inner: Elements) -> Scalars:
            found, old, position = best
            new = inner.element(operand, windows.index)
            (wins,) = emit_scalar_computation(root["select"], [old, new])
            keeps = found & wins
            place = inner.index_value(result.position(windows.index))
            here = arith.index_cast(mlir_type(S64), place)
            return [
                constant(PRED, True),
                select(keeps, old, new),
                select(keeps, position, Scalar(here, S64)),
            ]

        return guarded(scope, windows.every_condition, seen, best)

    def visit(points: Sequence[Any]) -> None:
        scope = Elements(sources(kernel, buffers), windows.space.bind(points))
        nothing = [constant(PRED, False), constant(element_type, 0), constant(S64, 0)]
        found, _, position = nest(scope, windows.offsets, windows.window.size, nothing, look)
        guard = scf.IfOp(found.value)
        with ir.InsertionPoint(guard.then_block):
            place = arith.index_cast(ir.IndexType.get(), position.value)
            inner = scope.with_variables(**bind(target, [place]))
            old, given = inner.load(flat, target), inner.element(source, windows.at)
            (new,) = emit_scalar_computation(root["scatter"], [old, given])
            inner.store(new, flat, target)
            scf.yield_([])

    LoopNest().each(windows.space.sizes, visit)
