"""Kernels that threads share: in how many chunks, and which memory each chunk has.

Chunks are a matter of the kernel and of the machine, not of how many threads run them: results are
the same bits whoever runs what. Each chunk has scratch memory of its own.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from tfc.backends.cpu.kernels import can_be_shared, chunk_count, tile_panels, workspace_shape
from tfc.backends.cpu.products.panels import PanelForm, with_panels
from tfc.backends.mlir.kernels import Kernel, is_silent, kernel_of
from tfc.backends.target import Target
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.hlo.structure import structure
from tfc.passes.analysis.cost import kernel_cost

_ALIGNMENT = 64
# What a nanosecond of one core is worth, about: bytes moved, arithmetic in a matrix product, other
# arithmetic, and transcendental functions.
_BYTES, _PRODUCTS, _OPERATIONS, _TRANSCENDENTALS = 10, 80, 8, 1.5
_LEAST = 8000  # nanoseconds that a chunk is worth it for
_CHUNKS = 4  # for each core, so that a core that is late has less left to do


@dataclass(frozen=True)
class Shared:
    """A kernel in chunks.

    has_scratch: its last buffer is scratch memory: that of each chunk begins `scratch` bytes after
        the one before.
    """

    name: str
    chunks: int
    has_scratch: bool
    scratch: int


def chunks_of(instruction: Instruction, target: Target, cores: int) -> int:
    """In how many chunks cores share the kernel of an instruction; 1 if it is not worth it.

    The same for kernels that are equal, which share their code.
    """
    if cores == 1 or not _has_kernel(instruction):
        return 1
    kernel = kernel_of(instruction)
    cost = kernel_cost(instruction if instruction.opcode == "fusion" else kernel.root)
    arithmetic = _PRODUCTS if kernel.product is not None else _OPERATIONS
    time = max(cost.bytes_accessed / _BYTES, cost.flops / arithmetic)
    time += cost.transcendentals / _TRANSCENDENTALS
    most = min(int(time / _LEAST), cores * _CHUNKS)
    return chunk_count(kernel, target, cores, most) if most > 1 else 1


def _has_kernel(instruction: Instruction) -> bool:
    return instruction.opcode not in ("while", "conditional", "call") and not is_silent(instruction)


def panel_form(
    targets: Sequence[Target], cores: int
) -> Callable[[Instruction, Kernel], PanelForm | None]:
    """In which panels the kernel of an instruction reads a constant at best, on all targets."""

    def of(instruction: Instruction, kernel: Kernel) -> PanelForm | None:
        forms = [tile_panels(kernel, target) for target in targets]
        widest = max(forms, key=lambda form: form.width if form else 0)
        if widest is None or any(f is None or widest.width % f.width for f in forms):
            return None
        if widest.columns % widest.width:
            return None
        inside = with_panels(kernel, widest)
        shared = (can_be_shared(inside, t, chunks_of(instruction, t, cores)) for t in targets)
        return widest if all(shared) else None

    return of


def scratch_bytes(targets: Sequence[Target], cores: int) -> Callable[[Instruction], int]:
    """How many bytes of scratch memory the kernel of an instruction needs, for all its chunks.

    The most that it needs on any of the targets.
    """
    known: dict[Hashable, int] = {}

    def of(instruction: Instruction) -> int:
        if not _has_kernel(instruction):
            return 0
        kernel = kernel_of(instruction)
        # What runs outside of the code has operands that are no arrays.
        shapes = tuple([o.shape for o in kernel.operands])
        key = structure(kernel.computation), shapes, kernel.results
        if key not in known:
            known[key] = max(_scratch(instruction, kernel, target, cores) for target in targets)
        return known[key]

    return of


def _scratch(instruction: Instruction, kernel: Kernel, target: Target, cores: int) -> int:
    """How many bytes of scratch memory all chunks of a kernel need."""
    chunks = chunks_of(instruction, target, cores)
    scratch = workspace_shape(kernel, target, chunks)
    if scratch is None:
        return 0
    return chunks * chunk_bytes(scratch) if chunks > 1 else scratch.byte_size


def chunk_bytes(scratch: Shape) -> int:
    """How far apart the scratch memory of chunks begins."""
    return -(-scratch.byte_size // _ALIGNMENT) * _ALIGNMENT
