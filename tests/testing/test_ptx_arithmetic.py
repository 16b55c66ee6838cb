"""Instructions of the PTX interpreter compute what NumPy, fractions or the definition say."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_kernels import HEADER, apply, elementwise

from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.instructions.rounding import fma32, fma64

random = np.random.default_rng(7)
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
s8, s16, s32, s64 = np.int8, np.int16, np.int32, np.int64
f16, f32, f64, bf16 = np.float16, np.float32, np.float64, ml_dtypes.bfloat16
COUNT = 128


def integers(dtype: Any) -> np.ndarray:
    """Numbers of all sizes, and the ends of the type."""
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, COUNT, dtype, endpoint=True)
    values >>= random.integers(0, limits.bits, COUNT).astype(dtype)
    values[:6] = (0, 1, limits.min, limits.max, limits.max - 1, limits.max // 2)
    return random.permutation(values)


def floats(dtype: Any) -> np.ndarray:
    """Any bits, small numbers and the special ones."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    values = random.integers(0, 1 << 8 * bits.itemsize, COUNT, np.uint64).astype(bits).view(dtype)
    values[: COUNT // 2] = random.normal(size=COUNT // 2).astype(dtype)
    values[:8] = (0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5)
    return random.permutation(values)


def operand(dtype: Any) -> np.ndarray:
    return integers(dtype) if np.dtype(dtype).kind in "iu" else floats(dtype)


def python(function: Callable[..., int]) -> Callable[..., list[int]]:
    """A function of Python's whole numbers, for each element."""
    return lambda *arrays: [function(*map(int, values)) for values in zip(*arrays)]


def divided(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def byte_of(a: int, b: int, choice: int) -> int:
    byte = (b << 32 | a) >> 8 * (choice & 7) & 255
    return (255 if byte & 128 else 0) if choice & 8 else byte


def field(a: int, start: int, length: int, bits: int, is_signed: bool) -> int:
    start, length = start & 255, length & 255
    last = min(start + length - 1, bits - 1)
    sign = (a >> last & 1) if is_signed and length else 0
    return sum((a >> start + n & 1 if start + n < bits and n < length else sign) << n
               for n in range(bits))  # fmt: skip


# Instruction, type of the result, types of the operands, what it gives.
WHOLE: list[tuple[str, Any, tuple[Any, ...], Callable[..., Any]]] = [
    ("add.s32 $0, $1, $2", u32, (u32, u32), python(lambda a, b: a + b)),
    ("sub.s64 $0, $1, $2", u64, (u64, u64), python(lambda a, b: a - b)),
    ("add.u16 $0, $1, $2", u16, (u16, u16), python(lambda a, b: a + b)),
    ("add.sat.s32 $0, $1, $2", s32, (s32, s32),
     python(lambda a, b: max(-(1 << 31), min((1 << 31) - 1, a + b)))),
    ("mul.lo.s32 $0, $1, $2", s32, (s32, s32), python(lambda a, b: a * b)),
    ("mul.hi.s32 $0, $1, $2", s32, (s32, s32), python(lambda a, b: a * b >> 32)),
    ("mul.hi.u64 $0, $1, $2", u64, (u64, u64), python(lambda a, b: a * b >> 64)),
    ("mul.hi.s64 $0, $1, $2", s64, (s64, s64), python(lambda a, b: a * b >> 64)),
    ("mul.wide.s32 $0, $1, $2", s64, (s32, s32), python(lambda a, b: a * b)),
    ("mul.wide.u16 $0, $1, $2", u32, (u16, u16), python(lambda a, b: a * b)),
    ("mad.lo.u32 $0, $1, $2, $3", u32, (u32, u32, u32), python(lambda a, b, c: a * b + c)),
    ("mad.wide.u32 $0, $1, $2, $3", u64, (u32, u32, u64), python(lambda a, b, c: a * b + c)),
    ("mad.hi.s32 $0, $1, $2, $3", s32, (s32, s32, s32), python(lambda a, b, c: (a * b >> 32) + c)),
    ("div.s32 $0, $1, $2", s32, (s32, s32), python(divided)),
    ("div.u64 $0, $1, $2", u64, (u64, u64), python(divided)),
    ("rem.s64 $0, $1, $2", s64, (s64, s64), python(lambda a, b: a - divided(a, b) * b if b else a)),
    ("abs.s32 $0, $1", s32, (s32,), python(abs)),
    ("neg.s64 $0, $1", s64, (s64,), python(lambda a: -a)),
    ("min.s32 $0, $1, $2", s32, (s32, s32), python(min)),
    ("max.u64 $0, $1, $2", u64, (u64, u64), python(max)),
    ("min.s16x2 $0, $1, $2", u32, (u32, u32),
     lambda a, b: np.minimum(a.view(s16), b.view(s16)).view(u32)),
    ("sad.s32 $0, $1, $2, $3", s32, (s32, s32, s32), python(lambda a, b, c: abs(a - b) + c)),
    ("popc.b64 $0, $1", u32, (u64,), python(int.bit_count)),
    ("clz.b32 $0, $1", u32, (u32,), python(lambda a: 32 - a.bit_length())),
    ("clz.b64 $0, $1", u32, (u64,), python(lambda a: 64 - a.bit_length())),
    ("bfind.u32 $0, $1", u32, (u32,), python(lambda a: a.bit_length() - 1)),
    ("bfind.s64 $0, $1", u32, (s64,), python(lambda a: (a if a >= 0 else ~a).bit_length() - 1)),
    ("brev.b32 $0, $1", u32, (u32,), python(lambda a: int(f"{a:032b}"[::-1], 2))),
    ("brev.b64 $0, $1", u64, (u64,), python(lambda a: int(f"{a:064b}"[::-1], 2))),
    ("and.b64 $0, $1, $2", u64, (u64, u64), python(lambda a, b: a & b)),
    ("or.b32 $0, $1, $2", u32, (u32, u32), python(lambda a, b: a | b)),
    ("xor.b16 $0, $1, $2", u16, (u16, u16), python(lambda a, b: a ^ b)),
    ("not.b32 $0, $1", u32, (u32,), python(lambda a: ~a)),
    ("cnot.b32 $0, $1", u32, (u32,), python(lambda a: a == 0)),
    ("shl.b32 $0, $1, $2", u32, (u32, u32), python(lambda a, b: a << min(b, 64))),
    ("shr.u64 $0, $1, $2", u64, (u64, u32), python(lambda a, b: a >> b)),
    ("shr.s32 $0, $1, $2", s32, (s32, u32), python(lambda a, b: a >> b)),
    ("shf.l.wrap.b32 $0, $1, $2, $3", u32, (u32, u32, u32),
     python(lambda a, b, c: (b << 32 | a) << (c & 31) >> 32)),
    ("shf.r.clamp.b32 $0, $1, $2, $3", u32, (u32, u32, u32),
     python(lambda a, b, c: (b << 32 | a) >> min(c, 32))),
    ("lop3.b32 $0, $1, $2, $3, 0xE8", u32, (u32, u32, u32),
     python(lambda a, b, c: a & b | a & c | b & c)),
    ("lop3.b32 $0, $1, $2, $3, 0x72", u32, (u32, u32, u32),
     python(lambda a, b, c: sum((0x72 >> (4 * (a >> n & 1) + 2 * (b >> n & 1) + (c >> n & 1)) & 1)
                                << n for n in range(32)))),
    ("prmt.b32 $0, $1, $2, $3", u32, (u32, u32, u32),
     python(lambda a, b, c: sum(byte_of(a, b, c >> 4 * n & 15) << 8 * n for n in range(4)))),
    ("bfe.u32 $0, $1, $2, $3", u32, (u32, u32, u32),
     python(lambda a, b, c: field(a, b, c, 32, False))),
    ("bfe.s32 $0, $1, 5, 9", u32, (u32,), python(lambda a: field(a, 5, 9, 32, True))),
    ("bfe.s64 $0, $1, 30, $2", u64, (u64, u32), python(lambda a, c: field(a, 30, c, 64, True))),
    ("bfi.b32 $0, $1, $2, 7, 12", u32, (u32, u32),
     python(lambda a, b: b & ~(0xFFF << 7) | (a & 0xFFF) << 7)),
    ("dp4a.s32.u32 $0, $1, $2, $3", s32, (s32, u32, s32),
     lambda a, b, c: ((a.view(s8).astype(s64) * b.view(u8)).reshape(-1, 4).sum(1) + c)),
    ("selp.b32 $0, $1, $2, 1", u32, (u32, u32), lambda a, b: a),
    ("slct.b32.s32 $0, $1, $2, $3", u32, (u32, u32, s32), lambda a, b, c: np.where(c >= 0, a, b)),
    ("set.lt.u32.s32 $0, $1, $2", u32, (s32, s32), lambda a, b: np.where(a < b, 0xFFFFFFFF, 0)),
    ("cvt.s64.s8 $0, $1", s64, (s8,), lambda a: a),
    ("cvt.u32.u16 $0, $1", u32, (u16,), lambda a: a),
    ("cvt.sat.s8.s32 $0, $1", s8, (s32,), lambda a: np.clip(a, -128, 127)),
    ("cvt.sat.u32.s64 $0, $1", u32, (s64,), lambda a: np.clip(a, 0, (1 << 32) - 1)),
]  # fmt: skip


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row[0].split()[0])
def test_whole_numbers(row: tuple[str, Any, tuple[Any, ...], Callable[..., Any]]):
    instruction, result, types, function = row
    operands = [integers(t) for t in types]
    bits = np.iinfo(result).bits
    wanted = np.array([int(v) % (1 << bits) for v in function(*operands)], f"u{bits // 8}")
    got = apply(instruction, result, *operands)
    np.testing.assert_array_equal(got.view(wanted.dtype), wanted)


# --- Floating point: against exact fractions --------------------------------------

FORMS = {f16: (11, -14), bf16: (8, -126), f32: (24, -126), f64: (53, -1022)}


def rounded(x: Fraction, dtype: Any, mode: str = "rn") -> float:
    """A fraction rounded to a format, as the definition says."""
    digits, lowest = FORMS[dtype]
    if x == 0:
        return 0.0
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent += size >= Fraction(2) ** (exponent + 1)
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, lowest) - digits + 1)
    scaled = x / unit
    whole = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](scaled)
    result = whole * unit
    largest = float(ml_dtypes.finfo(dtype).max)
    if abs(result) > largest:
        sign = 1 if x > 0 else -1
        stays = mode == "rz" or (mode == "rm" and x > 0) or (mode == "rp" and x < 0)
        return sign * (largest if stays else math.inf)
    return float(result)


