"""What values can be: an inclusive interval for integers and preds, classes for floats.

    remainder(iota(), 4): (0, 3)     exponential(x): {nan, 0, positive, inf}     ((0, 9), None)

One range holds for all elements of an array; a tuple has one for each of its own. `range_of` says
what an operation makes of its operands' ranges. It is asked in two ways: of one value, looking a
few steps up (`seen`), by rewrites that look at an instruction alone; and of all that a computation
computes, in order (`computation_ranges`), where something is known about its parameter. What loops
and branches are passed is in loop_ranges.py. Integer arithmetic that may wrap around has all values
of its type.

Index expressions (tfc.hlo.index_maps) have intervals of their own: they are sums and quotients of
places in arrays, which never wrap around, and are about no instruction.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union
from weakref import WeakKeyDictionary

from tfc.hlo.ir import NO_ATTRIBUTES, Computation, Instruction
from tfc.hlo.literal import Literal
from tfc.hlo.op import Op, op_named
from tfc.hlo.shape import S64, ElementType, Shape
from tfc.passes.analysis.float_classes import (
    ALL,
    MINUS_ZERO,
    NAN,
    SIGNED,
    Classes,
    Interval,
    order,
    outcome,
    span,
)
from tfc.passes.rewriting.replacing import reducer

# None for what nothing is known of: also tokens, complex numbers, and arrays without elements.
Range = Union[Interval, Classes, "Tuple", None]
Lookup = Callable[[Instruction], Range]
_DEPTH = 6  # steps up that a value is seen from
_MOST_LOOKED_AT = 1 << 12  # elements of a constant
_MOST_ROUNDS = 8  # in which a reduction's range grows


class Tuple(tuple[Range, ...]):
    """The ranges of a tuple's elements."""

    __slots__ = ()


def seen(x: Instruction, depth: int = _DEPTH) -> Range:
    """What is known of a value from the last few steps by which it is computed."""
    return range_of(x, lambda operand: seen(operand, depth - 1)) if depth else None


def computation_ranges(
    computation: Computation, parameter: Range = None
) -> dict[Instruction, Range]:
    """The ranges of a computation's values, given that of its only parameter."""
    ranges: dict[Instruction, Range] = {}
    for x in computation.instructions:
        ranges[x] = parameter if x.opcode == "parameter" else range_of(x, ranges.__getitem__)
    return ranges


def bounds(x: Instruction, of: Lookup = seen) -> Interval:
    """Numbers that no element of an array of integers or preds is below or above."""
    found: Any = of(x)
    return x.array_shape.element_type.limits if found is None else found


def ends(x: Instruction, of: Lookup = seen) -> Interval | None:
    """Bounds of an array's elements but NaN, of floats as places in their order, if known."""
    if is_discrete(x):
        return bounds(x, of)
    found = of(x)
    return order(found) if isinstance(found, int) else None


def may_be_nan(x: Instruction, of: Lookup = seen) -> bool:
    """True if an element of an array may be NaN, as far as is known."""
    found = of(x)
    return not is_discrete(x) and not (isinstance(found, int) and not found & NAN)


def is_unsigned(x: Instruction, of: Lookup = seen) -> bool:
    """True if every element of an array is NaN or has no sign, so is not -0.0 either."""
    found = of(x)
    if isinstance(found, int):
        return not found & SIGNED
    return is_discrete(x) and bounds(x, of)[0] >= 0


def is_never_minus_zero(x: Instruction, of: Lookup = seen) -> bool:
    """True if no element of an array of floats is -0.0."""
    found = of(x)
    return isinstance(found, int) and not found & MINUS_ZERO


def is_discrete(x: Instruction) -> bool:
    """True for arrays of integers and preds."""
    return isinstance(x.shape, Shape) and x.shape.element_type.kind in _DISCRETE


_DISCRETE = frozenset({"signed", "unsigned", "pred"})


