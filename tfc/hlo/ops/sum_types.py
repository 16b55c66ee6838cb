"""The element types of sums of products, in dot and convolution.

The operands may differ in type, and the result may be of another type than either: its type is then
stated, as the one to accumulate in (bf16 · bf16 -> f32, s8 · s8 -> s32). Left out, it is XLA's
higher precision of the operands' types.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.hlo.ir import Attributes
from tfc.hlo.op import describe, require
from tfc.hlo.ops.elementwise.families import ANY, require_kind
from tfc.hlo.shape import C64, C128, F32, F64, PRED, S32, U32, AnyShape, ElementType, Shape

# How XLA may split the products of a dot. Except for those of `BITS_KEPT`, code here multiplies in
# f32 or f64 and sums in no less, which is as exact as any of these or more.
ALGORITHMS = frozenset({
    "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16",
    "dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6", "dot_bf16_bf16_f32_x9", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32", "dot_f64_f64_f64",
})  # fmt: skip
BITS_KEPT = {
    "dot_bf16_bf16_f32": 8, "dot_bf16_bf16_f32_x3": 16, "dot_bf16_bf16_f32_x6": 24,
    "dot_bf16_bf16_f32_x9": 24, "dot_tf32_tf32_f32": 10, "dot_tf32_tf32_f32_x3": 24,
}  # fmt: skip
"""Bits that products of f32 keep of their factors at least, by algorithm: bf16 has 8, and 16 in two
parts; tf32 has 11, of which the last is off where the rest is cut away."""
_KIND_ORDER = {"pred": 0, "unsigned": 1, "signed": 1, "float": 2, "complex": 3}


def sum_type(
    op: str, operands: Sequence[Shape], a: Attributes, stated: AnyShape | None
) -> ElementType:
    """The element type of a sum of products of two operands' elements.

    Raises:
        ShapeError: the type that is stated cannot hold such sums, as s32 cannot those of f32; or
            the algorithm asked for is unknown, or more exact than the types.
    """
    for operand in operands:
        require_kind(op, operand.element_type, ANY)
    lhs, rhs = (o.element_type for o in operands)
    result = stated.element_type if isinstance(stated, Shape) else higher_precision(lhs, rhs)
    if not all(_KIND_ORDER[t.kind] <= _KIND_ORDER[result.kind] for t in (lhs, rhs)):
        wanted = "a result type that holds sums of its operands' products"
        require(False, op, wanted, f"{result} for {describe(operands)}")
    algorithm = a.get("algorithm")
    if algorithm is not None and algorithm not in ALGORITHMS:
        require(False, op, f"an algorithm of {', '.join(sorted(ALGORITHMS))}", algorithm)
    exact = algorithm != "dot_f64_f64_f64" or kernel_sum_type(result, [lhs, rhs]) == F64
    require(exact, op, "f64 operands for the algorithm dot_f64_f64_f64", describe(operands))
    return result


def higher_precision(x: ElementType, y: ElementType) -> ElementType:
    """The type of larger range, then of more digits, then of more bits, and signed."""
    return y if _precision(y) > _precision(x) else x


def _precision(t: ElementType) -> tuple[int, ...]:
    part = {C64: F32, C128: F64}.get(t, t)
    info = part.float_limits if part.is_float else None
    bits = 1 if t == PRED else t.bits
    exponent, digits = (info.maxexp, info.nmant) if info else (-1, -1)
    return int(t.is_complex), int(exponent), int(digits), bits, int(t.kind == "signed")


def kernel_sum_type(result: ElementType, operands: Sequence[ElementType]) -> ElementType:
    """The type that code takes sums in: 32 bits or more, and for floats no less than an operand's.

    Integers need no more than the result's type, since what does not fit it wraps around.
    """
    if result.is_integer and result.bits < 32:
        return S32 if result.kind == "signed" else U32
    if not result.is_float:
        return result
    return F64 if F64 in (result, *operands) else F32


def as_exact(values: Sequence[Any], result: ElementType) -> list[np.ndarray]:
    """Operands in the type that the reference sums in: f64, c128 or the result's, which wraps."""
    wide = {"float": np.dtype(np.float64), "complex": np.dtype(np.complex128)}
    return [np.asarray(v).astype(wide.get(result.kind, result.dtype)) for v in values]