def exactly(
    function: Callable[..., Fraction], dtype: Any, mode: str, values: tuple[Any, ...]
) -> np.ndarray:
    """A function of fractions for each element that is finite; the places of others are NaN."""
    result = np.full(len(values[0]), np.nan)
    for n, row in enumerate(zip(*values)):
        if all(np.isfinite(v) for v in row) and not (len(row) == 2 and float(row[1]) == 0):
            result[n] = rounded(function(*(Fraction(float(v)) for v in row)), dtype, mode)
    return result.astype(dtype)


EXACT: list[tuple[str, Any, int, Callable[..., Fraction]]] = [
    *((f"{name}.{mode}.{t} $0, $1, $2", d, 2, function)
      for name, function in (("add", Fraction.__add__), ("mul", Fraction.__mul__),
                             ("div", Fraction.__truediv__))
      for mode in ("rn", "rz", "rm", "rp") for t, d in (("f32", f32), ("f64", f64))
      if t == "f32" or mode == "rn" or name == "add"),
    *((f"fma.{mode}.{t} $0, $1, $2, $3", d, 3, lambda a, b, c: a * b + c)
      for t, d, mode in (("f32", f32, "rn"), ("f32", f32, "rz"), ("f32", f32, "rp"),
                         ("f64", f64, "rn"), ("f16", f16, "rn"), ("bf16", bf16, "rn"))),
    ("sub.rn.f16 $0, $1, $2", f16, 2, Fraction.__sub__),
    ("mul.rn.f16 $0, $1, $2", f16, 2, Fraction.__mul__),
]  # fmt: skip


