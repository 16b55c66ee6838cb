"""The vocabulary of the tables of equations: variables, constants, guards and patterns.

Rule(x & ONES, x)                          x + c + d  ->  x + SUM,  only for integers
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.hlo.ops.elementwise.families import widened
from tfc.hlo.shape import ElementType, element_type_of
from tfc.passes.rewriting.patterns import Bindings, Guard, Pattern, constant, literal, op, variable

x, y, z = (variable(n) for n in "xyz")
p = variable("p", pred=True)
c, d = constant("c"), constant("d")
SHIFTS = ("left", "right-arithmetic", "right-logical")


def _all_ones(element_type: ElementType) -> int | bool | None:
    if element_type.kind == "pred":
        return True
    return element_type.wrapped(-1) if element_type.is_integer else None


def _zero_bits(element_type: ElementType) -> int | bool | None:
    kind = element_type.kind
    return False if kind == "pred" else 0 if element_type.is_integer else None


def _bound(element_type: ElementType, sign: int) -> float | int | bool | None:
    """The least (sign -1) or greatest value of a type."""
    match element_type.kind:
        case "pred":
            return sign > 0
        case "signed" | "unsigned":
            return element_type.limits[sign > 0]
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


def where(kind_guard: Guard, test: Callable[..., bool], *constants: Pattern) -> Guard:
    """What `kind_guard` asks, and a test of the constants as Python numbers and the bits of x."""

    def guard(b: Bindings) -> bool:
        bits = b["x"].array_shape.element_type.bits
        return kind_guard(b) and bool(test(*(b[c.name].item() for c in constants), bits))

    return guard


def typed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy scalars whose result has the type of its first argument."""

    def of_scalars(*values: Any) -> Any:
        wide = (widened(np.asarray(v)) for v in values)
        return np.asarray(function(*wide)).astype(values[0].dtype)[()]

    return of_scalars


def of_bits(function: Callable[[int, int], int]) -> Callable[..., Any]:
    """A function of an integer and a number of bits; the result wraps."""

    def of_scalar(value: Any) -> Any:
        bits = element_type_of(value.dtype).bits
        wrapped: Any = np.asarray(function(int(value), bits) % 2**bits, np.uint64)
        return wrapped.astype(value.dtype)[()]

    return of_scalar


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


def shift(kind: str, a: Any, b: Any) -> Pattern:
    """The pattern of a shift: left, right-arithmetic or right-logical."""
    return op(f"shift-{kind}", a, b)
