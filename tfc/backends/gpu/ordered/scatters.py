"""Kernels whose steps depend on each other: scans, scatters, updates, the state of random numbers.

A scan is a thread for each of the others of its places. Updates of a scatter go to threads that
never meet at one element: all of them where the program says that indices differ, or where they
combine in any order to the same bits; else each thread takes all windows in turn, for the elements
at its place in a window, so that results never depend on who was first.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.parts import Part, Work, put_in_place
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import each_point, for_loop
from tfc.backends.mlir.ordered.program_state import emit_state_update
from tfc.backends.mlir.ordered.running import Running, Scalars, scan
from tfc.backends.mlir.ordered.scatters import Scatter
from tfc.backends.mlir.ordered.updates import emit_one_update
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ops.dynamic import updates_of
from tfc.hlo.ops.indexed import scatter_windows, window_sizes
from tfc.hlo.ops.mapped import scan_parts


def scan_parts_of(kernel: Kernel) -> list[Part]:
    """One thread for each row that is walked along."""
    _, _, dimension = scan_parts(kernel.root)
    shape = kernel.root.operands[0].array_shape
    rows = prod(n for d, n in enumerate(shape.dims) if d != dimension)
    return [Part(lambda work: walk(scan(work.kernel, work.buffers), work), rows)]


def walk(running: Running, work: Work) -> None:
    """Emit the steps along one row for each thread."""
    dims, dimension = running.shape.dims, running.dimension
    order = [d for d in running.shape.layout.minor_to_major[::-1] if d != dimension]
    space = make_space(dims, [*([d] for d in order), [dimension]])
    at, place = running.place(space.index), space.variables[-1:]

    def body(points: Sequence[Any]) -> None:
        row = Elements(sources(work.kernel, work.buffers), bind(space.variables[:-1], points))

        def step(point: Any, carried: Scalars, first: bool) -> Scalars:
            return running.step(row.with_variables(**bind(place, [point])), at, carried, first)

        begin = index_value(0)
        start = row.with_variables(**bind(place, [begin]))
        carried = step(begin, running.start(start, at), True)
        last = for_loop(1, dims[dimension], 1, lambda p, c: step(p, c, False), carried)
        running.keep(start, at, last)

    Grid().each(space.sizes[:-1], body)


def update_parts(kernel: Kernel) -> list[Part]:
    """The array, then one update after the other, as each may write over the one before."""
    array, updates = updates_of(kernel.root, kernel.computation.parameters)
    parts = put_in_place(kernel, array, 0)
    for update in updates:

        def emit(work: Work, update=update) -> None:
            emit_one_update(work.kernel, work.buffers, update, Grid())

        parts.append(Part(emit, update.operands[1].array_shape.size))
    return parts


def state_parts(_: Kernel) -> list[Part]:
    """The state that the program keeps, which one thread moves on."""

    def emit(work: Work) -> None:
        Grid().each([1], lambda _: emit_state_update(work.kernel, work.buffers))

    return [Part(emit, 1)]


def scatter_parts(kernel: Kernel) -> list[Part]:
    """The operands, then the updates."""
    root = kernel.root
    count = len(root.operands) // 2
    parts = [p for n in range(count) for p in put_in_place(kernel, root.operands[n], n)]
    dims = root.operands[count + 1].array_shape.dims
    apart = _dimensions_apart(kernel)
    return [*parts, Part(_emit_scatter, prod(dims[d] for d in apart))]


def _dimensions_apart(kernel: Kernel) -> list[int]:
    """The dimensions of the updates along which two elements never go to the same place."""
    root = kernel.root
    operand, update = root.operands[0].array_shape, root.operands[-1].array_shape
    if root.attributes.get("unique_indices", False):
        return list(range(update.rank))
    windows = scatter_windows(root)
    sizes = window_sizes(windows, operand, update)
    still = [d for d in range(operand.rank)
             if d not in windows.index_map or sizes[d] == operand.dims[d]]  # fmt: skip
    inside = dict(zip(windows.kept(operand.rank), windows.window_dims))
    batch = [d for d in range(update.rank) if d not in windows.window_dims]
    batched = [batch[windows.batch_dims.index(i)] for i in windows.indices_batch]
    return sorted([*batched, *(inside[d] for d in still if d in inside)])


def _emit_scatter(work: Work) -> None:
    scatter = Scatter(work.kernel, work.buffers)
    dims = scatter.updates[0].array_shape.dims
    apart = _dimensions_apart(work.kernel)
    windows = [d for d in range(len(dims)) if d not in scatter.windows.window_dims]
    turns = [*(d for d in windows if d not in apart),
             *(d for d in scatter.windows.window_dims if d not in apart)]  # fmt: skip
    space = make_space(dims, [[d] for d in (*apart, *turns)], "u")

    def thread(points: Sequence[Any]) -> None:
        own = Elements(
            sources(work.kernel, work.buffers), bind(space.variables[: len(apart)], points)
        )

        def one(inside: Sequence[Any]) -> None:
            here = own.with_variables(**bind(space.variables[len(apart) :], inside))
            corner, fits = scatter.corner(here, [space.index[d] for d in windows])
            with ir.InsertionPoint(scf.IfOp(fits).then_block):
                scatter.update(here.with_variables(**corner), space.index)
                scf.yield_([])

        each_point(space.sizes[len(apart) :], one)

    Grid().each(space.sizes[: len(apart)], thread)
