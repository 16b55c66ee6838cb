"""Which values integers can have: an inclusive interval for every integer and pred of a module.

An array's interval holds all of its elements; a tuple has one for each element. Arithmetic that may
wrap around has all values of its type. A loop's state has what its counters and its condition say:
in the body of a loop with the condition i < n, i is less than n, and not less than it began if it
grows without passing the greatest value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Union

from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import Shape, TupleShape
from tfc.passes.analysis.loop_state import loop_of
from tfc.passes.analysis.trip_counts import MIRRORED, Counting, limits

Interval = tuple[int, int]
# None for floats, tokens, and arrays of an unknown origin inside of tuples.
Range = Union[Interval, "Tuple", None]
_MOST_LOOKED_AT = 1 << 12  # elements of a constant


class Tuple(tuple[Range, ...]):
    """The ranges of a tuple's elements."""

    __slots__ = ()


Ranges = Mapping[Instruction, Range]


def bounds(value: Instruction, ranges: Ranges) -> Interval:
    """The interval of an integer or pred array: its type's, if nothing more is known."""
    known = ranges.get(value)
    if known is None or isinstance(known, Tuple):
        return limits(value.array_shape.element_type)
    return known


def is_discrete(value: Instruction) -> bool:
    """True for arrays of integers and preds."""
    shape = value.shape
    return isinstance(shape, Shape) and (
        shape.element_type.is_integer or shape.element_type.kind == "pred"
    )


def range_of(x: Instruction, ranges: Ranges) -> Range:
    """The range of an instruction's value, from those of its operands."""
    if x.opcode == "tuple":
        return Tuple(ranges.get(o) for o in x.operands)
    if x.opcode == "get-tuple-element":
        whole = ranges.get(x.operands[0])
        return whole[x["index"]] if isinstance(whole, Tuple) else None
    if not is_discrete(x) or not x.array_shape.size:
        return None
    if x.opcode in ("constant", "iota"):
        return _given(x)
    rule = _RULES.get(x.opcode)
    if rule is None or not all(is_discrete(o) for o in x.operands):
        return None
    found = rule(x, [bounds(o, ranges) for o in x.operands])
    low, high = limits(x.array_shape.element_type)
    return found if found and low <= found[0] and found[1] <= high else None


def _given(x: Instruction) -> Interval | None:
    shape = x.array_shape
    if x.opcode == "iota":
        last = shape.dims[x["iota_dimension"]] - 1
        return (0, last) if last <= limits(shape.element_type)[1] else None
    array = x["literal"].array
    if array.size > _MOST_LOOKED_AT:
        return None
    values = array.tolist() if array.dtype.kind in "biu" else array.astype(int).tolist()
    return _hull([_flat_interval(values)])


def _flat_interval(values: object) -> Interval:
    if isinstance(values, list):
        return _hull([_flat_interval(v) for v in values])
    return int(values), int(values)  # type: ignore[call-overload]


def _hull(several: Iterable[Interval]) -> Interval:
    lows, highs = zip(*several)
    return min(lows), max(highs)


Rule = Callable[[Instruction, Sequence[Interval]], Interval | None]


def _ends(function: Callable[[int, int], int]) -> Rule:
    """The rule of an operation whose extremes are where its operands' are."""

    def rule(_: Instruction, given: Sequence[Interval]) -> Interval:
        values = [function(a, b) for a in given[0] for b in given[1]]
        return min(values), max(values)

    return rule


def _negated(_: Instruction, given: Sequence[Interval]) -> Interval:
    return -given[0][1], -given[0][0]


def _absolute(_: Instruction, given: Sequence[Interval]) -> Interval:
    low, high = given[0]
    return (max(low, -high, 0), max(high, -low))


def _clamped(_: Instruction, given: Sequence[Interval]) -> Interval:
    # An element is min(max(x, low), high), and each is monotonous in all three.
    least, most = (min(max(x, low), high) for low, x, high in zip(*given))
    return least, most


def _selected(_: Instruction, given: Sequence[Interval]) -> Interval:
    test, on_true, on_false = given
    if test[0] == test[1]:
        return on_true if test[0] else on_false
    return _hull([on_true, on_false])


def _compared(x: Instruction, given: Sequence[Interval]) -> Interval | None:
    (a, b), (c, d) = given
    apart = b < c or d < a
    same = a == b == c == d
    decided = {
        "LT": (b < c, a >= d), "LE": (b <= c, a > d), "GT": (a > d, b <= c),
        "GE": (a >= d, b < c), "EQ": (same, apart), "NE": (apart, same),
    }[x["direction"]]  # fmt: skip
    return (1, 1) if decided[0] else (0, 0) if decided[1] else None


def _logical(function: Callable[[int, int], int]) -> Rule:
    def rule(x: Instruction, given: Sequence[Interval]) -> Interval | None:
        if x.array_shape.element_type.kind != "pred":
            return None
        return function(given[0][0], given[1][0]), function(given[0][1], given[1][1])

    return rule


def _inverted(x: Instruction, given: Sequence[Interval]) -> Interval | None:
    low, high = given[0]
    return (1 - high, 1 - low) if x.array_shape.element_type.kind == "pred" else None


def _remainder(_: Instruction, given: Sequence[Interval]) -> Interval | None:
    (low, high), (least, most) = given
    if least <= 0 or low < 0:
        return None
    return (low, high) if high < least else (0, min(high, most - 1))


