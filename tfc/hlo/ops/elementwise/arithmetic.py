"""The elementwise operations: name, the kinds of element allowed, meaning in NumPy, traits, words.

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
from tfc.hlo.ir import Instruction
from tfc.hlo.op import Call, Value
from tfc.hlo.ops.elementwise.families import (
    ANY,
    FLOAT,
    INEXACT,
    INT,
    NUMBER,
    ORDERED,
    WHOLE,
    Array,
    binary,
    function,
    infer_alike,
    of_bits,
    or_complex,
    own_rule,
    unary,
    widened,
)
from tfc.hlo.shape import PRED, ElementType
from tfc.hlo.traits import Accuracy, Algebra, Cost


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


def _component(element_type: ElementType) -> ElementType:
    return element_type.component


def _real(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python floats over an array."""
    return np.vectorize(function, otypes=[np.float64])


def _minus_zero(element_type: ElementType) -> float:
    """What a sum may begin with: 0 + -0 is 0."""
    return -0.0 if element_type.is_float else 0


def _all_ones(element_type: ElementType) -> int:
    return -1 if element_type.kind == "signed" else _greatest_whole(element_type)


def _largest_float(element_type: ElementType) -> float:
    """Infinity, or the largest number of a type of floats that has none."""
    largest = np.asarray(np.inf).astype(element_type.dtype)
    return np.inf if np.isinf(largest) else float(element_type.float_limits.max)


def _least(element_type: ElementType) -> float:
    if element_type.is_float:
        return -_largest_float(element_type)
    return -_greatest_whole(element_type) - 1 if element_type.kind == "signed" else 0


def _greatest(element_type: ElementType) -> float:
    if element_type.is_float:
        return _largest_float(element_type)
    return _greatest_whole(element_type)


def _greatest_whole(element_type: ElementType) -> int:
    """The greatest number of a type of integers, or of truth values."""
    bits = 1 if element_type.kind == "pred" else element_type.bits
    return (1 << bits - (element_type.kind == "signed")) - 1


LONG, EXPENSIVE, MODERATE, CHEAP = Cost.LONG, Cost.EXPENSIVE, Cost.MODERATE, Cost.CHEAP
BITS, EXACT, ROUNDED, APPROXIMATE = list(Accuracy)[:4]
NONE, FOLD, CHOICE, COMMUTATIVE = (
    Algebra.NONE, Algebra.FOLD, Algebra.CHOICE, Algebra.COMMUTATIVE
)  # fmt: skip

# fmt: off
unary("abs", NUMBER, or_complex(np.abs, complex_values.absolute), CHEAP, BITS,
      "The magnitude. The least signed integer is its own magnitude; of a complex number it is "
      "a real one.", result=_component, monotone=True)
function("acos", FLOAT, np.arccos, LONG,
         "The inverse cosine, from 0 to π; NaN outside -1 … 1.",
         numpy=("arccos", "acos"), stablehlo="chlo.acos")
function("acosh", FLOAT, np.arccosh, LONG,
         "The inverse hyperbolic cosine; NaN below 1.",
         numpy=("arccosh", "acosh"), stablehlo="chlo.acosh")
function("asin", FLOAT, np.arcsin, LONG,
         "The inverse sine, from -π/2 to π/2; NaN outside -1 … 1.",
         numpy=("arcsin", "asin"), stablehlo="chlo.asin")
function("asinh", FLOAT, np.arcsinh, LONG,
         "The inverse hyperbolic sine.", numpy=("arcsinh", "asinh"), stablehlo="chlo.asinh")
function("atanh", FLOAT, np.arctanh, LONG,
         "The inverse hyperbolic tangent; infinite at ±1 and NaN beyond.",
         numpy=("arctanh", "atanh"), stablehlo="chlo.atanh")
function("cbrt", FLOAT, np.cbrt, LONG,
         "The cube root, also of negative numbers.", numpy=("cbrt",))
