"""The elementwise operations: name, the kinds of element allowed, meaning in NumPy.

Semantics: BIN-1…3, UN-1…2 of the operation semantics. Where these are silent the meaning is XLA's:
integer division by zero gives -1 (all bits set) and its remainder the dividend, INT_MIN / -1 gives
INT_MIN, shifting by the width or more gives 0 (or the sign), and maximum and minimum propagate NaN.
Real f16, bf16 and f32 functions are evaluated in f64 and rounded once; complex_values.py has what
operations mean on complex numbers.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tfc.hlo.evaluation import complex_values
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Evaluate,
    Infer,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
)
from tfc.hlo.shape import PRED, AnyShape, ElementType, Shape, element_type_of

Array = np.ndarray
INT = frozenset({"signed", "unsigned"})
FLOAT = frozenset({"float"})
COMPLEX = frozenset({"complex"})
BITS = INT | {"pred"}
INEXACT = FLOAT | COMPLEX
NUMBER = INT | INEXACT
ORDERED = INT | FLOAT | {"pred"}
ANY = NUMBER | {"pred"}


def unary(
    name: str,
    domain: frozenset[str],
    meaning: Callable[[Array], Array],
    result: Callable[[ElementType], ElementType] = lambda t: t,
) -> Op:
    """Define an op of one operand; `result` gives the result's type for the operand's."""

    def infer(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> Shape:
        shape = require_array(name, shapes[0])
        require_kind(name, shape.element_type, domain)
        return shape.with_element_type(result(shape.element_type))

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        return apply(meaning, instruction.array_shape.element_type, values)

    return register(Op(name, 1, infer, evaluate, elementwise=True, domain=domain))


def binary(name: str, domain: frozenset[str], meaning: Callable[[Array, Array], Array]) -> Op:
    """Define an op of two operands of the same shape, which is the result's."""

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        return apply(meaning, instruction.array_shape.element_type, values)

    infer = partial(infer_alike, name, domain)
    return register(Op(name, 2, infer, evaluate, elementwise=True, domain=domain))


def own_rule(
    name: str,
    arity: int,
    infer: Infer,
    evaluate: Evaluate,
    domain: frozenset[str],
    attributes: tuple[Attribute, ...] = (),
    needs_shape: bool = False,
) -> Op:
    """Define an elementwise op with a shape rule of its own."""
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


def require_kind(op: str, element_type: ElementType, domain: frozenset[str]) -> None:
    """Check that an operand's element type is of an allowed kind.

    Raises:
        ShapeError: it is not.
    """
    if element_type.kind not in domain:
        require(False, op, f"operands of type {' or '.join(sorted(domain))}", element_type)


def infer_alike(
    name: str,
    domain: frozenset[str],
    shapes: Sequence[AnyShape],
    _: Attributes,
    __: AnyShape | None,
) -> Shape:
    """The shape rule of most ops: the operands have one shape, which is the result's.

    Raises:
        ShapeError: the shapes differ, or the element type is of another kind.
    """
    first, *rest = (require_array(name, s) for s in shapes)
    require(
        all(first.is_compatible(other) for other in rest),
        name,
        "operands of the same shape",
        describe(shapes),
        "BIN-1",
    )
    require_kind(name, first.element_type, domain)
    return first


def apply(meaning: Callable[..., Array], result: ElementType, values: Sequence[Array]) -> Array:
    """Apply a NumPy function quietly and round to the result's type; narrow floats compute in f64.

    Types without NumPy arithmetic of their own (bf16, f8 …) are exact in f64, so one rounding is
    all that happens. 4-bit integers compute in 8 bits and wrap.
    """
    with np.errstate(all="ignore"):
        return np.asarray(meaning(*map(widened, values))).astype(result.dtype, copy=False)


def widened(value: Array) -> Array:
    """The values in a type that NumPy computes in: narrow floats in f64, 4-bit integers in 8."""
    element_type = element_type_of(value.dtype)
    if element_type.bits == 4:
        return value.astype(np.int8 if element_type.kind == "signed" else np.uint8)
    return value.astype(np.float64) if element_type.is_float else value


def maximum(x: Array, y: Array) -> Array:
    """The larger one; NaN propagates, and +0 is larger than -0 (their sum is +0)."""
    zeros = (x == 0) & (y == 0) if x.dtype.kind == "f" else np.False_
    return np.where(zeros, x + y, np.maximum(x, y)) if np.any(zeros) else np.maximum(x, y)


def minimum(x: Array, y: Array) -> Array:
    """The smaller one; NaN propagates, and -0 is smaller than +0."""
    return -maximum(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y)


def _round_half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole), x)


def _sign(x: Array) -> Array:
    return np.sign(x) if x.dtype.kind in "iu" else np.where((x == 0) | np.isnan(x), x, np.sign(x))


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


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


def of_bits(name: str, arity: int, meaning: Callable[..., Array]) -> Op:
    """Define an op on the bits of integers: `meaning` takes them as u64, and the width."""

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        shape = instruction.array_shape
        patterns = (_pattern(v, shape.element_type) for v in values)
        return _from_pattern(meaning(*patterns, shape.element_type.bits), shape.element_type)

    return own_rule(name, arity, partial(infer_alike, name, INT), evaluate, INT)


def _pattern(x: Array, element_type: ElementType) -> Array:
    """The bits of integers as u64, those beyond the width zero."""
    wide = x.astype(np.int64 if element_type.kind == "signed" else np.uint64).view(np.uint64)
    return wide & np.uint64(2**element_type.bits - 1)


