"""Rewrite rules as equations between patterns.

    Rule(x * 1, x)        y = f32[8] multiply(a, ones)   -->   a

A pattern is built from variables and Python numbers with the operators of computations. A number
stands for a constant of that value, scalar or repeated over an array. Matching binds variables to
instructions and constant variables to values; a rule whose guard accepts the bindings replaces the
left side by the right.

What needs more than match, guard and substitute is a Function from an instruction to its
replacement or None.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Union

import numpy as np

from tfc.errors import ShapeError
from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import PRED, ElementType, Shape

Operand = Union["Pattern", bool, int, float]
_TAKES_SCALARS = frozenset({"select", "clamp"})  # beside arrays
Bindings = Mapping[str, Any]  # variable -> Instruction, constant variable -> NumPy scalar
Guard = Callable[[Bindings], bool]
Function = Callable[[Instruction], Instruction | None]


@dataclass(frozen=True, eq=False)
class Pattern:
    """One side of a rule.

    kind: "variable" (any array; of type pred if `pred`), "constant" (a constant of any value),
        "literal" (a constant of `value`, or of what `value` gives for the element type), "computed"
        (right sides only: what `value` makes of the constants named by `operands`) or "op".
    """

    kind: str
    name: str = ""
    operands: tuple["Pattern", ...] = ()
    value: Any = None
    attributes: Attributes = Attributes()  # noqa: RUF009  # immutable
    pred: bool = False

    def __add__(self, other: Operand) -> "Pattern":
        return op("add", self, other)

    def __sub__(self, other: Operand) -> "Pattern":
        return op("subtract", self, other)

    def __rsub__(self, other: Operand) -> "Pattern":
        return op("subtract", other, self)

    def __mul__(self, other: Operand) -> "Pattern":
        return op("multiply", self, other)

    def __truediv__(self, other: Operand) -> "Pattern":
        return op("divide", self, other)

    def __rtruediv__(self, other: Operand) -> "Pattern":
        return op("divide", other, self)

    def __pow__(self, other: Operand) -> "Pattern":
        return op("power", self, other)

    def __and__(self, other: Operand) -> "Pattern":
        return op("and", self, other)

    def __or__(self, other: Operand) -> "Pattern":
        return op("or", self, other)

    def __xor__(self, other: Operand) -> "Pattern":
        return op("xor", self, other)

    def __neg__(self) -> "Pattern":
        return op("negate", self)

    def __invert__(self) -> "Pattern":
        return op("not", self)

    def __str__(self) -> str:
        match self.kind:
            case "literal":
                return self.name or str(self.value)
            case "op":
                stated = [f"{key}={value}" for key, value in self.attributes.items()]
                return f"{self.name}({', '.join([*map(str, self.operands), *stated])})"
            case _:
                return self.name


def variable(name: str, pred: bool = False) -> Pattern:
    """A pattern for any array, or any of type pred."""
    return Pattern("variable", name, pred=pred)


def constant(name: str) -> Pattern:
    """A pattern for a constant of any value."""
    return Pattern("constant", name)


def literal(value: object, name: str = "") -> Pattern:
    """A pattern for a constant of one value; a function gives the value for an element type."""
    return Pattern("literal", name, value=value)


def computed(name: str, function: Callable[..., Any], *constants: Pattern) -> Pattern:
    """A constant on a right side, made from the constants that the left side bound."""
    return Pattern("computed", name, constants, value=function)


def op(opcode: str, *operands: Operand, **attributes: Hashable) -> Pattern:
    """A pattern for an operation."""
    given = tuple(o if isinstance(o, Pattern) else literal(o) for o in operands)
    return Pattern("op", opcode, given, attributes=Attributes(attributes))


@dataclass(frozen=True)
class Rule:
    """An equation, read from left to right.

    guard: a condition on what the variables are bound to.
    exact: both sides have the same bits for all values (any NaN being as good as another). Only
        exact rules are applied unless the user asks for more.
    """

    left: Pattern
    right: Pattern
    guard: Guard | None = None
    exact: bool = True

    @cached_property
    def name(self) -> str:
        """The equation as text."""
        return f"{self.left} -> {self.right}"

    def __call__(self, instruction: Instruction) -> Instruction | None:
        """The right side for an instruction that is the left side; None for others."""
        if not isinstance(instruction.shape, Shape):
            return None
        bound = match(self.left, instruction)
        if bound is None or (self.guard is not None and not self.guard(bound)):
            return None
        return substitute(self.right, bound, instruction)


def constant_value(instruction: Instruction) -> np.generic | None:
    """The value of a scalar constant, repeated or not; None for anything else."""
    if instruction.opcode == "broadcast":
        instruction = instruction.operands[0]
    if instruction.opcode != "constant" or instruction.array_shape.rank:
        return None
    return instruction["literal"].array[()]


@cache
def literal_value(pattern: Pattern, element_type: ElementType) -> np.generic | None:
    """The value that a literal pattern stands for; None if the type does not have it."""
    value: Any = pattern.value(element_type) if callable(pattern.value) else pattern.value
    if value is None or isinstance(value, bool) != (element_type == PRED):
        return None
    if element_type.is_complex:
        return None  # x * 1 is not x for complex infinities, x + -0.0 not for imaginary zeros
    fraction = isinstance(value, float) and not value.is_integer()
    if element_type.is_integer and (fraction or (value < 0 and element_type.kind == "unsigned")):
        return None
    if element_type.is_integer and isinstance(value, float) and np.signbit(value):
        return None  # integers have no -0
    with np.errstate(all="ignore"):
        array: Any = np.asarray(value).astype(element_type.dtype)
    return array[()]


def same_bits(a: np.generic, b: np.generic) -> bool:
    """True if two scalars are the same bits, so that 0.0 and -0.0 differ."""
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def match(pattern: Pattern, instruction: Instruction) -> dict[str, Any] | None:
    """The bindings under which a pattern is the instruction; None if there are none."""
    return _match([(pattern, instruction)], {})


def _match(
    pending: list[tuple[Pattern, Instruction]], bound: dict[str, Any]
) -> dict[str, Any] | None:
    while pending:
        pattern, instruction = pending[-1]
        pending = pending[:-1]
        if pattern.kind == "op":
            return _match_op(pattern, instruction, pending, bound)
        value = _leaf(pattern, instruction)
        if value is None:
            return None
        if pattern.kind == "literal":
            continue
        known = bound.get(pattern.name)
        if known is None:
            bound = {**bound, pattern.name: value}
        elif known is not value and not (pattern.kind == "constant" and same_bits(known, value)):
            return None
    return bound


def _leaf(pattern: Pattern, instruction: Instruction) -> Any:
    """What a variable, constant or literal is bound to; None if it does not match."""
    shape = instruction.shape
    if not isinstance(shape, Shape):
        return None
    if pattern.kind == "variable":
        return instruction if not pattern.pred or shape.element_type == PRED else None
    value = constant_value(instruction)
    if value is None or pattern.kind == "constant":
        return value
    wanted = literal_value(pattern, shape.element_type)
    return value if wanted is not None and same_bits(value, wanted) else None


def _match_op(
    pattern: Pattern,
    instruction: Instruction,
    pending: list[tuple[Pattern, Instruction]],
    bound: dict[str, Any],
) -> dict[str, Any] | None:
    stated = pattern.attributes.items()
    if (
        instruction.opcode != pattern.name
        or instruction.attributes.get("type") == "TOTALORDER"  # has -0.0 before 0.0, NaNs in order
        or len(instruction.operands) != len(pattern.operands)
        or any(instruction.attributes.get(key) != value for key, value in stated)
    ):
        return None
    found = _match([*pending, *zip(pattern.operands, instruction.operands)], bound)
    if found is None and OPS[pattern.name].commutative:
        swapped = zip(pattern.operands, reversed(instruction.operands))
        found = _match([*pending, *swapped], bound)
    return found


def substitute(pattern: Pattern, bound: Bindings, old: Instruction) -> Instruction:
    """The instruction that a right side stands for, in the place of `old`."""
    made = _substitute(pattern, bound, old.array_shape, old)
    return _as_large(made, old.array_shape)


def _as_large(x: Instruction, like: Shape) -> Instruction:
    """x with the dimensions of the array that it is for: a select's pred may be a scalar, which no
    operation takes beside an array."""
    if x.array_shape.rank or not like.rank:
        return x
    return builder.broadcast(x, like.dims, ())


def _substitute(pattern: Pattern, bound: Bindings, like: Shape, old: Instruction) -> Instruction:
    """Build a pattern; constants take type and dimensions from `like`."""
    match pattern.kind:
        case "variable":
            return bound[pattern.name]
        case "constant":
            return builder.full(bound[pattern.name], like)
        case "computed":
            with np.errstate(all="ignore"):
                value = pattern.value(*(bound[c.name] for c in pattern.operands))
            return builder.full(value, like)
        case "literal":
            value = literal_value(pattern, like.element_type)
            if value is None:
                raise ShapeError(f"{like.element_type} has no value {pattern}")
            return builder.full(value, like)
    is_value = [p.kind in ("variable", "op") for p in pattern.operands]
    made = [
        _substitute(p, bound, like, old) if v else None for p, v in zip(pattern.operands, is_value)
    ]
    # A constant is of the type of the operand beside it; a select's first is a pred of its own.
    beside = [m for m in made[1 if pattern.name == "select" else 0 :] if m is not None]
    shape = beside[0].array_shape if beside else like
    shapes = [shape for _ in made]
    if pattern.name == "select":
        shapes[0] = shape.with_element_type(PRED)
    operands = [
        _substitute(p, bound, s, old) if m is None else m
        for p, m, s in zip(pattern.operands, made, shapes)
    ]
    if pattern.name not in _TAKES_SCALARS:
        operands = [_as_large(o, like) for o in operands]
    return builder.instruction(
        pattern.name, operands, metadata=old.metadata, **dict(pattern.attributes)
    )