unary("ceil", FLOAT, np.ceil, CHEAP, EXACT,
      "The least whole number that is not less.", monotone=True)
function("cosh", INEXACT, or_complex(np.cosh, complex_values.cosh), EXPENSIVE,
         "The hyperbolic cosine.", numpy=("cosh",), stablehlo="chlo.cosh", monotone=True)
function("cosine", INEXACT, or_complex(np.cos, complex_values.cos), LONG,
         "The cosine of an angle in radians, exact to the last places however large the angle "
         "is.", numpy=("cos",))
of_bits("count-leading-zeros", 1, _count_leading_zeros, CHEAP,
        "How many zero bits stand before the first one; the width for 0.")
function("erf", FLOAT, _real(math.erf), EXPENSIVE,
         "The error function.", numpy=("erf",), stablehlo="chlo.erf")
function("exponential", INEXACT, or_complex(np.exp, complex_values.exp), EXPENSIVE,
         "e to the power of the operand.", numpy=("exp",), monotone=True)
function("exponential-minus-one", INEXACT, or_complex(np.expm1, complex_values.expm1), EXPENSIVE,
         "e to the power of the operand, minus one, without loss near zero.", numpy=("expm1",))
unary("floor", FLOAT, np.floor, CHEAP, EXACT,
      "The greatest whole number that is not greater.", monotone=True)
unary("imag", INEXACT, np.imag, CHEAP, BITS,
      "The imaginary part; of a real number, zero.", result=_component)
unary("is-finite", FLOAT, np.isfinite, CHEAP, EXACT,
      "True for numbers that are neither infinite nor NaN (UN-1).", result=lambda _: PRED,
      monotone=True)
function("log", INEXACT, or_complex(np.log, complex_values.log), EXPENSIVE,
         "The natural logarithm; -inf of zero, NaN of negative numbers.", numpy=("log",))
function("log-plus-one", INEXACT, or_complex(np.log1p, complex_values.log1p), EXPENSIVE,
         "The natural logarithm of the operand plus one, without loss near zero.", numpy=("log1p",))
function("logistic", INEXACT, or_complex(_logistic, complex_values.logistic), EXPENSIVE,
         "1 / (1 + exp(-x)).", numpy=("sigmoid", "logistic"), monotone=True)
unary("negate", NUMBER, np.negative, CHEAP, BITS,
      "The negative; the least signed integer stays what it is, and zeros change their sign.",
      monotone=True)
unary("not", WHOLE, _logical_or_bitwise(np.logical_not, np.invert), CHEAP, BITS,
      "Every bit flipped; of truth values, the negation.")
of_bits("popcnt", 1, lambda x, _: np.bitwise_count(x).astype(np.uint64), CHEAP,
        "How many bits are one.")
unary("real", INEXACT, np.real, CHEAP, BITS,
      "The real part; of a real number, itself.", result=_component)
unary("round-nearest-afz", FLOAT, _round_half_away, CHEAP, EXACT,
      "The nearest whole number; halves go away from zero.", monotone=True)
unary("round-nearest-even", FLOAT, np.rint, CHEAP, EXACT,
      "The nearest whole number; halves go to the even one.", monotone=True)
function("rsqrt", INEXACT, or_complex(_rsqrt, complex_values.rsqrt), MODERATE,
         "One over the square root; inf of zero, NaN of negative numbers.",
         numpy=("rsqrt",), monotone=True)
unary("sign", NUMBER, or_complex(_sign, complex_values.sign), CHEAP, EXACT,
      "-1, 0 or 1; zeros keep their sign and NaN stays NaN (UN-2). Of a complex number, the "
      "number over its magnitude.", monotone=True)
function("sine", INEXACT, or_complex(np.sin, complex_values.sin), LONG,
         "The sine of an angle in radians, exact to the last places however large the angle is.",
         numpy=("sin",))
function("sinh", INEXACT, or_complex(np.sinh, complex_values.sinh), EXPENSIVE,
         "The hyperbolic sine.", numpy=("sinh",), stablehlo="chlo.sinh")