@pytest.mark.parametrize("row", EXACT, ids=lambda row: row[0].split()[0])
def test_results_are_the_exact_ones_rounded_once(
    row: tuple[str, Any, int, Callable[..., Fraction]],
):
    instruction, dtype, count, function = row
    mode = instruction.split(".")[1]
    operands = tuple(floats(dtype) for _ in range(count))
    wanted = exactly(function, dtype, mode, operands)
    got = apply(instruction, dtype, *operands)
    known = ~np.isnan(wanted.astype(f64))
    np.testing.assert_array_equal(got[known], wanted[known])


def test_fused_multiply_adds_hold_where_rounding_twice_does_not():
    """Products next to ties, cancellation, and results below the normal numbers."""
    n = 300
    a, b = (random.integers(1, 1 << 12, n).astype(f32) * f32(2.0**-6) for _ in range(2))
    ties = (random.integers(1 << 23, 1 << 24, n) * 2.0 + 1).astype(f64) * 2.0 ** (
        random.integers(-20, 20, n)
    )
    small, smaller = f32(2.0**-70), f32(2.0**-130)
    cases32 = [
        (a, b, ties.astype(f32)),
        (a, b, -(a * b)),
        (a * small, b * small, a * smaller),
    ]
    for x, y, z in cases32:
        wanted = exactly(lambda p, q, r: p * q + r, f32, "rn", (x, y, z))
        np.testing.assert_array_equal(fma32(x, y, z), wanted)
    u, v = (1 + random.random(n) * 2.0 ** random.integers(-52, 1, n) for _ in range(2))
    for w in (-u * v, random.normal(size=n), np.nextafter(u * v, 2) * 2.0**53, -u):
        for scale in (1.0, 2.0**-520, 2.0**500):
            x, y, z = u * scale, v * scale, w * scale
            wanted = exactly(lambda p, q, r: p * q + r, f64, "rn", (x, y, z))
            np.testing.assert_array_equal(fma64(x, y, z), wanted)


