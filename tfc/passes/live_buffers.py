"""What lies in the arena from which step to which, for pictures of memory."""

from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape
from tfc.hlo.text.printer import instruction_names
from tfc.passes.memory.buffers import BufferAssignment
from tfc.tools.pictures.arena import LiveBuffer
from tfc.tools.pictures.categories import category


def live_buffers(module: Module, plan: BufferAssignment) -> tuple[LiveBuffer, ...]:
    """The pieces of the arena, named as in the text of the module."""
    names = {i: n for c in module.computations for i, n in instruction_names(c).items()}
    found = []
    for piece in plan.placements:
        name, kind = names[piece.instruction], category(piece.instruction)
        if piece.leaf is None:
            name, kind = f"{name} (scratch)", "scratch"
        elif not isinstance(piece.instruction.shape, Shape):
            name = f"{name}[{piece.leaf}]"
        found.append(LiveBuffer(name, kind, piece.offset, piece.size, piece.first, piece.last))
    return tuple(found)
