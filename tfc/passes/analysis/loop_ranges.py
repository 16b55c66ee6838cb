"""What loops and branches are passed: the ranges of their computations' parameters.

    i = 0; while i < n: { … }     in the body: 0 <= i, and i < the greatest value of n

A loop's state has what its counters and its condition say: in the body of a loop with the condition
i < n, i is less than n, and not less than it began if it grows without passing the greatest value.
An element that never changes is what the loop begins with. How often a loop runs, which is known
of more of them than a range, is in trip_counts.py.
"""

from collections.abc import Mapping

from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.loops.loop_state import loop_of
from tfc.hlo.loops.trip_counts import Counting
from tfc.hlo.ops.control import branches
from tfc.hlo.ops.elementwise.selection import MIRRORED
from tfc.hlo.shape import TupleShape
from tfc.passes.analysis.float_classes import Interval
from tfc.passes.analysis.value_ranges import (
    Range,
    Tuple,
    bounds,
    computation_ranges,
    is_discrete,
    joined,
)

Ranges = Mapping[Instruction, Range]


def module_ranges(module: Module) -> dict[Computation, Range]:
    """What is known about the parameter of every loop part and branch, callers first."""
    found: dict[Computation, list[Range]] = {}
    for computation in reversed(module.computations):
        calls = [i for i in computation.instructions if i.called_computations]
        if not calls:
            continue
        ranges = computation_ranges(computation, joined(found.get(computation, [None])))
        for call in calls:
            for callee, known in _passed(call, ranges):
                found.setdefault(callee, []).append(known)
    return {c: joined(several) for c, several in found.items()}


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
    given = ranges.get(instruction.operands[0])
    inits = given if isinstance(given, Tuple) else [None] * len(loop.inits)
    unchanging = Tuple(r if same else None for r, same in zip(inits, loop.invariant))
    tested = _tested(counting, unchanging)
    return Tuple(
        _counted(counting, number, tested.get(number)) if is_discrete(init) and known is None
        else known
        for number, (init, known) in enumerate(zip(loop.inits, unchanging))
    )  # fmt: skip


def _tested(counting: Counting, unchanging: Tuple) -> dict[int, Interval]:
    """What the condition says about scalars of the state when it holds."""
    loop, found = counting.loop, {}
    ranges = computation_ranges(loop.condition, unchanging)
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
            low, high = found.get(number, left.array_shape.element_type.limits)
            least, most = bounds(right, ranges.__getitem__)
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
    least, greatest = value.element_type.limits
    # While the condition holds, the next value is one of the type's: it never wraps around.
    if value.step > 0 and high + value.step <= greatest:
        low = max(low, value.start)
    elif value.step < 0 and low + value.step >= least:
        high = min(high, value.start)
    return (low, high) if low <= high else None