@pytest.mark.parametrize(("name", "dtype"), [("f32", f32), ("f64", f64), ("f16", f16)])
def test_infinite_numbers_stay_what_they_are(name: str, dtype: Any):
    ends = np.array([np.inf, -np.inf, np.nan, 1, -2, 0, -0.0, ml_dtypes.finfo(dtype).max], dtype)
    x, y = np.repeat(ends, 8), np.tile(ends, 8)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply(f"add.rn.{name} $0, $1, $2", dtype, x, y), x + y)
        np.testing.assert_array_equal(apply(f"mul.rn.{name} $0, $1, $2", dtype, x, y), x * y)
        got = apply(f"fma.rn.{name} $0, $1, $2, $1", dtype, x, y)
        plain = x * y + x
    finite = np.isfinite(x) & np.isfinite(y)
    np.testing.assert_array_equal(got[~finite], plain[~finite])


NEAR: list[tuple[str, Any, Callable[..., Any]]] = [
    ("rcp.rn.f32 $0, $1", f32, lambda x: 1 / x), ("sqrt.rn.f32 $0, $1", f32, np.sqrt),
    ("sqrt.rn.f64 $0, $1", f64, np.sqrt), ("ex2.approx.f16 $0, $1", f16, np.exp2),
]  # fmt: skip


@pytest.mark.parametrize("row", NEAR, ids=lambda row: row[0].split()[0])
def test_functions_are_within_a_unit_of_the_last_place(row: tuple[str, Any, Callable[..., Any]]):
    instruction, dtype, function = row
    x = np.abs(random.normal(size=COUNT)).astype(dtype) + dtype(0.01)
    with np.errstate(all="ignore"):
        wanted = function(x.astype(f64))
    got = apply(instruction, dtype, x).astype(f64)
    assert (np.abs(got - wanted) <= 0.51 * np.spacing(np.abs(wanted).astype(dtype))).all()


# (instruction, what it approximates, by how much it may be off relative to that)
APPROXIMATIONS: list[tuple[str, Callable[..., Any], float]] = [
    ("ex2.approx.f32 $0, $1", np.exp2, 2**-22.5), ("rcp.approx.f32 $0, $1", np.reciprocal, 2**-23),
    ("tanh.approx.f32 $0, $1", np.tanh, 2**-11), ("sqrt.approx.f32 $0, $1", np.sqrt, 2**-23),
    ("rsqrt.approx.f32 $0, $1", lambda x: x**-0.5, 2**-22.9),
    ("div.full.f32 $0, $1, $1", np.ones_like, 0),
]  # fmt: skip


@pytest.mark.parametrize("row", APPROXIMATIONS, ids=lambda row: row[0].split()[0])
def test_approximations_are_as_far_off_as_they_may_be(row: tuple[str, Callable[..., Any], float]):
    instruction, function, error = row
    x = np.abs(random.normal(size=COUNT)).astype(f32) + f32(0.01)
    wanted = function(x.astype(f64))
    off = (apply(instruction, f32, x).astype(f64) - wanted) / wanted
    assert (np.abs(off) <= error + 2**-25).all()
    assert error == 0 or ((off > error * 0.5).any() and (off < -error * 0.5).any())


@pytest.mark.parametrize("name", ["sin", "cos", "lg2"])
def test_some_approximations_are_off_around_zero(name: str):
    x = np.abs(random.normal(size=COUNT)).astype(f32) + f32(0.01)
    wanted = {"sin": np.sin, "cos": np.cos, "lg2": np.log2}[name](x.astype(f64))
    off = apply(f"{name}.approx.f32 $0, $1", f32, x).astype(f64) - wanted
    assert 2**-23 < np.abs(off).max() <= 2**-20 * max(np.abs(wanted).max(), 1)


