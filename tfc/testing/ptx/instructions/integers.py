"""Integer arithmetic, comparisons and selections."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.decode import CARRY, Decoder, Run, arrays, elementwise
from tfc.testing.ptx.text.syntax import Instruction, Integer
from tfc.testing.ptx.text.types import DTYPES, UNSIGNED

_DOUBLE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def is_integer(name: str) -> bool:
    """Whether a type is one of integers, and not two in a register."""
    return name[0] in "us" and not name.endswith("x2")


# --- Functions of arrays --------------------------------------------------------------------------


def high_product(a: Any, b: Any) -> Any:
    """The upper half of the product of two integers of one type."""
    dtype = a.dtype
    if dtype.itemsize < 8:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
        return ((a.astype(wide) * b.astype(wide)) >> (8 * dtype.itemsize)).astype(dtype)
    ua, ub = a.view(np.uint64), b.view(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    low_a, low_b, high_a, high_b = ua & mask, ub & mask, ua >> half, ub >> half
    first = high_a * low_b + (low_a * low_b >> half)
    second = low_a * high_b + (first & mask)
    high = high_a * high_b + (first >> half) + (second >> half)
    if dtype.kind == "i":
        high = high - np.where(a < 0, ub, np.uint64(0)) - np.where(b < 0, ua, np.uint64(0))
    return high.view(dtype)


def quotient(a: Any, b: Any) -> Any:
    """a / b towards zero; all bits set where b is zero."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        return np.where(b == 0, ~b.dtype.type(0), a // safe)
    down = a // safe
    inexact = down * safe != a
    return np.where(b == 0, a.dtype.type(-1), down + (inexact & ((a < 0) != (safe < 0))))


def remainder(a: Any, b: Any) -> Any:
    """a - (a / b) b; a where b is zero."""
    return np.where(b == 0, a, a - quotient(a, b) * b).astype(a.dtype)


def shift_left(a: Any, amount: Any) -> Any:
    """Shifted to the left; zero from the width on."""
    width = 8 * a.dtype.itemsize
    return np.where(amount < width, a << (amount % width).astype(a.dtype), a.dtype.type(0))


def shift_right(a: Any, amount: Any) -> Any:
    """Shifted to the right by the type's sign; amounts count up to the width."""
    width = 8 * a.dtype.itemsize
    shifted = a >> np.minimum(amount, width - 1).astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(amount < width, shifted, a.dtype.type(0))


def reversed_bits(a: Any) -> Any:
    """The bits in opposite order."""
    bits, width = a, 8 * a.dtype.itemsize
    step = width // 2
    while step:
        mask = sum(((1 << step) - 1) << n for n in range(0, width, 2 * step))
        low, by = a.dtype.type(mask), a.dtype.type(step)
        bits = ((bits >> by) & low) | ((bits & low) << by)
        step //= 2
    return bits


def leading_zeros(a: Any) -> Any:
    """How many zeros stand before the first bit that is set."""
    width = 8 * a.dtype.itemsize
    count, rest = np.full(np.shape(a), width, np.uint32), a
    for step in (32, 16, 8, 4, 2, 1):
        if step < width:
            upper = rest >> a.dtype.type(step)
            found = upper != 0
            count = np.where(found, count - np.uint32(step), count)
            rest = np.where(found, upper, rest)
    return count - (rest != 0)


def bits_set(a: Any) -> Any:
    """How many bits are set."""
    return np.bitwise_count(a).astype(np.uint32)


def highest_bit(a: Any) -> Any:
    """The position of the highest bit that differs from the sign; all ones if there is none."""
    magnitude = np.where(a < 0, ~a, a) if a.dtype.kind == "i" else a
    unsigned = np.asarray(magnitude).astype(UNSIGNED[8 * a.dtype.itemsize])
    return (np.uint32(8 * a.dtype.itemsize - 1) - leading_zeros(unsigned)).astype(np.uint32)


