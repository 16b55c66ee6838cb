"""Elementwise operations that change the element type: complex, convert and bitcast-convert.

Semantics: BCT-1…4 of the operation semantics, and XLA's: floats become integers toward zero, the
nearest bound beyond the range, and 0 for NaN.
"""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from tfc.hlo import complex_meaning
from tfc.hlo.elementwise import ANY, FLOAT, Array, infer_alike, own_rule, widened
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Call, Value, describe, require, require_array, require_stated
from tfc.hlo.shape import F32, F64, AnyShape, ElementType, Shape, complex_of, element_type_of


def _infer_complex(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    part = infer_alike("complex", FLOAT, shapes, a, None)
    require(part.element_type in (F32, F64), "complex", "parts of type f32 or f64", part)
    return part.with_element_type(complex_of(part.element_type))


def _evaluate_complex(_: Instruction, values: Sequence[Value], __: Call) -> Array:
    return complex_meaning.join(*values)


def _infer_convert(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> Shape:
    operand, result = require_array("convert", shapes[0]), require_stated("convert", stated)
    require(
        operand.dims == result.dims,
        "convert",
        "a result of the operand's dimensions",
        describe([operand, result]),
    )
    require(
        result.element_type.is_complex or not operand.element_type.is_complex,
        "convert",
        "a complex result for a complex operand; take its real part instead",
        describe([operand, result]),
    )
    return result


def convert_array(value: Array, to: ElementType) -> Array:
    """The values as another element type: rounded to nearest even, truncated and saturated.

    Integers wrap when narrowed; floats become integers toward zero, the nearest bound beyond the
    range, and 0 for NaN; anything non-zero becomes true.
    """
    with np.errstate(all="ignore"):
        if to.kind == "pred":
            return value != 0
        source, value = element_type_of(value.dtype), widened(value)
        if to.is_integer and source.is_float:
            limits = ml_dtypes.iinfo(to.dtype)
            low, high = int(limits.min), int(limits.max)
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
    require(
        operand.dims == result.dims,
        name,
        "a result of the operand's dimensions",
        describe([operand, result]),
        "BCT-1",
    )
    require(
        operand.element_type.is_complex == result.element_type.is_complex,
        name,
        "element types that are both complex or both not",
        describe([operand, result]),
        "BCT-2",
    )
    require(
        operand.element_type.bits == result.element_type.bits,
        name,
        "element types of the same width",
        describe([operand, result]),
        "BCT-2",
    )
    return result


def _evaluate_bitcast(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    shape = instruction.array_shape
    # A scalar comes back from ascontiguousarray with one dimension.
    return np.ascontiguousarray(values[0]).view(shape.element_type.dtype).reshape(shape.dims)


own_rule("complex", 2, _infer_complex, _evaluate_complex, FLOAT)
own_rule("convert", 1, _infer_convert, _evaluate_convert, ANY, needs_shape=True)
own_rule("bitcast-convert", 1, _infer_bitcast, _evaluate_bitcast, ANY, needs_shape=True)