def _from_pattern(bits: Array, element_type: ElementType) -> Array:
    """The integers whose lowest bits are given as u64; the inverse of `_pattern`."""
    unused = np.uint64(64 - element_type.bits)
    raised = np.left_shift(bits, unused, dtype=np.uint64)
    if element_type.kind == "signed":
        return (raised.view(np.int64) >> unused.astype(np.int64)).astype(element_type.dtype)
    return (raised >> unused).astype(element_type.dtype)


def _shift_left(x: Array, amount: Array, width: int) -> Array:
    return np.where(amount < width, x << np.minimum(amount, np.uint64(63)), np.uint64(0))


def _shift_right_logical(x: Array, amount: Array, width: int) -> Array:
    return np.where(amount < width, x >> np.minimum(amount, np.uint64(63)), np.uint64(0))


def _shift_right_arithmetic(x: Array, amount: Array, width: int) -> Array:
    unused = np.uint64(64 - width)
    signed = (x << unused).view(np.int64) >> unused.astype(np.int64)
    return (signed >> np.minimum(amount, np.uint64(63)).astype(np.int64)).view(np.uint64)


def _count_leading_zeros(x: Array, width: int) -> Array:
    count = np.full(x.shape, width, np.uint64)
    while x.any():
        count, x = np.where(x > 0, count - np.uint64(1), count), x >> np.uint64(1)
    return count


def _evaluate_multiply_high(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    result = x.array_shape.element_type
    left, right = (widened(v).astype(object) for v in values)  # Python's integers have no width
    return np.asarray(
        left * right >> result.bits, "i8" if result.kind == "signed" else "u8"
    ).astype(result.dtype)


def _logical_or_bitwise(logical: Callable[..., Array], bitwise: Callable[..., Array]):
    return lambda x, *rest: (logical if x.dtype == np.bool_ else bitwise)(x, *rest)


def _or_complex(real: Callable[..., Array], of_complex: Callable[..., Array]):
    """A meaning for real numbers and another for complex ones."""
    return lambda *values: (of_complex if values[0].dtype.kind == "c" else real)(*values)


def _component(element_type: ElementType) -> ElementType:
    return element_type.component


def _real(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python floats over an array."""
    return np.vectorize(function, otypes=[np.float64])


# fmt: off
unary("abs",                   NUMBER,      _or_complex(np.abs, complex_values.absolute),
                                            _component)
unary("acos",                  FLOAT,       np.arccos)
unary("acosh",                 FLOAT,       np.arccosh)
unary("asin",                  FLOAT,       np.arcsin)
unary("asinh",                 FLOAT,       np.arcsinh)
unary("atanh",                 FLOAT,       np.arctanh)
unary("cbrt",                  FLOAT,       np.cbrt)
unary("ceil",                  FLOAT,       np.ceil)
unary("cosh",                  INEXACT,     _or_complex(np.cosh, complex_values.cosh))
unary("cosine",                INEXACT,     _or_complex(np.cos, complex_values.cos))
of_bits("count-leading-zeros", 1,           _count_leading_zeros)
unary("erf",                   FLOAT,       _real(math.erf))
unary("exponential",           INEXACT,     _or_complex(np.exp, complex_values.exp))
unary("exponential-minus-one", INEXACT,     _or_complex(np.expm1, complex_values.expm1))
unary("floor",                 FLOAT,       np.floor)
unary("imag",                  INEXACT,     np.imag, _component)
unary("is-finite",             FLOAT,       np.isfinite, lambda _: PRED)
unary("log",                   INEXACT,     _or_complex(np.log, complex_values.log))
unary("log-plus-one",          INEXACT,     _or_complex(np.log1p, complex_values.log1p))
unary("logistic",              INEXACT,     _or_complex(_logistic, complex_values.logistic))
unary("negate",                NUMBER,      np.negative)
unary("not",                   BITS,        _logical_or_bitwise(np.logical_not, np.invert))
of_bits("popcnt",              1,           lambda x, _: np.bitwise_count(x).astype(np.uint64))
unary("real",                  INEXACT,     np.real, _component)
unary("round-nearest-afz",     FLOAT,       _round_half_away)
unary("round-nearest-even",    FLOAT,       np.rint)
unary("rsqrt",                 INEXACT,     _or_complex(_rsqrt, complex_values.rsqrt))
unary("sign",                  NUMBER,      _or_complex(_sign, complex_values.sign))
unary("sine",                  INEXACT,     _or_complex(np.sin, complex_values.sin))
unary("sinh",                  INEXACT,     _or_complex(np.sinh, complex_values.sinh))
unary("sqrt",                  INEXACT,     _or_complex(np.sqrt, complex_values.sqrt))
unary("tan",                   INEXACT,     _or_complex(np.tan, complex_values.tan))
unary("tanh",                  INEXACT,     _or_complex(np.tanh, complex_values.tanh))

binary("add",                    ANY,         np.add)
binary("and",                    BITS,        np.bitwise_and)
binary("atan2",                  INEXACT,     _or_complex(np.arctan2, complex_values.atan2))
binary("divide",                 NUMBER,      _or_complex(_divide, complex_values.divide))
binary("maximum",                ORDERED,     maximum)
binary("minimum",                ORDERED,     minimum)
binary("multiply",               ANY,         _or_complex(np.multiply, complex_values.multiply))
binary("or",                     BITS,        np.bitwise_or)
binary("power",                  NUMBER,      _or_complex(_power, complex_values.power))
binary("remainder",              INT | FLOAT, _remainder)
of_bits("shift-left",             2,           _shift_left)
of_bits("shift-right-arithmetic", 2,           _shift_right_arithmetic)
of_bits("shift-right-logical",    2,           _shift_right_logical)
binary("subtract",               NUMBER,      np.subtract)
own_rule("mulhi", 2,             partial(infer_alike, "mulhi", INT), _evaluate_multiply_high, INT)
binary("xor",                    BITS,        np.bitwise_xor)
# fmt: on
