"""Windows that slide: a thread for each result goes through all that its window, or windows, hold.

In select-and-scatter an element asks each window that it lies in, in their order, whether it is
the one chosen there: so several windows that choose one element need not wait for each other.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.ordered.scans import running_parts
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.accumulations import combination
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type, select
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import Kernel, nest, sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.spaces import make_space
from tfc.backends.mlir.windows import Scalars, along, guarded
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.index_maps import Condition, Index, variable
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import PRED, S64


def reduce_window_parts(kernel: Kernel) -> list[Part]:
    """One thread for each result, but for windows that hold all elements up to their own."""
    return running_parts(kernel) or [Part(_emit_reduce_window, kernel.results[0].size)]


def _emit_reduce_window(work: Work) -> None:
    root, count = work.root, len(work.root.operands) // 2
    operands, inits, results = root.operands[:count], root.operands[count:], work.buffers[-count:]
    combine, _ = combination(root["to_apply"])
    shape, dims = results[0].shape, operands[0].array_shape.dims
    space = make_space(shape.dims, [shape.layout.minor_to_major[::-1]], "o")
    window = window_of(root).dimensions
    offsets, places, conditions = _walk_window(window, dims, space.index)

    def body(points: Sequence[Any]) -> None:
        scope = Elements(sources(work.kernel, work.buffers), space.bind(points))

        def step(inner: Elements, totals: Scalars) -> Scalars:
            def seen(here: Elements) -> Scalars:
                return combine(totals, [here.element(o, places) for o in operands])

            return guarded(inner, conditions, seen, totals)

        start = [scope.element(i, ()) for i in inits]
        totals = start
        if 0 not in dims:
            totals = nest(scope, offsets, [d.size for d in window], start, step)
        for total, result in zip(totals, results):
            scope.store(total, result, space.index)

    Grid().each(space.sizes, body)


def _walk_window(
    window: Sequence[WindowDimension], dims: Sequence[int], at: Indices, prefix: str = "k"
) -> tuple[list[Index], Indices, list[Condition]]:
    """The variables that go through the window `at`, the place in the array, and when it is in."""
    offsets = [variable(f"{prefix}{d}", w.size) for d, w in enumerate(window)]
    found = [along(w, n, i, k) for w, n, i, k in zip(window, dims, at, offsets)]
    return offsets, tuple(place for place, _ in found), [c for _, some in found for c in some]


def select_and_scatter_parts(kernel: Kernel) -> list[Part]:
    """One thread for each element of the result."""
    return [Part(_emit_select_and_scatter, kernel.results[0].size)]


def _emit_select_and_scatter(work: Work) -> None:
    root, result = work.root, work.buffers[-1]
    operand, source, init = root.operands
    dims, counts = operand.array_shape.dims, source.array_shape.dims
    window = window_of(root).dimensions
    space = make_space(dims, [result.shape.layout.minor_to_major[::-1]], "o")
    from_element = [w.transposed(n, c) for w, n, c in zip(window, dims, counts)]
    windows, at, is_window = _walk_window(from_element, counts, space.index, "w")
    offsets, places, inside = _walk_window(window, dims, at)
    sizes = [w.size for w in window]
    element_type = operand.array_shape.element_type

    def look(scope: Elements, best: Scalars) -> Scalars:
        """(found, value, position) with one more element of the window seen."""

        def seen(inner: Elements) -> Scalars:
            found, old, position = best
            new = inner.element(operand, places)
            (wins,) = emit_scalar_computation(root["select"], [old, new])
            keeps = found & wins
            here = _number(inner, result.position(places))
            chosen = [select(keeps, old, new), select(keeps, position, here)]
            return [constant(PRED, True), *chosen]

        return guarded(scope, inside, seen, best)

    def body(points: Sequence[Any]) -> None:
        scope = Elements(sources(work.kernel, work.buffers), space.bind(points))

        def ask(around: Elements, totals: Scalars) -> Scalars:
            def of_window(inner: Elements) -> Scalars:
                nothing = [constant(PRED, False), constant(element_type, 0), constant(S64, -1)]
                _, _, position = nest(inner, offsets, sizes, nothing, look)
                own = _number(inner, result.position(space.index))
                given = inner.element(source, at)
                (new,) = emit_scalar_computation(root["scatter"], [totals[0], given])
                same = arith.cmpi(arith.CmpIPredicate.eq, position.value, own.value)
                return [select(Scalar(same, PRED), new, totals[0])]

            return guarded(around, is_window, of_window, totals)

        start = [scope.element(init, ())]
        totals = nest(scope, windows, sizes, start, ask) if 0 not in counts else start
        scope.store(totals[0], result, space.index)

    Grid().each(space.sizes, body)


def _number(scope: Elements, index: Index) -> Scalar:
    return Scalar(arith.index_cast(mlir_type(S64), scope.index_value(index)), S64)