def _quotient(_: Instruction, given: Sequence[Interval]) -> Interval | None:
    (low, high), (least, most) = given
    return (low // most, high // least) if least > 0 and low >= 0 else None


def _same(_: Instruction, given: Sequence[Interval]) -> Interval:
    return given[0]


def _any_of(_: Instruction, given: Sequence[Interval]) -> Interval:
    return _hull(given)


# fmt: off
_RULES: dict[str, Rule] = {
    "add": _ends(lambda a, b: a + b), "subtract": _ends(lambda a, b: a - b),
    "multiply": _ends(lambda a, b: a * b),
    "maximum": _ends(max), "minimum": _ends(min),
    "and": _logical(min), "or": _logical(max), "not": _inverted,
    "negate": _negated, "abs": _absolute, "clamp": _clamped, "select": _selected,
    "compare": _compared, "remainder": _remainder, "divide": _quotient,
    **dict.fromkeys(("broadcast", "convert", "copy", "dynamic-slice", "gather", "reshape",
                     "reverse", "slice", "transpose"), _same),
    **dict.fromkeys(("concatenate", "pad"), _any_of),
    "dynamic-update-slice": lambda _, given: _hull(given[:2]),
}
# fmt: on


def module_ranges(module: Module) -> dict[Computation, Range]:
    """What is known about the parameter of every loop part and branch, callers first."""
    found: dict[Computation, list[Range]] = {}
    for computation in reversed(module.computations):
        calls = [i for i in computation.instructions if i.called_computations]
        if not calls:
            continue
        ranges = computation_ranges(computation, _merged(found.get(computation)))
        for call in calls:
            for callee, known in _passed(call, ranges):
                found.setdefault(callee, []).append(known)
    return {c: _merged(several) for c, several in found.items()}


def computation_ranges(computation: Computation, parameter: Range) -> dict[Instruction, Range]:
    """The ranges of a computation's values, given that of its only parameter."""
    ranges: dict[Instruction, Range] = {}
    for instruction in computation.instructions:
        given = parameter if instruction.opcode == "parameter" else range_of(instruction, ranges)
        if given is not None:
            ranges[instruction] = given
    return ranges


def _merged(several: Sequence[Range] | None) -> Range:
    """What holds for all of some ranges."""
    if not several or any(r is None for r in several):
        return None
    if len(several) == 1:
        return several[0]
    if all(isinstance(r, Tuple) for r in several):
        return Tuple(_merged(parts) for parts in zip(*several))  # type: ignore[arg-type]
    return _hull(several)  # type: ignore[arg-type]


def _passed(call: Instruction, ranges: Ranges) -> list[tuple[Computation, Range]]:
    """The computations that an instruction calls, and what it passes to each."""
    if call.opcode == "conditional":
        return [(c, ranges.get(o)) for c, o in zip(branches(call), call.operands[1:])]
    if call.opcode == "while":
        return [(call["body"], state_range(call, ranges)), (call["condition"], None)]
    return [(c, None) for c in call.called_computations]


def state_range(instruction: Instruction, ranges: Ranges) -> Range:
    """The range of a while's state where its body begins."""
    loop = loop_of(instruction)
    if loop is None or not isinstance(instruction.shape, TupleShape):
        return None
    counting = Counting(loop)
    tested = _tested(counting)
    given = ranges.get(instruction.operands[0])
    inits = given if isinstance(given, Tuple) else [None] * len(loop.inits)
    found: list[Range] = []
    for number, init in enumerate(loop.inits):
        if loop.invariant[number]:
            found.append(inits[number])
        elif is_discrete(init):
            found.append(_counted(counting, number, tested.get(number)))
        else:
            found.append(None)
    return Tuple(found)


def _tested(counting: Counting) -> dict[int, Interval]:
    """What the condition says about scalars of the state when it holds."""
    loop, found = counting.loop, {}
    ranges = computation_ranges(loop.condition, None)
    for test in counting.tests:
        if test.opcode != "compare" or not is_discrete(test.operands[0]):
            continue
        for left, right, direction in (
            (*test.operands, test["direction"]),
            (*reversed(test.operands), MIRRORED[test["direction"]]),
        ):
            number = loop.number_in(loop.condition, left)
            if number is None:
                continue
            low, high = found.get(number, limits(left.array_shape.element_type))
            least, most = bounds(right, ranges)
            match direction:
                case "LT":
                    high = min(high, most - 1)
                case "LE":
                    high = min(high, most)
                case "GT":
                    low = max(low, least + 1)
                case "GE":
                    low = max(low, least)
                case "EQ":
                    low, high = max(low, least), min(high, most)
            found[number] = (low, high)
    return {number: (low, high) for number, (low, high) in found.items() if low <= high}


def _counted(counting: Counting, number: int, tested: Interval | None) -> Interval | None:
    """The interval of a changing element, from its counter and what the condition says."""
    value = counting.counters.get(number)
    if value is None:
        return tested
    most = counting.trips.most
    if most and value.at(most) is not None:
        last = value.start + (most - 1) * value.step
        return min(value.start, last), max(value.start, last)
    if tested is None:
        return None
    low, high = tested
    least, greatest = limits(value.element_type)
    # While the condition holds, the next value is one of the type's: it never wraps around.
    if value.step > 0 and high + value.step <= greatest:
        low = max(low, value.start)
    elif value.step < 0 and low + value.step >= least:
        high = min(high, value.start)
    return (low, high) if low <= high else None