def extracted(a: Any, position: Any, length: Any) -> Any:
    """A bit field, extended by the type's sign."""
    width = 8 * a.dtype.itemsize
    position, length = position & np.uint32(0xFF), length & np.uint32(0xFF)
    bits = a.view(UNSIGNED[width])
    inside = width - np.minimum(position, width)
    kept = np.minimum(length, inside).astype(np.uint32)
    field = shift_right(bits, position) & ~shift_left(~bits.dtype.type(0), kept)
    if a.dtype.kind == "u":
        return field
    last = np.minimum(position.astype(np.int64) + length - 1, width - 1).clip(0)
    sign = (shift_right(bits, last.astype(np.uint32)) & bits.dtype.type(1)) != 0
    upper = shift_left(~bits.dtype.type(0), kept)
    return np.where(sign & (length != 0), field | upper, field).view(a.dtype)


def inserted(a: Any, b: Any, position: Any, length: Any) -> Any:
    """b with a bit field of a's lowest bits."""
    position, length = position & np.uint32(0xFF), length & np.uint32(0xFF)
    ones = ~a.dtype.type(0)
    mask = shift_left(~shift_left(ones, np.minimum(length, 8 * a.dtype.itemsize)), position)
    return (b & ~mask) | (shift_left(a, position) & mask)


def permuted(a: Any, b: Any, selection: Any) -> Any:
    """Bytes of b:a by a selection of four digits, of which the upper bit repeats the sign."""
    a, b, selection = arrays(a, b, selection)
    both = (b.astype(np.uint64) << np.uint64(32)) | a
    result = np.zeros_like(a)
    for digit in range(4):
        choice = (selection >> np.uint32(4 * digit)) & np.uint32(15)
        byte = (both >> ((choice & np.uint32(7)) * np.uint32(8)).astype(np.uint64)) & np.uint64(255)
        signs = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        byte = np.where(choice & np.uint32(8), signs, byte)
        result = result | (byte.astype(np.uint32) << np.uint32(8 * digit))
    return result


def lookup(a: Any, b: Any, c: Any, table: int) -> Any:
    """The function of three bits whose values are the bits of a table."""
    result = a ^ a
    for row in range(8):
        if table >> row & 1:
            term = a if row & 4 else ~a
            term = term & (b if row & 2 else ~b)
            result = result | (term & (c if row & 1 else ~c))
    return result


def added_saturating(a: Any, b: Any) -> Any:
    """a + b of s32, clamped."""
    return np.clip(a.astype(np.int64) + b, -(1 << 31), (1 << 31) - 1).astype(np.int32)


def subtracted_saturating(a: Any, b: Any) -> Any:
    """a - b of s32, clamped."""
    return np.clip(a.astype(np.int64) - b, -(1 << 31), (1 << 31) - 1).astype(np.int32)


# --- Decoders -------------------------------------------------------------------------------------


