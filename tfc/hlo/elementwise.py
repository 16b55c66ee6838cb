"""The elementwise operations: name, the kinds of element allowed, meaning in NumPy.

Semantics: BIN-1…3, CMP-1, UN-1…2, CLP-1…2, SEL-1…4, BCT-1…4 of the operation semantics. Where these
are silent the meaning is XLA's: integer division by zero gives -1 (all bits set) and its remainder
the dividend, INT_MIN / -1 gives INT_MIN, shifting by the width or more gives 0 (or the sign),
float to integer saturates and takes NaN to 0, and maximum and minimum propagate NaN.
Real f16, bf16 and f32 functions are evaluated in f64 and rounded once.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
    require_stated,
)
from tfc.hlo.shape import PRED, AnyShape, ElementType, Shape

Array = np.ndarray
INT = frozenset({"signed", "unsigned"})
FLOAT = frozenset({"float"})
COMPLEX = frozenset({"complex"})
BITS = INT | {"pred"}
NUMBER = INT | FLOAT | COMPLEX
ORDERED = INT | FLOAT | {"pred"}
ANY = NUMBER | {"pred"}

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}
COMPARISON_TYPES = {
    "pred": "UNSIGNED",
    "unsigned": "UNSIGNED",
    "signed": "SIGNED",
    "float": "FLOAT",
    "complex": "FLOAT",
}


def unary(
    name: str, domain: frozenset[str], meaning: Callable[[Array], Array], to_pred: bool = False
) -> Op:
    """Define an op of one operand; the result has the operand's type, or pred."""

    def infer(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> Shape:
        shape = require_array(name, shapes[0])
        require_kind(name, shape.element_type, domain)
        return shape.with_element_type(PRED) if to_pred else shape

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        return apply(meaning, instruction.array_shape.element_type, values)

    return register(Op(name, 1, infer, evaluate, elementwise=True, domain=domain))


def binary(name: str, domain: frozenset[str], meaning: Callable[[Array, Array], Array]) -> Op:
    """Define an op of two operands of the same shape, which is the result's."""

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        return apply(meaning, instruction.array_shape.element_type, values)

    infer = partial(_infer_binary, name, domain)
    return register(Op(name, 2, infer, evaluate, elementwise=True, domain=domain))


def require_kind(op: str, element_type: ElementType, domain: frozenset[str]) -> None:
    """Check that an operand's element type is of an allowed kind.

    Raises:
        ShapeError: it is not.
    """
    if element_type.kind not in domain:
        require(False, op, f"operands of type {' or '.join(sorted(domain))}", element_type)


def _infer_binary(
    name: str,
    domain: frozenset[str],
    shapes: Sequence[AnyShape],
    _: Attributes,
    __: AnyShape | None,
) -> Shape:
    left, right = (require_array(name, s) for s in shapes)
    require(
        left.is_compatible(right), name, "operands of the same shape", describe(shapes), "BIN-1"
    )
    require_kind(name, left.element_type, domain)
    return left


def apply(meaning: Callable[..., Array], result: ElementType, values: Sequence[Array]) -> Array:
    """Apply a NumPy function quietly and round to the result's type; narrow floats compute in f64.

    Types without NumPy arithmetic of their own (bf16, f8 …) are exact in f64, so one rounding is
    all that happens.
    """
    with np.errstate(all="ignore"):
        widened = [v.astype(np.float64) if _is_narrow_float(v) else v for v in values]
        return np.asarray(meaning(*widened)).astype(result.dtype, copy=False)


def _is_narrow_float(value: Array) -> bool:
    kind, size = value.dtype.kind, value.dtype.itemsize
    return (kind == "f" and size <= 4) or (
        kind == "V" or ("float" in value.dtype.name and size < 8)
    )


def _popcnt(x: Array) -> Array:
    # NumPy counts the bits of the absolute value.
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def _maximum(x: Array, y: Array) -> Array:
    """The larger one; NaN propagates, and +0 is larger than -0 (their sum is +0)."""
    zeros = (x == 0) & (y == 0) if x.dtype.kind == "f" else np.False_
    return np.where(zeros, x + y, np.maximum(x, y)) if np.any(zeros) else np.maximum(x, y)


def _minimum(x: Array, y: Array) -> Array:
    """The smaller one; NaN propagates, and -0 is smaller than +0."""
    return -_maximum(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y)


def _round_half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole), x)


