"""How often a loop runs: what its counters are, and when its condition first fails.

    i begins at 0, i + 2 after each iteration, goes on while i < 9        -->  5 iterations

A counter is an integer scalar that begins at a constant and has one added: start + k * step modulo
2**bits, whatever the body does besides. The condition may be any conjunction of comparisons of such
numbers with constants. Answers are proved or None: where a counter would wrap around, only != is
solved. Conditions of other forms over a few scalars are tried out, since short loops are common.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import gcd
from typing import Any

from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.literal import Literal
from tfc.hlo.loops.loop_config import stated_trip_count
from tfc.hlo.loops.loop_state import Applied, Loop, apply, loop_of
from tfc.hlo.op import op_named
from tfc.hlo.ops.elementwise.selection import MIRRORED
from tfc.hlo.shape import F32, F64, ElementType, Shape
from tfc.hlo.structure import structure
from tfc.hlo.traits import Accuracy, Cost

_MOST_TRIED = 64  # iterations, and instructions in each


def is_integer_scalar(value: Instruction) -> bool:
    """True for scalars of an integer type."""
    shape = value.shape
    return isinstance(shape, Shape) and shape.rank == 0 and shape.element_type.is_integer


@dataclass(frozen=True)
class Counter:
    """A number that is start + k * step after k iterations, modulo 2**bits; a constant has step 0.

    The step is of least magnitude: -1 rather than 2**32 - 1.
    """

    start: int
    step: int
    element_type: ElementType

    def combined(self, other: "Counter", sign: int) -> "Counter":
        """The sum (sign 1) or difference (sign -1) with another."""
        start, step = self.start + sign * other.start, self.step + sign * other.step
        return counter(start, step, self.element_type)

    def at(self, iteration: int) -> int | None:
        """The value after some iterations; None if it wrapped around on the way."""
        value = self.start + iteration * self.step
        low, high = self.element_type.limits
        return value if low <= value <= high else None


def counter(start: int, step: int, element_type: ElementType) -> Counter:
    """A counter with its numbers as the type holds them."""
    low = 2 ** (element_type.bits - 1)
    modulus = 2 * low
    return Counter(element_type.wrapped(start), (step + low) % modulus - low, element_type)


@dataclass(frozen=True)
class Trips:
    """What is known about how often the body runs.

    exact: the number, if it is known.
    most: a number that it does not exceed, if one is known.
    """

    exact: int | None = None
    most: int | None = None


class Counting:
    """The counters of a loop and what its condition says of them."""

    def __init__(self, loop: Loop):
        self.loop = loop

    @cached_property
    def counters(self) -> dict[int, Counter]:
        """The elements of the state that are counters, or constants."""
        found: dict[int, Counter] = {}
        for number, (init, result) in enumerate(zip(self.loop.inits, self.loop.results)):
            if init.opcode != "constant" or not is_integer_scalar(init):
                continue
            step = 0 if self.loop.invariant[number] else self._step(number, result)
            if step is not None:
                start = int(init["literal"].array)
                found[number] = counter(start, step, init.array_shape.element_type)
        return found

    def _step(self, number: int, result: Instruction) -> int | None:
        """What is added to an element each iteration; None if it changes in another way."""
        if result.opcode not in ("add", "subtract"):
            return None
        operands = list(result.operands)
        if result.opcode == "add" and self._constant(operands[0]) is not None:
            operands.reverse()
        added = self._constant(operands[1])
        if added is None or self.loop.number_in(self.loop.body, operands[0]) != number:
            return None
        return added if result.opcode == "add" else -added

    def _constant(self, value: Instruction) -> int | None:
        """The value of a constant in the body, or of an element that stays the constant it is."""
        number = self.loop.number_in(self.loop.body, value)
        if number is not None and self.loop.invariant[number]:
            value = self.loop.inits[number]
        return int(value["literal"].array) if value.opcode == "constant" else None

    @cached_property
    def tests(self) -> list[Instruction]:
        """The values in the condition that must all be true to go on."""
        found, stack = [], [self.loop.condition.root]
        while stack:
            test = stack.pop()
            if test.opcode == "and":
                stack += test.operands
            elif not (test.opcode == "constant" and test["literal"].array):
                found.append(test)
        return found

    @cached_property
    def trips(self) -> Trips:
        """How often the body runs."""
        if self.loop.condition.effects:
            return Trips()
        counts = [self._first_failure(test) for test in self.tests]
        known = [c for c in counts if c is not None]
        most = min(known) if known else None
        if most == 0 or len(known) == len(counts):
            return Trips(most, most)
        tried = self._tried()
        return Trips(None, most) if tried is None else Trips(tried, tried)

    def _first_failure(self, test: Instruction) -> int | None:
        """After how many iterations a test fails first; None if that is unknown, or never."""
        if test.opcode == "constant":
            return 0
        if test.opcode != "compare" or not is_integer_scalar(test.operands[0]):
            return None
        left, right = (self.affine(o) for o in test.operands)
        if left is None or right is None:
            return None
        direction = test["direction"]
        if right.step and not left.step:
            left, right, direction = right, left, MIRRORED[direction]
        return None if right.step else first_failure(left, direction, right.start)

    def affine(self, value: Instruction) -> Counter | None:
        """A value of the condition as a counter: sums and differences of counters are."""
        number = self.loop.number_in(self.loop.condition, value)
        if number is not None:
            return self.counters.get(number)
        if value.opcode == "constant":
            return counter(int(value["literal"].array), 0, value.array_shape.element_type)
        if value.opcode not in ("add", "subtract"):
            return None
        # One level is enough: constants that are added one after the other meet in `simplify`.
        parts = [self._leaf(o) for o in value.operands]
        if parts[0] is None or parts[1] is None:
            return None
        return parts[0].combined(parts[1], 1 if value.opcode == "add" else -1)

    def _leaf(self, value: Instruction) -> Counter | None:
        return None if value.opcode in ("add", "subtract") else self.affine(value)

    def _tried(self) -> int | None:
        """The number of iterations, counted, if the condition is about a few known scalars."""
        loop = self.loop
        needed = loop.needed(0)
        numbers = [n for n in range(len(loop.inits)) if needed >> n & 1]
        inits = [loop.inits[n] for n in numbers]
        if loop.body.effects or not all(_is_scalar_constant(i) for i in inits):
            return None
        test = _on_scalars(loop.condition, loop, numbers, lambda applied: applied.results)
        step = _on_scalars(
            loop.body, loop, numbers, lambda applied: [applied.results[n] for n in numbers]
        )
        if test is None or step is None:
            return None
        literals = tuple(i["literal"] for i in inits)
        return _iterations(_Trial((structure(test), structure(step), literals), test, step))


@dataclass(frozen=True)
class _Trial:
    """A loop over a few scalars, which is compared by what it computes."""

    key: tuple[Hashable, Hashable, tuple[Literal, ...]]
    test: Computation = field(compare=False)
    step: Computation = field(compare=False)


@lru_cache(maxsize=1 << 10)
def _iterations(trial: _Trial) -> int | None:
    """How often a loop runs, counted; None if that is often. Passes ask for one again and again."""
    state: Any = tuple(literal.array for literal in trial.key[2])
    for count in range(_MOST_TRIED + 1):
        if not evaluate_computation(trial.test, state)[0]:
            return count
        state = evaluate_computation(trial.step, state)
    return None


def _is_scalar_constant(value: Instruction) -> bool:
    return value.opcode == "constant" and value.array_shape.rank == 0


def _on_scalars(
    computation: Computation, loop: Loop, numbers: Sequence[int], pick: Any
) -> Computation | None:
    """The part of a loop's computation that makes some elements from themselves.

    None if it is long, or has more than arithmetic on scalars that is the same everywhere.
    """
    shapes = [loop.inits[n].shape for n in numbers]
    parameters = [builder.parameter(k, shape) for k, shape in enumerate(shapes)]
    place = dict(zip(numbers, parameters))
    # The other elements are not needed; they are there to complete the state.
    state = [place.get(n, init) for n, init in enumerate(loop.inits)]
    applied: Applied = apply(computation, state)
    root = builder.instruction("tuple", pick(applied))
    made = Computation.make(computation.name, parameters, root)
    plain = len(made.instructions) <= _MOST_TRIED and all(map(_is_plain, made.instructions))
    return made if plain else None


def _is_plain(x: Instruction) -> bool:
    if not isinstance(x.shape, Shape):
        return x.opcode == "tuple"
    op = op_named(x.opcode)
    if x.shape.rank or not (op.elementwise or op.cost is Cost.FREE):
        return False
    arrays = [x.shape, *(o.array_shape for o in x.operands if isinstance(o.shape, Shape))]
    exact = all(s.element_type.is_integer or s.element_type.kind == "pred" for s in arrays)
    rounded = all(s.element_type in (F32, F64) or s.element_type.kind == "pred" for s in arrays)
    # Every machine rounds these the same way.
    return exact or (rounded and op.accuracy <= Accuracy.ROUNDED)


def first_failure(value: Counter, direction: str, limit: int) -> int | None:
    """The first k for which `value after k iterations direction limit` is false.

    None if there is none, or if the counter wraps around before. For != wrapping is solved.
    """
    start, step = value.start, value.step
    low, high = value.element_type.limits
    match direction:
        case "EQ":
            return 0 if start != limit else 1 if step else None
        case "NE":
            return _first_meeting(start, step, limit, high - low + 1)
        case "LE" if limit == high:
            return None
        case "GE" if limit == low:
            return None
        case "LT" | "LE":
            distance = limit + (direction == "LE") - start
        case _:
            distance, step = start - limit + (direction == "GE"), -step
    if distance <= 0:
        return 0
    if step <= 0:
        return None
    count = -(-distance // step)
    return count if value.at(count) is not None else None


def _first_meeting(start: int, step: int, limit: int, modulus: int) -> int | None:
    """The least k with start + k * step = limit modulo a power of two."""
    distance = (limit - start) % modulus
    if not distance:
        return 0
    shared = gcd(step % modulus, modulus)  # the modulus itself for a step of 0
    if distance % shared:
        return None
    smaller = modulus // shared
    return distance // shared * pow(step // shared, -1, smaller) % smaller


def trips_of(instruction: Instruction) -> Trips:
    """What is known about how often a while's body runs."""
    loop = loop_of(instruction)
    return Trips() if loop is None else Counting(loop).trips


def trip_count(instruction: Instruction) -> int | None:
    """How often a while's body runs, as the text says or as can be found out; None if unknown."""
    stated = stated_trip_count(instruction)
    return trips_of(instruction).exact if stated is None else stated


def whiles(module: Module) -> Iterator[Instruction]:
    """Every while of a module."""
    for computation in module.computations:
        yield from (i for i in computation.instructions if i.opcode == "while")
