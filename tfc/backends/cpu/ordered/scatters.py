"""Scatter: a kernel that combines updates into its operands one after the other, in one thread.

An operand that does not lie where its result does is copied there first.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources, store_elements
from tfc.backends.mlir.ordered.scatters import Scatter
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.spaces import bind, make_space


def emit_scatter(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    """A scatter into one result buffer for each of its operands."""
    scatter = Scatter(kernel, buffers)
    for operand, result in zip(kernel.root.operands, scatter.results):
        if not kernel.overwrites(operand):
            store_elements(kernel, buffers, operand, result, LoopNest())
    dims = scatter.updates[0].array_shape.dims
    batch = [d for d in range(len(dims)) if d not in scatter.windows.window_dims]
    space = make_space(dims, [[d] for d in (*batch, *scatter.windows.window_dims)], "u")
    outer = len(batch)

    def window(points: Sequence[Any]) -> None:
        scope = Elements(sources(kernel, buffers), bind(space.variables[:outer], points))
        corner, fits = scatter.corner(scope, [space.index[d] for d in batch])
        guarded = scf.IfOp(fits)
        with ir.InsertionPoint(guarded.then_block):
            inner = scope.with_variables(**corner)

            def element(inside: Sequence[Any]) -> None:
                here = inner.with_variables(**bind(space.variables[outer:], inside))
                scatter.update(here, space.index)

            LoopNest().each(space.sizes[outer:], element)
            scf.yield_([])

    LoopNest().each(space.sizes[:outer], window)
