"""What the expansions of mathematical functions share: float formats and error-free arithmetic.

Everything here is straight-line code on f32 and f64 Scalars, exact where it says so. The identities
hold in round-to-nearest, without fast-math and without contraction. Rounding to an integer adds and
subtracts 1.5·2^p instead of converting: that vectorises for f64 too (AVX2 converts no 64-bit
integers) and is defined for NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tfc.backends.mlir.arithmetic.narrow_floats import has_instructions
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    constant,
    convert,
    emit,
    fma,
    multiply_add,
    select,
)
from tfc.backends.mlir.provider import ir, llvm
from tfc.errors import UnsupportedError
from tfc.hlo.shape import F32, F64, S32, S64, U32, U64, ElementType

Pair: TypeAlias = tuple[Scalar, Scalar]
"""An unevaluated sum high + low, where low is at most half a unit in the last place of high."""


@dataclass(frozen=True)
class Format:
    """An IEEE 754 binary format: its types, and the bits of its fields."""

    element_type: ElementType
    signed: ElementType
    unsigned: ElementType
    mantissa_bits: int
    bias: int

    @property
    def one_bits(self) -> int:
        """The bit pattern of 1.0."""
        return self.bias << self.mantissa_bits

    @property
    def mantissa_mask(self) -> int:
        """The bits of the stored mantissa."""
        return (1 << self.mantissa_bits) - 1

    @property
    def smallest_normal(self) -> float:
        """2^(1 - bias), the smallest positive normal number."""
        return 2.0 ** (1 - self.bias)


# ln 2 as high + low, the low part rounded to the format. The high part is so short that its product
# with any exponent, and one's difference from a number nearby, is exact.
SHORT_LN2 = {
    F32: (0.693145751953125, 1.428606765330187e-06),
    F64: (0.6931471805598903, 5.497923018708371e-14),
}

_FORMATS = {F32: Format(F32, S32, U32, 23, 127), F64: Format(F64, S64, U64, 52, 1023)}


def format_of(x: Scalar) -> Format:
    """The format of a Scalar.

    Raises:
        UnsupportedError: any type but f32 and f64 (narrower floats convert to f32 first).
    """
    found = _FORMATS.get(x.element_type)
    if found is None:
        raise UnsupportedError(
            f"mathematical functions are expanded for f32 and f64, not {x.element_type}"
        )
    return found


def bits_of(x: Scalar) -> Scalar:
    """The bit pattern of a float, as the unsigned integer of its width."""
    return bitcast(x, format_of(x).unsigned)


def absolute(x: Scalar) -> Scalar:
    """|x| with the sign bit cleared, NaN and zero included."""
    return Scalar(emit("math.absf", x.value.type, [x.value]), x.element_type)


def sign_bit(x: Scalar) -> Scalar:
    """pred: the sign bit, of zeros and NaN too."""
    return bitcast(x, format_of(x).signed) < 0


def copy_sign(magnitude: Scalar, sign: Scalar) -> Scalar:
    """|magnitude| with the sign bit of `sign`."""
    operands = [magnitude.value, sign.value]
    return Scalar(emit("math.copysign", magnitude.value.type, operands), magnitude.element_type)


def with_sign(magnitude: Scalar, sign: Scalar) -> Scalar:
    """`magnitude`, whose sign bit is clear unless it is NaN, with the sign bit of `sign`."""
    bit = 1 << (sign.element_type.bits - 1)
    return bitcast(bits_of(magnitude) | (bits_of(sign) & bit), sign.element_type)


def reciprocal(x: Scalar) -> Scalar:
    """1/x of an f32 by the instruction of GPUs, off by 2^-23; of subnormal numbers infinite, and 0
    for a subnormal result. It is made once for all that is divided by the same."""
    name = ir.StringAttr.get("llvm.nvvm.rcp.approx.ftz.f")
    return Scalar(llvm.call_intrinsic(x.value.type, name, [x.value], [], []), F32)


def nearly_inverse(x: Scalar) -> Scalar:
    """1/x of a number that is neither subnormal nor larger than 2^126, off by 2^-23 at most."""
    if x.element_type is F32 and has_instructions():
        return reciprocal(x)
    return constant(x.element_type, 1.0) / x


def ratio(x: Scalar, y: Scalar) -> Scalar:
    """x/y to within a unit in the last place; y and the quotient are as in `nearly_inverse`."""
    if not (x.element_type is F32 and has_instructions()):
        return x / y
    inverse = nearly_inverse(y)
    quotient = x * inverse
    return fma(fma(-quotient, y, x), inverse, quotient)


def sqrt(x: Scalar) -> Scalar:
    """The square root, correctly rounded (an instruction on every target); negative gives NaN."""
    return Scalar(emit("math.sqrt", x.value.type, [x.value]), x.element_type)


def at_most(x: Scalar, high: float) -> Scalar:
    """The smaller of x and `high`; NaN passes (this select is one minimum instruction)."""
    return select(constant(x.element_type, high) < x, high, x)


def clamp(x: Scalar, low: float, high: float) -> Scalar:
    """x limited to [low, high]; NaN passes."""
    return at_most(select(constant(x.element_type, low) > x, low, x), high)


def polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """coefficients[0] + coefficients[1]·x + … with fused multiply-add where there is one.

    Short ones by Horner's rule, which has the fewest operations. Long ones by Estrin's scheme,
    whose dependences form a tree: a processor's window holds too few iterations of a loop to fill
    the gaps of a long chain.
    """
    terms = [constant(x.element_type, c) for c in coefficients]
    if len(terms) < 10:
        result = terms[-1]
        for term in terms[-2::-1]:
            result = multiply_add(result, x, term)
        return result
    while len(terms) > 1:
        pairs = [multiply_add(high, x, low) for low, high in zip(terms[::2], terms[1::2])]
        terms = pairs + terms[2 * len(pairs) :]
        x = x * x
    return terms[0]


def round_to_integer(x: Scalar) -> tuple[Scalar, Scalar]:
    """The nearest integer, ties to even, as a float and as the signed integer of x's width.

    |x| must be less than 2^(p-2), p the bits of the mantissa; otherwise both are arbitrary, and the
    float is NaN if x is.
    """
    form = format_of(x)
    # From 1.5·2^p on, neighbouring floats differ by one, and their bit patterns do too.
    magic = constant(x.element_type, 1.5 * 2.0**form.mantissa_bits)
    shifted = x + magic
    integer = bitcast(shifted, form.signed) - bitcast(magic, form.signed)
    return shifted - magic, integer


def small_integer_to_float(integer: Scalar, element_type: ElementType) -> Scalar:
    """A signed integer of at most p - 1 bits and sign, p the mantissa's, as a float; exact."""
    if element_type == F32:
        return convert(integer, F32)
    # Most vector units convert no 64-bit integers; adding to the bits of 1.5·2^52 adds to it.
    magic = constant(F64, 1.5 * 2.0**52)
    return bitcast(integer + bitcast(magic, S64), F64) - magic


