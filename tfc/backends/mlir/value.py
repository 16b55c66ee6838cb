"""Scalars in MLIR registers, with Python operators that emit the operation they name.

A `Scalar` is an SSA value plus its element type, which says what MLIR's signless integers do not:
the signedness. `x + y` emits `arith.addf` or `arith.addi` at the current insertion point, `x < y` a
comparison, and so on; a Python number beside a Scalar becomes a constant of its type. Nothing here
sets fast-math or overflow flags, so every operation means what IEEE 754 and two's complement say.

pred is `i1` in registers and `i8` (0 or 1) in memory.

Operations go through `Operation.create`, which takes a third of the time of the generated builders.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfc.backends.mlir.provider import ir
from tfc.errors import InternalError, UnsupportedError
from tfc.hlo.shape import BF16, F16, F32, F64, PRED, U16, U32, U64, ElementType

Number: TypeAlias = bool | int | float | np.generic

# fmt: off
#               float            signed          unsigned and pred
_ARITHMETIC = {
    "+":       ("arith.addf",     "arith.addi",   "arith.addi"),
    "-":       ("arith.subf",     "arith.subi",   "arith.subi"),
    "*":       ("arith.mulf",     "arith.muli",   "arith.muli"),
    "/":       ("arith.divf",     "arith.divsi",  "arith.divui"),
    "%":       ("arith.remf",     "arith.remsi",  "arith.remui"),
    "&":       ("",               "arith.andi",   "arith.andi"),
    "|":       ("",               "arith.ori",    "arith.ori"),
    "^":       ("",               "arith.xori",   "arith.xori"),
    "<<":      ("",               "arith.shli",   "arith.shli"),
    ">>":      ("",               "arith.shrsi",  "arith.shrui"),
    "minimum": ("arith.minimumf", "arith.minsi",  "arith.minui"),
    "maximum": ("arith.maximumf", "arith.maxsi",  "arith.maxui"),
}
# Numbers of arith.cmpf's ordered predicates (une for !=) and of arith.cmpi's.
_COMPARISONS = {
    "==": (1, 0, 0),
    "!=": (13, 1, 1),
    "<":  (4, 2, 6),
    "<=": (5, 3, 7),
    ">":  (2, 4, 8),
    ">=": (3, 5, 9),
}
_KIND_COLUMN = {"float": 0, "signed": 1, "unsigned": 2, "pred": 2}
# fmt: on


def emit(name: str, result_type: Any, operands: list[Any], **attributes: Any) -> Any:
    """Emits the operation `name` at the insertion point; returns its one result, an `ir.Value`."""
    return ir.Operation.create(name, [result_type], operands, attributes).result


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """An `ir.Value` of a register type, and the element type that it represents.

    Python's `==` compares identity, as for any node; `eq` and `ne` emit comparisons.
    """

    value: Any
    element_type: ElementType

    def __add__(self, other: "Scalar | Number") -> "Scalar":
        return _binary("+", self, other)

    def __radd__(self, other: Number) -> "Scalar":
        return _binary("+", other, self)

    def __sub__(self, other: "Scalar | Number") -> "Scalar":
        return _binary("-", self, other)

    def __rsub__(self, other: Number) -> "Scalar":
        return _binary("-", other, self)

    def __mul__(self, other: "Scalar | Number") -> "Scalar":
        return _binary("*", self, other)

    def __rmul__(self, other: Number) -> "Scalar":
        return _binary("*", other, self)

    def __truediv__(self, other: "Scalar | Number") -> "Scalar":
        """Raw division: truncating for integers, undefined for an integer divisor of zero."""
        return _binary("/", self, other)

    def __rtruediv__(self, other: Number) -> "Scalar":
        return _binary("/", other, self)

    def __mod__(self, other: "Scalar | Number") -> "Scalar":
        """Raw remainder with the sign of the dividend; integers as for `/`."""
        return _binary("%", self, other)

    def __rmod__(self, other: Number) -> "Scalar":
        return _binary("%", other, self)

    def __and__(self, other: "Scalar | Number") -> "Scalar":
        return _binary("&", self, other)

    def __rand__(self, other: Number) -> "Scalar":
        return _binary("&", other, self)

    def __or__(self, other: "Scalar | Number") -> "Scalar":
        return _binary("|", self, other)

    def __ror__(self, other: Number) -> "Scalar":
        return _binary("|", other, self)

    def __xor__(self, other: "Scalar | Number") -> "Scalar":
        return _binary("^", self, other)

    def __rxor__(self, other: Number) -> "Scalar":
        return _binary("^", other, self)

    def __lshift__(self, other: "Scalar | Number") -> "Scalar":
        """Raw shift: the amount must be less than the width."""
        return _binary("<<", self, other)

    def __rlshift__(self, other: Number) -> "Scalar":
        return _binary("<<", other, self)

    def __rshift__(self, other: "Scalar | Number") -> "Scalar":
        """Raw shift, arithmetic for signed types; the amount must be less than the width."""
        return _binary(">>", self, other)

    def __rrshift__(self, other: Number) -> "Scalar":
        return _binary(">>", other, self)

    def __neg__(self) -> "Scalar":
        """The negative; for floats the sign bit flips, NaN and zero included."""
        if self.element_type.is_float:
            return Scalar(emit("arith.negf", self.value.type, [self.value]), self.element_type)
        return _binary("-", 0, self)

    def __invert__(self) -> "Scalar":
        """All bits flipped; for pred the logical negation."""
        return _binary("^", self, True if self.element_type is PRED else -1)

    def __lt__(self, other: "Scalar | Number") -> "Scalar":
        return _compare("<", self, other)

    def __le__(self, other: "Scalar | Number") -> "Scalar":
        return _compare("<=", self, other)

    def __gt__(self, other: "Scalar | Number") -> "Scalar":
        return _compare(">", self, other)

    def __ge__(self, other: "Scalar | Number") -> "Scalar":
        return _compare(">=", self, other)

    def eq(self, other: "Scalar | Number") -> "Scalar":
        """pred: equal; false if either is NaN (CMP-1)."""
        return _compare("==", self, other)

    def ne(self, other: "Scalar | Number") -> "Scalar":
        """pred: not equal; true if either is NaN (CMP-1)."""
        return _compare("!=", self, other)

    def __bool__(self) -> bool:
        raise InternalError("a Scalar has no value while code is being emitted; use select()")


def _pair(x: Scalar | Number, y: Scalar | Number) -> tuple[Scalar, Scalar]:
    """Both operands as Scalars of one type; at least one already is."""
    if not isinstance(x, Scalar):
        assert isinstance(y, Scalar)
        return _constant_like(y, x), y
    if not isinstance(y, Scalar):
        return x, _constant_like(x, y)
    if x.element_type is not y.element_type and x.element_type != y.element_type:
        raise InternalError(f"operands have types {x.element_type} and {y.element_type}")
    return x, y


def _operation(symbol: str, element_type: ElementType) -> str:
    """The operation for `symbol` on a type."""
    name = _ARITHMETIC[symbol][_KIND_COLUMN[element_type.kind]]
    if not name:
        raise InternalError(f"{symbol} does not apply to {element_type}")
    return name


def _binary(symbol: str, x: Scalar | Number, y: Scalar | Number) -> Scalar:
    """One operation of the arithmetic table."""
    x, y = _pair(x, y)
    name = _operation(symbol, x.element_type)
    return Scalar(emit(name, x.value.type, [x.value, y.value]), x.element_type)


def _compare(symbol: str, x: Scalar | Number, y: Scalar | Number) -> Scalar:
    """One comparison of the table."""
    x, y = _pair(x, y)
    number = _COMPARISONS[symbol][_KIND_COLUMN[x.element_type.kind]]
    name = "arith.cmpf" if x.element_type.is_float else "arith.cmpi"
    predicate = ir.IntegerAttr.get(_integer_type(64), number)
    result = emit(name, _integer_type(1), [x.value, y.value], predicate=predicate)
    return Scalar(result, PRED)


def _integer_type(bits: int) -> Any:
    """The signless integer type of a width."""
    return ir.IntegerType.get_signless(bits)


def mlir_type(element_type: ElementType) -> Any:
    """The `ir.Type` of a Scalar in a register: i1 for pred, signless iN for integers, fN.

    Raises:
        UnsupportedError: 4-bit, 8-bit float and complex types, which have no register type here.
    """
    match element_type.name:
        case "pred":
            return _integer_type(1)
        case "f32":
            return ir.F32Type.get()
        case "f64":
            return ir.F64Type.get()
        case "f16":
            return ir.F16Type.get()
        case "bf16":
            return ir.BF16Type.get()
    if element_type.is_integer and element_type.bits >= 8:
        return _integer_type(element_type.bits)
    raise UnsupportedError(f"code generation does not support element type {element_type}")


def memory_type(element_type: ElementType) -> Any:
    """The `ir.Type` of an element in memory: as `mlir_type`, but i8 for pred."""
    return _integer_type(8) if element_type is PRED else mlir_type(element_type)


def from_memory(value: Any, element_type: ElementType) -> Scalar:
    """A loaded `ir.Value` as a Scalar; a pred in memory is true if it is not 0."""
    if element_type is not PRED:
        return Scalar(value, element_type)
    zero = emit("arith.constant", value.type, [], value=ir.IntegerAttr.get(value.type, 0))
    predicate = ir.IntegerAttr.get(_integer_type(64), _COMPARISONS["!="][2])
    return Scalar(emit("arith.cmpi", _integer_type(1), [value, zero], predicate=predicate), PRED)


def to_memory(x: Scalar) -> Any:
    """The `ir.Value` to store for a Scalar; the inverse of `from_memory`."""
    if x.element_type is not PRED:
        return x.value
    return emit("arith.extui", _integer_type(8), [x.value])


def _attribute(element_type: ElementType, mlir: Any, number: Number) -> Any:
    """The attribute of a constant of a type whose register type is `mlir`."""
    if element_type.is_float:
        if number != number and isinstance(number, np.generic):
            # Only the text form carries the payload of a NaN.
            bits = np.asarray(number, element_type.dtype).tobytes()[::-1].hex().upper()
            return ir.Attribute.parse(f"0x{bits} : {mlir}")
        return ir.FloatAttr.get(mlir, float(number))
    if element_type is PRED:
        return ir.IntegerAttr.get(mlir, int(bool(number)))
    if isinstance(number, float | np.floating):
        raise InternalError(f"the float {number} is no constant of type {element_type}")
    # Signless attributes take the signed value of the bits.
    half = 1 << (element_type.bits - 1)
    return ir.IntegerAttr.get(mlir, (int(number) + half) % (2 * half) - half)


def _make_constant(element_type: ElementType, mlir: Any, number: Number) -> Scalar:
    """Emits `arith.constant`."""
    value = _attribute(element_type, mlir, number)
    return Scalar(emit("arith.constant", mlir, [], value=value), element_type)


def _constant_like(x: Scalar, number: Number) -> Scalar:
    """A constant of the type of `x`."""
    return _make_constant(x.element_type, x.value.type, number)


def constant(element_type: ElementType, python_value: Number) -> Scalar:
    """A constant. Floats round to the type (inf, nan and -0.0 are kept); integers wrap around.

    A NumPy scalar of the type itself keeps its exact bits, the payload of a NaN included.
    """
    return _make_constant(element_type, mlir_type(element_type), python_value)


def select(condition: Scalar, a: Scalar | Number, b: Scalar | Number) -> Scalar:
    """`a` where the pred `condition` holds, else `b`; one of them may be a Python number."""
    a, b = _pair(a, b)
    operands = [condition.value, a.value, b.value]
    return Scalar(emit("arith.select", a.value.type, operands), a.element_type)


def fma(a: Scalar, b: Scalar | Number, c: Scalar | Number) -> Scalar:
    """`a * b + c` rounded once; floats only."""
    operands = [a.value, _pair(a, b)[1].value, _pair(a, c)[1].value]
    return Scalar(emit("math.fma", a.value.type, operands), a.element_type)


def minimum(a: Scalar, b: Scalar | Number) -> Scalar:
    """The smaller operand; for floats IEEE 754-2019 minimum: NaN propagates, -0 < +0."""
    return _binary("minimum", a, b)


def maximum(a: Scalar, b: Scalar | Number) -> Scalar:
    """The larger operand; for floats IEEE 754-2019 maximum: NaN propagates, -0 < +0."""
    return _binary("maximum", a, b)


def convert(x: Scalar, element_type: ElementType) -> Scalar:
    """The value of `x` in another type, by MLIR's raw conversions.

    Integers wrap, floats round to nearest even, to pred is `x != 0` (true for NaN). Float to
    integer truncates and is *undefined* out of range: the caller has clamped `x`, NaN included.
    """
    source = x.element_type
    if source == element_type:
        return x
    if source in _NARROW and element_type != F32:
        return convert(_extend(x), element_type)
    if element_type in _NARROW and source != F32:
        return _round_once(x, element_type)
    if source in _NARROW:
        return _extend(x)
    if element_type in _NARROW:
        return _round_to_half(x) if element_type is F16 else _round_to_bf16(x)
    if element_type is PRED:
        return x.ne(0)
    if source.is_integer and element_type.is_integer and source.bits == element_type.bits:
        return Scalar(x.value, element_type)
    name = _conversion(source, element_type)
    return Scalar(emit(name, mlir_type(element_type), [x.value]), element_type)


def _conversion(source: ElementType, target: ElementType) -> str:
    """The operation that converts between types that differ in kind or width."""
    if source.is_float and target.is_float:
        return "arith.extf" if source.bits < target.bits else "arith.truncf"
    if source.is_float:
        return "arith.fptosi" if target.kind == "signed" else "arith.fptoui"
    if target.is_float:
        return "arith.sitofp" if source.kind == "signed" else "arith.uitofp"
    if source is not PRED and source.bits > target.bits:
        return "arith.trunci"
    return "arith.extsi" if source.kind == "signed" else "arith.extui"


# f16 and bf16 convert by integer arithmetic, to and from f32 alone. The instructions for it are not
# on every CPU, and where they are missing LLVM calls a run-time library that we do not bring.
_NARROW = (F16, BF16)


def _extend(x: Scalar) -> Scalar:
    """An f16 or bf16 as f32; exact."""
    wide = convert(bitcast(x, U16), U32)
    if x.element_type is BF16:
        return bitcast(wide << 16, F32)
    # The magnitude moved into f32's place has an exponent too small by 112; multiplying by 2^112
    # corrects it, and normalises what is subnormal in f16. Infinity and NaN keep their exponent.
    magnitude = (wide & 0x7FFF) << 13
    scaled = bitcast(bitcast(magnitude, F32) * 2.0**112, U32)
    special = (wide & 0x7C00).eq(0x7C00)
    return bitcast(select(special, magnitude | 0x7F800000, scaled) | ((wide & 0x8000) << 16), F32)


def _round_to_bf16(x: Scalar) -> Scalar:
    """An f32 as bf16, ties to even; NaN stays a NaN."""
    bits = bitcast(x, U32)
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
    quiet = (bits >> 16) | 0x40
    return bitcast(convert(select(x.ne(x), quiet, rounded), U16), BF16)


def _round_to_half(x: Scalar) -> Scalar:
    """An f32 as f16, ties to even; NaN stays a NaN."""
    bits = bitcast(x, U32)
    sign, magnitude = (bits >> 16) & 0x8000, bits & 0x7FFFFFFF
    # Normal results: the exponent is re-biased and 13 bits are rounded away; a carry may raise the
    # exponent, up to infinity. Subnormal ones: adding 0.5 leaves multiples of f16's smallest number
    # as the last bits of the sum, rounded by the addition itself.
    normal = (magnitude - 0x38000000 + (((magnitude >> 13) & 1) + 0xFFF)) >> 13
    small = bitcast(bitcast(magnitude, F32) + 0.5, U32) - 0x3F000000
    finite = select(magnitude < 0x38800000, small, minimum(normal, 0x7C00))
    quiet = ((magnitude >> 13) & 0x3FF) | 0x7E00
    result = select(magnitude > 0x7F800000, quiet, select(magnitude >= 0x47800000, 0x7C00, finite))
    return bitcast(convert(result | sign, U16), F16)


def _round_once(x: Scalar, element_type: ElementType) -> Scalar:
    """Any number but f32 as f16 or bf16."""
    if element_type is BF16 or x.element_type is PRED or x.element_type.bits <= 16:
        return convert(convert(x, F32), element_type)  # as ml_dtypes rounds to bf16
    if x.element_type.is_integer:
        # Beyond 2^17 every integer is infinite in f16; below, f32 holds it exactly.
        bounded = minimum(x, 1 << 17)
        if x.element_type.kind == "signed":
            bounded = maximum(bounded, -(1 << 17))
        return convert(convert(bounded, F32), element_type)
    # f64: rounding to f32 must not create a tie, so an inexact f32 gets an odd last bit.
    near = convert(x, F32)
    bits, back = bitcast(near, U32), convert(near, F64)
    size, wanted = _magnitude(back), _magnitude(x)
    toward = select(size > wanted, bits - 1, bits)
    odd = select(size.eq(wanted) | x.ne(x), bits, toward | 1)
    # Above f32's range the nearest f32 is infinite, and so is the f16.
    return convert(bitcast(select(wanted > 1e30, bits, odd), F32), element_type)


def _magnitude(x: Scalar) -> Scalar:
    """The absolute value of an f64."""
    return bitcast(bitcast(x, U64) & ((1 << 63) - 1), F64)


def bitcast(x: Scalar, element_type: ElementType) -> Scalar:
    """The bits of `x` read as another type of the same width; pred only to itself."""
    source = x.element_type
    if source == element_type:
        return x
    if source.bits != element_type.bits or PRED in (source, element_type):
        raise InternalError(f"the bits of {source} cannot be read as {element_type}")
    if source.is_integer and element_type.is_integer:
        return Scalar(x.value, element_type)
    return Scalar(emit("arith.bitcast", mlir_type(element_type), [x.value]), element_type)
