"""Equations of arithmetic with constants: neighbours meet, and cheaper operations take over.

    (x + c) + d  ->  x + (c+d)                 compare(x + c, d, EQ)  ->  compare(x, d-c, EQ)

Floats may round differently when constants meet, so most hold for integers only.
"""

import numpy as np

from tfc.hlo.ops.elementwise.selection import MIRRORED
from tfc.passes.rewriting.equations import (
    DISCRETE,
    FLOAT,
    HIGHEST,
    INTEGER,
    LOWEST,
    REAL,
    ZEROS,
    c,
    compare,
    d,
    kinds,
    maximum,
    minimum,
    of_bits,
    select,
    shift,
    typed,
    where,
    x,
    y,
)
from tfc.passes.rewriting.patterns import Bindings, Rule, computed, literal, op

_NORMAL = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}  # the least normal exponent


def _narrow(b: Bindings) -> bool:
    """x is a float whose square is exact in f64, in which the meaning of power is defined."""
    element_type = b["x"].array_shape.element_type
    return element_type.is_float and element_type.bits <= 32


def _no_zero(b: Bindings) -> bool:
    """Neither constant is a float zero: which of -0.0 and 0.0 is greater depends on the order."""
    element_type = b["x"].array_shape.element_type
    return not element_type.is_float or bool(b["c"] != 0 and b["d"] != 0)


def _exponent(value: np.generic) -> int | None:
    """e for a float ±2^e, else None."""
    mantissa, exponent = np.frexp(np.float64(value))
    return int(exponent) - 1 if abs(mantissa) == 0.5 else None


def _has_exact_inverse(b: Bindings) -> bool:
    """c is a power of two, and so is 1/c without leaving the normal numbers."""
    least = _NORMAL.get(b["x"].array_shape.element_type.name)
    exponent = _exponent(b["c"]) if least is not None else None
    return least is not None and exponent is not None and least < exponent + 1 < -least


def _both_grow(b: Bindings) -> bool:
    """c and d are powers of two, no less than one, and so is c·d: no product is rounded."""
    least = _NORMAL.get(b["x"].array_shape.element_type.name)
    if least is None:
        return False
    first, second = _exponent(b["c"]), _exponent(b["d"])
    if first is None or second is None:
        return False
    return min(first, second) >= 0 and first + second <= -least


# fmt: off
SUM        = computed("c+d",      typed(np.add), c, d)
REST       = computed("c-d",      typed(np.subtract), c, d)
LACKING    = computed("d-c",      typed(np.subtract), d, c)
PRODUCT    = computed("c*d",      typed(np.multiply), c, d)
GREATER    = computed("max(c,d)", typed(np.maximum), c, d)
SMALLER    = computed("min(c,d)", typed(np.minimum), c, d)
INVERSE    = computed("1/c",      typed(lambda value: 1 / value), c)
NEGATIVE   = computed("-c",       typed(np.negative), c)
BOTH       = computed("c&d",      typed(np.bitwise_and), c, d)
EITHER     = computed("c|d",      typed(np.bitwise_or), c, d)
ONE_OF     = computed("c^d",      typed(np.bitwise_xor), c, d)
LOW_MASK   = computed("ones>>c",  of_bits(lambda by, bits: (1 << bits) - 1 >> by), c)
HIGH_MASK  = computed("ones<<c",  of_bits(lambda by, bits: (1 << bits) - 1 << by), c)
EXPONENT   = computed("log2(c)",  of_bits(lambda value, _: value.bit_length() - 1), c)
BELOW      = computed("c-1",      of_bits(lambda value, _: value - 1), c)

UNSIGNED = kinds("unsigned")
_small    = where(INTEGER, lambda by, bits: 0 <= by < bits, c)
_sum_fits = where(INTEGER, lambda a, b, bits: min(a, b) >= 0 and a + b < bits, c, d)
_too_far  = where(INTEGER, lambda a, b, bits: min(a, b) >= 0 and a + b >= bits, c, d)
_power_of_two = where(UNSIGNED, lambda value, _: value.bit_count() == 1, c)
_ordered  = where(DISCRETE, lambda low, high, _: low <= high, c, d)
_crossed  = where(DISCRETE, lambda low, high, _: low >= high, d, c)

