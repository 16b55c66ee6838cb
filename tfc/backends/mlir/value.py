"""Scalars of any type, and conversions between types: what the emitters import.

Conversions are MLIR's raw ones. f16 and bf16 convert by integer arithmetic, to and from f32 alone:
the instructions for it are not on every CPU, and where they are missing LLVM calls a run-time
library that we do not bring.
"""

from tfc.backends.mlir.scalar import (
    Number,
    Scalar,
    constant,
    emit,
    fma,
    from_memory,
    imaginary_part,
    make_complex,
    maximum,
    memory_type,
    minimum,
    mlir_type,
    real_part,
    select,
    to_memory,
)
from tfc.errors import InternalError
from tfc.hlo.shape import BF16, F16, F32, F64, PRED, U16, U32, U64, ElementType

__all__ = [
    "Number",
    "Scalar",
    "bitcast",
    "constant",
    "convert",
    "emit",
    "fma",
    "from_memory",
    "imaginary_part",
    "make_complex",
    "maximum",
    "memory_type",
    "minimum",
    "mlir_type",
    "real_part",
    "select",
    "to_memory",
]


def convert(x: Scalar, element_type: ElementType) -> Scalar:
    """The value of `x` in another type, by MLIR's raw conversions.

    Integers wrap, floats round to nearest even, to pred is `x != 0` (true for NaN). Float to
    integer truncates and is *undefined* out of range: the caller has clamped `x`, NaN included.
    Complex numbers convert to complex numbers only; what becomes one has no imaginary part.
    """
    source = x.element_type
    if source == element_type:
        return x
    if element_type.is_complex:
        part = element_type.component
        if not source.is_complex:
            return make_complex(convert(x, part), 0)
        return make_complex(convert(real_part(x), part), convert(imaginary_part(x), part))
    if source in _NARROW and element_type != F32:
        return convert(_extend(x), element_type)
    if element_type in _NARROW and source != F32:
        return _round_once(x, element_type)
    if source in _NARROW:
        return _extend(x)
    if element_type in _NARROW:
        return _round_to_half(x) if element_type is F16 else _round_to_bf16(x)
    if element_type is PRED:
        return x.ne(0)
    if source.is_integer and element_type.is_integer and source.bits == element_type.bits:
        return Scalar(x.value, element_type)
    name = _conversion(source, element_type)
    return Scalar(emit(name, mlir_type(element_type), [x.value]), element_type)


def _conversion(source: ElementType, target: ElementType) -> str:
    """The operation that converts between types that differ in kind or width."""
    if source.is_float and target.is_float:
        return "arith.extf" if source.bits < target.bits else "arith.truncf"
    if source.is_float:
        return "arith.fptosi" if target.kind == "signed" else "arith.fptoui"
    if target.is_float:
        return "arith.sitofp" if source.kind == "signed" else "arith.uitofp"
    if source is not PRED and source.bits > target.bits:
        return "arith.trunci"
    return "arith.extsi" if source.kind == "signed" else "arith.extui"


_NARROW = (F16, BF16)


def _extend(x: Scalar) -> Scalar:
    """An f16 or bf16 as f32; exact."""
    wide = convert(bitcast(x, U16), U32)
    if x.element_type is BF16:
        return bitcast(wide << 16, F32)
    # The magnitude moved into f32's place has an exponent too small by 112; multiplying by 2^112
    # corrects it, and normalises what is subnormal in f16. Infinity and NaN keep their exponent.
    magnitude = (wide & 0x7FFF) << 13
    scaled = bitcast(bitcast(magnitude, F32) * 2.0**112, U32)
    special = (wide & 0x7C00).eq(0x7C00)
    return bitcast(select(special, magnitude | 0x7F800000, scaled) | ((wide & 0x8000) << 16), F32)


def _round_to_bf16(x: Scalar) -> Scalar:
    """An f32 as bf16, ties to even; NaN stays a NaN."""
    bits = bitcast(x, U32)
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
    quiet = (bits >> 16) | 0x40
    return bitcast(convert(select(x.ne(x), quiet, rounded), U16), BF16)


def _round_to_half(x: Scalar) -> Scalar:
    """An f32 as f16, ties to even; NaN stays a NaN."""
    bits = bitcast(x, U32)
    sign, magnitude = (bits >> 16) & 0x8000, bits & 0x7FFFFFFF
    # Normal results: the exponent is re-biased and 13 bits are rounded away; a carry may raise the
    # exponent, up to infinity. Subnormal ones: adding 0.5 leaves multiples of f16's smallest number
    # as the last bits of the sum, rounded by the addition itself.
    normal = (magnitude - 0x38000000 + (((magnitude >> 13) & 1) + 0xFFF)) >> 13
    small = bitcast(bitcast(magnitude, F32) + 0.5, U32) - 0x3F000000
    finite = select(magnitude < 0x38800000, small, minimum(normal, 0x7C00))
    quiet = ((magnitude >> 13) & 0x3FF) | 0x7E00
    result = select(magnitude > 0x7F800000, quiet, select(magnitude >= 0x47800000, 0x7C00, finite))
    return bitcast(convert(result | sign, U16), F16)


def _round_once(x: Scalar, element_type: ElementType) -> Scalar:
    """Any number but f32 as f16 or bf16."""
    if element_type is BF16 or x.element_type is PRED or x.element_type.bits <= 16:
        return convert(convert(x, F32), element_type)  # as ml_dtypes rounds to bf16
    if x.element_type.is_integer:
        # Beyond 2^17 every integer is infinite in f16; below, f32 holds it exactly.
        bounded = minimum(x, 1 << 17)
        if x.element_type.kind == "signed":
            bounded = maximum(bounded, -(1 << 17))
        return convert(convert(bounded, F32), element_type)
    # f64: rounding to f32 must not create a tie, so an inexact f32 gets an odd last bit.
    near = convert(x, F32)
    bits, back = bitcast(near, U32), convert(near, F64)
    size, wanted = _magnitude(back), _magnitude(x)
    toward = select(size > wanted, bits - 1, bits)
    odd = select(size.eq(wanted) | x.ne(x), bits, toward | 1)
    # Above f32's range the nearest f32 is infinite, and so is the f16.
    return convert(bitcast(select(wanted > 1e30, bits, odd), F32), element_type)


def _magnitude(x: Scalar) -> Scalar:
    """The absolute value of an f64."""
    return bitcast(bitcast(x, U64) & ((1 << 63) - 1), F64)


def bitcast(x: Scalar, element_type: ElementType) -> Scalar:
    """The bits of `x` read as another type of the same width; pred only to itself."""
    source = x.element_type
    if source == element_type:
        return x
    if source.bits != element_type.bits or PRED in (source, element_type):
        raise InternalError(f"the bits of {source} cannot be read as {element_type}")
    if source.is_integer and element_type.is_integer:
        return Scalar(x.value, element_type)
    return Scalar(emit("arith.bitcast", mlir_type(element_type), [x.value]), element_type)
