"""What kind of thing an instruction is, as colours tell it: one of svg.CATEGORIES."""

from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named

_BY_OPCODE = {
    opcode: name
    for name, opcodes in (
        ("parameter", "parameter"),
        ("constant", "constant"),
        ("product", "dot convolution ragged-dot cholesky triangular-solve"),
        ("reduction", "reduce reduce-window select-and-scatter scan sort scatter topk"),
        ("control", "while conditional call tuple get-tuple-element"),
        ("movement", "iota dynamic-update-slice"),
        ("copy", "copy"),
    )
    for opcode in opcodes.split()
}
# Of several in a fusion, the first of these names it.
_STRONGEST = ("product", "reduction", "elementwise", "copy", "movement")


def category(instruction: Instruction) -> str:
    """The category of an instruction; of a fusion, that of the weightiest thing in it."""
    opcode = instruction.opcode
    if opcode == "fusion":
        inside = {category(i) for i in instruction["calls"].instructions}
        return next((c for c in _STRONGEST if c in inside), "other")
    if opcode in _BY_OPCODE:
        return _BY_OPCODE[opcode]
    op = op_named(opcode)
    if op.elementwise:
        return "elementwise"
    return "movement" if op.is_movement else "other"
