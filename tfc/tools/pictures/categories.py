"""What kind of thing an instruction is, as colours tell it: one of svg.CATEGORIES."""

from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named

# Of several in a fusion, the first of these names it.
_STRONGEST = ("product", "reduction", "elementwise", "copy", "movement")


def category(instruction: Instruction) -> str:
    """The category of an instruction; of a fusion, that of the weightiest thing in it."""
    if instruction.opcode == "fusion":
        inside = {category(i) for i in instruction["calls"].instructions}
        return next((c for c in _STRONGEST if c in inside), "other")
    return op_named(instruction.opcode).category.value
