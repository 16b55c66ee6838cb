"""The emission table: an elementwise op's result element from its operand elements, in MLIR.

One row an op, in the order of the definitions. CPU and GPU use the same rows. Nothing here has
undefined behaviour, whatever the values: integer division, shifts and conversions are guarded to
give what the definitions (tfc.hlo.ops.elementwise) say. f16 and bf16 functions compute in f32 and
round once; so do the 8-bit floats.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from tfc.backends.mlir.arithmetic import math_functions as functions
from tfc.backends.mlir.arithmetic.complex_functions import COMPLEX_FUNCTIONS
from tfc.backends.mlir.arithmetic.conversions import (
    emit_bitcast,
    emit_convert,
    emit_reduce_precision,
    emit_stochastic_convert,
    widened,
)
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    constant,
    convert,
    emit,
    make_complex,
    maximum,
    minimum,
    select,
)
from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ELEMENT_TYPES, F32, F64, PRED, ElementType

Emission = Callable[..., Scalar]  # (instruction, *operand elements) -> result element
_NO_RULES: Mapping[str, Emission] = MappingProxyType({})
_replaced: ContextVar[Mapping[str, Emission]] = ContextVar("replaced", default=_NO_RULES)


@contextmanager
def emitting(rules: Mapping[str, Emission]) -> Iterator[None]:
    """In the code emitted inside, some operations are made by other rules.

    Args:
        rules: by opcode; what one does not know it must leave to `EMISSION`.
    """
    token = _replaced.set(rules)
    try:
        yield
    finally:
        _replaced.reset(token)


def emit_element(instruction: Instruction, *operands: Scalar) -> Scalar:
    """The result element of an elementwise instruction for given operand elements.

    Raises:
        UnsupportedError: the op has no emission for these element types.
    """
    rule = _replaced.get().get(instruction.opcode) or EMISSION.get(instruction.opcode)
    if operands[0].element_type.is_complex and instruction.opcode in COMPLEX_FUNCTIONS:
        return COMPLEX_FUNCTIONS[instruction.opcode](*operands)
    if rule is None:
        raise UnsupportedError(f"code generation does not support '{instruction.opcode}' yet")
    return rule(instruction, *operands)


def on_floats(function: Callable[..., Scalar]) -> Emission:
    """A float function; narrow types go through f32."""

    def emission(_: Instruction, *operands: Scalar) -> Scalar:
        element_type = operands[0].element_type
        if element_type in (F32, F64):
            return function(*operands)
        return convert(function(*(convert(x, F32) for x in operands)), element_type)

    return emission


def _plain(function: Callable[..., Scalar]) -> Emission:
    """A function that means the same for every type it is defined for.

    On f16 and bf16 it computes in f32, which has the bits to make one rounding of two.
    """
    in_f32 = on_floats(function)
    return lambda instruction, *operands: (
        in_f32 if operands[0].element_type.is_float else _on_bits(function)
    )(instruction, *operands)


def _on_bits(function: Callable[..., Scalar]) -> Emission:
    """A function that moves or flips bits, or works on integers."""
    return lambda _, *operands: function(*operands)


def _on_sign(function: Callable[..., Scalar]) -> Emission:
    """A function that changes the sign bit, which in some 8-bit floats makes NaN of zero."""
    in_f32 = on_floats(function)
    return lambda instruction, x: (
        in_f32(instruction, x)
        if x.element_type.is_float and x.element_type.bits == 8
        else function(x)
    )


def _math(name: str) -> Emission:
    """An op that MLIR's math dialect has and every target computes exactly."""
    return on_floats(lambda x: Scalar(emit(name, x.value.type, [x.value]), x.element_type))


def _intrinsic(name: str) -> Emission:
    """An integer op of MLIR's math dialect."""
    return lambda _, x: Scalar(emit(name, x.value.type, [x.value]), x.element_type)


def unsigned(element_type: ElementType) -> ElementType:
    """The unsigned type of the same width."""
    return ELEMENT_TYPES[f"u{element_type.bits}"]


def _as_unsigned(x: Scalar) -> Scalar:
    return bitcast(x, unsigned(x.element_type))