def test_powers_of_two_are_hit_by_approximations():
    x = np.exp2(np.arange(-32, 32)).astype(f32)
    np.testing.assert_array_equal(apply("rcp.approx.f32 $0, $1", f32, x), 1 / x)
    whole = np.arange(-32, 32).astype(f32)
    np.testing.assert_array_equal(apply("ex2.approx.f32 $0, $1", f32, whole), np.exp2(whole))


def test_minimum_and_maximum_know_zeros_and_what_is_no_number():
    x = np.array([0.0, -0.0, np.nan, 1.0, np.inf, np.nan, 2.0, -3.0] * 4, f32)
    y = np.array([-0.0, 0.0, 1.0, np.nan, np.nan, np.nan, -2.0, -4.0] * 4, f32)
    least, most = apply("min.f32 $0, $1, $2", f32, x, y), apply("max.f32 $0, $1, $2", f32, x, y)
    np.testing.assert_array_equal(least[:8], [-0.0, -0.0, 1, 1, np.inf, np.nan, -2, -4])
    assert np.signbit(least[:2]).all()
    assert not np.signbit(most[:2]).any()
    both = apply("min.NaN.f32 $0, $1, $2", f32, x, y)
    np.testing.assert_array_equal(np.isnan(both[:8]), [0, 0, 1, 1, 1, 1, 0, 0])


def test_subnormal_numbers_are_flushed_where_it_is_said():
    x = np.array([1e-40, -1e-40, 1.0, 2e-38] * 8, f32)
    np.testing.assert_array_equal(apply("add.f32 $0, $1, $1", f32, x), x + x)
    flushed = apply("add.ftz.f32 $0, $1, $1", f32, x)
    np.testing.assert_array_equal(flushed[:4], np.array([0, 0, 2, 4e-38], f32))
    half = np.full(32, 0.25, f32)
    np.testing.assert_array_equal(apply("mul.ftz.f32 $0, $1, $2", f32, x, half)[3], 0)
    np.testing.assert_array_equal(apply("add.sat.f32 $0, $1, $1", f32, x - 2)[:4], 0)


def test_two_numbers_in_a_register_are_added_each():
    x, y = (random.normal(size=256).astype(f16) for _ in range(2))
    got = apply("fma.rn.f16x2 $0, $1, $2, $1", u32, x.view(u32), y.view(u32)).view(f16)
    wanted = exactly(lambda a, b: a * b + a, f16, "rn", (x, y))
    np.testing.assert_array_equal(got, wanted)


# --- Conversions ---------------------------------------------------------------------------------

TYPES = {"u8": u8, "s8": s8, "u16": u16, "s16": s16, "u32": u32, "s32": s32, "u64": u64, "s64": s64,
         "f16": f16, "bf16": bf16, "f32": f32, "f64": f64}  # fmt: skip
NARROWING = [
    *((s, t) for s in TYPES for t in ("f16", "f32", "f64") if s[0] in "us"),
    ("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16"),
]  # fmt: skip


def modes_of(source: str, target: str) -> list[str]:
    return ["rn", "rz"] if "bf16" in (source, target) else ["rn", "rz", "rm", "rp"]


@pytest.mark.parametrize(("source", "target"), NARROWING)
def test_conversions_to_floats_round_once_in_the_mode_named(source: str, target: str):
    x = operand(TYPES[source])
    for mode in modes_of(source, target):
        got = apply(f"cvt.{mode}.{target}.{source} $0, $1", TYPES[target], x)
        if source[0] == "f":
            wanted = exactly(lambda a: a, TYPES[target], mode, (x,))
        else:
            values = [rounded(Fraction(int(v)), TYPES[target], mode) for v in x]
            wanted = np.array(values).astype(TYPES[target])
        known = ~np.isnan(wanted.astype(f64))
        np.testing.assert_array_equal(got[known], wanted[known])


