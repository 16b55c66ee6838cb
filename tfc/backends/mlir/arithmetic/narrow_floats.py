"""f16, bf16 and the six 8-bit floats, to and from f32 by integer arithmetic.

The instructions for it are not on every CPU, and where they are missing LLVM calls a run-time
library that we do not bring. All GPUs have those of f16 and bf16, which `with_instructions` is for.
Rounding is to nearest even, once. What is too large becomes infinite, or NaN in a format without
infinities, as ml_dtypes and XLA have it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from tfc.backends.mlir.arithmetic.scalar import (
    Scalar,
    bitcast,
    emit,
    minimum,
    mlir_type,
    resize,
    select,
)
from tfc.backends.mlir.provider import ir
from tfc.hlo.shape import BF16, F16, F32, U8, U16, U32, ElementType


@dataclass(frozen=True)
class NarrowFormat:
    """A narrow float format.

    mantissa_bits, bias: as in IEEE 754.
    overflow: the pattern of what is too large: of infinity, or of NaN where there is none.
    nan: the pattern of a NaN.
    signed_zero: zero and NaN have a sign; otherwise -0's pattern is the one NaN, a negative one.
    """

    mantissa_bits: int
    bias: int
    overflow: int
    nan: int
    signed_zero: bool = True

    @property
    def has_infinity(self) -> bool:
        """True if the largest exponent is for infinities and NaN, as in IEEE 754."""
        return self.overflow != self.nan


# fmt: off
FORMATS = {
    "f16":           NarrowFormat(10, 15, 0x7C00, 0x7E00),
    "f8e5m2":        NarrowFormat(2,  15, 0x7C,   0x7E),
    "f8e4m3":        NarrowFormat(3,   7, 0x78,   0x7C),
    "f8e4m3fn":      NarrowFormat(3,   7, 0x7F,   0x7F),
    "f8e5m2fnuz":    NarrowFormat(2,  16, 0x80,   0x80, signed_zero=False),
    "f8e4m3fnuz":    NarrowFormat(3,   8, 0x80,   0x80, signed_zero=False),
    "f8e4m3b11fnuz": NarrowFormat(3,  11, 0x80,   0x80, signed_zero=False),
}
# fmt: on


_has_instructions: ContextVar[bool] = ContextVar("has_instructions", default=False)


@contextmanager
def with_instructions(are_used: bool = True) -> Iterator[None]:
    """The code emitted inside is for a target with instructions to convert f16 and bf16, and for
    reciprocals of f32 that are not quite exact.

    Args:
        are_used: whether it is to use them.
    """
    token = _has_instructions.set(are_used)
    try:
        yield
    finally:
        _has_instructions.reset(token)


def has_instructions() -> bool:
    """Whether there are these instructions, and they are to be used."""
    return _has_instructions.get()


def extend(x: Scalar) -> Scalar:
    """A narrow float as f32; exact."""
    width = x.element_type.bits
    if x.element_type is F16 and has_instructions():
        half = emit("arith.bitcast", ir.F16Type.get(), [x.value])
        return Scalar(emit("arith.extf", mlir_type(F32), [half]), F32)
    pattern = resize(bitcast(x, U16 if width == 16 else U8), U32)
    if x.element_type is BF16:
        return bitcast(pattern << 16, F32)
    form, sign_bit = FORMATS[x.element_type.name], 1 << (width - 1)
    # The magnitude moved into f32's place has an exponent too small by the difference of biases;
    # multiplying corrects it, and normalises what is subnormal in the narrow format.
    magnitude = (pattern & (sign_bit - 1)) << (23 - form.mantissa_bits)
    scaled = bitcast(bitcast(magnitude, F32) * 2.0 ** (127 - form.bias), U32)
    if form.has_infinity:  # these and NaN keep their exponent
        special = (pattern & form.overflow).eq(form.overflow)
    elif form.signed_zero:
        special = (pattern & form.nan).eq(form.nan)
    else:
        special = pattern.eq(form.nan)
    value = select(special, magnitude | (0x7F800000 if form.has_infinity else 0x7FC00000), scaled)
    return bitcast(value | ((pattern & sign_bit) << (32 - width)), F32)


def round_from_f32(x: Scalar, element_type: ElementType) -> Scalar:
    """An f32 as a narrow float; NaN stays a NaN."""
    if element_type in (F16, BF16) and has_instructions():
        # The same as `arith.truncf`, which passes expand to integer arithmetic where it is to bf16.
        own = ir.F16Type.get() if element_type is F16 else ir.BF16Type.get()
        rounded = emit("llvm.fptrunc", own, [x.value])
        return Scalar(emit("arith.bitcast", mlir_type(element_type), [rounded]), element_type)
    bits, width = bitcast(x, U32), element_type.bits
    if element_type is BF16:
        rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
        quiet = (bits >> 16) | 0x40
        return bitcast(resize(select(x.ne(x), quiet, rounded), U16), BF16)
    form = FORMATS[element_type.name]
    magnitude, dropped = bits & 0x7FFFFFFF, 23 - form.mantissa_bits
    # Normal results: the exponent is re-biased and the bits too many are rounded away; a carry may
    # raise the exponent. Subnormal ones: adding a power of two leaves multiples of the format's
    # smallest number as the last bits of the sum, rounded by the addition itself.
    half = ((magnitude >> dropped) & 1) + ((1 << (dropped - 1)) - 1)
    normal = (magnitude - ((127 - form.bias) << 23) + half) >> dropped
    unit = 24 - form.bias - form.mantissa_bits
    small = bitcast(bitcast(magnitude, F32) + 2.0**unit, U32) - ((unit + 127) << 23)
    finite = select(magnitude < (128 - form.bias) << 23, small, minimum(normal, form.overflow))
    result = select(magnitude > 0x7F800000, form.nan, finite)
    sign = (bits >> (32 - width)) & (1 << (width - 1))
    if not form.signed_zero:
        sign = select((result & 0x7F).eq(0), 0, sign)
    return bitcast(resize(result | sign, U16 if width == 16 else U8), element_type)
