"""What is known of a value's elements from how it is computed: bounds of integers, signs of floats.

    bounds(remainder(iota(), 4)) is (0, 3)             is_unsigned(exponential(x)) is True

Only a few steps up are looked at, so that asking stays cheap.
"""

from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ElementType, Shape
from tfc.passes.rewriting.patterns import constant_value
from tfc.passes.rewriting.replacing import reducer

_DEPTH = 6
_MOVES = frozenset({
    "broadcast", "reshape", "transpose", "slice", "reverse", "copy", "concatenate", "pad",
    "gather", "dynamic-slice", "dynamic-update-slice",
})  # fmt: skip
# How many of the operands are moved; the others are indices.
_MOVED = {"concatenate": None, "pad": 2, "dynamic-update-slice": 2}
Bounds = tuple[int, int]


def type_bounds(element_type: ElementType) -> Bounds:
    """The least and greatest value of an integer type or pred."""
    match element_type.kind:
        case "signed":
            return -(1 << element_type.bits - 1), (1 << element_type.bits - 1) - 1
        case "unsigned":
            return 0, (1 << element_type.bits) - 1
    return 0, 1


def bounds(x: Instruction, depth: int = _DEPTH) -> Bounds:
    """Numbers that no element of an array of integers, or of type pred, lies below or above."""
    element_type = x.array_shape.element_type
    whole = type_bounds(element_type)
    found = _found(x, depth) if depth else None
    # What may lie outside of the type wraps around.
    return found if found and whole[0] <= found[0] and found[1] <= whole[1] else whole


def _found(x: Instruction, depth: int) -> Bounds | None:
    opcode, shape = x.opcode, x.array_shape
    if opcode == "constant":
        array = x["literal"].array
        return (int(array.min()), int(array.max())) if 0 < array.size <= 64 else None
    if opcode == "iota":
        return 0, max(shape.dims[x["iota_dimension"]] - 1, 0)
    if opcode in _MOVES:
        moved = [bounds(o, depth - 1) for o in x.operands[: _MOVED.get(opcode, 1)]]
        return min(low for low, _ in moved), max(high for _, high in moved)
    combine = _COMBINED.get(opcode)
    if combine is None or not all(isinstance(o.shape, Shape) for o in x.operands):
        return None
    operands = x.operands[1:] if opcode == "select" else x.operands
    kinds = {o.array_shape.element_type.kind for o in operands}
    if not kinds <= {"signed", "unsigned", "pred"}:
        return None
    return combine(*(bounds(o, depth - 1) for o in operands))


def _corners(a: Bounds, b: Bounds) -> Bounds:
    products = [m * n for m in a for n in b]
    return min(products), max(products)


def _remainder(a: Bounds, b: Bounds) -> Bounds | None:
    if b[0] <= 0:
        return None  # the remainder by zero is the dividend
    most = b[1] - 1
    low, high = (0 if a[0] >= 0 else -most), (0 if a[1] <= 0 else most)
    return max(low, min(a[0], 0)), min(high, max(a[1], 0))


def _mask(a: Bounds, b: Bounds) -> Bounds | None:
    """Of bits that two values have in common."""
    limits = [high for low, high in (a, b) if low >= 0]
    return (0, min(limits)) if limits else None


def _divide(a: Bounds, b: Bounds) -> Bounds | None:
    return (a[0] // b[1], a[1] // b[0]) if a[0] >= 0 and b[0] > 0 else None


def _shift_right(a: Bounds, b: Bounds) -> Bounds | None:
    return (0, a[1] >> min(b[0], 64)) if a[0] >= 0 and b[0] >= 0 else None


def _both(function):
    return lambda a, b: (function(a[0], b[0]), function(a[1], b[1]))


_COMBINED = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": _corners,
    "maximum": _both(max),
    "minimum": _both(min),
    "clamp": lambda low, a, high: (
        min(max(a[0], low[0]), high[0]),
        min(max(a[1], low[1]), high[1]),
    ),
    "select": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    "convert": lambda a: a,
    "remainder": _remainder,
    "and": _mask,
    "divide": _divide,
    "shift-right-logical": _shift_right,
    "shift-right-arithmetic": _shift_right,
}


def is_unsigned(x: Instruction, depth: int = _DEPTH) -> bool:
    """True if every element of an array of floats is NaN or has no sign, so is not -0.0 either."""
    shape = x.shape
    if not depth or not isinstance(shape, Shape):
        return False
    if shape.element_type.kind in ("signed", "unsigned", "pred"):
        return bounds(x, depth)[0] >= 0
    if not shape.element_type.is_float:
        return False

    def each(*operands: Instruction) -> bool:
        return all(is_unsigned(o, depth - 1) for o in operands)

    operands = x.operands
    match x.opcode:
        case "abs" | "exponential" | "logistic" | "cosh" | "iota":
            return True
        case "constant":
            value = constant_value(x)
            return value is not None and str(value.item())[0] != "-"
        case "multiply" if operands[0] is operands[1]:
            return True
        case "add" | "multiply" | "divide" | "minimum" | "sqrt" | "rsqrt" | "convert":
            return each(*operands)
        case "maximum":
            return each(operands[0]) or each(operands[1])
        case "select":
            return each(*operands[1:])
        case "reduce" if len(operands) == 2:
            return reducer(x["to_apply"]) in ("add", "maximum", "minimum", "multiply") and each(
                *operands
            )
        case opcode if opcode in _MOVES:
            return each(*operands[: _MOVED.get(opcode, 1)])
    return False


def is_never_minus_zero(x: Instruction, depth: int = _DEPTH) -> bool:
    """True if no element of an array of floats is -0.0. A sum is only if every term is."""
    if not depth:
        return False
    if is_unsigned(x, depth):
        return True
    operands = x.operands
    match x.opcode:
        case "constant":
            value = constant_value(x)
            return value is not None and str(value.item()) != "-0.0"
        case "add":
            return any(is_never_minus_zero(o, depth - 1) for o in operands)
        case "reduce" if len(operands) == 2:
            sums = reducer(x["to_apply"]) == "add"
            return sums and is_never_minus_zero(operands[1], depth - 1)
        case "convert":
            return not operands[0].array_shape.element_type.is_float and not (
                operands[0].array_shape.element_type.is_complex
            )
        case opcode if opcode in _MOVES:
            moved = operands[: _MOVED.get(opcode, 1)]
            return all(is_never_minus_zero(o, depth - 1) for o in moved)
    return False