@pytest.mark.parametrize("target", ["s8", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_conversions_to_whole_numbers_clamp(source: str, target: str):
    x, limits = floats(TYPES[source]), np.iinfo(TYPES[target])
    rules = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for mode, rule in rules.items():
        got = apply(f"cvt.{mode}.{target}.{source} $0, $1", TYPES[target], x)
        for value, result in zip(map(float, x), got.tolist()):
            if np.isnan(value):
                assert result == 0
                continue
            whole = rule(value) if np.isfinite(value) else int(np.sign(value)) << 70
            assert result == max(limits.min, min(limits.max, whole))


def test_narrow_formats_are_made_in_pairs():
    x, y = (np.concatenate([random.normal(size=100) * 100, [448, 449, 1e9, -1e9, 0.0]])[:96]
            .astype(f32) for _ in range(2))  # fmt: skip
    kinds = (("e4m3", ml_dtypes.float8_e4m3fn, 448), ("e5m2", ml_dtypes.float8_e5m2, 57344))
    for name, dtype, limit in kinds:
        got = apply(f"cvt.rn.satfinite.{name}x2.f32 $0, $1, $2", u16, x, y)
        upper, lower = (np.clip(v, -limit, limit).astype(dtype).view(u8) for v in (x, y))
        np.testing.assert_array_equal(got, upper.astype(u16) << 8 | lower)
        back = apply(f"cvt.rn.f16x2.{name}x2 $0, $1", u32, got).view(f16)
        np.testing.assert_array_equal(back[1::2], upper.view(dtype).astype(f16))
    got = apply("cvt.rn.bf16x2.f32 $0, $1, $2", u32, x, y).view(bf16)
    np.testing.assert_array_equal(got, np.stack([y, x], 1).ravel().astype(bf16))
    tf32 = apply("cvt.rna.tf32.f32 $0, $1", u32, x).view(f32)
    np.testing.assert_array_equal(tf32, ((x.view(u32) + u32(0x1000)) & u32(0xFFFFE000)).view(f32))


COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_false_or_unordered_true_of_what_is_no_number(name: str):
    x, y = floats(f32), floats(f32)
    y[:40] = x[:40]
    body = "setp.{}.f32 %p1, $1, $2; selp.u32 $0, 1, 0, %p1"
    compared = COMPARISONS[name](x, y)
    unordered = np.isnan(x) | np.isnan(y)
    got = apply(body.format(name), u32, x, y)
    np.testing.assert_array_equal(got, compared & ~unordered)
    np.testing.assert_array_equal(apply(body.format(name + "u"), u32, x, y), compared | unordered)


@pytest.mark.parametrize(("name", "dtype"), [("f16", f16), ("bf16", bf16)])
@pytest.mark.parametrize("comparison", ["gt", "leu", "neu"])
def test_two_halves_are_compared_each_by_itself(comparison: str, name: str, dtype: Any):
    x, y = (np.stack([floats(dtype), floats(dtype)], 1) for _ in range(2))
    y[:40] = x[:40]
    body = f"""setp.{comparison}.{name}x2 %p1|%p2, $1, $2;
        selp.u32 $0, 1, 0, %p1; selp.u32 %r9, 2, 0, %p2; or.b32 $0, $0, %r9"""
    with np.errstate(invalid="ignore"):
        compared = COMPARISONS[comparison.rstrip("u")](x, y)
    if comparison.endswith("u"):
        compared |= np.isnan(x) | np.isnan(y)
    got = apply(body, u32, *(v.view(u32)[:, 0].copy() for v in (x, y)))
    np.testing.assert_array_equal(got, compared[:, 0] + 2 * compared[:, 1])


@pytest.mark.parametrize(("name", "chosen"), [("min", np.minimum), ("max", np.maximum)])
def test_a_negative_minimum_or_maximum_may_be_made_zero(name: str, chosen: Any):
    x, y = integers(s32), integers(s32)
    got = apply(f"{name}.relu.s32 $0, $1, $2", s32, x, y)
    np.testing.assert_array_equal(got, np.maximum(chosen(x, y), 0))
    got = apply(f"{name}.relu.s16x2 $0, $1, $2", u32, x.view(u32), y.view(u32))
    halves = np.maximum(chosen(x.view(s16), y.view(s16)), 0)
    np.testing.assert_array_equal(got.view(s16), halves)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_what_was_computed(architecture: str):
    rows = [(i, r, t) for i, r, t, _ in WHOLE] + [(i, d, (d,) * n) for i, d, n, _ in EXACT]
    rows += [(i, d, (d,)) for i, d, _ in NEAR if "tanh" not in i or architecture != "sm_70"]
    rows = [row for row in rows if "16x2" not in row[0]]
    text = HEADER + "".join(
        elementwise(i, r, [np.dtype(t) for t in types], f"k{n}")
        for n, (i, r, types) in enumerate(rows)
    )
    assert complaints(text, architecture, ["-O0"]) == ""