def power_of_two(biased_exponent: Scalar, element_type: ElementType) -> Scalar:
    """The float whose exponent field is `biased_exponent`, an integer of its width."""
    return bitcast(biased_exponent << _FORMATS[element_type].mantissa_bits, element_type)


def two_sum(a: Scalar, b: Scalar) -> Pair:
    """a + b as an exact pair (Knuth)."""
    high = a + b
    b_part = high - a
    return high, (a - (high - b_part)) + (b - b_part)


def fast_two_sum(a: Scalar, b: Scalar) -> Pair:
    """a + b as an exact pair if |a| ≥ |b| or a is zero (Dekker)."""
    high = a + b
    return high, b - (high - a)


def two_product(a: Scalar, b: Scalar) -> Pair:
    """a · b as an exact pair, unless the low part underflows; see `fma` for how exact."""
    high = a * b
    return high, fma(a, b, -high)


def split_exponent(x: Scalar, may_be_subnormal: bool = True) -> Pair:
    """(e, m) with x = m·2^e, √½ ≤ m < √2 (about), e a float; both arbitrary unless 0 < x < inf."""
    form = format_of(x)
    bias = constant(x.element_type, 2.0**form.mantissa_bits + form.bias)
    if may_be_subnormal:
        # Enough to make the smallest subnormal number normal.
        shift = 54.0 if form.element_type is F64 else 24.0
        subnormal = x < form.smallest_normal
        x = select(subnormal, x * 2.0**shift, x)
        bias = select(subnormal, bias + shift, bias)
    root_half = 0x3F3504F3 if form.element_type is F32 else 0x3FE6A09E667F3BCD
    shifted = bits_of(x) + (form.one_bits - root_half)
    offset = bitcast(constant(x.element_type, 2.0**form.mantissa_bits), form.unsigned)
    exponent = bitcast((shifted >> form.mantissa_bits) | offset, x.element_type) - bias
    return exponent, bitcast((shifted & form.mantissa_mask) + root_half, x.element_type)
