"""Elementwise operations on repeated scalars, conversions, and values of known range: functions
from an instruction to its replacement, or None. Each states itself as before --> after; all are
exact.
"""

from typing import Any

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.op import Op
from tfc.hlo.ops.elementwise.selection import MIRRORED
from tfc.hlo.shape import PRED, ElementType, Shape
from tfc.passes.analysis.value_ranges import is_never_minus_zero
from tfc.passes.rewriting.patterns import Function, constant_value, same_bits
from tfc.passes.rewriting.replacing import made, repeated, splat
from tfc.passes.simplify.in_range import decided
from tfc.passes.simplify.movement import same_shape


def constant_of_splat(x: Instruction) -> Instruction | None:
    """f32[3] constant({7, 7, 7}) --> f32[3] broadcast(7)"""
    literal = x["literal"]
    if not literal.shape.rank or literal.shape.size <= 1:
        return None  # one element is as short as can be; `fold` makes these of reshapes
    if not literal.is_splat():
        return None
    return repeated(builder.constant(literal.array.flat[0]), x.array_shape)


def constant_goes_right(x: Instruction) -> Instruction | None:
    """add(1, a) --> add(a, 1); compare(1, a), direction=LT --> compare(a, 1), direction=GT"""
    left, right = x.operands
    value = constant_value(left)
    if value is None or constant_value(right) is not None:
        return None
    if x.opcode in ("maximum", "minimum") and value == 0 and x.array_shape.element_type.is_float:
        return None  # which of -0.0 and 0.0 is greater depends on the order
    if x.opcode != "compare":
        return x.with_(operands=(right, left))
    flipped = x.attributes.with_(direction=MIRRORED[x["direction"]])
    return x.with_(operands=(right, left), attributes=flipped)


def elementwise_of_splats(x: Instruction) -> Instruction | None:
    """add(broadcast(s), broadcast(t)) --> broadcast(add(s, t)) for scalars s and t"""
    if not isinstance(x.shape, Shape) or not x.shape.rank:
        return None
    if x.opcode == "bitcast-convert" and x.operands[0].array_shape.dims != x.shape.dims:
        return None  # the parts of an element differ from one another
    scalars = []
    for operand in x.operands:
        scalar = operand if not operand.array_shape.rank else splat(operand)
        if scalar is None:
            return None
        scalars.append(scalar)
    inner = x.with_(operands=tuple(scalars), shape=Shape(x.shape.element_type))
    return repeated(inner, x.array_shape)


def elementwise_of_broadcasts(x: Instruction) -> Instruction | None:
    """add(f32[4,3] broadcast(a, {1}), broadcast(s)) --> broadcast(add(a, broadcast(s)), {1})"""
    if not isinstance(x.shape, Shape) or x.opcode == "bitcast-convert":
        return None
    wide = [o for o in x.operands if o.opcode == "broadcast" and o.operands[0].array_shape.rank]
    if not wide:
        return None
    dimensions, dims = wide[0]["dimensions"], wide[0].operands[0].array_shape.dims
    operands = []
    for operand in x.operands:
        scalar = operand if not operand.array_shape.rank else splat(operand)
        if scalar is not None:
            like = Shape(scalar.array_shape.element_type, dims)
            operands.append(scalar if operand is scalar else repeated(scalar, like))
        elif operand.opcode == "broadcast" and operand["dimensions"] == dimensions:
            operands.append(operand.operands[0])
        else:
            return None
    inner = x.with_(operands=tuple(operands), shape=Shape(x.shape.element_type, dims))
    return made(x, "broadcast", [inner], dimensions=dimensions)


def widens(narrow: ElementType, wide: ElementType) -> bool:
    """True if every value of `narrow` is one of `wide`, of the same kind or a pred's 0 and 1."""
    if narrow.kind == "pred":
        return wide.kind != "pred"
    if narrow.is_float and wide.is_float:
        return wide.bits >= 32 and narrow.bits < wide.bits
    if narrow.is_integer and wide.is_integer and narrow.bits < wide.bits:
        return narrow.kind == "unsigned" or wide.kind == "signed"
    return False


def convert_of_convert(x: Instruction) -> Instruction | None:
    """bf16[2] convert(f32[2] convert(bf16[2] a)) --> a: what widens keeps the value"""
    inner = x.operands[0]
    if inner.opcode != "convert":
        return None
    first = inner.operands[0]
    if not widens(first.array_shape.element_type, inner.array_shape.element_type):
        return None
    return first if first.shape == x.shape else made(x, "convert", [first])