def _abs(x: Scalar) -> Scalar:
    if x.element_type.is_float:
        sign = 1 << (x.element_type.bits - 1)
        return bitcast(_as_unsigned(x) & (sign - 1), x.element_type)
    return x if x.element_type.kind == "unsigned" else select(x < 0, -x, x)


def _sign(x: Scalar) -> Scalar:
    if x.element_type.is_float:
        signed = select(x > 0, constant(x.element_type, 1.0), constant(x.element_type, -1.0))
        return select((x > 0) | (x < 0), signed, x)  # zeros and NaN are their own sign
    positive = convert(x > 0, x.element_type)
    return (
        positive if x.element_type.kind == "unsigned" else positive - convert(x < 0, x.element_type)
    )


def _round_half_away(x: Scalar) -> Scalar:
    whole = Scalar(emit("math.trunc", x.value.type, [x.value]), x.element_type)
    one = constant(x.element_type, 1.0)
    away = whole + select(x < 0, -one, one)
    sign = 1 << (x.element_type.bits - 1)
    rounded = select(_abs(x - whole) >= 0.5, away, whole)
    # The sign of zero is the operand's.
    bits = (_as_unsigned(rounded) & (sign - 1)) | (_as_unsigned(x) & sign)
    return bitcast(bits, x.element_type)


def _guarded_division(divide: Callable[[Scalar, Scalar], Scalar], by_zero, on_overflow) -> Emission:
    """Integer division that never traps; `by_zero` and `on_overflow` give those results."""

    def emission(_: Instruction, x: Scalar, y: Scalar) -> Scalar:
        if x.element_type.is_float:
            return on_floats(divide)(_, x, y)
        zero = y.eq(0)
        if x.element_type.kind == "unsigned":
            return select(zero, by_zero(x), divide(x, select(zero, 1, y)))
        overflow = x.eq(x.element_type.limits[0]) & y.eq(-1)
        safe = divide(x, select(zero | overflow, 1, y))
        return select(zero, by_zero(x), select(overflow, on_overflow(x), safe))

    return emission


def _power(_: Instruction, x: Scalar, y: Scalar) -> Scalar:
    if x.element_type.is_float:
        return on_floats(functions.pow)(_, x, y)
    # Square and multiply, one step for each bit of the exponent: straight-line, so it vectorises.
    one = constant(x.element_type, 1)
    result, base, exponent = one, x, _as_unsigned(y)
    for _bit in range(x.element_type.bits):
        result = select((exponent & 1).ne(0), result * base, result)
        base, exponent = base * base, exponent >> 1
    if x.element_type.kind == "unsigned":
        return result
    minus_one = constant(x.element_type, -1)
    odd = select((y & 1).ne(0), minus_one, one)
    inverse = select(x.eq(1), one, select(x.eq(-1), odd, constant(x.element_type, 0)))
    return select(y < 0, inverse, result)


def _shift(shift: Callable[[Scalar, Scalar], Scalar], arithmetic: bool) -> Emission:
    """A shift whose amount may be anything: beyond the width the result is 0, or the sign."""

    def emission(_: Instruction, x: Scalar, y: Scalar) -> Scalar:
        bits, amount = x.element_type.bits, _as_unsigned(y)
        kind = ELEMENT_TYPES[f"{'s' if arithmetic else 'u'}{bits}"]
        value = bitcast(x, kind)
        inside = shift(value, bitcast(minimum(amount, bits - 1), kind))
        if arithmetic:  # shifting by width - 1 already leaves only the sign
            return bitcast(inside, x.element_type)
        return bitcast(select(amount < bits, inside, 0), x.element_type)

    return emission


def _multiply_high(_: Instruction, x: Scalar, y: Scalar) -> Scalar:
    name = "arith.mulsi_extended" if x.element_type.kind == "signed" else "arith.mului_extended"
    made = ir.Operation.create(name, [x.value.type] * 2, [x.value, y.value])
    return Scalar(made.results[1], x.element_type)


def _not(_: Instruction, x: Scalar) -> Scalar:
    return ~x


def _is_finite(_: Instruction, x: Scalar) -> Scalar:
    return _abs(widened(x)) < float("inf")


