"""What the 32 threads of a warp tell each other without memory."""

from typing import Any

from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    emit,
    imaginary_part,
    make_complex,
    real_part,
)
from tfc.backends.mlir.provider import arith, ir
from tfc.hlo.shape import U32, U64

WARP = 32


def from_lane(x: Scalar, distance: int) -> Scalar:
    """The scalar that the thread has whose lane differs in the bits of `distance` (`shfl.bfly`).

    All threads of the warp must come here.
    """
    kind = x.element_type
    if kind.is_complex:
        parts = (from_lane(part, distance) for part in (real_part(x), imaginary_part(x)))
        return make_complex(*parts)
    if str(x.value.type) in ("f32", "f64"):
        return bitcast(from_lane(bitcast(x, U32 if kind.bits == 32 else U64), distance), kind)
    return Scalar(_shuffled(x.value, distance), kind)


def _shuffled(bits: Any, distance: int) -> Any:
    """Integers of any width go as one or two words of 32 bits."""
    width, word = bits.type.width, ir.IntegerType.get_signless(32)
    if width < 32:
        return arith.trunci(bits.type, _exchange(arith.extui(word, bits), distance))
    if width == 32:
        return _exchange(bits, distance)
    half = arith.constant(bits.type, 32)
    low, high = (_exchange(arith.trunci(word, v), distance)
                 for v in (bits, arith.shrui(bits, half)))  # fmt: skip
    low, high = (arith.extui(bits.type, v) for v in (low, high))
    return arith.ori(low, arith.shli(high, half))


def _exchange(value: Any, distance: int) -> Any:
    word = ir.IntegerType.get_signless(32)
    everyone, offset, clamp = (arith.constant(word, n) for n in (-1, distance, WARP - 1))
    operands = [everyone, value, offset, clamp]
    return emit("nvvm.shfl.sync", word, operands, kind=ir.Attribute.parse("#nvvm<shfl_kind bfly>"))
