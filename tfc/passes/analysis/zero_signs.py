"""Where the sign of a zero makes no difference to what is computed of it.

    m = max(x)   e = exp(x - m)     of two zeros as m, x - m is 0 or -0 where it is zero, and both
                                    have the same exponential: m may be 0 where it should be -0

Processors have no instruction for a maximum that puts 0 above -0: LLVM makes three more of it for
each vector (the other instructions that it takes are about NaN).
"""

from collections.abc import Collection, Sequence

from tfc.hlo.ir import Instruction
from tfc.passes.analysis.fusible import is_movement

# What two values that differ in the sign of a zero make of results: nothing, or the same again.
_DIFFER = {
    "abs": False,
    "compare": False,
    "cosine": False,
    "exponential": False,
    "is-finite": False,
    "logistic": False,
    "add": True,
    "subtract": True,
    "multiply": True,
    "negate": True,
    "maximum": True,
    "minimum": True,
    "select": True,
}


def sees_zero_sign(
    value: Instruction, order: Sequence[Instruction], results: Collection[Instruction]
) -> bool:
    """Whether any result depends on the signs of a value's zeros, as far as this is known.

    Args:
        order: what is computed, operands first.
        results: what of it others see.
    """
    differ = {value}
    for user in order:
        if differ.isdisjoint(user.operands) or user is value:
            continue
        passed = _differs(user)
        if passed is None:
            return True
        if passed:
            differ.add(user)
    return not differ.isdisjoint(results)


def _differs(user: Instruction) -> bool | None:
    """Whether a result has other signs of zeros for such operands; None if it may differ more."""
    if is_movement(user):
        return True
    if user.opcode == "convert":
        return user.array_shape.element_type.is_float
    if user.attributes.get("type") == "TOTALORDER":
        return None
    return _DIFFER.get(user.opcode)
