"""Elements that change their type, without undefined behaviour, and reduced precision."""

from tfc.backends.mlir.arithmetic.floating import absolute, bits_of, copy_sign, format_of
from tfc.backends.mlir.arithmetic.narrow_floats import FORMATS
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    constant,
    convert,
    emit,
    real_part,
    select,
)
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F32, F64, ElementType


def widened(x: Scalar) -> Scalar:
    """The value as f32 if it is a narrower float."""
    return convert(x, F32) if x.element_type.is_float and x.element_type.bits < 32 else x


def emit_convert(instruction: Instruction, x: Scalar) -> Scalar:
    """An element in the type of the result."""
    to = instruction.array_shape.element_type
    if x.element_type.is_complex and not to.is_complex:
        x = real_part(x)
    if not (x.element_type.is_float and to.is_integer):
        return convert(x, to)
    return saturating_convert(widened(x), to)


def saturating_convert(x: Scalar, to: ElementType) -> Scalar:
    """A float as an integer: toward zero, the nearest bound beyond the range, 0 for NaN."""
    low, high = to.limits
    # high + 1 is a power of two, so exact as a float; values from there on saturate.
    above, below = x >= float(high + 1), x <= float(low)
    inside = convert(select(above | below | x.ne(x), 0.0, x), to)
    return select(above, constant(to, high), select(below, constant(to, low), inside))


def emit_bitcast(instruction: Instruction, x: Scalar) -> Scalar:
    """The bits of an element as another type of its width; other widths are expanded before."""
    return bitcast(x, instruction.array_shape.element_type)


def emit_stochastic_convert(instruction: Instruction, x: Scalar, noise: Scalar) -> Scalar:
    """An integer next to x: the farther from 0 with the probability that the fraction is."""
    value = widened(x)
    size = absolute(value)
    whole = Scalar(emit("math.floor", size.value.type, [size.value]), size.element_type)
    chance = saturating_convert((size - whole) * 2.0**x.element_type.bits, noise.element_type)
    rounded = select(noise < chance, whole + 1.0, whole)
    return saturating_convert(copy_sign(rounded, value), instruction.array_shape.element_type)


def _mantissa_and_bias(element_type: ElementType) -> tuple[int, int]:
    """The bits of the stored mantissa, and the bias of the exponent."""
    if element_type.name in FORMATS:
        form = FORMATS[element_type.name]
        return form.mantissa_bits, form.bias
    return {BF16: (7, 127), F32: (23, 127), F64: (52, 1023)}[element_type]


def emit_reduce_precision(instruction: Instruction, x: Scalar) -> Scalar:
    """x rounded to fewer bits of mantissa and exponent, computed in f32 or f64 (RP-1 … RP-5)."""
    element_type, value = x.element_type, widened(x)
    form = format_of(value)
    own_mantissa, own_bias = _mantissa_and_bias(element_type)
    exponent_bits, mantissa_bits = (
        instruction[f"{part}_bits"] for part in ("exponent", "mantissa")
    )

    def power(exponent: int) -> int:
        """The bits of 2^exponent."""
        return (exponent + form.bias) << form.mantissa_bits

    infinity = power(form.bias + 1)
    size = bits_of(absolute(value))
    reduced = size
    if mantissa_bits < own_mantissa:
        dropped = form.mantissa_bits - mantissa_bits
        half = ((size >> dropped) & 1) + ((1 << (dropped - 1)) - 1)
        reduced = ((size + half) >> dropped) << dropped
        if own_bias < form.bias:
            # Denormal numbers of the type: adding a power of two leaves multiples of a smaller one.
            unit = power(1 - own_bias + dropped)
            least = bitcast(constant(form.unsigned, unit), value.element_type)
            small = bits_of((bitcast(size, value.element_type) + least) - least)
            reduced = select(size < power(1 - own_bias), small, reduced)
    if exponent_bits < element_type.bits - 1 - own_mantissa:
        largest = (1 << (exponent_bits - 1)) - 1
        reduced = select(reduced < power(largest + 1), reduced, infinity)
        reduced = select(reduced < power(1 - largest), 0, reduced)
    reduced = select(size > infinity, size, reduced)  # NaN stays what it is
    return convert(copy_sign(bitcast(reduced, value.element_type), value), element_type)
