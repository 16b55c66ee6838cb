"""Elementwise operations with shape rules of their own: compare, select and clamp.

Semantics: CMP-1, CLP-1…2, SEL-1…4 of the operation semantics.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Value, describe, require, require_array
from tfc.hlo.ops.elementwise.arithmetic import maximum, minimum
from tfc.hlo.ops.elementwise.families import (
    ANY,
    FLOAT,
    INT,
    Array,
    apply,
    infer_alike,
    own_rule,
    require_kind,
)
from tfc.hlo.shape import PRED, AnyShape, Shape
from tfc.hlo.traits import Accuracy, Algebra, Cost

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}
MIRRORED = {"EQ": "EQ", "NE": "NE", "GE": "LE", "GT": "LT", "LE": "GE", "LT": "GT"}
COMPARISON_TYPES = {
    "pred": "UNSIGNED",
    "unsigned": "UNSIGNED",
    "signed": "SIGNED",
    "float": "FLOAT",
    "complex": "FLOAT",
}


def _infer_compare(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    shape = infer_alike("compare", ANY, shapes, a, None)
    require(
        a["direction"] in COMPARISONS, "compare", "a direction EQ NE GE GT LE LT", a["direction"]
    )
    require(
        not shape.element_type.is_complex or a["direction"] in ("EQ", "NE"),
        "compare",
        "the direction EQ or NE for complex numbers, which have no order",
        a["direction"],
    )
    usual = COMPARISON_TYPES[shape.element_type.kind]
    allowed = (usual, "TOTALORDER") if shape.element_type.is_float else (usual,)
    require(
        a.get("type", usual) in allowed,
        "compare",
        f"the type {' or '.join(allowed)} for {shape.element_type}",
        a.get("type"),
    )
    return shape.with_element_type(PRED)


def _evaluate_compare(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    if instruction.attributes.get("type") == "TOTALORDER":
        values = [_total_order(v) for v in values]
    return apply(COMPARISONS[instruction["direction"]], PRED, values)


def _total_order(x: Array) -> Array:
    """Integers ordered as the bits of floats are: -NaN, -inf … -0, 0 … inf, NaN."""
    if x.dtype.name.endswith("fnuz"):  # their NaN, a negative one, has the pattern of -0
        x = np.where(np.isnan(x), -np.float32(np.nan), x.astype(np.float32))
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _infer_select(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    pred = require_array("select", shapes[0])
    require(pred.element_type == PRED, "select", "a pred as its first operand", pred, "SEL-1")
    require(
        shapes[1].is_compatible(shapes[2]),
        "select",
        "on_true and on_false of one shape",
        describe(shapes[1:]),
        "SEL-1",
    )
    if not isinstance(shapes[1], Shape):
        require(pred.rank == 0, "select", "a scalar pred to choose between tuples", pred, "SEL-3")
    else:
        require(
            pred.dims in ((), shapes[1].dims),
            "select",
            "a scalar pred or one of the operands' dimensions",
            describe(shapes),
            "SEL-2",
        )
    return shapes[1]


def _evaluate_select(_: Instruction, values: Sequence[Value], __: Call) -> Value:
    pred, on_true, on_false = values
    if isinstance(on_true, tuple):
        return on_true if pred else on_false
    return np.where(pred, on_true, on_false).astype(on_true.dtype)


def _infer_clamp(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> Shape:
    low, operand, high = (require_array("clamp", s) for s in shapes)
    require_kind("clamp", operand.element_type, INT | FLOAT)
    for bound in (low, high):
        require(
            bound.element_type == operand.element_type and bound.dims in ((), operand.dims),
            "clamp",
            "bounds that are scalars or of the operand's shape",
            describe(shapes),
            "CLP-2",
        )
    return operand


def _clamp(low: Array, operand: Array, high: Array) -> Array:
    return minimum(maximum(operand, low), high)


def _evaluate_clamp(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    return apply(_clamp, instruction.array_shape.element_type, values)


# fmt: off
own_rule("compare", 2, _infer_compare, _evaluate_compare, ANY, Cost.CHEAP, Accuracy.EXACT,
         "Whether the comparison holds, element by element (CMP-1): with NaN only NE does, and "
         "zeros are equal. `type` is the kind of the operands when left out; TOTALORDER orders "
         "floats by sign, then magnitude, NaN outermost.",
         (Attribute("direction", "name"), Attribute("type", "name", required=False)),
         algebra=Algebra.NONE, monotone=True)
own_rule("select", 3, _infer_select, _evaluate_select, ANY, Cost.CHEAP, Accuracy.BITS,
         "From the second operand where the first is true, else from the third (SEL-1 … SEL-4). "
         "A scalar condition chooses whole operands, tuples too.")
own_rule("clamp", 3, _infer_clamp, _evaluate_clamp, INT | FLOAT, Cost.CHEAP, Accuracy.EXACT,
         "min(max(low, x), high): if low is above high, the result is high (CLP-1).", monotone=True)
# fmt: on