def in_halves(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    """A function of 16-bit values, on both halves of 32-bit registers."""

    def both(*values: Any) -> Any:
        values = tuple(np.ascontiguousarray(v) for v in arrays(*values))
        halves = [v.view(np.uint16).view(dtype) for v in values]
        return np.asarray(function(*halves)).astype(dtype).view(np.uint32)

    return both


def binary(function: Callable[..., Any]) -> Callable[[Decoder, Instruction], Run]:
    """A decoder for d = function(a, b) of one type."""

    def decode(decoder: Decoder, instruction: Instruction) -> Run:
        if "cc" in instruction.modifiers and function in _SATURATING:
            return with_carry(decoder, instruction)
        (name,) = decoder.types(instruction)
        saturating = "sat" in decoder.flags(instruction, ("sat",) if name == "s32" else ())
        chosen = _SATURATING[function] if saturating else function
        if name.endswith("x2"):
            return elementwise(decoder, instruction, in_halves(chosen, DTYPES[name[:3]]),
                               *[name] * 3)  # fmt: skip
        return elementwise(decoder, instruction, chosen, name, name, name)

    return decode


_SATURATING = {np.add: added_saturating, np.subtract: subtracted_saturating}


def extremum(function: Callable[..., Any]) -> Callable[[Decoder, Instruction], Run]:
    """min and max, of which .relu makes a negative result 0."""
    plain = binary(function)

    def decode(decoder: Decoder, instruction: Instruction) -> Run:
        if "relu" not in instruction.modifiers:
            return plain(decoder, instruction)
        (name,) = decoder.types(instruction)
        decoder.flags(instruction, ("relu",) if name in ("s32", "s16x2") else ())

        def function_of_both(a: Any, b: Any) -> Any:
            return np.maximum(function(a, b), 0)

        chosen = in_halves(function_of_both, DTYPES["s16"]) if name == "s16x2" else function_of_both
        return elementwise(decoder, instruction, chosen, name, name, name)

    return decode


def unary(
    function: Callable[..., Any], result: str | None = None
) -> Callable[[Decoder, Instruction], Run]:
    """A decoder for d = function(a), of a's type unless the result has another."""

    def decode(decoder: Decoder, instruction: Instruction) -> Run:
        (name,) = decoder.types(instruction)
        decoder.flags(instruction, ())
        return elementwise(decoder, instruction, function, result or name, name)

    return decode


def multiply(decoder: Decoder, instruction: Instruction) -> Run:
    """mul.lo, mul.hi, mul.wide, mul24 and the mads of them."""
    (name,) = decoder.types(instruction)
    part = decoder.flags(instruction, ("lo", "hi", "wide"))
    adds = instruction.opcode.startswith("mad")
    if part == {"wide"}:
        wide = DTYPES[_DOUBLE[name]]

        def product(a: Any, b: Any) -> Any:
            return a.astype(wide) * b.astype(wide)

        result = _DOUBLE[name]
    elif part == {"lo"}:

        def product(a: Any, b: Any) -> Any:
            return a * b

        result = name
    elif part == {"hi"}:
        product, result = high_product, name
    else:
        raise decoder.unknown(instruction, "which half?")
    if not adds:
        return elementwise(decoder, instruction, product, result, name, name)
    return elementwise(
        decoder, instruction, lambda a, b, c: product(a, b) + c, result, name, name, result
    )


def with_carry(decoder: Decoder, instruction: Instruction) -> Run:
    """add.cc, addc, sub.cc and subc: sums longer than a register, part after part."""
    (name,) = decoder.types(instruction)
    gives = "cc" in decoder.flags(instruction, ("cc",))
    if name[0] not in "us" or DTYPES[name].itemsize < 4:
        raise decoder.unknown(instruction, "of 32 or 64 bits")
    bits = UNSIGNED[8 * DTYPES[name].itemsize]
    write = decoder.write(instruction.operands[0], name)
    a, b = (decoder.read(o, name) for o in instruction.operands[1:])
    takes = decoder.read(CARRY, "pred") if instruction.opcode.endswith("c") else None
    carry = decoder.write(CARRY, "pred") if gives else None
    subtracts = instruction.opcode.startswith("sub")

    def run(t: Any, lanes: Any) -> None:
        x, y = (np.asarray(read(t, lanes)).view(bits) for read in (a, b))
        before = bits(0) if takes is None else takes(t, lanes).astype(bits)
        if subtracts:
            first = x - y
            result, carried = first - before, (x < y) | (first < before)
        else:
            first = x + y
            result, carried = first + before, (first < x) | (first + before < first)
        write(t, lanes, result.view(DTYPES[name]))
        if carry is not None:
            carry(t, lanes, carried)

    return run


def shift(decoder: Decoder, instruction: Instruction) -> Run:
    """shl and shr; the amount is of 32 bits."""
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ())
    function = shift_left if instruction.opcode == "shl" else shift_right
    return elementwise(decoder, instruction, function, name, name, "u32")


def funnel(decoder: Decoder, instruction: Instruction) -> Run:
    """shf: 32 bits of two registers."""
    flags = decoder.flags(instruction, ("l", "r", "clamp", "wrap"))
    limit = np.uint32(32 if "clamp" in flags else 31)

    def function(a: Any, b: Any, c: Any) -> Any:
        amount = (np.minimum(c, limit) if "clamp" in flags else c & limit).astype(np.uint64)
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        if "r" in flags:
            return (both >> amount).astype(np.uint32)
        return ((both << amount) >> np.uint64(32)).astype(np.uint32)

    return elementwise(decoder, instruction, function, "b32", "b32", "b32", "u32")


