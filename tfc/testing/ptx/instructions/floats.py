"""Floating-point arithmetic. Each result is the exact one rounded once.

That holds for the `.approx` functions too, up to float64's own error: hardware may differ from it
in the last bits, by as much as the PTX manual allows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.decode import Decoder, Run, arrays, elementwise
from tfc.testing.ptx.instructions.rounding import (
    directed,
    fma32,
    fma64,
    fma_exact,
    narrow,
    sum_to_odd,
    to_odd,
    two_product,
    two_sum,
)
from tfc.testing.ptx.text.syntax import Instruction
from tfc.testing.ptx.text.types import DTYPES

MODES = ("rn", "rz", "rm", "rp")
_WIDE = np.float64
# What the functions give in float64 of float64 numbers, to be rounded.
APPROXIMATE = {
    "rcp": lambda x: 1.0 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}

# How far off results in f32 are taken to be; no GPU has confirmed it yet. Relative to the result,
# of ex2 to the power of two below it, of lg2, sin and cos around zero absolute.
ERRORS = {
    "rcp": 2.0**-23,
    "div": 2.0**-22,
    "sqrt": 2.0**-23,
    "rsqrt": 2.0**-22.9,
    "ex2": 2.0**-22.5,
    "lg2": 2.0**-22,
    "sin": 2.0**-20.5,
    "cos": 2.0**-20.5,
    "tanh": 2.0**-11,
}


def is_float(name: str) -> bool:
    """Whether a type is of floating-point numbers, one or two in a register."""
    return name.startswith(("f", "bf"))


def wide(x: Any) -> Any:
    """Numbers as float64."""
    return x.astype(_WIDE)


def flushed(x: Any) -> Any:
    """Subnormal float32 numbers replaced by zeros of their sign."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def as_far_off(opcode: str, exact: Any, *operands: Any) -> Any:
    """Float64 results of f32 operands, wrong by as much as an instruction may be, one way or the
    other as the operands' bits have it. Powers of two are hit."""
    bits = np.bitwise_xor.reduce([np.asarray(x, np.float32).view(np.uint32) for x in operands])
    sign = np.where((bits * np.uint32(0x9E3779B1)) >> np.uint32(31), 1.0, -1.0)
    magnitude = np.abs(exact)
    if opcode == "ex2":
        magnitude = np.ldexp(1.0, np.frexp(exact)[1] - 1)
    elif opcode == "lg2":
        magnitude = np.maximum(magnitude, 1.0)
    elif opcode in ("sin", "cos"):
        magnitude = np.ones_like(magnitude)
    # The rounding that follows is a part of the error.
    wrong = exact + sign * (ERRORS[opcode] - 2.0**-24) * magnitude
    is_hit = (np.frexp(exact)[0] == 0.5) | ~np.isfinite(exact) | (exact == 0)
    return np.where(is_hit, exact, wrong)


# --- Exact results of float64 operands, rounded to odd -------------------------------------------


def quotient_to_odd(a: Any, b: Any) -> Any:
    """a / b of numbers of at most 24 bits, rounded to odd."""
    q = a / b
    product, rest = two_product(q, b)
    return to_odd(q, ((a - product) - rest) * np.sign(b))


def root_to_odd(a: Any) -> Any:
    """The square root of numbers of at most 24 bits, rounded to odd."""
    root = np.sqrt(a)
    product, rest = two_product(root, root)
    return to_odd(root, (a - product) - rest)


_TO_ODD: dict[str, Callable[..., Any]] = {
    "add": sum_to_odd,
    "sub": lambda a, b: sum_to_odd(a, -b),
    "mul": np.multiply,  # exact
    "div": quotient_to_odd,
    "rcp": lambda a: quotient_to_odd(np.ones_like(a), a),
    "sqrt": root_to_odd,
    "fma": fma_exact,
}
_NEAREST: dict[tuple[str, str], Callable[..., Any]] = {
    **{(name, f): function for f in ("f32", "f64") for name, function in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide),
        ("rcp", np.reciprocal), ("sqrt", np.sqrt))},
    ("fma", "f32"): fma32, ("fma", "f64"): fma64,
}  # fmt: skip


def _function(opcode: str, name: str, mode: str) -> Callable[..., Any] | None:
    """The operation of one type, rounded in a mode; None if there is none."""
    if mode == "rn" and (opcode, name) in _NEAREST:
        return _NEAREST[opcode, name]
    if name == "f64":
        if opcode not in ("add", "sub"):
            return None
        sign = -1 if opcode == "sub" else 1
        return lambda a, b: directed(*two_sum(a, sign * b), mode)
    exact = _TO_ODD.get(opcode)
    if exact is None:
        return None
    return lambda *values: narrow(exact(*map(wide, values)), name, mode)


# --- Decoders ------------------------------------------------------------------------------------


def _finished(function: Callable[..., Any], name: str, flags: set[str]) -> Callable[..., Any]:
    """A function with what .ftz, .sat and .relu add to it."""
    dtype = DTYPES[name]
    ftz = "ftz" in flags and name == "f32"
    if not ftz and not flags & {"sat", "relu"}:
        return function

    def finished(*values: Any) -> Any:
        result = function(*(map(flushed, values) if ftz else values))
        result = flushed(result) if ftz else result
        if "sat" in flags:
            return np.where(np.isnan(wide(result)), 0, np.clip(wide(result), 0, 1)).astype(dtype)
        if "relu" in flags:
            return np.where(wide(result) < 0, 0, wide(result)).astype(dtype)
        return result

    return finished