def _sign(x: Array) -> Array:
    return np.sign(x) if x.dtype.kind in "iuc" else np.where((x == 0) | np.isnan(x), x, np.sign(x))


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return x / y
    zero, overflow = y == 0, _overflows(x, y)
    safe = np.where(zero | overflow, 1, y).astype(y.dtype)
    quotient = np.where(overflow, x, x // safe + _toward_zero(x, safe))
    return np.where(
        zero, np.full_like(x, -1 if x.dtype.kind == "i" else np.iinfo(x.dtype).max), quotient
    ).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    zero, overflow = y == 0, _overflows(x, y)
    safe = np.where(zero | overflow, 1, y).astype(y.dtype)
    return np.where(zero, x, np.where(overflow, 0, np.fmod(x, safe))).astype(x.dtype)


def _overflows(x: Array, y: Array) -> Array:
    """True where x / y does not fit: the most negative number by -1."""
    if x.dtype.kind == "u":
        return np.zeros(np.broadcast(x, y).shape, bool)
    return (x == np.iinfo(x.dtype).min) & (y == -1)


def _toward_zero(x: Array, y: Array) -> Array:
    """What turns NumPy's flooring quotient into the truncating one."""
    return ((x % y != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    result, base, exponent = np.ones_like(x + y), x + np.zeros_like(y), np.where(y < 0, 0, y)
    while exponent.any():
        result = np.where(exponent & 1, result * base, result).astype(x.dtype)
        base, exponent = (base * base).astype(x.dtype), exponent >> 1
    if x.dtype.kind == "u":
        return result
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y & 1, -1, 1), 0))
    return np.where(y < 0, inverse, result)


def _shift(meaning: Callable[[Array, Array], Array], arithmetic: bool) -> Callable[..., Array]:
    def shift(x: Array, y: Array) -> Array:
        width = x.dtype.itemsize * 8
        bits = x.view(f"{'i' if arithmetic else 'u'}{x.dtype.itemsize}")
        amount = y.view(f"u{y.dtype.itemsize}")
        beyond = bits >> (width - 1) if arithmetic else np.zeros_like(bits)
        inside = meaning(bits, np.minimum(amount, width - 1).astype(bits.dtype))
        return np.where(amount < width, inside, beyond).astype(bits.dtype).view(x.dtype)

    return shift


def _count_leading_zeros(x: Array) -> Array:
    bits, count = x.view(f"u{x.dtype.itemsize}"), np.full(x.shape, x.dtype.itemsize * 8)
    while bits.any():
        count, bits = np.where(bits > 0, count - 1, count), bits >> 1
    return count.astype(x.dtype)


def _logical_or_bitwise(logical: Callable[..., Array], bitwise: Callable[..., Array]):
    return lambda x, *rest: (logical if x.dtype == np.bool_ else bitwise)(x, *rest)


