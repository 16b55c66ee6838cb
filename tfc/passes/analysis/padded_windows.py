"""A select-and-scatter with the padding before it and the slice after it: where each of them is."""

from collections.abc import Sequence

from tfc.hlo.ir import Instruction

Edges = Sequence[tuple[int, int]]


def windows_in(root: Instruction) -> Instruction:
    """The select-and-scatter that a root is a slice of; else the root."""
    if root.opcode == "slice" and root.operands[0].opcode == "select-and-scatter":
        return root.operands[0]
    return root


def edges_of(operand: Instruction) -> tuple[Instruction, Edges]:
    """The array that is padded on the way, and how much at the two ends of each dimension."""
    if operand.opcode == "pad" and not any(interior for *_, interior in operand["padding"]):
        return operand.operands[0], [(low, high) for low, high, _ in operand["padding"]]
    return operand, [(0, 0)] * operand.array_shape.rank