def _apply(decoder: Decoder, instruction: Instruction, name: str, function: Any) -> Run:
    """A function of operands of one type; of both halves where the type is of two numbers."""
    count = len(instruction.operands)
    if not name.endswith("x2"):
        return elementwise(decoder, instruction, function, *[name] * count)
    inner, outer = DTYPES[name[:-2]], DTYPES[name]

    def both(*values: Any) -> Any:
        parts = [np.ascontiguousarray(v).view(inner) for v in arrays(*values)]
        return np.asarray(function(*parts)).astype(inner).view(outer)

    return elementwise(decoder, instruction, both, *[name] * count)


def arithmetic(decoder: Decoder, instruction: Instruction) -> Run:
    """add, sub, mul, fma, div, rcp, sqrt: rounded in the mode that is named, to nearest else."""
    (name,) = decoder.types(instruction)
    opcode = "fma" if instruction.opcode == "mad" else instruction.opcode
    known = (*MODES, "ftz", "sat", "relu", "approx", "full")
    flags = decoder.flags(instruction, known)
    modes = [m for m in MODES if m in flags]
    single = name.removesuffix("x2")
    if "approx" in flags and name == "f64":
        return approximate(decoder, instruction)
    function = _function(opcode, single, modes[0] if modes else "rn")
    if function is None:
        raise decoder.unknown(instruction, "no such rounding of this type")
    if {"approx", "full"} & flags:
        function = _approximation(opcode, APPROXIMATE.get(opcode, np.divide))
    return _apply(decoder, instruction, name, _finished(function, single, flags))


def _approximation(opcode: str, exact: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on f32 that is as far off as it may be."""
    return lambda *values: narrow(as_far_off(opcode, exact(*map(wide, values)), *values), "f32")


def approximate(decoder: Decoder, instruction: Instruction) -> Run:
    """ex2, lg2, sin, cos, tanh, rsqrt (and rcp of f64) with .approx."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, ("approx", "ftz"))
    single = name.removesuffix("x2")
    exact = APPROXIMATE[instruction.opcode]
    if single == "f64":
        upper = np.uint64(0xFFFFFFFF00000000)
        is_coarse = "ftz" in flags  # computes with the upper halves alone

        def function(x: Any) -> Any:
            if not is_coarse:
                return exact(x)
            x = (np.asarray(x).view(np.uint64) & upper).view(_WIDE)
            return (np.asarray(exact(x)).view(np.uint64) & upper).view(_WIDE)
    elif single == "f32":
        function = _approximation(instruction.opcode, exact)
    else:

        def function(x: Any) -> Any:
            return narrow(exact(wide(x)), single)

    return _apply(decoder, instruction, name, _finished(function, single, flags))


def smallest(a: Any, b: Any) -> Any:
    """The smaller number; the other one where one is no number; -0 before +0."""
    result = np.fmin(a, b)
    return np.where((a == b) & (a == 0), np.where(np.signbit(a), a, b), result)


def largest(a: Any, b: Any) -> Any:
    """The larger number, as `smallest`."""
    result = np.fmax(a, b)
    return np.where((a == b) & (a == 0), np.where(np.signbit(a), b, a), result)


def extremum(decoder: Decoder, instruction: Instruction) -> Run:
    """min and max, with .NaN (a NaN wins) and .xorsign.abs."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, ("ftz", "NaN", "xorsign", "abs"))
    single = name.removesuffix("x2")
    chosen = smallest if instruction.opcode == "min" else largest
    dtype = DTYPES[single]

    def pair(x: Any, y: Any) -> Any:
        a, b = wide(x), wide(y)
        if "xorsign" in flags:
            sign = np.where(np.signbit(a) ^ np.signbit(b), -1.0, 1.0)
            result = np.copysign(chosen(np.abs(a), np.abs(b)), sign)
        else:
            result = chosen(a, b)
        if "NaN" in flags:
            result = np.where(np.isnan(a) | np.isnan(b), np.nan, result)
        return result.astype(dtype)

    def function(*values: Any) -> Any:
        result = pair(values[0], values[1])
        return pair(result, values[2]) if len(values) == 3 else result

    return _apply(decoder, instruction, name, _finished(function, single, flags))


def signed(decoder: Decoder, instruction: Instruction) -> Run:
    """abs, neg and copysign, which are of bits."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, ("ftz",))
    single = name.removesuffix("x2")
    dtype = DTYPES[single]
    bits = np.dtype(f"u{dtype.itemsize}")
    sign = bits.type(1 << 8 * dtype.itemsize - 1)

    def function(a: Any, b: Any = None) -> Any:
        a = np.asarray(a).view(bits)
        match instruction.opcode:
            case "abs":
                return (a & ~sign).view(dtype)
            case "neg":
                return (a ^ sign).view(dtype)
        # copysign d, a, b has the sign of a and the magnitude of b
        return ((np.asarray(b).view(bits) & ~sign) | (a & sign)).view(dtype)

    return _apply(decoder, instruction, name, _finished(function, single, flags))


_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
    "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
    "subnormal": lambda x: (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0),
}


def property_of(decoder: Decoder, instruction: Instruction) -> Run:
    """testp."""
    (name,) = decoder.types(instruction)
    (flag,) = decoder.flags(instruction, _PROPERTIES)
    return elementwise(decoder, instruction, _PROPERTIES[flag], "pred", name)


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    **dict.fromkeys(("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"), arithmetic),
    **dict.fromkeys(("ex2", "lg2", "sin", "cos", "tanh", "rsqrt"), approximate),
    **dict.fromkeys(("abs", "neg", "copysign"), signed),
    "min": extremum, "max": extremum, "testp": property_of,
}  # fmt: skip