def range_of(x: Instruction, of: Lookup) -> Range:
    """The range of an instruction's value, from those of its operands."""
    opcode, shape = x.opcode, x.shape
    if opcode == "tuple":
        return Tuple(map(of, x.operands))
    if opcode == "get-tuple-element":
        whole = of(x.operands[0])
        return whole[x["index"]] if isinstance(whole, Tuple) else None
    if not isinstance(shape, Shape) or not shape.size or shape.element_type.is_complex:
        return None
    op = op_named(opcode)
    if op.is_movement:
        return joined(of(o) for o in x.operands[: op.moved])
    if opcode == "constant":
        return _of_literal(x["literal"]) if shape.size <= _MOST_LOOKED_AT else None
    if opcode == "iota":
        return _converted((0, shape.dims[x["iota_dimension"]] - 1), S64, shape.element_type)
    if opcode == "select":
        return _selected(x, of)
    if opcode == "reduce" and len(x.operands) == 2:
        return _reduced(x, of)
    if opcode == "convert":
        operand = x.operands[0]
        return _converted(of(operand), operand.array_shape.element_type, shape.element_type)
    return _computed(x, op, of)


_of_literals: WeakKeyDictionary[Literal, Range] = WeakKeyDictionary()


def _of_literal(literal: Literal) -> Range:
    """What holds for a constant's elements, which are looked at once."""
    if literal not in _of_literals:
        _of_literals[literal] = span(literal.array, literal.shape.element_type)
    return _of_literals[literal]


def once(of: Lookup) -> Lookup:
    """The same, which looks up each value once."""
    known: dict[Instruction, Range] = {}

    def looked_up(x: Instruction) -> Range:
        if x not in known:
            known[x] = of(x)
        return known[x]

    return looked_up


def joined(several: Iterable[Range]) -> Range:
    """What holds for all of some values."""
    found, *others = several
    for other in others:
        if found is None or other is None:
            return None
        if isinstance(found, int):
            found |= other  # type: ignore[operator]
        elif isinstance(found, Tuple):
            found = Tuple(joined(pair) for pair in zip(found, other))  # type: ignore[arg-type]
        else:
            found = min(found[0], other[0]), max(found[1], other[1])  # type: ignore[index]
    return found


def _selected(x: Instruction, of: Lookup) -> Range:
    test, on_true, on_false = x.operands
    low, high = bounds(test, of)
    if low == high:
        return of(on_true if low else on_false)
    return joined([of(on_true), of(on_false)])


def _converted(known: Any, source: ElementType, to: ElementType) -> Range:
    if source.is_complex:
        return None
    if source.is_float or to.is_float:
        given = _whole(source) if known is None else known
        return outcome("convert", NO_ATTRIBUTES, to, ((source, given),), False)
    return _within(known, to)


def _whole(element_type: ElementType) -> Interval | Classes:
    return ALL if element_type.is_float else element_type.limits


def _within(found: Interval | None, element_type: ElementType) -> Interval | None:
    """An interval of integers before they wrap around; None if some do."""
    low, high = element_type.limits
    return found if found and low <= found[0] and found[1] <= high else None


Given = tuple[ElementType, Any]


def _computed(x: Instruction, op: Op, of: Lookup) -> Range:
    """The range of what an elementwise operation makes."""
    if x.opcode not in _RULES and not op.monotone:
        return None
    types = [o.array_shape.element_type for o in x.operands]
    if any(t.is_complex for t in types) or x.attributes.get("type") == "TOTALORDER":
        return None  # that order is of NaNs, too, by their bits
    alike = len(set(x.operands)) == 1 < len(x.operands)
    return _combined(x, op, [_given(t, of(o)) for t, o in zip(types, x.operands)], alike)


def _given(element_type: ElementType, known: Range) -> Given:
    return element_type, _whole(element_type) if known is None else known


def _combined(x: Instruction, op: Op, given: Sequence[Given], alike: bool = False) -> Range:
    """What an operation makes of arrays of these types and ranges."""
    to = x.array_shape.element_type
    if to.is_float or any(element_type.is_float for element_type, _ in given):
        return outcome(x.opcode, x.attributes, to, tuple(given), alike) if op.monotone else None
    rule = _RULES.get(x.opcode)
    return _within(rule(x, [known for _, known in given]), to) if rule else None


def _reduced(x: Instruction, of: Lookup) -> Range:
    """The range of what a reduction gives, in whatever order it combines the elements."""
    to, body = x.array_shape.element_type, x["to_apply"].root
    if to.is_complex or reducer(x["to_apply"]) is None:
        return None
    value, init = (_given(to, of(o))[1] for o in x.operands)
    if not x.operands[0].array_shape.size:
        return init
    several = _closed(body, value)
    if several is None:
        return None
    return _closed(
        body, _combined(body, op_named(body.opcode), [(to, init), (to, several)]), several
    )


