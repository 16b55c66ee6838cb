"""Scans and cumulative windows: by running totals where the order of combining is free.

Else a scan is a thread for each line, which takes its steps one after the other.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.ordered.column_scans import column_parts, column_plan
from tfc.backends.gpu.ordered.prefixes import Line, line_of
from tfc.backends.gpu.ordered.row_scans import row_parts, row_plan
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.ordered.running import Scalars, scan
from tfc.backends.mlir.scratch import scratch_shape
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ops.mapped import scan_parts
from tfc.hlo.shape import Shape


def running_parts(kernel: Kernel) -> list[Part] | None:
    """The functions of a kernel of running totals; None if it is of another kind."""
    line = line_of(kernel)
    if line is None or not line.length:
        return None
    return row_parts(line) if _is_row(line) else column_parts(line)


def running_totals(kernel: Kernel) -> Shape | None:
    """The scratch memory of such a kernel, for the totals of pieces."""
    line = line_of(kernel)
    if line is None or not line.length or not line.count:
        return None
    arrays = row_plan(line).totals if _is_row(line) else column_plan(line).totals
    return scratch_shape(arrays) if arrays else None


def _is_row(line: Line) -> bool:
    """Whether neighbours along the line are neighbours in memory."""
    return line.shape.strides[line.dimension] == 1


def scan_kernel_parts(kernel: Kernel) -> list[Part]:
    """The functions of a scan."""
    parts = running_parts(kernel)
    if parts is not None:
        return parts
    _, _, dimension = scan_parts(kernel.root)
    shape = kernel.root.operands[0].array_shape
    lines = shape.size // shape.dims[dimension] if shape.size else 0
    if not shape.dims[dimension]:
        lines = kernel.results[-1].size
    return [Part(_walk, lines)]


def _walk(work: Work) -> None:
    """Emit the steps along one line for each thread."""
    running = scan(work.kernel, work.buffers)
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
