"""Kernels that end in dynamic-update-slices: the array is put in place, then each update.

    f { p = f32[1000,1000] parameter(0)          where p lies in the result's memory:
        u = f32[1,1000] parameter(1)       -->   for j in 0 … 999:
        i = s32[] parameter(2)                       result[clamp(i), j] = u[0, j]
        ROOT r = dynamic-update-slice(p, u, i, 0) }

An array that does not lie there is put there first. What an update reads of an array that does, it
reads at the very place that it then writes (see passes/analysis/in_place.py).
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.spaces import access_positions, make_space, merge_loops
from tfc.hlo.index_maps import constant, elements_in
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.dynamic import update_index


def emit_one_update(
    kernel: Kernel, buffers: Sequence[Buffer], root: Instruction, loops: Loops
) -> None:
    """Write one update over the array in the result.

    Args:
        root: the dynamic-update-slice, or the last of several.
    """
    update, result = root.operands[1], buffers[-1]
    dims = update.array_shape.dims
    order = result.shape.layout.minor_to_major[::-1]
    if loops.flat:
        space = make_space(dims, [order])
    else:
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