def _closed(body: Instruction, found: Range, other: Range = None) -> Range:
    """What holds for some values and all that they make, again and again, with one another.

    Args:
        other: what they are combined with instead.
    """
    to, op = body.array_shape.element_type, op_named(body.opcode)
    for _ in range(_MOST_ROUNDS):
        made = _combined(body, op, [(to, found), (to, found if other is None else other)])
        if found is None or made is None:
            return None
        wider = joined([found, made])
        if wider == found:
            return found
        found = wider
    return None


Rule = Callable[[Instruction, Sequence[Interval]], Interval | None]


def _ends(function: Callable[[int, int], int]) -> Rule:
    """The rule of an operation whose extremes are where its operands' are."""

    def rule(_: Instruction, given: Sequence[Interval]) -> Interval:
        values = [function(a, b) for a in given[0] for b in given[1]]
        return min(values), max(values)

    return rule


def _absolute(_: Instruction, given: Sequence[Interval]) -> Interval:
    low, high = given[0]
    return max(low, -high, 0), max(high, -low)


def _clamped(_: Instruction, given: Sequence[Interval]) -> Interval:
    # An element is min(max(x, low), high), and each is monotonous in all three.
    least, most = (min(max(x, low), high) for low, x, high in zip(*given))
    return least, most


def _compared(x: Instruction, given: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = given
    apart = b < c or d < a
    same = a == b == c == d
    true, false = {
        "LT": (b < c, a >= d), "LE": (b <= c, a > d), "GT": (a > d, b <= c),
        "GE": (a >= d, b < c), "EQ": (same, apart), "NE": (apart, same),
    }[x["direction"]]  # fmt: skip
    return int(true), int(not false)


def _inverted(x: Instruction, given: Sequence[Interval]) -> Interval:
    least, most = x.array_shape.element_type.limits
    return least + most - given[0][1], least + most - given[0][0]


def _masked(_: Instruction, given: Sequence[Interval]) -> Interval | None:
    """Of bits that two values have in common."""
    (a, b), (c, d) = given
    if a >= 0 and c >= 0 and b <= 1 and d <= 1:
        return a & c, b & d
    highs = [high for low, high in given if low >= 0]
    return (0, min(highs)) if highs else None


def _united(_: Instruction, given: Sequence[Interval]) -> Interval | None:
    """Of bits that one of two values has: no more of them than the longer, no smaller than any."""
    (a, b), (c, d) = given
    return (max(a, c), (1 << max(b, d).bit_length()) - 1) if a >= 0 and c >= 0 else None


def _remainder(_: Instruction, given: Sequence[Interval]) -> Interval | None:
    (low, high), (least, most) = given
    if least <= 0:
        return None  # the remainder by zero is the dividend
    if low >= 0 and high < least:
        return low, high
    return max(min(low, 0), 1 - most), min(max(high, 0), most - 1)


def _quotient(_: Instruction, given: Sequence[Interval]) -> Interval | None:
    (low, high), (least, most) = given
    return (low // most, high // least) if least > 0 and low >= 0 else None


def _shifted_right(x: Instruction, given: Sequence[Interval]) -> Interval | None:
    (low, high), (least, _) = given
    bits = x.array_shape.element_type.bits
    if low < 0 or least < 0 or (high >> bits - 1 and x.opcode == "shift-right-arithmetic"):
        return None  # of unsigned numbers, too, copies of the first bit follow it
    return 0, high >> min(least, bits)


# fmt: off
_RULES: dict[str, Rule] = {
    "add": _ends(lambda a, b: a + b), "subtract": _ends(lambda a, b: a - b),
    "multiply": _ends(lambda a, b: a * b),
    "maximum": _ends(max), "minimum": _ends(min), "clamp": _clamped,
    "and": _masked, "or": _united, "not": _inverted,
    "negate": lambda _, given: (-given[0][1], -given[0][0]), "abs": _absolute,
    "compare": _compared, "remainder": _remainder, "divide": _quotient,
    "shift-right-arithmetic": _shifted_right, "shift-right-logical": _shifted_right,
}
# fmt: on
