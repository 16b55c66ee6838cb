"""Kernels that end in dynamic-update-slices: the array is put in place, then update after update.

Their time is that of the updates where the array lies in the result already.
"""

from collections.abc import Sequence

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, store_elements
from tfc.backends.mlir.ordered.updates import emit_one_update
from tfc.hlo.ops.dynamic import updates_of


def emit_update(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    """Emit the kernel's body."""
    array, updates = updates_of(kernel.root, kernel.computation.parameters)
    if not kernel.overwrites(array):
        store_elements(kernel, buffers, array, buffers[-1], LoopNest())
    for update in updates:
        emit_one_update(kernel, buffers, update, LoopNest())
