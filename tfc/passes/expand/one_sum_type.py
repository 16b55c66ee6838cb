"""Sums of products in one element type: operands and result of the type that sums are taken in.

    before:  d = bf16[2,4] dot(bf16[2,3] x, bf16[3,4] y)
    after:   d = bf16[2,4] convert(f32[2,4] dot(f32[2,3] convert(x), f32[3,4] convert(y)))

Kernels are made for few types, and conversions fuse with what makes the operands.
"""

from collections.abc import Callable

from tfc.hlo.builder import convert
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.sum_types import kernel_sum_type


def in_one_type(instruction: Instruction) -> Instruction:
    """A dot or convolution with operands and result of one type; itself if they are already."""
    shape = instruction.array_shape
    wide = kernel_sum_type(
        shape.element_type, [o.array_shape.element_type for o in instruction.operands]
    )
    operands = tuple(convert(o, wide) for o in instruction.operands)
    same = all(a is b for a, b in zip(operands, instruction.operands))
    if same and wide == shape.element_type:
        return instruction
    summed = instruction.with_(operands=operands, shape=shape.with_element_type(wide))
    return convert(summed, shape.element_type)


def moved(operand: Instruction, move: Callable[[Instruction], Instruction]) -> Instruction:
    """What a movement makes of an operand; one that widens stays last: kernels read narrow ones."""
    wide = operand.array_shape.element_type
    if (
        operand.opcode != "convert"
        or operand.operands[0].array_shape.element_type.bits >= wide.bits
    ):
        return move(operand)
    return convert(move(operand.operands[0]), wide)
