"""Windows that slide: a thread goes through all that its result's window, or windows, hold.

Where windows leave the innermost dimension alone, as they do images' features, a thread has several
neighbours along it, which lie in windows alike: it reads and stores 16 bytes of them at once.

In select-and-scatter an element asks each window that it lies in, in their order, whether it is
the one chosen there: so several windows that choose one element need not wait for each other.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.groups import Group
from tfc.backends.gpu.movement.neighbours import together
from tfc.backends.gpu.ordered.scans import running_parts
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.accumulations import combination
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type, select
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import Kernel, nest, sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.spaces import Space, bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.backends.mlir.windows import Scalars, along, guarded
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.index_maps import Condition, Index, variable
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import PRED, S64, Shape

_ALONE = WindowDimension(1)  # along which a window has the element itself


def reduce_window_parts(kernel: Kernel) -> list[Part]:
    """A thread for some results, but for windows that hold all elements up to their own."""
    running = running_parts(kernel)
    if running is not None:
        return running
    root, results = kernel.root, kernel.results
    operands = root.operands[: len(root.operands) // 2]
    space = _space(results[0], window_of(root).dimensions)
    _, places, inside = _reduced(kernel, space)
    reads = [(o, places) for o in operands]
    written = [(s, space.index) for s in results]
    count = together(kernel, reads, written, space.variables[-1], inside)
    return [_part(space, count, lambda work: _emit_reduce_window(work, space, count))]


def _space(shape: Shape, window: Sequence[WindowDimension]) -> Space:
    """The loops over an array: the innermost dimension by itself where no window goes along it."""
    order = shape.layout.minor_to_major[::-1]
    if not shape.rank or window[order[-1]] != _ALONE:
        return make_space(shape.dims, [order], "o")
    return make_space(shape.dims, [order[:-1], order[-1:]], "o")


def _part(space: Space, count: int, emit: Callable[[Work], None]) -> Part:
    return Part(emit, prod(space.sizes) // count)


def _each(work: Work, space: Space, count: int, body: Callable[[Group], None]) -> None:
    """Emit what a thread does with its neighbours."""
    sizes = [*space.sizes[:-1], space.sizes[-1] // count]

    def at(points: Sequence[Any]) -> None:
        *around, last = points
        outer = Elements(sources(work.kernel, work.buffers), bind(space.variables[:-1], around))
        first = arith.muli(last, index_value(count)) if count > 1 else last
        body(Group.of(outer, space, first, count, work.kernel, work.buffers))

    Grid().each(sizes, at)


def _reduced(kernel: Kernel, space: Space) -> tuple[list[Index], Indices, list[Condition]]:
    """What goes through the window of a result."""
    dims = kernel.root.operands[0].array_shape.dims
    return _walk_window(window_of(kernel.root).dimensions, dims, space.index)


def _emit_reduce_window(work: Work, space: Space, count: int) -> None:
    root, arrays = work.root, len(work.root.operands) // 2
    operands, inits, results = (
        root.operands[:arrays],
        root.operands[arrays:],
        work.buffers[-arrays:],
    )
    combine, _ = combination(root["to_apply"])
    offsets, places, conditions = _reduced(work.kernel, space)
    sizes = [d.size for d in window_of(root).dimensions]

    def body(group: Group) -> None:
        def step(inner: Group, totals: Scalars) -> Scalars:
            def seen(here: Group) -> Scalars:
                new = [x for o in operands for x in here.elements(o, places)]
                # The totals of each neighbour are `count` apart.
                made = [combine(totals[k::count], new[k::count]) for k in range(count)]
                return [made[k][n] for n in range(arrays) for k in range(count)]

            return guarded(inner, conditions, seen, totals)

        totals: Scalars = [x for i in inits for x in group.elements(i, ())]
        if 0 not in operands[0].array_shape.dims:
            totals = nest(group, offsets, sizes, totals, step)
        for number, result in enumerate(results):
            group.store(totals[number * count : (number + 1) * count], result, space.index)

    _each(work, space, count, body)


def _walk_window(
    window: Sequence[WindowDimension], dims: Sequence[int], at: Indices, prefix: str = "k"
) -> tuple[list[Index], Indices, list[Condition]]:
    """The variables that go through the window `at`, the place in the array, and when it is in."""
    offsets = [variable(f"{prefix}{d}", w.size) for d, w in enumerate(window)]
    found = [along(w, n, i, k) for w, n, i, k in zip(window, dims, at, offsets)]
    return offsets, tuple(place for place, _ in found), [c for _, some in found for c in some]


def select_and_scatter_parts(kernel: Kernel) -> list[Part]:
    """A thread for some elements of the result."""
    root = kernel.root
    operand, source, _ = root.operands
    window = window_of(root).dimensions
    (shape,) = kernel.results
    space = _space(shape, window)
    dims, counts = operand.array_shape.dims, source.array_shape.dims
    from_element = _from_element(window, dims, counts)
    _, at, is_window = _walk_window(from_element, counts, space.index, "w")
    _, places, inside = _walk_window(window, dims, at)
    read, written = [(operand, places), (source, at)], [(shape, space.index)]
    count = together(kernel, read, written, space.variables[-1], [*is_window, *inside])
    return [_part(space, count, lambda work: _emit_select_and_scatter(work, space, count))]


def _from_element(
    window: Sequence[WindowDimension], dims: Sequence[int], counts: Sequence[int]
) -> list[WindowDimension]:
    """How the windows that an element lies in are themselves a window."""
    return [w.transposed(n, c) for w, n, c in zip(window, dims, counts)]


def _emit_select_and_scatter(work: Work, space: Space, count: int) -> None:
    root, result = work.root, work.buffers[-1]
    operand, source, init = root.operands
    dims, counts = operand.array_shape.dims, source.array_shape.dims
    window = window_of(root).dimensions
    from_element = _from_element(window, dims, counts)
    windows, at, is_window = _walk_window(from_element, counts, space.index, "w")
    offsets, places, inside = _walk_window(window, dims, at)
    sizes = [w.size for w in window]
    element_type = operand.array_shape.element_type

    def look(scope: Group, best: Scalars) -> Scalars:
        """(found, value, position) of each neighbour with one more element of the window seen."""

        def seen(inner: Group) -> Scalars:
            chosen: list[Scalar] = []
            for k, new in enumerate(inner.elements(operand, places)):
                found, old, position = best[3 * k : 3 * k + 3]
                (wins,) = emit_scalar_computation(root["select"], [old, new])
                keeps = found & wins
                here = _number(inner.scopes[k], result.position(places))
                chosen += [constant(PRED, True), select(keeps, old, new)]
                chosen.append(select(keeps, position, here))
            return chosen

        return guarded(scope, inside, seen, best)

    def body(group: Group) -> None:
        def ask(around: Group, totals: Scalars) -> Scalars:
            def of_window(inner: Group) -> Scalars:
                nothing = [constant(PRED, False), constant(element_type, 0), constant(S64, -1)]
                best = nest(inner, offsets, sizes, nothing * count, look)
                given = inner.elements(source, at)
                return [
                    _scattered(work, inner.scopes[k], totals[k], given[k], best[3 * k + 2], own)
                    for k in range(count)
                ]

            return guarded(around, is_window, of_window, totals)

        own = result.position(space.index)
        totals: Scalars = group.elements(init, ())
        totals = nest(group, windows, sizes, totals, ask) if 0 not in counts else totals
        group.store(totals, result, space.index)

    _each(work, space, count, body)


def _scattered(
    work: Work, scope: Elements, total: Scalar, given: Scalar, position: Scalar, own: Index
) -> Scalar:
    """A total with what a window gives, if the window has chosen the element at `own`."""
    (new,) = emit_scalar_computation(work.root["scatter"], [total, given])
    same = arith.cmpi(arith.CmpIPredicate.eq, position.value, _number(scope, own).value)
    return select(Scalar(same, PRED), new, total)


def _number(scope: Elements, index: Index) -> Scalar:
    return Scalar(arith.index_cast(mlir_type(S64), scope.index_value(index)), S64)