def total_order(x: Scalar) -> Scalar:
    """A signed integer ordered as the bits of floats are: -NaN, -inf … -0, 0 … inf, NaN."""
    if x.element_type.bits == 8:  # the NaN of some formats has the pattern of -0
        x = widened(x)
    bits = bitcast(x, ELEMENT_TYPES[f"s{x.element_type.bits}"])
    return select(bits < 0, bits ^ bits.element_type.limits[1], bits)


def _compare(instruction: Instruction, x: Scalar, y: Scalar) -> Scalar:
    ordered = instruction.attributes.get("type") == "TOTALORDER"
    x, y = ((total_order if ordered else widened)(v) for v in (x, y))
    match instruction["direction"]:
        case "EQ":
            return x.eq(y)
        case "NE":
            return x.ne(y)
        case "GE":
            return x >= y
        case "GT":
            return x > y
        case "LE":
            return x <= y
        case _:
            return x < y


def _all_ones(x: Scalar) -> Scalar:
    return constant(x.element_type, -1)


# fmt: off
EMISSION: dict[str, Emission] = {
    "abs":                    _on_sign(_abs),
    "acos":                   on_floats(functions.acos),
    "acosh":                  on_floats(functions.acosh),
    "asin":                   on_floats(functions.asin),
    "asinh":                  on_floats(functions.asinh),
    "atanh":                  on_floats(functions.atanh),
    "cbrt":                   on_floats(functions.cbrt),
    "ceil":                   _math("math.ceil"),
    "cosh":                   on_floats(functions.cosh),
    "cosine":                 on_floats(functions.cos),
    "count-leading-zeros":    _intrinsic("math.ctlz"),
    "erf":                    on_floats(functions.erf),
    "exponential":            on_floats(functions.exp),
    "exponential-minus-one":  on_floats(functions.expm1),
    "floor":                  _math("math.floor"),
    "imag":                   _plain(lambda x: constant(x.element_type, 0.0)),
    "is-finite":              _is_finite,
    "log":                    on_floats(functions.log),
    "log-plus-one":           on_floats(functions.log1p),
    "logistic":               on_floats(functions.logistic),
    "negate":                 _on_sign(lambda x: -x),
    "not":                    _not,
    "popcnt":                 _intrinsic("math.ctpop"),
    "real":                   _on_bits(lambda x: x),
    "round-nearest-afz":      on_floats(_round_half_away),
    "round-nearest-even":     _math("math.roundeven"),
    "rsqrt":                  on_floats(functions.rsqrt),
    "sign":                   _plain(_sign),
    "sine":                   on_floats(functions.sin),
    "sinh":                   on_floats(functions.sinh),
    "sqrt":                   on_floats(functions.sqrt),
    "tan":                    on_floats(functions.tan),
    "tanh":                   on_floats(functions.tanh),
    "add":                    _plain(lambda x, y: x | y if x.element_type == PRED else x + y),
    "and":                    _plain(lambda x, y: x & y),
    "atan2":                  on_floats(functions.atan2),
    "complex":                _on_bits(make_complex),
    "divide":                 _guarded_division(lambda x, y: x / y, _all_ones, lambda x: x),
    "maximum":                _plain(maximum),
    "minimum":                _plain(minimum),
    "multiply":               _plain(lambda x, y: x * y),
    "mulhi":                  _multiply_high,
    "or":                     _plain(lambda x, y: x | y),
    "power":                  _power,
    "remainder":              _guarded_division(lambda x, y: x % y, lambda x: x,
                                                lambda x: constant(x.element_type, 0)),
    "shift-left":             _shift(lambda x, y: x << y, arithmetic=False),
    "shift-right-arithmetic": _shift(lambda x, y: x >> y, arithmetic=True),
    "shift-right-logical":    _shift(lambda x, y: x >> y, arithmetic=False),
    "subtract":               _plain(lambda x, y: x - y),
    "xor":                    _plain(lambda x, y: x ^ y),
    "compare":                _compare,
    "select":                 _on_bits(select),
    "clamp":                  _plain(lambda low, x, high: minimum(maximum(x, low), high)),
    "convert":                emit_convert,
    "bitcast-convert":        emit_bitcast,
    "reduce-precision":       emit_reduce_precision,
    "stochastic-convert":     emit_stochastic_convert,
}
# fmt: on
