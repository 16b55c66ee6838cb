"""Updates that follow each other, and the state of random numbers."""

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.parts import Part, Work, put_in_place
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.ordered.program_state import emit_state_update
from tfc.backends.mlir.ordered.updates import emit_one_update
from tfc.hlo.ops.dynamic import updates_of


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
