"""Operands of one element type, where StableHLO requires that and HLO does not.

    before:  c = f32[1,3,3,1] convolution(f32[1,4,4,1] x, s8[2,2,1,1] w)
    after:   c = f32[1,3,3,1] convolution(x, f32[2,2,1,1] convert(w))

Instructions whose operands are of one type already stay as they are.
"""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.sum_types import kernel_sum_type
from tfc.hlo.shape import S64, U64

# From which operand on the indices are that must be alike.
_INDICES = {"dynamic-slice": 1, "dynamic-update-slice": 2}


def with_operands_alike(x: Instruction) -> Instruction:
    """The instruction, or one that computes the same of operands converted to one type."""
    if x.opcode == "convolution":
        return _convolution(x)
    if x.opcode in _INDICES:
        return _indices_alike(x, _INDICES[x.opcode])
    return x


def _convolution(x: Instruction) -> Instruction:
    types = [o.array_shape.element_type for o in x.operands]
    if types[0] == types[1]:
        return x
    result = x.array_shape.element_type
    wide = kernel_sum_type(result, types)
    operands = tuple(builder.convert(o, wide) for o in x.operands)
    made = x.with_(operands=operands, shape=x.array_shape.with_element_type(wide))
    return builder.convert(made, result)


def _indices_alike(x: Instruction, first: int) -> Instruction:
    types = {o.array_shape.element_type for o in x.operands[first:]}
    if len(types) < 2:
        return x
    indices = (_signed(o) for o in x.operands[first:])
    return x.with_(operands=(*x.operands[:first], *indices))


def _signed(index: Instruction) -> Instruction:
    """An index as s64; those beyond it are clamped, as they would be to the array."""
    if index.array_shape.element_type == U64:
        most = builder.constant(2**63 - 1, U64)
        index = builder.instruction("minimum", [index, most])
    return builder.convert(index, S64)
