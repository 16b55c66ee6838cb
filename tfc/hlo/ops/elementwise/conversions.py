"""Elementwise operations that change the element type, or what of it is used.

Semantics: BCT-1…4 and RP-1…5 of the operation semantics, and XLA's: floats become integers toward
zero, the nearest bound beyond the range, and 0 for NaN; complex numbers lose their imaginary part.
In a bitcast between widths the narrower type has one more dimension, the last, for the parts of an
element, lowest bits first. What is denormal after its exponent was reduced is a zero of its sign.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.evaluation import complex_values
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Value, describe, require, require_array, require_stated
from tfc.hlo.ops.elementwise.families import (
    ANY,
    FLOAT,
    Array,
    infer_alike,
    own_rule,
    require_kind,
    widened,
)
from tfc.hlo.shape import (
    ELEMENT_TYPES,
    F32,
    F64,
    AnyShape,
    ElementType,
    Shape,
    complex_of,
    element_type_of,
)
from tfc.hlo.traits import Accuracy, Algebra, Cost


def _infer_complex(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    part = infer_alike("complex", FLOAT, shapes, a, None)
    require(part.element_type in (F32, F64), "complex", "parts of type f32 or f64", part)
    return part.with_element_type(complex_of(part.element_type))


def _evaluate_complex(_: Instruction, values: Sequence[Value], __: Call) -> Array:
    return complex_values.join(*values)


def _infer_convert(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> Shape:
    operand, result = require_array("convert", shapes[0]), require_stated("convert", stated)
    require(
        operand.dims == result.dims,
        "convert",
        "a result of the operand's dimensions",
        describe([operand, result]),
    )
    return result


def convert_array(value: Array, to: ElementType) -> Array:
    """The values as another element type: rounded to nearest even, truncated and saturated.

    Integers wrap when narrowed; floats become integers toward zero, the nearest bound beyond the
    range, and 0 for NaN; anything non-zero becomes true. Complex numbers lose their imaginary part.
    """
    with np.errstate(all="ignore"):
        source, value = element_type_of(value.dtype), widened(value)
        if source.is_complex and not to.is_complex:
            return convert_array(np.real(value), to)
        if to.kind == "pred":
            return value != 0
        if to.is_integer and source.is_float:
            low, high = to.limits
            wide = np.trunc(np.nan_to_num(value, nan=0.0))
            # float(high) may round up to a power of two that does not fit: compare, then replace.
            inside = np.where((wide > low) & (wide < float(high)), wide, 0).astype(to.dtype)
            inside = np.where(wide >= float(high), np.array(high).astype(to.dtype), inside)
            return np.where(wide <= low, np.array(low).astype(to.dtype), inside).astype(to.dtype)
        if to.is_float and to.bits == 8 and value.dtype == np.float64:
            value = _odd_f32(value)  # ml_dtypes rounds to f32 and then once more
        return value.astype(to.dtype)


def _odd_f32(x: Array) -> Array:
    """f64 as f32, inexact numbers with an odd last bit: rounded further, they round as f64 does."""
    near = x.astype(np.float32)
    bits, back = near.view(np.uint32), near.astype(np.float64)
    toward_zero = np.where(np.abs(back) > np.abs(x), bits - 1, bits).astype(np.uint32)
    return np.where((back == x) | np.isnan(x) | np.isinf(near), near, (toward_zero | 1).view("f4"))


def _evaluate_convert(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    return convert_array(values[0], instruction.array_shape.element_type)


def _infer_bitcast(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> Shape:
    name = "bitcast-convert"
    operand, result = require_array(name, shapes[0]), require_stated(name, stated)
    both = describe([operand, result])
    source, target = operand.element_type, result.element_type
    for kind in ("pred", "complex"):  # a pred has one bit, wherever it lies
        if kind in (source.kind, target.kind):
            require(source == target, name, f"one element type, if one is {kind}", both, "BCT-2")
    wide, narrow = (operand, result) if source.bits > target.bits else (result, operand)
    ratio = wide.element_type.bits // narrow.element_type.bits
    extra = (ratio,) if ratio > 1 else ()
    meant = "a result of the operand's dimensions"
    if ratio > 1:
        which = "operand" if narrow is operand else "result"
        meant = f"the {which} to have the {ratio} parts of an element in one more, last dimension"
    require(narrow.dims == (*wide.dims, *extra), name, meant, both, "BCT-1")
    return result


def _evaluate_bitcast(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    shape = instruction.array_shape
    value, target = np.asarray(values[0]), shape.element_type
    source = element_type_of(value.dtype)
    if source.bits == 4 and target.bits > 4:
        nibbles = value.astype(np.uint8) & 15
        value = nibbles[..., ::2] | nibbles[..., 1::2] << 4
    raw = np.ascontiguousarray(value).reshape(-1)
    if target.bits == 4 and source.bits > 4:
        octets = raw.view(np.uint8)
        signed = np.stack([octets & 15, octets >> 4], axis=-1)
        return signed.astype(np.int8).astype(target.dtype).reshape(shape.dims)
    # A computation on scalars may be given whole arrays (scalars.apply_to_elements).
    dims = value.shape if source.bits == target.bits else shape.dims
    return raw.view(target.dtype).reshape(dims)


def _infer_reduce_precision(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    name = "reduce-precision"
    for part, least in (("exponent", 1), ("mantissa", 0)):
        bits = a[f"{part}_bits"]
        require(bits >= least, name, f"{part}_bits of {least} or more", bits, "RP-4")
    return infer_alike(name, FLOAT, shapes, a, None)


def _evaluate_reduce_precision(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    result, kept = x.array_shape.element_type, x["exponent_bits"]
    limits = result.float_limits
    digits = min(x["mantissa_bits"], limits.nmant)
    with np.errstate(all="ignore"):
        value = widened(values[0])
        # Denormal numbers have the least exponent, so their digits are counted from there.
        exponent = np.frexp(np.maximum(np.abs(value), np.float64(limits.tiny)))[1] - 1
        scaled = np.ldexp(value, digits - exponent)
        rounded = np.rint(scaled)
        if not digits:  # of 1.5, the neighbour whose exponent is even in memory: the bias is odd
            rounded = np.where((np.abs(scaled) == 1.5) & (exponent & 1 == 1), scaled / 1.5, rounded)
        rounded = np.ldexp(rounded, exponent - digits)
        if kept < result.bits - 1 - limits.nmant:
            largest = 2 ** (kept - 1) - 1
            infinite = np.abs(rounded) >= np.ldexp(1.0, largest + 1)
            rounded = np.where(infinite, np.copysign(np.inf, value), rounded)
            flushed = np.abs(rounded) < np.ldexp(1.0, 1 - largest)
            rounded = np.where(flushed, np.copysign(0.0, value), rounded)
        return np.where(np.isfinite(value), rounded, value).astype(result.dtype)


def _infer_stochastic(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> Shape:
    name = "stochastic-convert"
    operand, noise = (require_array(name, s) for s in shapes)
    result = require_stated(name, stated)
    require_kind(name, operand.element_type, FLOAT)
    wanted = Shape(ELEMENT_TYPES[f"u{operand.element_type.bits}"], operand.dims)
    require(noise.is_compatible(wanted), name, f"random bits {wanted.without_layout()}", noise)
    require(
        result.element_type.kind == "signed" and result.dims == operand.dims,
        name,
        "a result of the operand's dimensions and a signed type",
        describe([operand, result]),
    )
    return result


def _evaluate_stochastic(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    """Down to an integer, or up with the probability that the fraction is."""
    operand, noise, to = widened(values[0]), values[1], x.array_shape.element_type
    low, high = to.limits
    with np.errstate(all="ignore"):
        size = np.abs(operand)
        whole = np.floor(size)
        chance = np.ldexp(size - whole, 8 * noise.itemsize)
        up = noise < convert_array(chance, element_type_of(noise.dtype))
        rounded = np.copysign(whole + up, operand)
        return convert_array(np.clip(rounded, float(low), float(high)), to)


_BITS = tuple(Attribute(f"{part}_bits", "int") for part in ("exponent", "mantissa"))
# fmt: off
own_rule("complex", 2, _infer_complex, _evaluate_complex, FLOAT, Cost.CHEAP, Accuracy.BITS,
         "The complex number with these real and imaginary parts.", algebra=Algebra.NONE)
own_rule("reduce-precision", 1, _infer_reduce_precision, _evaluate_reduce_precision, FLOAT,
         Cost.MODERATE, Accuracy.ROUNDED,
         "The value rounded to fewer bits of exponent and mantissa, to nearest, ties to even "
         "(RP-1, RP-5). Beyond the exponent's range it is infinite, what would be denormal is a "
         "zero of its sign, and NaN stays NaN (RP-2, RP-3).",
         _BITS)
own_rule("stochastic-convert", 2, _infer_stochastic, _evaluate_stochastic, FLOAT,
         Cost.EXPENSIVE, Accuracy.ROUNDED,
         "A float as an integer next to it: away from zero if the second operand, random bits, "
         "is below the fraction as a share of their range; else toward zero. It saturates, and "
         "NaN becomes 0.",
         needs_shape=True, algebra=Algebra.NONE, stablehlo=None)
own_rule("convert", 1, _infer_convert, _evaluate_convert, ANY, Cost.CHEAP, Accuracy.ROUNDED,
         "The value in another element type. Floats round to nearest, ties to even; float to "
         "integer truncates and saturates, NaN becomes 0; to pred is whether it is not zero; "
         "integers wrap around; complex numbers lose their imaginary part, to pred as well.",
         needs_shape=True, monotone=True)
own_rule("bitcast-convert", 1, _infer_bitcast, _evaluate_bitcast, ANY, Cost.CHEAP, Accuracy.BITS,
         "The same bits as another element type (BCT-1 … BCT-4). Between widths, the narrower "
         "type has one more dimension, the last, for the parts of an element, the lowest bits "
         "first.",
         needs_shape=True)
# fmt: on
