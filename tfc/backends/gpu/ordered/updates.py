"""Updates that follow each other, and the state of random numbers."""

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.placing import put_in_place
from tfc.backends.gpu.movement.vectors import stored_together
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.ordered.program_state import emit_state_update
from tfc.backends.mlir.ordered.updates import emit_one_update
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.dynamic import update_index, updates_of


def update_parts(kernel: Kernel) -> list[Part]:
    """The array, then one update after the other, as each may write over the one before."""
    array, updates = updates_of(kernel.root, kernel.computation.parameters)
    parts = put_in_place(kernel, array, 0)
    for update in updates:
        together = _updated_together(kernel, update)
        if together is not None:
            parts.append(together)
            continue

        def emit(work: Work, update=update) -> None:
            emit_one_update(work.kernel, work.buffers, update, Grid())

        parts.append(Part(emit, update.operands[1].array_shape.size))
    return parts


def _updated_together(kernel: Kernel, update: Instruction) -> Part | None:
    """The function of an update whose neighbours go to places that are together."""
    return stored_together(
        kernel, [update.operands[1]], [0], lambda index: update_index(update, index)
    )


def state_parts(_: Kernel) -> list[Part]:
    """The state that the program keeps, which one thread moves on."""

    def emit(work: Work) -> None:
        Grid().each([1], lambda _: emit_state_update(work.kernel, work.buffers))

    return [Part(emit, 1)]