def field(decoder: Decoder, instruction: Instruction) -> Run:
    """bfe and bfi."""
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ())
    if instruction.opcode == "bfe":
        return elementwise(decoder, instruction, extracted, name, name, "u32", "u32")
    return elementwise(decoder, instruction, inserted, name, name, name, "u32", "u32")


def logic(function: Callable[..., Any]) -> Callable[[Decoder, Instruction], Run]:
    """A decoder for bits and predicates alike."""

    def decode(decoder: Decoder, instruction: Instruction) -> Run:
        (name,) = decoder.types(instruction)
        decoder.flags(instruction, ())
        count = len(instruction.operands) - 1
        return elementwise(decoder, instruction, function, name, *[name] * count)

    return decode


def lop3(decoder: Decoder, instruction: Instruction) -> Run:
    """Any function of three bits."""
    decoder.flags(instruction, ())
    *operands, table = instruction.operands
    value = int(decoder.read(table, "u32")(None, None))  # type: ignore[arg-type]
    return elementwise(
        decoder,
        Instruction("lop3", instruction.modifiers, tuple(operands), None, instruction.line, ""),
        lambda a, b, c: lookup(a, b, c, value),
        *["b32"] * 4,
    )


def permute(decoder: Decoder, instruction: Instruction) -> Run:
    """prmt, in its plain mode. A source of which a known selection takes no byte is not read: LLVM
    names a register there that was never written."""
    decoder.flags(instruction, ())
    target, *sources, selection = instruction.operands
    if isinstance(selection, Integer):
        picked = {selection.value >> shift & 4 for shift in range(0, 16, 4)}
        sources = [s if part in picked else Integer(0) for part, s in zip((0, 4), sources)]
    known = replace(instruction, operands=(target, *sources, selection))
    return elementwise(decoder, known, permuted, *["b32"] * 4)


def dot_product(decoder: Decoder, instruction: Instruction) -> Run:
    """dp4a: the sum of four products of bytes and c."""
    first, second = decoder.types(instruction, 2)
    decoder.flags(instruction, ())
    kinds = [DTYPES[name[0] + "8"] for name in (first, second)]
    result = "s32" if "s32" in (first, second) else "u32"

    def function(a: Any, b: Any, c: Any) -> Any:
        a, b, c = (np.ascontiguousarray(v) for v in arrays(a, b, c))
        x = a.view(kinds[0]).reshape(-1, 4).astype(np.int64)
        y = b.view(kinds[1]).reshape(-1, 4).astype(np.int64)
        return ((x * y).sum(1) + c).astype(np.uint32).view(DTYPES[result])

    return elementwise(decoder, instruction, function, result, "b32", "b32", result)


def sum_of_differences(decoder: Decoder, instruction: Instruction) -> Run:
    """sad: |a - b| + c."""
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ())
    return elementwise(
        decoder, instruction, lambda a, b, c: np.where(a < b, b - a, a - b) + c, *[name] * 4
    )


def magnitude(decoder: Decoder, instruction: Instruction) -> Run:
    """abs of signed integers; the smallest number stays."""
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ())
    return elementwise(decoder, instruction, lambda a: np.where(a < 0, -a, a), name, name)


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "add": binary(np.add), "sub": binary(np.subtract), "mul": multiply, "mad": multiply,
    "div": binary(quotient), "rem": binary(remainder), "abs": magnitude, "neg": unary(np.negative),
    "min": extremum(np.minimum), "max": extremum(np.maximum), "sad": sum_of_differences,
    "addc": with_carry, "subc": with_carry,
    "popc": unary(bits_set, "u32"), "clz": unary(leading_zeros, "u32"),
    "bfind": unary(highest_bit, "u32"), "brev": unary(reversed_bits),
    "bfe": field, "bfi": field, "shl": shift, "shr": shift, "shf": funnel,
    "and": logic(lambda a, b: a & b), "or": logic(lambda a, b: a | b),
    "xor": logic(lambda a, b: a ^ b), "not": logic(lambda a: ~a),
    "cnot": unary(lambda a: (a == 0).astype(a.dtype)),
    "lop3": lop3, "prmt": permute, "dp4a": dot_product,
}  # fmt: skip
