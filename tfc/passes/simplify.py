"""Simplify: the table of arithmetic equations, and the pass that applies it and the functions.

    o = f32[8] broadcast(one), dimensions={}
    y = f32[8] multiply(x, o)                   -->    ROOT n = f32[8] negate(x)
    ROOT n = f32[8] negate(y)

By default only exact rules are applied: the module computes the same bits (any NaN being as good as
another). A test evaluates both sides of every rule on special and random values of every element
type and compares. Rules go one way, to code that is no worse; constants go right.

Does nothing to a module that no rule matches; simplifying twice is simplifying once.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tfc.hlo.ir import Module
from tfc.hlo.shape import ElementType
from tfc.passes.rewrite import (
    Bindings,
    Guard,
    Pattern,
    Rule,
    computed,
    constant,
    literal,
    op,
    variable,
)
from tfc.passes.rewriter import Rewriter
from tfc.passes.structure import FUNCTIONS

x, y, z = (variable(n) for n in "xyz")
p = variable("p", pred=True)
c, d = constant("c"), constant("d")


def _all_ones(element_type: ElementType) -> int | bool | None:
    match element_type.kind:
        case "pred":
            return True
        case "signed":
            return -1
        case "unsigned":
            return 2**element_type.bits - 1
    return None


def _zero_bits(element_type: ElementType) -> int | bool | None:
    kind = element_type.kind
    return False if kind == "pred" else 0 if element_type.is_integer else None


def _bound(element_type: ElementType, sign: int) -> float | int | bool | None:
    """The least (sign -1) or greatest value of a type."""
    match element_type.kind:
        case "pred":
            return sign > 0
        case "signed":
            half = 2 ** (element_type.bits - 1)
            return half - 1 if sign > 0 else -half
        case "unsigned":
            return 2**element_type.bits - 1 if sign > 0 else 0
        case "float":
            infinity: Any = np.asarray(sign * np.inf).astype(element_type.dtype)
            return sign * float("inf") if np.isinf(infinity.astype(np.float64)) else None
    return None


ONES = literal(_all_ones, "ones")
ZEROS = literal(_zero_bits, "zeros")
LOWEST = literal(lambda t: _bound(t, -1), "lowest")
HIGHEST = literal(lambda t: _bound(t, +1), "highest")


def kinds(*allowed: str) -> Guard:
    """x is of one of these kinds of element type."""
    return lambda b: b["x"].array_shape.element_type.kind in allowed


INTEGER = kinds("signed", "unsigned")
FLOAT = kinds("float")
REAL = kinds("signed", "unsigned", "float")
DISCRETE = kinds("signed", "unsigned", "pred")


def _narrow(b: Bindings) -> bool:
    """x is a float whose square is exact in f64, in which the meaning of power is defined."""
    element_type = b["x"].array_shape.element_type
    return element_type.is_float and element_type.bits <= 32


def _no_zero(b: Bindings) -> bool:
    """Neither constant is a float zero: which of -0.0 and 0.0 is greater depends on the order."""
    element_type = b["x"].array_shape.element_type
    return not element_type.is_float or bool(b["c"] != 0 and b["d"] != 0)


def _has_exact_inverse(b: Bindings) -> bool:
    """c is a power of two, and so is 1/c without leaving the normal numbers."""
    element_type = b["x"].array_shape.element_type
    value = b["c"]
    if not element_type.is_float or element_type.bits < 16 or not np.isfinite(value):
        return False
    mantissa, exponent = np.frexp(np.float64(value))
    least = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}[element_type.name]
    return abs(mantissa) == 0.5 and least < exponent < -least


def _typed(function: Any) -> Any:
    """A function of NumPy scalars whose result has the type of its arguments."""
    return lambda *values: np.asarray(function(*values)).astype(values[0].dtype)[()]


def maximum(a: Pattern, b: Any) -> Pattern:
    """The pattern of a maximum."""
    return op("maximum", a, b)


def minimum(a: Pattern, b: Any) -> Pattern:
    """The pattern of a minimum."""
    return op("minimum", a, b)


def select(a: Any, b: Any, other: Any) -> Pattern:
    """The pattern of a select."""
    return op("select", a, b, other)


def compare(direction: str, a: Any, b: Any) -> Pattern:
    """The pattern of a comparison."""
    return op("compare", a, b, direction=direction)


SUM = computed("c+d", _typed(np.add), c, d)
PRODUCT = computed("c*d", _typed(np.multiply), c, d)
GREATER = computed("max(c,d)", _typed(np.maximum), c, d)
SMALLER = computed("min(c,d)", _typed(np.minimum), c, d)
INVERSE = computed("1/c", _typed(lambda value: 1 / value), c)
BOTH, EITHER, ONE_OF = (
    computed(f"c{sign}d", _typed(function), c, d)
    for sign, function in zip("&|^", (np.bitwise_and, np.bitwise_or, np.bitwise_xor))
)

# fmt: off
ARITHMETIC: tuple[Rule, ...] = (
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
    *(Rule(op(shift, x, 0),         x)
      for shift in ("shift-left", "shift-right-arithmetic", "shift-right-logical")),

    # Absorbing elements.
    Rule(x * 0,                     literal(0), INTEGER),
    Rule(x * 0,                     literal(0), FLOAT, exact=False),
    Rule(x & ZEROS,                 ZEROS),
    Rule(x | ONES,                  ONES),
    Rule(maximum(x, HIGHEST),       HIGHEST, DISCRETE),
    Rule(minimum(x, LOWEST),        LOWEST, DISCRETE),
    Rule(x ** 0,                    literal(1)),

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
    Rule(op("abs", -x),             op("abs", x), kinds("signed", "float")),
    Rule(op("abs", x),              x, kinds("unsigned")),

    # An operand with itself.
    Rule(x - x,                     literal(0), INTEGER),
    Rule(x - x,                     literal(0), FLOAT, exact=False),
    Rule(x / x,                     literal(1), FLOAT, exact=False),
    Rule(x & x,                     x),
    Rule(x | x,                     x),
    Rule(x ^ x,                     ZEROS),
    Rule(maximum(x, x),             x),
    Rule(minimum(x, x),             x),
    *(Rule(op(name, op(name, x)),   op(name, x), REAL)
      for name in ("abs", "floor", "ceil", "round-nearest-even", "round-nearest-afz", "sign")),
    *(Rule(compare(direction, x, x), literal(True), DISCRETE)
      for direction in ("EQ", "GE", "LE")),
    *(Rule(compare(direction, x, x), literal(False)) for direction in ("LT", "GT")),
    Rule(compare("NE", x, x),       literal(False), DISCRETE),

    # Logic and choice.
    Rule(~~x,                       x),
    Rule(x ^ ONES,                  ~x),
    Rule(x & (x | y),               x),
    Rule(x | (x & y),               x),
    Rule(~compare("EQ", x, y),      compare("NE", x, y)),
    Rule(~compare("NE", x, y),      compare("EQ", x, y)),
    Rule(~compare("LT", x, y),      compare("GE", x, y), DISCRETE),
    Rule(~compare("GE", x, y),      compare("LT", x, y), DISCRETE),
    Rule(~compare("GT", x, y),      compare("LE", x, y), DISCRETE),
    Rule(~compare("LE", x, y),      compare("GT", x, y), DISCRETE),
    Rule(select(True, x, y),        x),
    Rule(select(False, x, y),       y),
    Rule(select(p, x, x),           x),
    Rule(select(p, True, False),    p),
    Rule(select(p, False, True),    ~p),
    Rule(select(~p, x, y),          select(p, y, x)),
    Rule(select(p, select(p, x, y), z), select(p, x, z)),
    Rule(select(p, x, select(p, y, z)), select(p, x, z)),

    # Constants of neighbours meet. Floats may round differently, so only for integers and choice.
    Rule(x + c + d,                 x + SUM, INTEGER),
    Rule(x * c * d,                 x * PRODUCT, INTEGER),
    Rule(maximum(maximum(x, c), d), maximum(x, GREATER), _no_zero),
    Rule(minimum(minimum(x, c), d), minimum(x, SMALLER), _no_zero),
    Rule(x & c & d,                 x & BOTH),
    Rule(x | c | d,                 x | EITHER),
    Rule((x ^ c) ^ d,               x ^ ONE_OF),

    # Cheaper operations.
    Rule(x / c,                     x * INVERSE, _has_exact_inverse),
    Rule(x ** 2,                    x * x, INTEGER),
    Rule(x ** 2,                    x * x, _narrow),
    Rule(x ** 2,                    x * x, FLOAT, exact=False),
    Rule(x ** 3,                    x * x * x, INTEGER),
    Rule(x ** 0.5,                  op("sqrt", x), exact=False),
    Rule(x ** -1,                   1 / x, FLOAT, exact=False),
    Rule(1 / op("sqrt", x),         op("rsqrt", x), exact=False),

    # Functions that are more accurate as one.
    Rule(op("exponential", x) - 1,  op("exponential-minus-one", x), exact=False),
    Rule(op("log", x + 1),          op("log-plus-one", x), exact=False),
    Rule(1 / (op("exponential", -x) + 1), op("logistic", x), exact=False),
    Rule(op("log", op("exponential", x)), x, FLOAT, exact=False),
)
# fmt: on


@dataclass(frozen=True)
class Simplify:
    """Apply the rules until none matches.

    exact: leave out the rules that do not keep every bit.
    """

    name: ClassVar[str] = "simplify"
    exact: bool = True

    def __call__(self, module: Module) -> Module:
        """The module to which no rule applies."""
        return self._rewriter().run(module)

    def explain(self, module: Module) -> tuple[str, ...]:
        """How often each rule is used on the module."""
        rewriter = self._rewriter()
        rewriter.run(module)
        return tuple(f"{count} x {name}" for name, count in rewriter.counts.most_common())

    def _rewriter(self) -> Rewriter:
        rules = [rule for rule in ARITHMETIC if rule.exact or not self.exact]
        return Rewriter(rules, FUNCTIONS)
