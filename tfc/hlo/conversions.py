"""Elementwise operations that change the element type: complex, convert and bitcast-convert.

Semantics: BCT-1…4 of the operation semantics, and XLA's: floats become integers toward zero, the
nearest bound beyond the range, and 0 for NaN.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo import complex_meaning
from tfc.hlo.elementwise import ANY, FLOAT, Array, infer_binary, own_rule
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Call, Value, describe, require, require_array, require_stated
from tfc.hlo.shape import F32, F64, AnyShape, ElementType, Shape, complex_of


def _infer_complex(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    part = infer_binary("complex", FLOAT, shapes, a, None)
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
        from_float = value.dtype.kind in "fV" or "float" in value.dtype.name
        if to.is_integer and from_float:
            limits = np.iinfo(to.dtype) if to.bits >= 8 else None
            low = limits.min if limits else -(2 ** (to.bits - 1)) * (to.kind == "signed")
            high = limits.max if limits else 2 ** (to.bits - (to.kind == "signed")) - 1
            wide = np.trunc(np.nan_to_num(value.astype(np.float64), nan=0.0))
            # float(high) may round up to a power of two that does not fit: compare, then replace.
            inside = np.where((wide > low) & (wide < float(high)), wide, 0).astype(to.dtype)
            inside = np.where(wide >= float(high), np.array(high).astype(to.dtype), inside)
            return np.where(wide <= low, np.array(low).astype(to.dtype), inside).astype(to.dtype)
        return value.astype(to.dtype)


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
