"""Narrow elements in words of 32 bits: neighbours along the sums, which CPUs multiply at once.

pairs of s16 or bf16   word · word = a0·b0 + a1·b1
fours of 8             word · word = a0·b0 + a1·b1 + a2·b2 + a3·b3
"""

from enum import Enum

from tfc.backends.target import Target
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F32, PRED, S4, S8, S16, S32, U4, U8, U32, ElementType

_UNSIGNED_BYTES = (PRED, U4, U8)
_SIGNED_BYTES = (PRED, S4, U4, S8)
_SHORTS = (PRED, S4, S8, S16, U4, U8)


class Words(Enum):
    """What a word of the left operand and one of the right hold.

    x86 multiplies unsigned bytes by signed ones. Where both are signed, those of the left operand
    are taken 128 larger, and a tile has a row of sums more for what that adds: 128 times the right
    operand's.
    """

    PAIRS = "two s16 each"
    BF16_PAIRS = "two bf16 each"
    UNSIGNED_SIGNED = "four u8 and four s8"
    SIGNED_UNSIGNED = "four s8 and four u8"
    OFFSET = "four s8 each, on the left 128 larger"
    SIGNED = "four s8 each"
    UNSIGNED = "four u8 each"
    EACH_UNSIGNED_SIGNED = "four u8 and four s8, multiplied one by one"
    EACH_SIGNED_UNSIGNED = "four s8 and four u8, multiplied one by one"
    EACH_SIGNED = "four s8 each, multiplied one by one"
    EACH_UNSIGNED = "four u8 each, multiplied one by one"

    @property
    def count(self) -> int:
        """How many elements a word holds."""
        return 2 if self in (Words.PAIRS, Words.BF16_PAIRS) else 4


def words_of(product: Instruction, to: ElementType, target: Target) -> Words | None:
    """What holds the operands of a product; None if they are not narrow.

    Pairs of bf16 are taken where each is asked for no more than the default precision: the
    instruction takes what is subnormal for zero.

    Args:
        to: the type of the products and of their sums.
    """
    lhs, rhs = product.operands
    if to not in (F32, S32, U32) or lhs.opcode != "convert" or rhs.opcode != "convert":
        return None
    left, right = (o.operands[0].array_shape.element_type for o in (lhs, rhs))
    if to is F32:
        plain = set(product.attributes.get("operand_precision", ())) <= {"default"}
        pairs = left is right is BF16 and plain and target.has_bf16_products
        return Words.BF16_PAIRS if pairs else None
    words = _of_bytes(left, right, target)
    return words or (Words.PAIRS if left in _SHORTS and right in _SHORTS else None)


def words_of_bytes(lhs: ElementType, rhs: ElementType, target: Target) -> Words:
    """What the bytes of two operands, s8 or u8, are where they lie as words in memory."""
    return _of_bytes(lhs, rhs, target) or _ONE_BY_ONE[lhs, rhs]


def _of_bytes(left: ElementType, right: ElementType, target: Target) -> Words | None:
    for words, lefts, rights in _OF_BYTES.get(target.byte_products, ()):
        if left in lefts and right in rights:
            return words
    return None


_ONE_BY_ONE = {
    (U8, S8): Words.EACH_UNSIGNED_SIGNED,
    (S8, U8): Words.EACH_SIGNED_UNSIGNED,
    (S8, S8): Words.EACH_SIGNED,
    (U8, U8): Words.EACH_UNSIGNED,
}

_OF_BYTES = {
    "x86": (
        (Words.UNSIGNED_SIGNED, _UNSIGNED_BYTES, _SIGNED_BYTES),
        (Words.SIGNED_UNSIGNED, _SIGNED_BYTES, _UNSIGNED_BYTES),
        (Words.OFFSET, _SIGNED_BYTES, _SIGNED_BYTES),
    ),
    "aarch64": (
        (Words.SIGNED, _SIGNED_BYTES, _SIGNED_BYTES),
        (Words.UNSIGNED, _UNSIGNED_BYTES, _UNSIGNED_BYTES),
    ),
}