function("sqrt", INEXACT, or_complex(np.sqrt, complex_values.sqrt), MODERATE,
         "The square root, rounded once; NaN of negative numbers.",
         numpy=("sqrt",), accuracy=ROUNDED, monotone=True)
function("tan", INEXACT, or_complex(np.tan, complex_values.tan), LONG,
         "The tangent of an angle in radians.", numpy=("tan",))
function("tanh", INEXACT, or_complex(np.tanh, complex_values.tanh), EXPENSIVE,
         "The hyperbolic tangent.", numpy=("tanh",))

binary("add", ANY, np.add, CHEAP, ROUNDED, FOLD,
       "The sum. Integers wrap around; of truth values it is or.", neutral=_minus_zero,
       monotone=True)
binary("and", WHOLE, np.bitwise_and, CHEAP, BITS, CHOICE,
       "The bits that are one in both; of truth values, the conjunction.", neutral=_all_ones)
binary("atan2", INEXACT, or_complex(np.arctan2, complex_values.atan2), LONG, APPROXIMATE, NONE,
       "The angle of the point (y, x) = (lhs, rhs), from -π to π.", transcendental=True)
binary("divide", NUMBER, or_complex(_divide, complex_values.divide), MODERATE, ROUNDED, NONE,
       "The quotient. Of integers it is truncated; division by zero gives all bits one, and the "
       "least integer by -1 is itself.", monotone=True)
binary("maximum", ORDERED, maximum, CHEAP, EXACT, CHOICE,
       "The larger operand. NaN wins over everything, and +0 over -0.",
       neutral=_least, monotone=True)
binary("minimum", ORDERED, minimum, CHEAP, EXACT, CHOICE,
       "The smaller operand. NaN wins over everything, and -0 over +0.",
       neutral=_greatest, monotone=True)
own_rule("mulhi", 2, partial(infer_alike, "mulhi", INT), _evaluate_multiply_high, INT, MODERATE,
         BITS, "The upper half of the product of two integers, whose lower half is that of "
         "multiply.", algebra=COMMUTATIVE, stablehlo="chlo.mulhi")
binary("multiply", ANY, or_complex(np.multiply, complex_values.multiply), CHEAP, ROUNDED, FOLD,
       "The product. Integers wrap around; of truth values it is and.",
       neutral=lambda _: 1, monotone=True)
binary("or", WHOLE, np.bitwise_or, CHEAP, BITS, CHOICE,
       "The bits that are one in either; of truth values, the disjunction.", neutral=lambda _: 0)
binary("power", NUMBER, or_complex(_power, complex_values.power), LONG, APPROXIMATE, NONE,
       "The left operand to the power of the right. Integers wrap around; negative powers of "
       "integers other than ±1 are 0.", transcendental=True)
binary("remainder", INT | FLOAT, _remainder, EXPENSIVE, EXACT, NONE,
       "What is left by truncating division: it has the sign of the dividend (BIN-3). Of "
       "integers by zero it is the dividend, of the least one by -1 it is 0.")
of_bits("shift-left", 2, _shift_left, CHEAP,
        "The bits moved up; zeros come in. Amounts beyond the width (or negative ones) give 0.",
        algebra=NONE)
of_bits("shift-right-arithmetic", 2, _shift_right_arithmetic, CHEAP,
        "The bits moved down; the sign bit comes in, also beyond the width.", algebra=NONE)
of_bits("shift-right-logical", 2, _shift_right_logical, CHEAP,
        "The bits moved down; zeros come in. Amounts beyond the width give 0.", algebra=NONE)
binary("subtract", NUMBER, np.subtract, CHEAP, ROUNDED, NONE,
       "The difference. Integers wrap around.", monotone=True)
binary("xor", WHOLE, np.bitwise_xor, CHEAP, BITS, FOLD,
       "The bits that differ; of truth values, whether they do.", neutral=lambda _: 0)
# fmt: on