def bitcast_of_bitcast(x: Instruction) -> Instruction | None:
    """f32[2] bitcast-convert(s32[2] bitcast-convert(u32[2] a)) --> bitcast-convert(a)"""
    inner = x.operands[0]
    first = inner.operands[0] if inner.opcode == x.opcode else x
    same = first.array_shape.dims in (inner.array_shape.dims, x.array_shape.dims)
    if inner.opcode != x.opcode or not same:
        return None
    return made(x, x.opcode, inner.operands)


def convert_of_iota(x: Instruction) -> Instruction | None:
    """f32[3] convert(s32[3] iota()) --> f32[3] iota(), if s32 can count that far"""
    inner = x.operands[0]
    if inner.opcode != "iota" or x.array_shape.element_type == PRED:
        return None
    dimension, source = inner["iota_dimension"], inner.array_shape.element_type
    if not source.is_integer or inner.array_shape.dims[dimension] - 1 > source.limits[1]:
        return None
    if x.array_shape.element_type.is_complex:
        return None
    return made(x, "iota", [], iota_dimension=dimension)


def convert_to_itself(x: Instruction) -> Instruction | None:
    """pred[3] convert(s32[3] convert(pred[3] a)) --> a"""
    inner = x.operands[0]
    if x.array_shape.element_type != PRED or inner.opcode != "convert":
        return None
    first = inner.operands[0]
    return first if first.shape == x.shape else None


def select_of_one_and_zero(x: Instruction) -> Instruction | None:
    """s32[3] select(p, 1, 0) --> s32[3] convert(p)"""
    pred, *values = x.operands
    if not isinstance(x.shape, Shape) or pred.array_shape.dims != x.shape.dims:
        return None
    constants = [constant_value(v) for v in values]
    element_type = x.shape.element_type
    if element_type == PRED or None in constants:
        return None
    for value, constant in zip((1, 0), constants):
        assert constant is not None
        wanted: Any = np.asarray(value).astype(element_type.dtype)
        if not same_bits(constant, wanted[()]):
            return None
    return builder.convert(pred, element_type)


def compare_of_converts(x: Instruction) -> Instruction | None:
    """compare(s32[3] convert(s8[3] a), s32[3] convert(s8[3] b)) --> compare(a, b)"""
    left, right = x.operands
    if left.opcode != "convert" or x.attributes.get("type") == "TOTALORDER":
        return None
    operand = left.operands[0]
    narrow, wide = operand.array_shape.element_type, left.array_shape.element_type
    if not widens(narrow, wide):
        return None
    if right.opcode == "convert" and right.operands[0].array_shape.element_type == narrow:
        other = right.operands[0]
    else:
        other = _narrowed(right, narrow)
    if other is None:
        return None
    return builder.instruction(
        "compare", [operand, other], direction=x["direction"], metadata=x.metadata
    )


def _narrowed(x: Instruction, narrow: ElementType) -> Instruction | None:
    """A constant value as one of a narrower type, if that has it."""
    value = constant_value(x)
    if value is None:
        return None
    with np.errstate(all="ignore"):
        small: Any = np.asarray(value).astype(narrow.dtype)
        back: Any = small.astype(value.dtype)[()]
    return (
        builder.full(small[()], x.array_shape.with_element_type(narrow))
        if (same_bits(value, back))
        else None
    )


def decided_by_range(x: Instruction) -> Instruction | None:
    """compare(iota(), 0), direction=LT --> false; see in_range.py"""
    return decided(x)


def add_of_zero(x: Instruction) -> Instruction | None:
    """add(reduce(a, 0), 0) --> reduce(a, 0): 0 is added to what is never -0"""
    operand, other = x.operands
    value = constant_value(other)
    if value is None or value != 0 or not x.array_shape.element_type.is_float:
        return None
    return operand if is_never_minus_zero(operand) else None


_OF_OPS: dict[str, tuple[Function, ...]] = {
    "constant": (constant_of_splat,),
    "convert": (same_shape, convert_of_convert, convert_to_itself, convert_of_iota),
    "bitcast-convert": (same_shape, bitcast_of_bitcast),
    "select": (select_of_one_and_zero,),
    "compare": (constant_goes_right, compare_of_converts, decided_by_range),
    **dict.fromkeys(("abs", "clamp", "divide", "remainder"), (decided_by_range,)),
    "add": (add_of_zero,),
    "maximum": (decided_by_range,),
    "minimum": (decided_by_range,),
}


def elementwise(op: Op) -> tuple[Function, ...]:
    """What simplifies an op: by its traits, and its own."""
    right = (constant_goes_right,) if op.commutative else ()
    general = (elementwise_of_splats, elementwise_of_broadcasts) if op.elementwise else ()
    return (*right, *_OF_OPS.get(op.name, ()), *general)
