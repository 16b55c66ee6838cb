"""Arithmetic that rounds once: fused multiply-adds, directed roundings, narrow formats.

Exact results are held as float64 rounded to odd: of the two neighbours of an inexact result the one
whose last bit is set. Rounding that to any format of at least two bits fewer, in any direction,
gives what rounding the exact result gives (Boldo and Melquiond, "Emulation of FMA").
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

Array = Any  # arrays or scalars of NumPy


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    Args:
        digits: of the significand, the hidden one included.
        lowest: the exponent of the smallest normal number.
        largest: the largest finite number.
        dtype: its bits in NumPy, or that of the wider format whose bits it uses.
    """

    digits: int
    lowest: int
    largest: float
    dtype: Any


FORMATS = {
    "f16": Format(11, -14, 65504.0, np.dtype(np.float16)),
    "bf16": Format(8, -126, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max),
                   np.dtype(ml_dtypes.bfloat16)),
    "tf32": Format(11, -126, (2 - 2.0**-10) * 2.0**127, np.dtype(np.float32)),
    "f32": Format(24, -126, float(np.finfo(np.float32).max), np.dtype(np.float32)),
    "e4m3": Format(4, -6, 448.0, np.dtype(ml_dtypes.float8_e4m3fn)),
    "e5m2": Format(3, -14, 57344.0, np.dtype(ml_dtypes.float8_e5m2)),
}  # fmt: skip
_ROUND = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}


def rounded_to(x: Array, form: Format, mode: str = "rn") -> np.ndarray:
    """Float64 (exact, or rounded to odd) rounded to a format, as float64; infinite beyond it.

    Modes: rn to nearest even, rna to nearest with ties away from zero, rz, rm, rp.
    """
    x = np.asarray(x, np.float64)
    _, exponent = np.frexp(x)
    exponent = np.maximum(exponent - 1, form.lowest) - (form.digits - 1)
    scaled = np.ldexp(x, -exponent)
    if mode == "rna":
        whole = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    else:
        whole = _ROUND[mode](scaled)
    result = np.ldexp(whole, exponent)
    over = (np.abs(result) > form.largest) & np.isfinite(x)
    if over.any():
        stays = {"rz": over, "rm": over & (x > 0), "rp": over & (x < 0)}.get(mode, False)
        limit = np.where(stays, form.largest, np.inf)
        result = np.where(over, np.copysign(limit, x), result)
    return np.copysign(result, x)


def narrow(x: Array, name: str, mode: str = "rn") -> np.ndarray:
    """Float64 (exact, or rounded to odd) as a format's dtype."""
    form = FORMATS[name]
    return rounded_to(x, form, mode).astype(np.float32).astype(form.dtype)


# --- Exact sums and products ---------------------------------------------------------------------


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly."""
    s = a + b
    rest = s - a
    return s, (a - (s - rest)) + (b - rest)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """(p, e) with p = fl(a · b) and p + e = a · b, where nothing overflows or underflows."""
    p = a * b
    splitter = 134217729.0  # 2^27 + 1
    high_a = splitter * a - (splitter * a - a)
    high_b = splitter * b - (splitter * b - b)
    low_a, low_b = a - high_a, b - high_b
    return p, ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b


def to_odd(s: Array, e: Array) -> np.ndarray:
    """s + e, of which s is the nearest float64, rounded to odd."""
    s, e = np.asarray(s, np.float64), np.asarray(e, np.float64)
    bits = s.view(np.int64)
    moves = (e != 0) & np.isfinite(s) & np.isfinite(e) & ((bits & 1) == 0)
    step = np.where((e > 0) == (s > 0), 1, -1)
    return np.where(moves, bits + step, bits).view(np.float64)


def sum_to_odd(a: Array, b: Array) -> np.ndarray:
    """The sum of float64 numbers, rounded to odd."""
    return to_odd(*two_sum(np.asarray(a, np.float64), np.asarray(b, np.float64)))


# --- Fused multiply-adds -------------------------------------------------------------------------


def fma32(a: Array, b: Array, c: Array) -> np.ndarray:
    """a · b + c of float32, rounded once to nearest."""
    product = np.multiply(a, b, dtype=np.float64)  # exact: 48 bits
    total = product + c
    result = total.astype(np.float32)
    low = np.asarray(total).view(np.int64) & 0x1FFFFFFF
    # Rounding twice differs only where float64 landed on a tie of float32, or near one of those
    # that subnormal numbers have.
    doubtful = (low == 0x10000000) | (np.abs(total) < 2.0**-125)
    if doubtful.any():
        exact = sum_to_odd(*np.broadcast_arrays(product, np.asarray(c, np.float64)))
        return np.where(doubtful, rounded_to(exact, FORMATS["f32"]), result).astype(np.float32)
    return result


def fma64(a: Array, b: Array, c: Array) -> np.ndarray:
    """a · b + c of float64, rounded once to nearest."""
    a, b, c = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, c))
    product, rest = two_product(a, b)
    high, low = two_sum(c, rest)
    total, error = two_sum(product, high)
    result = total + sum_to_odd(error, low)
    plain = a * b + c
    sizes = np.frexp(np.stack([a, b, c, plain]))[1]
    # Far from the ends of the exponents nothing overflows, and no error is lost.
    safe = (np.abs(sizes[0] + sizes[1]) < 900) & (np.abs(sizes[:3]) < 900).all(0)
    safe &= (np.abs(plain) > 2.0**-900) & np.isfinite(plain)
    result = np.where(safe, result, plain)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    hard = np.flatnonzero((finite & ~safe & (a != 0) & (b != 0)).ravel())
    if hard.size:
        flat = result.ravel()
        for n in hard:
            flat[n] = _exact(float(a.flat[n]), float(b.flat[n]), float(c.flat[n]), float(flat[n]))
        result = flat.reshape(result.shape)
    return result


def _exact(a: float, b: float, c: float, plain: float) -> float:
    """a · b + c by whole numbers; `plain` has the sign of a zero."""
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        return plain if plain == 0 else 0.0
    try:
        result = total.numerator / total.denominator  # correctly rounded by Python
    except OverflowError:
        return np.inf if total > 0 else -np.inf
    return result if result else (0.0 if total > 0 else -0.0)


def fma_exact(a: Array, b: Array, c: Array) -> np.ndarray:
    """a · b + c of numbers of at most 24 bits, rounded to odd, for `narrow`."""
    product = np.multiply(a, b, dtype=np.float64)
    return sum_to_odd(*np.broadcast_arrays(product, np.asarray(c, np.float64)))


# --- Directed roundings of float64 ---------------------------------------------------------------


def directed(nearest: Array, error: Array, mode: str) -> np.ndarray:
    """`nearest` + `error`, of which the first is the nearest float64, rounded in a direction."""
    nearest, error = np.asarray(nearest, np.float64), np.asarray(error, np.float64)
    down = {"rm": error < 0, "rp": np.zeros_like(error, bool), "rz": (error < 0) & (nearest > 0)}
    up = {"rp": error > 0, "rm": np.zeros_like(error, bool), "rz": (error > 0) & (nearest < 0)}
    finite = np.isfinite(nearest) & np.isfinite(error)
    result = np.where(finite & down[mode], np.nextafter(nearest, -np.inf), nearest)
    return np.where(finite & up[mode], np.nextafter(nearest, np.inf), result)
