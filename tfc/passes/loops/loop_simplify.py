"""Loops with no more state than they need, and no loops that run once or never.

    s = (s32[], f32[8], f32[], f32[8]) …         an unused element, one that stays the constant 2
    w = … while(s), condition=c, body=b    -->   s = (s32[], f32[8]) …
                                                 w = … while(s), condition=c, body=b

An element goes if neither the condition nor an effect nor an element that is used depends on it; if
it keeps a value that can be made in the body from nothing (a constant, also repeated, or an iota);
or if it equals another in every iteration. Outside, an element that never changes is what the loop
began with. Tuples in the state are taken apart. A body that runs once takes the loop's place.

Other values that never change stay elements, since a body sees nothing but its state; they are
passed on as they are, which costs nothing. Effects run as often as before, in the same order.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Instruction, Module, has_side_effect, holding
from tfc.hlo.loops.loop_state import (
    Applied,
    Loop,
    Numbers,
    elements,
    is_from_nothing,
    loop_of,
    made_again,
    packed,
    repeated,
    restated,
    rewrite_each,
    same_layouts,
)
from tfc.hlo.loops.trip_counts import trips_of
from tfc.hlo.shape import AnyShape, TupleShape

_MOST_ROUNDS = 8  # in which elements that begin alike are told apart


@dataclass(frozen=True)
class LoopSimplify:
    """Remove needless elements of states, and loops that run once or never."""

    name: ClassVar[str] = "loops"

    def __call__(self, module: Module) -> Module:
        """The module with simpler loops."""
        return rewrite_each(module, "while", _simplified)


def _simplified(instruction: Instruction, used: Numbers) -> Instruction:
    exact = trips_of(instruction).exact
    if exact == 0:
        return instruction.operands[0]
    if exact == 1:
        return repeated(instruction, 1)
    loop = loop_of(instruction)
    if loop is None:
        return _flattened(instruction)
    return _reduced(loop, used)


def _flattened(instruction: Instruction) -> Instruction:
    """The loop with a state of arrays: a nested tuple's, or the only array that it is."""
    if not same_layouts(instruction):
        return instruction
    shape = instruction.shape

    def view(parts: Sequence[Instruction]) -> list[Instruction]:
        return elements(_nested(shape, iter(parts)))

    made = restated(
        instruction, _flat(instruction.operands[0]), view, lambda applied, _: [
            leaf for result in applied.results for leaf in _flat(result)
        ]
    )  # fmt: skip
    state = _nested(shape, iter(elements(made)))
    return holding(state, [made] if has_side_effect(made) else [])


def _flat(value: Instruction) -> list[Instruction]:
    """The arrays and tokens of a value, however deep they are."""
    if not isinstance(value.shape, TupleShape):
        return [value]
    return [leaf for part in elements(value) for leaf in _flat(part)]


def _nested(shape: AnyShape, leaves) -> Instruction:
    """The value of a shape from its arrays and tokens."""
    if not isinstance(shape, TupleShape):
        return next(leaves)
    return packed(shape, [_nested(e, leaves) for e in shape.elements])


def _reduced(loop: Loop, used: Numbers) -> Instruction:
    """The loop without the elements that it does not need."""
    has_effects, count = has_side_effect(loop.instruction), len(loop.inits)
    # A loop with effects stays what its users refer to, so that nothing else need hold it.
    changing = {n for n in used if has_effects or not loop.invariant[n]}
    same = _equal_elements(loop)
    needed = _needed(loop, changing, same)
    remade = [loop.invariant[n] and is_from_nothing(loop.inits[n]) for n in range(count)]
    kept = [n for n in range(count) if needed >> n & 1 and same[n] == n and not remade[n]]
    if len(kept) == count and len(changing) == len(used):
        return loop.instruction
    place = {n: k for k, n in enumerate(kept)}

    def view(parts: Sequence[Instruction]) -> list[Instruction]:
        # An element that nothing needs only completes the state here: it is not in the new body.
        return [
            parts[place[first]] if first in place
            else made_again(loop.inits[first])
            for n, first in enumerate(same)
        ]  # fmt: skip

    def pick(applied: Applied, _: Sequence[Instruction]) -> list[Instruction]:
        return [applied.results[n] for n in kept]

    made = loop.instruction
    if len(kept) < count:
        made = restated(made, [loop.inits[n] for n in kept], view, pick)
    after = view(elements(made))
    outside = [
        loop.inits[n] if loop.invariant[n] and not has_effects else after[n] for n in range(count)
    ]
    return holding(packed(loop.instruction.shape, outside), [made] if has_effects else [])


def _needed(loop: Loop, used: Iterable[int], same: Sequence[int]) -> int:
    """The elements to keep, as bits: those that are needed, and the first that equals each."""
    needed, before = sum(1 << n for n in used), -1
    while needed != before:
        before = needed
        needed = loop.needed(needed)
        for number, first in enumerate(same):
            needed |= (needed >> number & 1) << first
    return needed


def _equal_elements(loop: Loop) -> list[int]:
    """For each element the first that equals it before and after every iteration.

    Elements that begin alike are taken to be equal until the body makes them differ.
    """
    classes = _numbered([_key(init) for init in loop.inits])
    for _ in range(_MOST_ROUNDS):
        if len(set(classes)) == len(classes):
            return classes
        values = _value_numbers(loop, classes)
        finer = _numbered([(k, values[r]) for k, r in zip(classes, loop.results)])
        if finer == classes:
            return classes
        classes = finer
    return list(range(len(classes)))


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """For each key the place of the first that is the same."""
    first: dict[Hashable, int] = {}
    return [first.setdefault(key, place) for place, key in enumerate(keys)]


def _key(value: Instruction) -> Hashable:
    """What makes values outside of the loop equal: being one instruction, or one constant."""
    if value.opcode == "constant":
        return value["literal"], value.shape
    if value.opcode == "get-tuple-element":
        return value.operands[0], value["index"]
    return value


def _value_numbers(loop: Loop, classes: Sequence[int]) -> dict[Instruction, int]:
    """Equal numbers for values of the body that are equal if elements of one class are."""
    numbers: dict[Instruction, int] = {}
    known: dict[Hashable, int] = {}
    for x in (*loop.body.instructions, *loop.results):
        element_number = loop.number_in(loop.body, x)
        if element_number is not None:
            key: Hashable = ("element", classes[element_number])
        elif has_side_effect(x) or x.opcode == "parameter":
            key = x
        else:
            key = (x.opcode, tuple(numbers[o] for o in x.operands), x.attributes, x.shape)
        numbers[x] = known.setdefault(key, len(known))
    return numbers
