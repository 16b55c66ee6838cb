"""Which comparators order elements by keys: numbers that each element has by itself.

    before = or(compare(k(left), k(right)), LT), and(compare(k(left), k(right)), EQ), …))

A sort by keys need not compare: it can go by the keys' bits. Recognised are comparisons of the same
expression of the left elements and of the right ones, by < or >, of integers or of floats; with NaN
behind all numbers; and several of them, of which the next decides where the one before is equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import S32, ElementType, Shape
from tfc.hlo.traits import Accuracy
from tfc.passes.rewriting.patterns import constant, match, op, variable

_MOST_BITS = 64

# x with 0 in place of -0 and a constant in place of NaN, which is told by x or by what x is then.
_X, _NAN = variable("x"), constant("nan")
_ONE_ZERO = op("select", op("compare", _X, 0.0, direction="EQ"), 0.0, _X)
_CANONICAL = tuple(
    op("select", op("compare", told, told, direction="NE"), _NAN, _ONE_ZERO)
    for told in (_X, _ONE_ZERO)
)


@dataclass(frozen=True)
class SortKey:
    """One key of a comparator.

    value: the key, in terms of the comparator's parameters for the left elements.
    descending: from large to small, NaN first.
    total: floats are in the order of their bits, -NaN to NaN; if not, -0 equals 0, and NaN is
        equal to itself and larger than all numbers.
    numbers_only: the comparator orders like this only if no key is NaN.
    """

    value: Instruction
    descending: bool
    total: bool
    numbers_only: bool = False

    @property
    def bits(self) -> int:
        """How wide the key is; the narrowest floats are ordered as f32."""
        element_type = self.value.array_shape.element_type
        return 32 if element_type.is_float and element_type.bits == 8 else max(element_type.bits, 8)


def sort_keys(comparator: Computation) -> tuple[SortKey, ...]:
    """The keys by which a comparator orders, the first one first; none if it is of another kind."""
    sides = {p: number % 2 for number, p in enumerate(comparator.parameters)}
    keys = _keys(comparator.root, sides)
    return keys if sum(k.bits for k in keys) <= _MOST_BITS else ()


_Sides = dict[Instruction, int]  # parameter -> 0 for the left elements, 1 for the right ones


def _keys(before: Instruction, sides: _Sides) -> tuple[SortKey, ...]:
    if before.opcode != "or":
        key = _compared(before, sides)
        return (key,) if key else ()
    for first, rest in permutations(before.operands):
        key = _compared(first, sides)
        if key is None or rest.opcode != "and":
            continue
        if key.numbers_only and _puts_nan_last(first, rest):
            return (SortKey(key.value, key.descending, total=False),)
        for same, then in permutations(rest.operands):
            if not key.numbers_only and _is_equality(same, first):
                further = _keys(then, sides)
                if further:
                    return (key, *further)
    return ()


def _compared(x: Instruction, sides: _Sides) -> SortKey | None:
    """The key whose values for the two sides an instruction compares by < or >."""
    if x.opcode != "compare" or x["direction"] not in ("LT", "GT"):
        return None
    for left, right in permutations(x.operands):
        if _is_mirrored(left, right, sides):
            is_float = left.array_shape.element_type.is_float
            total = not is_float or x.attributes.get("type") == "TOTALORDER"
            descending = (x["direction"] == "GT") == (left is x.operands[0])
            if total and is_float and (number := _made_canonical(left)):
                return SortKey(number, descending, total=False)
            return SortKey(left, descending, total, numbers_only=not total)
    return None


def _made_canonical(value: Instruction) -> Instruction | None:
    """x, if a value is x with one zero and one NaN, which is positive: as JAX orders floats."""
    bound = next((b for p in _CANONICAL if (b := match(p, value))), None)
    if bound is None or not np.isnan(bound["nan"]) or np.signbit(bound["nan"]):
        return None
    return bound["x"]


def _is_mirrored(left: Instruction, right: Instruction, sides: _Sides) -> bool:
    """True if they are the same expression, one of left elements, the other of right ones."""
    number = {p: n for n, p in enumerate(sides)}
    pending, seen = [(left, right)], set()
    while pending:
        pair = x, y = pending.pop()
        if pair in seen:
            continue
        seen.add(pair)
        if x in sides or y in sides:
            if x not in sides or y not in sides or sides[x] or number[y] != number[x] + 1:
                return False
        elif (
            x.opcode != y.opcode
            or x.shape != y.shape
            or x.attributes != y.attributes
            or not _is_exact(x)
        ):
            return False
        else:
            pending += zip(x.operands, y.operands, strict=True)
    return True


def _is_exact(x: Instruction) -> bool:
    """True for what is the same bits wherever it is computed, those of NaN included."""
    if x.opcode in ("constant", "parameter"):
        return True
    op, kind = op_named(x.opcode), x.array_shape.element_type.kind
    whole = kind in ("pred", "signed", "unsigned")
    return op.elementwise and (whole or op.accuracy is Accuracy.BITS)


def _is_equality(x: Instruction, compared: Instruction) -> bool:
    """True if an instruction says that what another one compares is equal."""
    return (
        x.opcode == "compare"
        and x["direction"] == "EQ"
        and x.attributes.get("type") == compared.attributes.get("type")
        and set(x.operands) == set(compared.operands)
    )


def _puts_nan_last(compared: Instruction, rest: Instruction) -> bool:
    """True if of x < y (or y > x) the rest says that x is a number and y is not."""
    small, large = compared.operands
    if compared["direction"] == "GT":
        small, large = large, small
    return set(_self_comparisons(rest)) == {(small, "EQ"), (large, "NE")}


def _self_comparisons(rest: Instruction) -> Iterator[tuple[Instruction, str]]:
    for x in rest.operands:
        plain = x.opcode == "compare" and x.attributes.get("type") != "TOTALORDER"
        if plain and x.operands[0] is x.operands[1]:
            yield x.operands[0], x["direction"]


# A selection gathers at least so many elements before it sorts, and twice as many as it keeps.
FEWEST_GATHERED = 256


def gathered(x: Instruction) -> int:
    """How many elements a topk that selects gathers before it keeps the first k of them."""
    return max(2 * x["k"], FEWEST_GATHERED)


def selects_few(x: Instruction) -> bool:
    """True if a topk is better computed by selecting than by sorting all elements."""
    operand = x.operands[0].array_shape
    # The NaN of some floats of 8 bits has no place in their total order.
    is_narrow_float = operand.element_type.is_float and operand.element_type.bits == 8
    return not is_narrow_float and x["k"] > 0 and operand.dims[-1] >= 2 * gathered(x)


def selection_order(x: Instruction) -> Computation:
    """(value, value, position, position) -> whether a topk takes the first value before the second.

    Floats are compared by their total order.
    """
    direction = "GT" if x["largest"] else "LT"
    return key_order(direction, x.operands[0].array_shape.element_type)


def key_order(direction: str, element_type: ElementType) -> Computation:
    """(key, key, position, position) -> whether the first key comes before the second."""
    types = (element_type, element_type, S32, S32)
    sides = [builder.parameter(i, Shape(t)) for i, t in enumerate(types)]
    before = builder.compare(direction, sides[0], sides[1])
    if element_type.is_float:
        before = builder.instruction("compare", sides[:2], direction=direction, type="TOTALORDER")
    return Computation.make("before", sides, before)
