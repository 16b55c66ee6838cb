"""Equations of arithmetic and logic: neutral elements, signs, choice, one value used twice.

A rule goes one way, to code that is no worse; constants go right.
"""

from tfc.hlo.ops.elementwise.selection import MIRRORED
from tfc.passes.rewriting.equations import (
    DISCRETE,
    FLOAT,
    HIGHEST,
    INTEGER,
    LOWEST,
    ONES,
    REAL,
    SHIFTS,
    ZEROS,
    c,
    compare,
    kinds,
    maximum,
    minimum,
    p,
    select,
    shift,
    x,
    y,
    z,
)
from tfc.passes.rewriting.patterns import Rule, literal, op
from tfc.passes.simplify.arithmetic_constants import WITH_CONSTANTS

_OPPOSITE = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
_ROUNDINGS = ("floor", "ceil", "round-nearest-even", "round-nearest-afz")

# fmt: off
IDENTITIES: tuple[Rule, ...] = (
    # Neutral elements. x + 0 is not x for x = -0, which is why only x + -0 is exact.
    Rule(x + 0,                     x, INTEGER),
    Rule(x + -0.0,                  x),
    Rule(x + 0,                     x, FLOAT, exact=False),
    Rule(x - 0,                     x),
    Rule(x * 1,                     x),
    Rule(x / 1,                     x),
    Rule(x ** 1,                    x),
    Rule(x & ONES,                  x),
    Rule(x | ZEROS,                 x),
    Rule(x ^ ZEROS,                 x),
    Rule(maximum(x, LOWEST),        x),
    Rule(minimum(x, HIGHEST),       x),
    Rule(op("clamp", LOWEST, x, HIGHEST), x),
    *(Rule(shift(kind, x, 0),       x) for kind in SHIFTS),

    # Absorbing elements.
    Rule(x * 0,                     literal(0), INTEGER),
    Rule(x * 0,                     literal(0), FLOAT, exact=False),
    Rule(x & ZEROS,                 ZEROS),
    Rule(x | ONES,                  ONES),
    Rule(maximum(x, HIGHEST),       HIGHEST, DISCRETE),
    Rule(minimum(x, LOWEST),        LOWEST, DISCRETE),
    Rule(x ** 0,                    literal(1)),
    Rule(literal(1) ** x,           literal(1)),
    Rule(op("remainder", x, 1),     literal(0), INTEGER),
    *(Rule(shift(kind, 0, x),       literal(0), INTEGER) for kind in SHIFTS),

    # Signs.
    Rule(op("negate", -x),          x),
    Rule(x + -y,                    x - y),
    Rule(x - -y,                    x + y),
    Rule(-x * -y,                   x * y),
    Rule(-x / -y,                   x / y, FLOAT),
    Rule(x * -1,                    -x),
    Rule(x / -1,                    -x),
    Rule(0 - x,                     -x, INTEGER),
    Rule(0 - x,                     -x, FLOAT, exact=False),
    Rule(literal(-0.0) - x,         -x),
    Rule(-(x - y),                  y - x, INTEGER),
    Rule(-(x - y),                  y - x, FLOAT, exact=False),
    Rule(op("abs", -x),             op("abs", x), kinds("signed", "float")),
    Rule(op("abs", x),              x, kinds("unsigned")),
    Rule(op("abs", x) * op("abs", x), x * x, REAL),
    *(Rule(op(even, -x),            op(even, x), FLOAT) for even in ("cosine", "cosh")),
    *(Rule(op(even, op("abs", x)),  op(even, x), FLOAT) for even in ("cosine", "cosh")),
    *(Rule(compare(direction, -x, -y), compare(flipped, x, y), FLOAT)
      for direction, flipped in MIRRORED.items()),
    *(Rule(compare(direction, -x, -y), compare(direction, x, y), INTEGER)
      for direction in ("EQ", "NE")),

    # An operand with itself.
    Rule(x - x,                     literal(0), INTEGER),
    Rule(x - x,                     literal(0), FLOAT, exact=False),
    Rule(x / x,                     literal(1), FLOAT, exact=False),
    Rule(x & x,                     x),
    Rule(x | x,                     x),
    Rule(x ^ x,                     ZEROS),
    Rule(x & ~x,                    ZEROS),
    Rule(x | ~x,                    ONES),
    Rule(x ^ ~x,                    ONES),
    Rule((x ^ y) ^ y,               x),
    Rule((x + y) - y,               x, INTEGER),
    Rule((x + y) - x,               y, INTEGER),
    Rule((x - y) + y,               x, INTEGER),
    Rule(x - (x - y),               y, INTEGER),
    Rule(x - (x + y),               -y, INTEGER),
    Rule(x * y + x * z,             x * (y + z), INTEGER),
    Rule(x * y + x * z,             x * (y + z), FLOAT, exact=False),
    Rule(x * y - x * z,             x * (y - z), INTEGER),
    Rule(maximum(x, x),             x),
    Rule(minimum(x, x),             x),
    Rule(maximum(maximum(x, y), y), maximum(x, y)),
    Rule(minimum(minimum(x, y), y), minimum(x, y)),
    Rule(maximum(minimum(x, y), y), y, DISCRETE),
    Rule(minimum(maximum(x, y), y), y, DISCRETE),
    Rule(op("clamp", y, op("clamp", y, x, z), z), op("clamp", y, x, z)),
    Rule(op("remainder", op("remainder", x, y), y), op("remainder", x, y)),
    *(Rule(op(name, op(name, x)),   op(name, x), REAL) for name in ("abs", "sign")),
    *(Rule(op(outer, op(inner, x)), op(inner, x), FLOAT)
      for outer in _ROUNDINGS for inner in _ROUNDINGS),
    *(Rule(compare(direction, x, x), literal(True), DISCRETE)
      for direction in ("EQ", "GE", "LE")),
    *(Rule(compare(direction, x, x), literal(False)) for direction in ("LT", "GT")),
    Rule(compare("NE", x, x),       literal(False), DISCRETE),

    # Logic.
    Rule(~~x,                       x),
    Rule(x ^ ONES,                  ~x),
    Rule(~x ^ ~y,                   x ^ y),
    Rule(~x & ~y,                   ~(x | y)),
    Rule(~x | ~y,                   ~(x & y)),
    Rule(x & (x | y),               x),
    Rule(x | (x & y),               x),
    Rule(x & (~x | y),              x & y),
    Rule(x | (~x & y),              x | y),
    Rule(~x + 1,                    -x),
    Rule(~compare("EQ", x, y),      compare("NE", x, y)),
    Rule(~compare("NE", x, y),      compare("EQ", x, y)),
    *(Rule(~compare(direction, x, y), compare(opposite, x, y), DISCRETE)
      for direction, opposite in _OPPOSITE.items()),
    Rule(compare("EQ", x, True),    x),
    Rule(compare("EQ", x, False),   ~x),
    Rule(compare("NE", x, True),    ~x),
    Rule(compare("NE", x, False),   x),
    Rule(compare("NE", x, y),       x ^ y, kinds("pred")),
    Rule(compare("EQ", x, y),       ~(x ^ y), kinds("pred")),

    # Choice.
    Rule(select(True, x, y),        x),
    Rule(select(False, x, y),       y),
    Rule(select(p, x, x),           x),
    Rule(select(p, c, c),           c),
    Rule(select(p, True, False),    p),
    Rule(select(p, False, True),    ~p),
    Rule(select(p, x, False),       p & x),
    Rule(select(p, True, x),        p | x),
    Rule(select(p, False, x),       ~p & x),
    Rule(select(p, x, True),        ~p | x),
    Rule(select(~p, x, y),          select(p, y, x)),
    Rule(select(p, select(p, x, y), z), select(p, x, z)),
    Rule(select(p, x, select(p, y, z)), select(p, x, z)),
    Rule(select(compare("EQ", x, y), x, y), y, DISCRETE),
    Rule(select(compare("EQ", x, y), y, x), x, DISCRETE),
    Rule(select(compare("NE", x, y), x, y), x, DISCRETE),
    Rule(select(compare("NE", x, y), y, x), y, DISCRETE),
    *(Rule(select(compare(greater, x, y), x, y), maximum(x, y), DISCRETE)
      for greater in ("GT", "GE")),
    *(Rule(select(compare(less, x, y), x, y), minimum(x, y), DISCRETE) for less in ("LT", "LE")),
    *(Rule(select(compare(greater, x, y), y, x), minimum(x, y), DISCRETE)
      for greater in ("GT", "GE")),
    *(Rule(select(compare(less, x, y), y, x), maximum(x, y), DISCRETE) for less in ("LT", "LE")),

    # Complex numbers and their parts.
    Rule(op("real", op("complex", x, y)), x),
    Rule(op("imag", op("complex", x, y)), y),

    # Cheaper operations.
    Rule(x ** 2,                    x * x, INTEGER),
    Rule(x ** 3,                    x * x * x, INTEGER),
    Rule(x ** 3,                    x * x * x, FLOAT, exact=False),
    Rule(x ** 4,                    (x * x) * (x * x), INTEGER),
    Rule(x ** 0.5,                  op("sqrt", x), exact=False),
    Rule(x ** -0.5,                 op("rsqrt", x), exact=False),
    Rule(x ** -1,                   1 / x, FLOAT, exact=False),
    Rule(1 / op("sqrt", x),         op("rsqrt", x), exact=False),
    Rule(y / op("sqrt", x),         y * op("rsqrt", x), FLOAT, exact=False),
    Rule(op("sqrt", x * x),         op("abs", x), FLOAT, exact=False),
    Rule(op("sqrt", x) * op("sqrt", x), x, FLOAT, exact=False),
    Rule((x / y) / z,               x / (y * z), FLOAT, exact=False),
    Rule(x / (y / z),               (x * z) / y, FLOAT, exact=False),

    # Functions that are more accurate, or cheaper, as one.
    Rule(op("exponential", x) - 1,  op("exponential-minus-one", x), exact=False),
    Rule(op("log", x + 1),          op("log-plus-one", x), exact=False),
    Rule(1 / (op("exponential", -x) + 1), op("logistic", x), exact=False),
    Rule(op("log", op("exponential", x)), x, FLOAT, exact=False),
    Rule(op("exponential", op("log", x)), x, FLOAT, exact=False),
    Rule(op("exponential", x) * op("exponential", y), op("exponential", x + y), FLOAT, exact=False),
    Rule(op("exponential", x) / op("exponential", y), op("exponential", x - y), FLOAT, exact=False),
)
# fmt: on

ARITHMETIC = (*IDENTITIES, *WITH_CONSTANTS)
