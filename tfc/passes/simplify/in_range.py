"""What the ranges of operands decide: the value of an instruction in fewer operations, or None.

    compare(iota(), 0), direction=LT --> false          dynamic-slice(iota(), i) --> i
    clamp(0, remainder(i, 4), 3) --> remainder(i, 4)    maximum(cosh(a), 1) --> cosh(a)

Of integers, preds and floats alike. `of` says what is known of a value: the last few steps to it
(`seen`, where an instruction is looked at alone), or all that its computation says.
"""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.passes.analysis.value_ranges import (
    Lookup,
    bounds,
    ends,
    is_discrete,
    is_unsigned,
    may_be_nan,
    once,
    seen,
)


def decided(x: Instruction, of: Lookup = seen) -> Instruction | None:
    """The one value that an instruction can have, or the operand that it is equal to."""
    if op_named(x.opcode).elementwise and is_discrete(x):
        low, high = bounds(x, of)
        if low == high:
            return builder.full(low, x.array_shape)
    match x.opcode:
        case "abs":
            (operand,) = x.operands
            is_real = not operand.array_shape.element_type.is_complex
            return operand if is_real and is_unsigned(operand, of) else None
        case "select":
            low, high = bounds(x.operands[0], of)
            return x.operands[1 if low else 2] if low == high else None
        case "remainder" if is_discrete(x):
            (low, high), (least, _) = (bounds(o, of) for o in x.operands)
            return x.operands[0] if low >= 0 and high < least else None
        case "clamp" | "maximum" | "minimum":
            return _limited(x, once(of))
        case "dynamic-slice":
            return _index_of_iota(x, of)
    return None


def _limited(x: Instruction, of: Lookup) -> Instruction | None:
    """The operand that a maximum, minimum or clamp always is: it, but no other, may be NaN."""
    if x.opcode == "clamp":
        low, value, high = x.operands
        return value if _reaches(value, low, of) and _reaches(value, high, of, -1) else None
    sign = 1 if x.opcode == "maximum" else -1
    orders = x.operands, x.operands[::-1]
    return next((a for a, b in orders if _reaches(a, b, of, sign)), None)


def _reaches(x: Instruction, limit: Instruction, of: Lookup, sign: int = 1) -> bool:
    """True if x is never below a limit that is no NaN; for a sign of -1, never above."""
    limits = ends(limit, of)
    known = ends(x, of) if limits and not may_be_nan(limit, of) else None
    if limits is None or known is None:
        return False
    return known[0] >= limits[1] if sign > 0 else known[1] <= limits[0]


def _index_of_iota(x: Instruction, of: Lookup) -> Instruction | None:
    """s32[1] dynamic-slice(s32[10] iota(), i) --> broadcast(i), if 0 <= i <= 9"""
    iota, starts = x.operands[0], x.operands[1:]
    if iota.opcode != "iota" or any(s.array_shape.rank for s in starts):
        return None
    dimension, element_type = iota["iota_dimension"], iota.array_shape.element_type
    low, high = bounds(starts[dimension], of)
    inside = low >= 0 and high < iota.array_shape.dims[dimension]
    if x["dynamic_slice_sizes"][dimension] != 1 or not inside:
        return None
    if not element_type.is_integer or high > element_type.limits[1]:
        return None
    index = builder.convert(starts[dimension], element_type)
    return builder.broadcast(index, x.array_shape.dims, ()) if x.array_shape.rank else index
