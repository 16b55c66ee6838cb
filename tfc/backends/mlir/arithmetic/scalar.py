"""Scalars in MLIR registers, with Python operators that emit the operation they name.

A `Scalar` is an SSA value plus its element type, which says what MLIR's signless integers do not:
the signedness. `x + y` emits `arith.addf` or `arith.addi` at the current insertion point, `x < y` a
comparison, and so on; a Python number beside a Scalar becomes a constant of its type. Nothing here
sets fast-math or overflow flags, so every operation means what IEEE 754 and two's complement say.

pred is `i1` in registers and `i8` (0 or 1) in memory. s4 and u4 are `i4` in registers and the low
half of an `i8` in memory, as ml_dtypes has them. The floats of 8 and 16 bits are their bits, `i8`
and `i16`: they move and convert, and compute as f32. (LLVM widens halves of its own that outlive a
block, and where a CPU has no instructions for it calls a run-time library that we do not bring.)
c64 and c128 are complex<f32> and complex<f64>, with `+`, `-`, `*`,
`-x`, `eq` and `ne`; the rest of their arithmetic is made from the parts (complex_arithmetic.py).

Operations go through `Operation.create`, which takes a third of the time of the generated builders.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfc.backends.mlir.provider import ir
from tfc.errors import InternalError
from tfc.hlo.shape import ELEMENT_TYPES, PRED, ElementType, complex_of

Number: TypeAlias = bool | int | float | complex | np.generic

# fmt: off
#               float            signed          unsigned, pred  complex
_ARITHMETIC = {
    "+":       ("arith.addf",     "arith.addi",   "arith.addi",   "complex.add"),
    "-":       ("arith.subf",     "arith.subi",   "arith.subi",   "complex.sub"),
    "*":       ("arith.mulf",     "arith.muli",   "arith.muli",   "complex.mul"),
    "/":       ("arith.divf",     "arith.divsi",  "arith.divui",  ""),
    "%":       ("arith.remf",     "arith.remsi",  "arith.remui",  ""),
    "&":       ("",               "arith.andi",   "arith.andi",   ""),
    "|":       ("",               "arith.ori",    "arith.ori",    ""),
    "^":       ("",               "arith.xori",   "arith.xori",   ""),
    "<<":      ("",               "arith.shli",   "arith.shli",   ""),
    ">>":      ("",               "arith.shrsi",  "arith.shrui",  ""),
    "minimum": ("arith.minimumf", "arith.minsi",  "arith.minui",  ""),
    "maximum": ("arith.maximumf", "arith.maxsi",  "arith.maxui",  ""),
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
_KIND_COLUMN = {"float": 0, "signed": 1, "unsigned": 2, "pred": 2, "complex": 3}
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
        if _is_narrow(self.element_type):
            bits = ELEMENT_TYPES[f"u{self.element_type.bits}"]
            return bitcast(bitcast(self, bits) ^ (1 << (bits.bits - 1)), self.element_type)
        if self.element_type.is_float:
            return Scalar(emit("arith.negf", self.value.type, [self.value]), self.element_type)
        if self.element_type.is_complex:
            return make_complex(-real_part(self), -imaginary_part(self))
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
    if x.element_type.is_complex:
        if symbol not in ("==", "!="):
            raise InternalError(f"{symbol} does not apply to {x.element_type}")
        parts = [_compare(symbol, part(x), part(y)) for part in (real_part, imaginary_part)]
        return _binary("&" if symbol == "==" else "|", *parts)
    number = _COMPARISONS[symbol][_KIND_COLUMN[x.element_type.kind]]
    name = "arith.cmpf" if x.element_type.is_float else "arith.cmpi"
    predicate = ir.IntegerAttr.get(_integer_type(64), number)
    truth = _integer_type(1)
    if isinstance(x.value.type, ir.VectorType):
        truth = ir.VectorType.get(x.value.type.shape, truth)
    return Scalar(emit(name, truth, [x.value, y.value], predicate=predicate), PRED)


def _integer_type(bits: int) -> Any:
    """The signless integer type of a width."""
    return ir.IntegerType.get_signless(bits)


def mlir_type(element_type: ElementType) -> Any:
    """The `ir.Type` of a Scalar in a register: i1 for pred, signless iN for integers, fN."""
    match element_type.name:
        case "pred":
            return _integer_type(1)
        case "f32":
            return ir.F32Type.get()
        case "f64":
            return ir.F64Type.get()
        case "c64" | "c128":
            return ir.ComplexType.get(mlir_type(element_type.component))
    return _integer_type(element_type.bits)  # narrow floats are their bits


def memory_type(element_type: ElementType) -> Any:
    """The `ir.Type` of an element in memory: as `mlir_type`, but never less than a byte."""
    return _integer_type(8) if element_type.bits <= 8 else mlir_type(element_type)


def _is_narrow(element_type: ElementType) -> bool:
    """True for the floats of 8 and 16 bits."""
    return element_type.is_float and element_type.bits <= 16


def from_memory(value: Any, element_type: ElementType) -> Scalar:
    """A loaded `ir.Value` as a Scalar; a pred in memory is true if it is not 0."""
    if element_type.bits == 4:
        return Scalar(emit("arith.trunci", mlir_type(element_type), [value]), element_type)
    if element_type is not PRED:
        return Scalar(value, element_type)
    zero = emit("arith.constant", value.type, [], value=ir.IntegerAttr.get(value.type, 0))
    predicate = ir.IntegerAttr.get(_integer_type(64), _COMPARISONS["!="][2])
    return Scalar(emit("arith.cmpi", _integer_type(1), [value, zero], predicate=predicate), PRED)


def to_memory(x: Scalar) -> Any:
    """The `ir.Value` to store for a Scalar; the inverse of `from_memory`."""
    if x.element_type is not PRED and x.element_type.bits != 4:
        return x.value
    is_signed = x.element_type.kind == "signed"  # so that a byte is the number
    return emit("arith.extsi" if is_signed else "arith.extui", _integer_type(8), [x.value])


def _attribute(element_type: ElementType, mlir: Any, number: Number) -> Any:
    """The attribute of a constant of a type whose register type is `mlir`."""
    if element_type.is_complex:
        # A NumPy scalar's parts are NumPy scalars, which keep their bits.
        parts, part = (number.real, number.imag), element_type.component
        return ir.ArrayAttr.get([_attribute(part, mlir_type(part), x) for x in parts])
    if isinstance(number, complex | np.complexfloating):
        raise InternalError(f"the complex {number} is no constant of type {element_type}")
    if _is_narrow(element_type):
        bits = np.asarray(number, element_type.dtype).view(f"i{element_type.bytes}")
        return ir.IntegerAttr.get(mlir, int(bits))
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
    name = "complex.constant" if element_type.is_complex else "arith.constant"
    return Scalar(emit(name, mlir, [], value=value), element_type)


def _constant_like(x: Scalar, number: Number) -> Scalar:
    """A constant of the type of `x`."""
    return _make_constant(x.element_type, x.value.type, number)


def constant(element_type: ElementType, python_value: Number) -> Scalar:
    """A constant. Floats round to the type (inf, nan and -0.0 are kept); integers wrap around.

    A NumPy scalar of the type itself keeps its exact bits, the payload of a NaN included.
    """
    return _make_constant(element_type, mlir_type(element_type), python_value)


def bitcast(x: Scalar, element_type: ElementType) -> Scalar:
    """The bits of `x` read as another type of the same width; pred only to itself."""
    source = x.element_type
    if source == element_type:
        return x
    if source.bits != element_type.bits or PRED in (source, element_type):
        raise InternalError(f"the bits of {source} cannot be read as {element_type}")
    target = mlir_type(element_type)
    if x.value.type == target:
        return Scalar(x.value, element_type)
    return Scalar(emit("arith.bitcast", target, [x.value]), element_type)


def resize(x: Scalar, element_type: ElementType) -> Scalar:
    """An integer or pred as an integer of any width: wrapped, or extended by its sign or by 0."""
    source, target = x.value.type.width, mlir_type(element_type)
    if source == target.width:
        return Scalar(x.value, element_type)
    extension = "arith.extsi" if x.element_type.kind == "signed" else "arith.extui"
    name = "arith.trunci" if source > target.width else extension
    return Scalar(emit(name, target, [x.value]), element_type)


def select(condition: Scalar, a: Scalar | Number, b: Scalar | Number) -> Scalar:
    """`a` where the pred `condition` holds, else `b`; one of them may be a Python number."""
    a, b = _pair(a, b)
    operands = [condition.value, a.value, b.value]
    return Scalar(emit("arith.select", a.value.type, operands), a.element_type)


def real_part(x: Scalar) -> Scalar:
    """The real part of a complex Scalar."""
    part = x.element_type.component
    return Scalar(emit("complex.re", mlir_type(part), [x.value]), part)


def imaginary_part(x: Scalar) -> Scalar:
    """The imaginary part of a complex Scalar."""
    part = x.element_type.component
    return Scalar(emit("complex.im", mlir_type(part), [x.value]), part)


def make_complex(real: Scalar, imaginary: Scalar | Number) -> Scalar:
    """The complex number of two parts of type f32 or f64."""
    real, imaginary = _pair(real, imaginary)
    element_type = complex_of(real.element_type)
    operands = [real.value, imaginary.value]
    return Scalar(emit("complex.create", mlir_type(element_type), operands), element_type)


def fma(a: Scalar, b: Scalar | Number, c: Scalar | Number) -> Scalar:
    """`a * b + c` rounded once; floats only.

    A target without an instruction for it spends many operations, and is off by 2^-102 of the
    product besides: see backends/llvm/multiply_adds.py.
    """
    operands = [a.value, _pair(a, b)[1].value, _pair(a, c)[1].value]
    return Scalar(emit("math.fma", a.value.type, operands), a.element_type)


def multiply_add(a: Scalar, b: Scalar | Number, c: Scalar | Number) -> Scalar:
    """`a * b + c` rounded once if the target has an instruction for that, else twice."""
    operands = [a.value, _pair(a, b)[1].value, _pair(a, c)[1].value]
    return Scalar(emit("llvm.intr.fmuladd", a.value.type, operands), a.element_type)


def minimum(a: Scalar, b: Scalar | Number) -> Scalar:
    """The smaller operand; for floats IEEE 754-2019 minimum: NaN propagates, -0 < +0."""
    return _binary("minimum", a, b)


def maximum(a: Scalar, b: Scalar | Number) -> Scalar:
    """The larger operand; for floats IEEE 754-2019 maximum: NaN propagates, -0 < +0."""
    return _binary("maximum", a, b)