WITH_CONSTANTS: tuple[Rule, ...] = (
    # Constants of neighbours meet.
    Rule(x + c + d,                 x + SUM, INTEGER),
    Rule(x - c,                     x + NEGATIVE, kinds("signed")),
    Rule(x - c - d,                 x - SUM, INTEGER),
    Rule((x + c) - d,               x + REST, INTEGER),
    Rule(c - (x + d),               REST - x, INTEGER),
    Rule(c - (x - d),               SUM - x, INTEGER),
    Rule(c - (d - x),               x + REST, INTEGER),
    Rule((c - x) + d,               SUM - x, INTEGER),
    Rule((c - x) - d,               REST - x, INTEGER),
    Rule(x + c + d,                 x + SUM, FLOAT, exact=False),
    Rule((x + c) + (y + d),         (x + y) + SUM, INTEGER),
    Rule(x * c * d,                 x * PRODUCT, INTEGER),
    Rule(x * c * d,                 x * PRODUCT, _both_grow),
    Rule(x * c * d,                 x * PRODUCT, FLOAT, exact=False),
    Rule(x * c + x * d,             x * SUM, INTEGER),
    Rule(x * c + y * c,             (x + y) * c, INTEGER),
    Rule(x * c + y * c,             (x + y) * c, FLOAT, exact=False),
    Rule(maximum(maximum(x, c), d), maximum(x, GREATER), _no_zero),
    Rule(minimum(minimum(x, c), d), minimum(x, SMALLER), _no_zero),
    Rule(minimum(maximum(x, d), c), c, _crossed),
    Rule(maximum(minimum(x, c), d), d, _ordered),
    Rule(x & c & d,                 x & BOTH),
    Rule(x | c | d,                 x | EITHER),
    Rule((x ^ c) ^ d,               x ^ ONE_OF),
    *(Rule(shift(kind, shift(kind, x, c), d), shift(kind, x, SUM), _sum_fits)
      for kind in ("left", "right-logical", "right-arithmetic")),
    *(Rule(shift(kind, shift(kind, x, c), d), ZEROS, _too_far)
      for kind in ("left", "right-logical")),
    Rule(shift("right-logical", shift("left", x, c), c), x & LOW_MASK, _small),
    Rule(shift("left", shift("right-logical", x, c), c), x & HIGH_MASK, _small),
    Rule(shift("left", shift("right-arithmetic", x, c), c), x & HIGH_MASK, _small),
    Rule(op("clamp", c, x, HIGHEST), maximum(x, c), INTEGER),
    Rule(op("clamp", LOWEST, x, c), minimum(x, c), INTEGER),
    Rule(op("clamp", c, x, HIGHEST), maximum(x, c), FLOAT),
    Rule(op("clamp", LOWEST, x, c), minimum(x, c), FLOAT),

    # Signs go into the constant.
    Rule(-x * c,                    x * NEGATIVE, REAL),
    Rule(-(x * c),                  x * NEGATIVE, REAL),
    Rule(-x / c,                    x / NEGATIVE, FLOAT),
    Rule(-(x / c),                  x / NEGATIVE, FLOAT),
    Rule(c / -x,                    NEGATIVE / x, FLOAT),
    Rule(-(c / x),                  NEGATIVE / x, FLOAT),
    Rule(-x - c,                    NEGATIVE - x, REAL),
    Rule(-(x + c),                  NEGATIVE - x, INTEGER),
    Rule(-(c - x),                  x + NEGATIVE, INTEGER),
    Rule(op("abs", x * c),          op("abs", x) * computed("|c|", typed(np.abs), c), FLOAT),

    # Comparisons.
    Rule(compare("LT", x, LOWEST),  literal(False)),
    Rule(compare("GE", x, LOWEST),  literal(True), DISCRETE),
    Rule(compare("GT", x, HIGHEST), literal(False)),
    Rule(compare("LE", x, HIGHEST), literal(True), DISCRETE),
    Rule(compare("GT", x, LOWEST),  compare("NE", x, LOWEST), INTEGER),
    Rule(compare("LE", x, LOWEST),  compare("EQ", x, LOWEST), INTEGER),
    Rule(compare("LT", x, HIGHEST), compare("NE", x, HIGHEST), INTEGER),
    Rule(compare("GE", x, HIGHEST), compare("EQ", x, HIGHEST), INTEGER),
    *(rule for equal in ("EQ", "NE") for rule in (
        Rule(compare(equal, x + c, d), compare(equal, x, LACKING), INTEGER),
        Rule(compare(equal, c - x, d), compare(equal, x, REST), INTEGER),
        Rule(compare(equal, x ^ c, d), compare(equal, x, ONE_OF)),
        Rule(compare(equal, -x, c),    compare(equal, x, NEGATIVE), REAL),
        Rule(compare(equal, x - y, 0), compare(equal, x, y), INTEGER),
        Rule(compare(equal, x ^ y, ZEROS), compare(equal, x, y)),
        Rule(compare(equal, x + y, y), compare(equal, x, 0), INTEGER),
    )),
    *(Rule(compare(direction, -x, c), compare(flipped, x, NEGATIVE), FLOAT)
      for direction, flipped in MIRRORED.items() if direction not in ("EQ", "NE")),
    Rule(select(compare("EQ", x, c), c, x), x, DISCRETE),
    Rule(select(compare("NE", x, c), x, c), x, DISCRETE),

    # Cheaper operations.
    Rule(x / c,                     x * INVERSE, _has_exact_inverse),
    Rule(x / c,                     x * INVERSE, FLOAT, exact=False),
    Rule(x / c,                     shift("right-logical", x, EXPONENT), _power_of_two),
    Rule(op("remainder", x, c),     x & BELOW, _power_of_two),
    Rule(x ** 2,                    x * x, _narrow),
    Rule(x ** 2,                    x * x, FLOAT, exact=False),
)
# fmt: on
