"""Arithmetic on narrow floats by the GPU's instructions, whose errors are lost in a rounding.

A power of two by instruction is off by 2^-22 of it, a reciprocal by 2^-23. Functions made of these
are rounded to 11 bits or fewer, which leaves them off by little more than half a unit in the last
place, as if they had been computed exactly. Quotients are those of the division, bit for bit. bf16
is added and multiplied as it is. Functions of f32 are off by 2 units of its own, as on CPUs.
"""

from collections.abc import Callable

from tfc.backends.gpu.assembly import assembly
from tfc.backends.mlir.arithmetic.elemental import EMISSION, Emission
from tfc.backends.mlir.arithmetic.exponential import LOG2_E, scaled
from tfc.backends.mlir.arithmetic.floating import absolute, reciprocal, with_sign
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    constant,
    convert,
    emit,
    fma,
    maximum,
    minimum,
    select,
)
from tfc.backends.mlir.provider import ir
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F32, U16, U32, ElementType

_LOW, _HIGH = -104.0, 89.0  # beyond these e^x is 0 and infinite
_MAGIC = 1.5 * 2.0**23 + 2 * 127  # sums with it end in the bits of an integer and twice the bias
_REST_OF_LOG2_E = 1.925963033500011e-08  # beside what f32 has of it
_SMALL = 2.0**-4  # where a tangent is its series: the next term is 2^-28 of it


def power_of_two(x: Scalar, subnormal: bool = False) -> Scalar:
    """2^x of an f32, off by 2^-22.

    Args:
        subnormal: whether subnormal results are made, by three instructions more; else they are 0.
    """
    # LLVM's names for it change from one version to the next.
    text = f"ex2.approx{'' if subnormal else '.ftz'}.f32 $0, $1;"
    return Scalar(assembly(text, ["f32"], [x.value], pure=True)[0], F32)


def quick_exp(x: Scalar, subnormal: bool = False) -> Scalar:
    """e^x of an f32, off by 2^-22 of it and 2^-23 of the argument."""
    return power_of_two(x * LOG2_E, subnormal)


def exp(x: Scalar) -> Scalar:
    """e^x of an f32 to within 2 units in the last place, subnormal results included.

    x = (n + f) ln 2, where f is at most 1/2, so that its roundings are a third of a unit; the power
    of f is off by 1.4 units.
    """
    x = minimum(maximum(x, _LOW), _HIGH)
    shifted = fma(x, LOG2_E, _MAGIC)
    n = shifted - _MAGIC
    f = fma(x, _REST_OF_LOG2_E, fma(x, LOG2_E, -n))
    return scaled(power_of_two(f), bitcast(shifted, U32))


def _logistic(x: Scalar, subnormal: bool) -> Scalar:
    """1/(1 + e^-x); for negative x as e^x/(1 + e^x), which is accurate down to zero."""
    power = quick_exp(-absolute(x), subnormal)
    return select(x < 0.0, power, 1.0) * reciprocal(power + 1.0)


def _tanh(x: Scalar, _: bool) -> Scalar:
    """1 - 2/(e^2|x| + 1), and close to zero the series."""
    magnitude = absolute(x)
    large = fma(reciprocal(quick_exp(magnitude * 2.0) + 1.0), -2.0, 1.0)
    square = x * x
    small = fma(fma(square, 2 / 15, -1 / 3) * square, x, x)
    return select(magnitude < _SMALL, small, with_sign(large, x))


def _quotient(x: Scalar, y: Scalar) -> Scalar:
    """x/y of numbers that an f32 holds with half of its bits or fewer, and whose reciprocals are
    normal: to within 2^-24, which is nearer than a quotient comes to where its rounding changes."""
    inverse = reciprocal(y)
    quotient = x * inverse
    remainder = fma(-quotient, y, x)
    # Of zeros, infinities and NaN there is nothing to correct.
    return select(absolute(remainder) > 0.0, fma(remainder, inverse, quotient), quotient)


def _quotient_of_bf16(x: Scalar, y: Scalar) -> Scalar:
    """x/y to within 2^-21, which is nearer than quotients of 8 bits come to where their rounding
    changes. Divisors whose reciprocals are not normal are scaled with what they divide."""
    magnitude = absolute(y)
    usual = select(magnitude > 2.0**126, constant(F32, 0.25), 1.0)
    scale = select(magnitude < 2.0**-126, 2.0**24, usual)
    return x * scale * reciprocal(y * scale)


def _divide(element_type: ElementType, x: Scalar, y: Scalar) -> Scalar:
    quotient = _quotient_of_bf16 if element_type is BF16 else _quotient
    return convert(quotient(x, y), element_type)


def _narrow(opcode: str, rule: Callable[..., Scalar]) -> Emission:
    """A rule for narrow floats; other types are emitted as everywhere.

    Args:
        rule: (the type, operands in f32) -> the result.
    """

    def emission(instruction: Instruction, *operands: Scalar) -> Scalar:
        element_type = operands[0].element_type
        if not element_type.is_float or element_type.bits > 16:
            return EMISSION[opcode](instruction, *operands)
        return rule(element_type, *(convert(x, F32) for x in operands))

    return emission


def _function(opcode: str, function: Callable[[Scalar, bool], Scalar]) -> Emission:
    """A rule for a function that is told whether subnormal numbers of f32 are to be made."""
    return _narrow(opcode, lambda t, x: convert(function(x, t is BF16), t))


def _exponential(instruction: Instruction, x: Scalar) -> Scalar:
    return exp(x) if x.element_type is F32 else _NARROW_EXPONENTIAL(instruction, x)


_NARROW_EXPONENTIAL = _function("exponential", quick_exp)


def _in_bf16(opcode: str, name: str) -> Emission:
    """A rule for bf16 by an instruction of its own, which rounds as f32 and then bf16 do."""

    def emission(instruction: Instruction, *operands: Scalar) -> Scalar:
        if operands[0].element_type is not BF16:
            return EMISSION[opcode](instruction, *operands)
        own = ir.BF16Type.get()
        values = [emit("llvm.bitcast", own, [x.value]) for x in operands]
        bits = emit("llvm.bitcast", operands[0].value.type, [emit(name, own, values)])
        return bitcast(Scalar(bits, U16), BF16)

    return emission


INSTRUCTIONS = {
    "exponential": _exponential,
    "logistic": _function("logistic", _logistic),
    "tanh": _function("tanh", _tanh),
    "divide": _narrow("divide", _divide),
    "add": _in_bf16("add", "llvm.fadd"),
    "subtract": _in_bf16("subtract", "llvm.fsub"),
    "multiply": _in_bf16("multiply", "llvm.fmul"),
}
"""Rules for what a kernel computes, by opcode."""
