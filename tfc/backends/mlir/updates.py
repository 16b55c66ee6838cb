"""Dynamic-update-slice as the last step of a kernel: the array is put in place, then the update.

    f { p = f32[1000,1000] parameter(0)          where p lies in the result's memory:
        u = f32[1,1000] parameter(1)       -->   for j in 0 … 999:
        i = s32[] parameter(2)                       result[clamp(i), j] = u[0, j]
        ROOT r = dynamic-update-slice(p, u, i, 0) }

An array that does not lie there is copied first. What the update reads of an array that does, it
reads at the very place that it then writes (see passes/in_place.py).
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources, store_elements
from tfc.backends.mlir.loops import LoopNest
from tfc.backends.mlir.spaces import access_positions, merge_loops
from tfc.hlo.dynamic import update_index
from tfc.hlo.indexing import constant, elements_in


def emit_update(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    """A kernel whose root is a dynamic-update-slice; its time is that of the update, in place."""
    root, result, loops = kernel.root, buffers[-1], LoopNest()
    array, update = root.operands[:2]
    if not kernel.overwrites(array):
        store_elements(kernel, buffers, array, result, loops, flat=False)
    dims = update.array_shape.dims
    order = result.shape.layout.minor_to_major[::-1]
    space = merge_loops(
        dims,
        order,
        [],
        lambda at: access_positions(kernel.computation.parameters, update, at),
        lambda at: result.position(update_index(root, at)),
    )
    before = Elements(sources(kernel, buffers), {})
    # Where the update goes is read once: the loops below may write anything.
    corner = update_index(root, [constant(0)] * len(dims))
    for start in (e for i in corner for e in elements_in(i)):
        before.index_value(start)

    def body(points: Sequence[Any]) -> None:
        inside = before.with_variables(**space.bind(points))
        inside.store(inside.element(update, space.index), result, update_index(root, space.index))

    loops.each(space.sizes, body)
