"""Expansion: a bitcast between types of different widths, in shifts of integers.

    before:  y = u8[2,4] bitcast-convert(u32[2] x)
    after:   y = u8[2,4] convert(shift-right-logical(u32[2,4] broadcast(x), {0, 8, 16, 24}))

    before:  y = u32[2] bitcast-convert(u8[2,4] x)
    after:   y = u32[2] reduce(shift-left(u32[2,4] convert(x), {0, 8, 16, 24}), or)

A bitcast of one width stays.
"""

from tfc.hlo import builder
from tfc.hlo.builder import instruction
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ELEMENT_TYPES, ElementType, Shape


def expand_bitcast(x: Instruction) -> Instruction:
    """The parts of each element, or elements from their parts; itself if the width is the same."""
    source, target = x.operands[0].array_shape, x.array_shape
    if source.element_type.bits == target.element_type.bits:
        return x
    bits = _bits(x.operands[0])
    whole, part = (_unsigned(max, source, target), _unsigned(min, source, target))
    dims = max(source.dims, target.dims, key=len)
    step = builder.full(part.bits, Shape(whole, dims))
    places = builder.binary("multiply", builder.iota(Shape(whole, dims), len(dims) - 1), step)
    if len(target.dims) > len(source.dims):
        spread = builder.broadcast(bits, dims, range(len(source.dims)))
        parts = builder.convert(builder.binary("shift-right-logical", spread, places), part)
    else:
        shifted = builder.binary("shift-left", builder.convert(bits, whole), places)
        zero, either = builder.constant(0, whole), builder.scalar_computation("or", whole)
        parts = builder.reduce(shifted, zero, [len(dims) - 1], either)
    return instruction("bitcast-convert", [parts], shape=target)


def _bits(x: Instruction) -> Instruction:
    """The operand as unsigned integers of its own width."""
    shape = x.array_shape
    unsigned = ELEMENT_TYPES[f"u{shape.element_type.bits}"]
    return instruction("bitcast-convert", [x], shape=shape.with_element_type(unsigned))


def _unsigned(choose, *shapes: Shape) -> ElementType:
    """The unsigned type of the wider or the narrower of the shapes' types."""
    return ELEMENT_TYPES[f"u{choose(s.element_type.bits for s in shapes)}"]
