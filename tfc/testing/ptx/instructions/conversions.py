"""cvt, moves between registers, comparisons and selections."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tfc.testing.ptx.instructions.decode import Decoder, Run, arrays, compute, elementwise
from tfc.testing.ptx.instructions.floats import flushed, is_float, wide
from tfc.testing.ptx.instructions.rounding import FORMATS, directed, narrow, sum_to_odd, two_sum
from tfc.testing.ptx.text.syntax import Instruction, Vector
from tfc.testing.ptx.text.types import DTYPES, UNSIGNED

_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_MODES = ("rn", "rz", "rm", "rp", "rna")
_HALVES = {"f16x2": "f16", "bf16x2": "bf16", "e4m3x2": "e4m3", "e5m2x2": "e5m2"}
_EIGHT = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


# --- cvt -----------------------------------------------------------------------------------------


def _whole_to_odd(x: Any) -> Any:
    """Integers as float64, rounded to odd."""
    return sum_to_odd(*_halves_of(x))


def _halves_of(x: Any) -> tuple[Any, Any]:
    """Integers as the sum of two float64 numbers."""
    if x.dtype.itemsize < 8:
        return wide(x), np.zeros(np.shape(x))
    half = x.dtype.type(32)
    return wide(x >> half) * 2.0**32, wide(x & x.dtype.type(0xFFFFFFFF))


def _to_integer(x: Any, target: np.dtype, mode: str) -> Any:
    """Rounded and clamped; 0 of what is no number."""
    limits = np.iinfo(target)
    value = _TO_INTEGER[mode](wide(x))
    inside = (value >= float(limits.min)) & (value < float(limits.max) + (target.itemsize < 8))
    result = np.where(inside, value, 0).astype(target)
    result = np.where(value >= float(limits.max), target.type(limits.max), result)
    return np.where(value < float(limits.min), target.type(limits.min), result)


def _to_float(x: Any, target: str, mode: str, saturates: bool = False) -> Any:
    """A number of any type, rounded to a floating-point format."""
    if x.dtype.kind in "iu":
        if target == "f64":
            high, low = _halves_of(x)
            return high + low if mode == "rn" else directed(*two_sum(high, low), mode)
        return narrow(_whole_to_odd(x), target, mode)
    if target == "f64":
        return wide(x)
    if mode == "rn" and target == "f32":
        return x.astype(np.float32)
    result = narrow(wide(x), target, mode)
    if saturates:
        limit = FORMATS[target].largest
        over = (np.abs(wide(x)) > limit) | (np.isinf(wide(result)))
        clamped = np.copysign(limit, wide(x)).astype(np.float32).astype(result.dtype)
        return np.where(over, clamped, result)
    return result


def _clamped(x: Any, target: np.dtype) -> Any:
    """Integers of another type, clamped."""
    limits, own = np.iinfo(target), np.iinfo(x.dtype)
    low, high = max(limits.min, own.min), min(limits.max, own.max)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high)).astype(target)


def convert(decoder: Decoder, instruction: Instruction) -> Run:
    """cvt of one number, or of two into one register."""
    modifiers = [m for m in instruction.modifiers if m in DTYPES]
    if len(modifiers) == 1 and "tf32" not in modifiers:
        raise decoder.unknown(instruction, "it should name two types")
    target, source = modifiers
    known = (*_MODES, *_TO_INTEGER, "ftz", "sat", "satfinite", "relu")
    flags = decoder.flags(instruction, known)
    mode = next((m for m in (*_MODES, *_TO_INTEGER) if m in flags), "rn")
    if target in _HALVES or source in _HALVES:
        return _convert_two(decoder, instruction, target, source, mode, flags)
    function = _conversion(target, source, mode, flags)
    return elementwise(decoder, instruction, function, target, source)


def _conversion(target: str, source: str, mode: str, flags: set[str]) -> Callable[[Any], Any]:
    """The function from one type to another."""
    to, ftz = DTYPES[target], "ftz" in flags

    def function(x: Any) -> Any:
        if ftz and source == "f32":
            x = flushed(x)
        if not (is_float(target) or target == "tf32"):
            if is_float(source):
                return _to_integer(x, to, mode)
            return _clamped(x, to) if "sat" in flags else x.astype(to)
        if mode in _TO_INTEGER:
            x = _TO_INTEGER[mode](wide(x)).astype(x.dtype)
        rounding = mode if mode in _MODES else "rn"
        result = _to_float(x, target, rounding, "satfinite" in flags)
        if "sat" in flags:
            clipped = np.clip(wide(result), 0, 1)
            result = np.where(np.isnan(clipped), 0, clipped).astype(result.dtype)
        if "relu" in flags:
            result = np.where(wide(result) < 0, 0, result).astype(result.dtype)
        result = flushed(result) if ftz and target == "f32" else result
        return np.asarray(result).view(np.uint32) if target == "tf32" else result

    return function


def _convert_two(
    decoder: Decoder, instruction: Instruction, target: str, source: str, mode: str, flags: set[str]
) -> Run:
    """Into or out of a pair in one register; of two operands the first is the upper half."""
    to, bits = _HALVES[target], DTYPES[target]
    relu = "relu" in flags

    def rounded(x: Any) -> Any:
        x = np.where(wide(x) < 0, 0, wide(x)).astype(x.dtype) if relu else x
        result = _to_float(x, to, mode, "satfinite" in flags or to in _EIGHT)
        return np.asarray(result).view(UNSIGNED[8 * result.dtype.itemsize])

    if source in _HALVES:
        inner = np.dtype(_EIGHT.get(_HALVES[source]) or DTYPES[_HALVES[source]])

        def function(*values: Any) -> Any:
            halves = np.ascontiguousarray(np.atleast_1d(values[0])).view(inner)
            return np.ascontiguousarray(rounded(halves.astype(np.float32))).view(bits)

        return elementwise(decoder, instruction, function, target, source)

    def function(*values: Any) -> Any:
        upper, lower = (rounded(v).astype(bits) for v in arrays(*values))
        return (upper << bits.type(4 * bits.itemsize)) | lower

    return elementwise(decoder, instruction, function, target, source, source)


# --- mov -----------------------------------------------------------------------------------------


def move(decoder: Decoder, instruction: Instruction) -> Run:
    """mov, also between a register and a vector of narrower ones, and of addresses."""
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ())
    target, source = instruction.operands
    if isinstance(target, Vector):
        return _unpack(decoder, target, decoder.read(source, name), DTYPES[name])
    if isinstance(source, Vector):
        return _pack(decoder, target, source, name)
    return compute(lambda x: x, decoder.write(target, name), decoder.read(source, name))


def _part_type(whole: np.dtype, count: int) -> str:
    return f"b{8 * whole.itemsize // count}"


def _unpack(decoder: Decoder, target: Vector, read: Any, whole: np.dtype) -> Run:
    count = len(target.elements)
    part = _part_type(whole, count)
    writes = [decoder.write(e, part) for e in target.elements]
    bits = np.dtype(UNSIGNED[8 * whole.itemsize])
    width = 8 * whole.itemsize // count

    def run(t: Any, lanes: Any) -> None:
        value = np.asarray(read(t, lanes)).view(bits)
        parts = [(value >> bits.type(n * width)).astype(DTYPES[part]) for n in range(count)]
        for write, piece in zip(writes, parts):
            write(t, lanes, piece)

    return run


def _pack(decoder: Decoder, target: Any, source: Vector, name: str) -> Run:
    count, whole = len(source.elements), DTYPES[name]
    part = _part_type(whole, count)
    bits = np.dtype(UNSIGNED[8 * whole.itemsize])
    width = 8 * whole.itemsize // count

    def pack(*values: Any) -> Any:
        result = bits.type(0)
        for n, value in enumerate(values):
            result = result | (value.astype(bits) << bits.type(n * width))
        return np.asarray(result).view(whole)

    reads = [decoder.read(e, part) for e in source.elements]
    return compute(pack, decoder.write(target, name), *reads)


# --- Comparisons and selections ------------------------------------------------------------------


def _unordered(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(a, b) | np.isnan(a) | np.isnan(b)


_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_INTEGER_COMPARE = {**_COMPARE, "ne": np.not_equal, "lo": np.less, "ls": np.less_equal,
                    "hi": np.greater, "hs": np.greater_equal}  # fmt: skip
_FLOAT_COMPARE = {
    **_COMPARE,
    **{f"{name}u": _unordered(function) for name, function in _COMPARE.items()},
    "ne": lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b)),
    "neu": np.not_equal,
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
_COMBINE: dict[str, Callable[..., Any]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _comparison(
    decoder: Decoder, instruction: Instruction, name: str
) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    """(what compares, what combines it with another predicate)."""
    known = {*_INTEGER_COMPARE, *_FLOAT_COMPARE, *_COMBINE, "ftz"}
    flags = decoder.flags(instruction, known)
    table = _FLOAT_COMPARE if is_float(name) else _INTEGER_COMPARE
    first = next(m for m in instruction.modifiers if m in known)
    if first not in table:
        raise decoder.unknown(instruction, f"no comparison .{first} of this type")
    compare = table[first]
    combine = next((_COMBINE[m] for m in instruction.modifiers[1:] if m in _COMBINE), None)
    if "ftz" in flags and name == "f32":
        return lambda a, b: compare(flushed(a), flushed(b)), combine
    return compare, combine


def set_predicate(decoder: Decoder, instruction: Instruction) -> Run:
    """setp, with one result or two: the comparison and its opposite, or those of two halves."""
    (name,) = decoder.types(instruction)
    halves = DTYPES[_HALVES[name]] if name in _HALVES else None
    compare, combine = _comparison(decoder, instruction, _HALVES.get(name, name))
    first, second = decoder.results(instruction.operands[0])
    write, write_opposite = decoder.write(first, "pred"), decoder.write(second, "pred")
    a, b = (decoder.read(o, name) for o in instruction.operands[1:3])
    if combine is None:
        c = None
    else:
        c = decoder.read(instruction.operands[3], "pred")

    def run(t: Any, lanes: Any) -> None:
        found, opposite = results(a(t, lanes), b(t, lanes))
        if combine is None or c is None:
            write(t, lanes, found)
            write_opposite(t, lanes, opposite)
        else:
            other = c(t, lanes)
            write(t, lanes, combine(found, other))
            write_opposite(t, lanes, combine(opposite, other))

    def results(x: Any, y: Any) -> tuple[Any, Any]:
        if halves is None:
            found = compare(x, y)
            return found, ~found
        x, y = (np.ascontiguousarray(v).view(halves).reshape(-1, 2) for v in (x, y))
        found = compare(x, y)
        return found[:, 0], found[:, 1]

    return run


def set_register(decoder: Decoder, instruction: Instruction) -> Run:
    """set: all bits, or 1.0, where the comparison holds."""
    target, source = decoder.types(instruction, 2)
    compare, combine = _comparison(decoder, instruction, source)
    kind = DTYPES[target]
    yes = kind.type(1) if is_float(target) else np.uint32(0xFFFFFFFF).view(kind)

    def function(a: Any, b: Any, *others: Any) -> Any:
        found = compare(a, b)
        found = combine(found, *others) if combine else found
        return np.where(found, yes, kind.type(0))

    rest = ["pred"] if combine else []
    return elementwise(decoder, instruction, function, target, source, source, *rest)


def select(decoder: Decoder, instruction: Instruction) -> Run:
    """selp."""
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ())
    return elementwise(
        decoder, instruction, lambda a, b, c: np.where(c, a, b), name, name, name, "pred"
    )


def select_by_sign(decoder: Decoder, instruction: Instruction) -> Run:
    """slct."""
    name, sign = decoder.types(instruction, 2)
    decoder.flags(instruction, ("ftz",))
    return elementwise(
        decoder, instruction, lambda a, b, c: np.where(c >= 0, a, b), name, name, name, sign
    )


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "cvt": convert, "mov": move, "setp": set_predicate, "set": set_register, "selp": select,
    "slct": select_by_sign,
}  # fmt: skip
