"""Scalars of any type, and conversions between types: what the emitters import.

Conversions are MLIR's raw ones, those of f16, bf16 and the 8-bit floats integer arithmetic.
"""

from tfc.backends.mlir.arithmetic.narrow_floats import extend, round_from_f32
from tfc.backends.mlir.arithmetic.scalar import (
    Number,
    Scalar,
    bitcast,
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
    multiply_add,
    real_part,
    resize,
    select,
    to_memory,
)
from tfc.hlo.shape import BF16, F32, F64, PRED, U32, U64, ElementType

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
    "multiply_add",
    "real_part",
    "resize",
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
    if source.is_float and source.bits <= 16:
        return convert(extend(x), element_type)
    if element_type.is_float and element_type.bits <= 16:
        return round_from_f32(_fit_for_rounding(x, element_type), element_type)
    if element_type is PRED:
        return x.ne(0)
    if not source.is_float and element_type.is_integer:
        return resize(x, element_type)
    name = _conversion(source, element_type)
    return Scalar(emit(name, mlir_type(element_type), [x.value]), element_type)


def _conversion(source: ElementType, target: ElementType) -> str:
    """The operation that converts between types one of which is a float."""
    if source.is_float and target.is_float:
        return "arith.extf" if source.bits < target.bits else "arith.truncf"
    if source.is_float:
        return "arith.fptosi" if target.kind == "signed" else "arith.fptoui"
    return "arith.sitofp" if source.kind == "signed" else "arith.uitofp"


def _fit_for_rounding(x: Scalar, element_type: ElementType) -> Scalar:
    """An f32 that rounds to a narrow float type as the number `x` does."""
    source = x.element_type
    if element_type is BF16 or source.bits <= 16:
        return convert(x, F32)  # as ml_dtypes rounds to bf16
    if source.is_integer:
        # Beyond 2^17 every integer is out of range; below, f32 holds it exactly.
        bounded = minimum(x, 1 << 17)
        return convert(maximum(bounded, -(1 << 17)) if source.kind == "signed" else bounded, F32)
    if source is F32:
        return x
    # f64: rounding to f32 must not create a tie, so an inexact f32 gets an odd last bit.
    near = convert(x, F32)
    bits, back = bitcast(near, U32), convert(near, F64)
    size, wanted = _magnitude(back), _magnitude(x)
    toward = select(size > wanted, bits - 1, bits)
    odd = select(size.eq(wanted) | x.ne(x), bits, toward | 1)
    # Above f32's range the nearest f32 is infinite, and so is the f16.
    return bitcast(select(wanted > 1e30, bits, odd), F32)


def _magnitude(x: Scalar) -> Scalar:
    """The absolute value of an f64."""
    return bitcast(bitcast(x, U64) & ((1 << 63) - 1), F64)
