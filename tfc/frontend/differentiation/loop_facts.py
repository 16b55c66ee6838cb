"""A counted loop as its derivatives see it: one iteration, and what each element of the state is.

An element may be handed on as it is (weights, the inputs of a scan), count (start + k * step), be
filled slice by slice (the results of a scan), or be carried from iteration to iteration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfc.frontend.differentiation.reverse import active_in, is_differentiable, on_elements
from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.evaluation.scalar_computations import is_pointwise, over_arrays
from tfc.hlo.ir import Computation, Instruction, postorder
from tfc.hlo.loops.loop_state import Loop, loop_of
from tfc.hlo.loops.trip_counts import Counter, Counting
from tfc.hlo.shape import Shape, element_type_of


@dataclass(frozen=True, eq=False)
class CountedLoop:
    """A loop that runs a number of times, at least once.

    step: one iteration, a parameter for each element of the state → a tuple of them afterwards.
    counters: the elements that count, or are a known integer.
    """

    count: int
    loop: Loop
    step: Computation
    counters: dict[int, Counter]

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The elements of the state before an iteration."""
        return self.step.parameters

    @property
    def results(self) -> tuple[Instruction, ...]:
        """The elements of the state after an iteration."""
        return self.step.root.operands

    @property
    def invariant(self) -> list[bool]:
        """For each element, whether it never changes."""
        return self.loop.invariant

    def active(self, begun: Sequence[bool]) -> list[bool]:
        """Which elements depend, through floats, on those that the loop begins with of `begun`."""
        found = [b and is_differentiable(p.shape) for b, p in zip(begun, self.parameters)]
        while True:
            inside = active_in(self.step, [p for p, a in zip(self.parameters, found) if a])
            grown = [a or r in inside for a, r in zip(found, self.results)]
            if grown == found:
                return found
            found = grown

    @cached_property
    def filled(self) -> list[bool]:
        """For each element, whether the iterations write disjoint parts of it, and read none."""
        return [self._is_filled(n) for n in range(len(self.parameters))]

    def _is_filled(self, number: int) -> bool:
        parameter, updates, value = self.parameters[number], [], self.results[number]
        while value.opcode == "dynamic-update-slice":
            updates.append(value)
            value = value.operands[0]
        if value is not parameter or not updates:
            return False
        users = self.step.users
        chain = [*reversed(updates), self.step.root]
        links = zip([parameter, *chain], chain)
        return all(users[a] == (b,) for a, b in links) and any(
            self._are_disjoint(updates, d) for d in range(parameter.array_shape.rank)
        )

    def _are_disjoint(self, updates: Sequence[Instruction], dimension: int) -> bool:
        """True if no two updates, of whichever iterations, meet along a dimension."""
        begins = []
        size = updates[0].array_shape.dims[dimension]
        window = updates[0].operands[1].array_shape.dims[dimension]
        for update in updates:
            places = self.places(update.operands[2 + dimension])
            if places is None or update.operands[1].array_shape.dims[dimension] != window:
                return False
            begins.append(places)
        ordered = np.sort(np.concatenate(begins).astype(np.int64))
        within = ordered[0] >= 0 and ordered[-1] <= size - window
        return bool(within and (np.diff(ordered) >= window).all())

    def places(self, index: Instruction) -> np.ndarray | None:
        """A scalar integer of the step in every iteration; None if it is not known."""
        inside = postorder([index])
        used = [p for p in self.parameters if p in set(inside)]
        numbers = [self.parameters.index(p) for p in used]
        if not all(is_pointwise(i) for i in inside) or not set(numbers) <= set(self.counters):
            return None
        arrays = [self._counts(n) for n in numbers] or [np.zeros(self.count, np.int32)]
        shapes = [Shape(element_type_of(a.dtype), a.shape) for a in arrays]
        given = [builder.parameter(k, s) for k, s in enumerate(shapes)]
        used = used or [builder.parameter(0, Shape(shapes[0].element_type))]
        made = over_arrays(Computation.make("index", used, index), given)
        if made is None:
            return None
        places = evaluate_computation(Computation.make("indices", given, made[0]), arrays)
        return np.broadcast_to(places, (self.count,))

    def _counts(self, number: int) -> np.ndarray:
        """The values of a counter in all iterations."""
        counter = self.counters[number]
        dtype = counter.element_type.dtype
        steps = np.arange(self.count, dtype=np.int64) * counter.step + counter.start
        return steps.astype(dtype)


def counted_loop(instruction: Instruction) -> CountedLoop | int | None:
    """What is known of a while that runs a known number of times.

    0 if it never runs; None if the number is not known.
    """
    loop = loop_of(instruction)
    if loop is None:
        return None
    counting = Counting(loop)
    count = counting.trips.exact
    if not count:
        return count
    return CountedLoop(count, loop, on_elements(loop.body), counting.counters)