def _real(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python floats over an array."""
    return np.vectorize(function, otypes=[np.float64])


# fmt: off
unary("abs",                   INT | FLOAT, np.abs)
unary("acos",                  FLOAT,       np.arccos)
unary("acosh",                 FLOAT,       np.arccosh)
unary("asin",                  FLOAT,       np.arcsin)
unary("asinh",                 FLOAT,       np.arcsinh)
unary("atanh",                 FLOAT,       np.arctanh)
unary("cbrt",                  FLOAT,       np.cbrt)
unary("ceil",                  FLOAT,       np.ceil)
unary("cosh",                  FLOAT,       np.cosh)
unary("cosine",                FLOAT,       np.cos)
unary("count-leading-zeros",   INT,         _count_leading_zeros)
unary("erf",                   FLOAT,       _real(math.erf))
unary("exponential",           FLOAT,       np.exp)
unary("exponential-minus-one", FLOAT,       np.expm1)
unary("floor",                 FLOAT,       np.floor)
unary("is-finite",             FLOAT,       np.isfinite, to_pred=True)
unary("log",                   FLOAT,       np.log)
unary("log-plus-one",          FLOAT,       np.log1p)
unary("logistic",              FLOAT,       lambda x: 1 / (1 + np.exp(-x)))
unary("negate",                INT | FLOAT, np.negative)
unary("not",                   BITS,        _logical_or_bitwise(np.logical_not, np.invert))
unary("popcnt",                INT,         _popcnt)
unary("round-nearest-afz",     FLOAT,       _round_half_away)
unary("round-nearest-even",    FLOAT,       np.rint)
unary("rsqrt",                 FLOAT,       lambda x: 1 / np.sqrt(x))
unary("sign",                  INT | FLOAT, _sign)
unary("sine",                  FLOAT,       np.sin)
unary("sinh",                  FLOAT,       np.sinh)
unary("sqrt",                  FLOAT,       np.sqrt)
unary("tan",                   FLOAT,       np.tan)
unary("tanh",                  FLOAT,       np.tanh)

binary("add",                    INT | FLOAT, np.add)
binary("and",                    BITS,        np.bitwise_and)
binary("atan2",                  FLOAT,       np.arctan2)
binary("divide",                 INT | FLOAT, _divide)
binary("maximum",                ORDERED,     _maximum)
binary("minimum",                ORDERED,     _minimum)
binary("multiply",               INT | FLOAT, np.multiply)
binary("or",                     BITS,        np.bitwise_or)
binary("power",                  INT | FLOAT, _power)
binary("remainder",              INT | FLOAT, _remainder)
binary("shift-left",             INT,         _shift(np.left_shift, arithmetic=False))
binary("shift-right-arithmetic", INT,         _shift(np.right_shift, arithmetic=True))
binary("shift-right-logical",    INT,         _shift(np.right_shift, arithmetic=False))
binary("subtract",               INT | FLOAT, np.subtract)
binary("xor",                    BITS,        np.bitwise_xor)
# fmt: on


def _infer_compare(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    shape = _infer_binary("compare", ANY, shapes, a, None)
    require(
        a["direction"] in COMPARISONS, "compare", "a direction EQ NE GE GT LE LT", a["direction"]
    )
    usual = COMPARISON_TYPES[shape.element_type.kind]
    require(
        a.get("type", usual) == usual,
        "compare",
        f"the type {usual} for {shape.element_type}",
        a.get("type"),
    )
    return shape.with_element_type(PRED)


def _evaluate_compare(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    return apply(COMPARISONS[instruction["direction"]], PRED, values)


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
    return _minimum(_maximum(operand, low), high)


def _evaluate_clamp(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
    return apply(_clamp, instruction.array_shape.element_type, values)


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


def _elementwise(name: str, arity: int, infer, evaluate, domain, attributes=(), needs_shape=False):
    return register(
        Op(
            name,
            arity,
            infer,
            evaluate,
            attributes,
            elementwise=True,
            needs_shape=needs_shape,
            domain=domain,
        )
    )


_elementwise(
    "compare",
    2,
    _infer_compare,
    _evaluate_compare,
    ANY,
    (Attribute("direction", "name"), Attribute("type", "name", required=False)),
)
_elementwise("select", 3, _infer_select, _evaluate_select, ANY)
_elementwise("clamp", 3, _infer_clamp, _evaluate_clamp, INT | FLOAT)
_elementwise("convert", 1, _infer_convert, _evaluate_convert, ANY, needs_shape=True)
_elementwise("bitcast-convert", 1, _infer_bitcast, _evaluate_bitcast, ANY, needs_shape=True)
