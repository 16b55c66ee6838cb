"""Values of a kernel that are put into its results before something else changes these."""

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.vectors import stored_together
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.kernels import Kernel, store_elements
from tfc.hlo.ir import Instruction


def put_in_place(kernel: Kernel, value: Instruction, number: int) -> list[Part]:
    """The part that stores a value of the kernel into its result `number`, unless it is there."""
    if kernel.overwrites(value):
        return []
    together = stored_together(kernel, [value], [number])
    if together is not None:
        return [together]
    at = number - len(kernel.results)

    def emit(work: Work) -> None:
        store_elements(work.kernel, work.buffers, value, work.buffers[at], Grid())

    return [Part(emit, kernel.results[number].size)]
