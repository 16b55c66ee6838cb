"""The gradient of a loop that runs a known number of times: the loop again, and one backwards.

    c = w * c, n times       -->   forwards    keep[k], c = c, w * c            k = 0 … n - 1
                                   backwards   dc, dw = w * dc, dw + keep[k] * dc   k = n - 1 … 0

What the way back needs of an iteration is stacked in arrays with one slice each (`loop_residuals`
says what). What the loop hands on as it is, such as weights, is stacked nowhere: its cotangent is
added up in the state of the loop backwards. Both loops are counted, so they have gradients again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tfc.errors import TraceError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.control.emission import at, counted, with_at
from tfc.frontend.differentiation.loop_facts import CountedLoop, counted_loop
from tfc.frontend.differentiation.loop_products import Products
from tfc.frontend.differentiation.loop_residuals import Residuals
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    Kept,
    Values,
    added,
    backward,
    forward,
    keeping,
    vjp,
    zeros,
)
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction


@vjp("while")
def _while(g: list[Cotangent], y: Tensor, operand: Tensor) -> Sequence[Cotangent]:
    loop = counted_loop(y.instruction)
    if loop is None:
        raise TraceError(
            "reverse-mode differentiation of a loop needs the number of its iterations while "
            "tracing, as it keeps values of each, and that of this loop is not known: use "
            "tfc.fori_loop between Python numbers, or tfc.scan; otherwise tfc.stop_gradient on "
            "its result"
        )
    if isinstance(loop, int):
        return [g]
    kept = _kept(loop, ops.elements(operand), [True] * len(loop.parameters))
    return kept.rule(g, kept, operand)


@keeping("while")
def _keep(old: Instruction, operands: Sequence[Tensor], active: Sequence[bool]) -> Kept | None:
    """The loop that stacks what its gradient needs.

    None if it has no gradient: the rule above says so where one is asked for.
    """
    loop = counted_loop(old)
    if loop is None or isinstance(loop, int):
        return None
    try:
        return _kept(loop, ops.elements(operands[0]), active)
    except (TraceError, UnsupportedError):
        return None


def _kept(loop: CountedLoop, begun: Sequence[Tensor], active: Sequence[bool]) -> Kept:
    """The state after a loop, and the rule by which cotangents flow back through it.

    Args:
        begun: what the elements of the state begin with.
        active: for each element, whether the gradient by that is wanted.
    """
    step = _Step(loop, active)
    found = frozenset(n for n, a in enumerate(step.active) if a)
    wanted = step.back(found).captures
    residuals = Residuals(wanted, step.is_free)
    values = [step.values[r].instruction for r in loop.results]
    root = builder.instruction("tuple", [*values, *residuals.kept])
    effects = step.trace.effects
    computation = Computation.make(step.trace.name, step.trace.parameters, root, effects)
    count = len(begun)

    def advance(number: Tensor, parts: list[Tensor]) -> list[Tensor]:
        made = ops.elements(ops.inlined(computation, parts[:count]))
        stacks = [with_at(s, number, x) for s, x in zip(parts[count:], made[count:])]
        return [*made[:count], *stacks]

    shapes = [x.array_shape for x in residuals.kept]
    stacks = [ops.full(0, (loop.count, *s.dims), s.element_type) for s in shapes]
    after = counted(loop.count, [*begun, *stacks], advance, loop.loop.body.name)
    rule = _Pull(step, residuals, begun, after[count:])
    return Kept(ops.make_tuple(after[:count]), rule)


@dataclass(frozen=True, eq=False)
class _Back:
    """The way back through an iteration, traced inside of the way forwards.

    computation: cotangents of carried elements and slices, sums for shared ones, then the captures
        → the cotangents of carried elements before the iteration, then the sums after it.
    captures: the values of the way forwards that it uses.
    carried, filled, shared: the elements of the state that its parameters are about, by number.
    """

    computation: Computation
    captures: list[Instruction]
    carried: list[int]
    filled: list[int]
    shared: list[int]


class _Step:
    """One iteration forwards, in a trace of its own, and ways back through it."""

    def __init__(self, loop: CountedLoop, begun: Sequence[bool]):
        self.loop = loop
        self.active = loop.active(begun)
        numbers = [n for n, a in enumerate(self.active) if a]
        self.shared = [n for n in numbers if loop.invariant[n]]
        self.filled = [n for n in numbers if not (loop.invariant[n] or begun[n]) and loop.filled[n]]
        others = {*self.shared, *self.filled}
        self.carried = [n for n in numbers if n not in others]
        self.trace = Trace(f"{loop.step.name}_forward")
        with self.trace:
            given = [ops.wrap(self.trace.parameter(p.shape, p.name)) for p in loop.parameters]
            wanted = [p for p, a in zip(loop.parameters, self.active) if a]
            self.values: Values = forward(loop.step, given, wanted)

    def is_free(self, x: Instruction) -> bool:
        """True for elements that are the same in every iteration, or count."""
        if x.opcode != "parameter":
            return False
        number = self.trace.parameters.index(x)
        return self.loop.invariant[number] or number in self.loop.counters

    def sliced(self, x: Instruction) -> tuple[int, bool] | None:
        """The element of which x is the slice in each iteration, and whether from last to first.

        None if it is no such slice.
        """
        cut = x.operands[0] if x.opcode == "reshape" else x
        if cut.opcode != "dynamic-slice" or cut.operands[0] not in self.trace.parameters:
            return None
        number = self.trace.parameters.index(cut.operands[0])
        size, *others = cut.operands[0].array_shape.dims
        is_one = cut["dynamic_slice_sizes"] == (1, *others) and size == self.loop.count
        if not (is_one and self.loop.invariant[number]):
            return None
        index = next(i for i, v in self.values.items() if v.instruction is cut.operands[1])
        places = self.loop.places(index)
        if places is None:
            return None
        for is_reversed in (False, True):
            if np.array_equal(places[::-1] if is_reversed else places, np.arange(size)):
                return number, is_reversed
        return None

    def back(self, present: frozenset[int]) -> _Back:
        """The way back, given which elements of the state have a cotangent after the loop."""
        while True:
            made, missing = self._traced(present)
            if not missing:
                return made
            present |= missing

    def _traced(self, present: frozenset[int]) -> tuple[_Back, frozenset[int]]:
        """The way back, and the elements that turn out to have a cotangent after all."""
        carried = [n for n in self.carried if n in present]
        filled = [n for n in self.filled if n in present]
        trace = Trace(f"{self.loop.step.name}_backward", self.trace)
        parameters = self.loop.parameters
        with trace:
            given: dict[int, Cotangent] = {
                n: ops.wrap(trace.parameter(parameters[n].shape))
                for n in (*carried, *filled, *self.shared)
            }
            cotangent = [None if n in self.shared else given.get(n) for n in range(len(parameters))]
            wanted = [parameters[n] for n in (*self.carried, *self.shared)]
            begun = [*[None] * len(self.carried), *(given[n] for n in self.shared)]
            found = backward(self.loop.step, self.values, cotangent, wanted, begun)
            before: dict[int, Cotangent] = dict(zip((*self.carried, *self.shared), found))
            results = [
                zeros(parameters[n].array_shape) if before[n] is None else before[n]
                for n in (*carried, *self.shared)
            ]
            root = ops.make_tuple([_array(r) for r in results]).instruction
        missing = frozenset(n for n in self.carried if n not in present and before[n] is not None)
        computation = trace.computation(root)
        back = _Back(computation, list(trace.captures), carried, filled, self.shared)
        return back, missing


def _array(cotangent: Cotangent) -> Tensor:
    assert isinstance(cotangent, Tensor), "the elements of a counted loop's state are arrays"
    return cotangent


@dataclass(frozen=True, eq=False)
class _Pull:
    """The rule of a loop whose iterations have kept what its gradient needs.

    begun: what the elements of the state begin with.
    stacks: what was kept, with a slice for each iteration.
    """

    step: _Step
    residuals: Residuals
    begun: Sequence[Tensor]
    stacks: Sequence[Tensor]

    def __call__(self, g: Cotangent, _: Tensor, *__: Tensor) -> list[Cotangent]:
        nothing: list[Cotangent] = [None] * len(self.begun)
        given = g if isinstance(g, list) else nothing
        back = self.step.back(frozenset(n for n, part in enumerate(given) if part is not None))
        back, products = self._with_products_apart(back)
        count, changing = self.step.loop.count, (*back.carried, *back.shared)
        shapes = [x.array_shape for x in products.stacked]
        state = [self._cotangent(given, n) for n in changing]
        state += [ops.full(0, (count, *s.dims), s.element_type) for s in shapes]
        state += [self._cotangent(given, n) for n in back.filled]
        state += [*self.begun, *self.stacks]
        after = counted(
            count,
            state,
            lambda number, parts: self._advance(back, number, parts),
            back.computation.name,
            backwards=True,
        )
        found: dict[int, Cotangent] = dict(zip(changing, after))
        for n, sums in zip(back.shared, products.sums(after[len(changing) :])):
            if self._stays(back, n):
                found[n] = given[n]
            for part in sums:
                found[n] = added(found[n], part)
        return [[found.get(n) for n in range(len(self.begun))]]

    def _stays(self, back: _Back, number: int) -> bool:
        """True if nothing is added to the sum of a shared element in the loop."""
        place = back.shared.index(number)
        result = back.computation.root.operands[len(back.carried) + place]
        return result is back.computation.parameters[len(back.carried) + len(back.filled) + place]

    def _with_products_apart(self, back: _Back) -> tuple[_Back, Products]:
        """The way back that gives factors of products instead of adding those up."""
        old, carried = back.computation, len(back.carried)
        captured = dict(zip(old.parameters[-len(back.captures) or len(old.parameters) :],
                            back.captures))  # fmt: skip
        products = Products(
            lambda x: self._stack_of(captured[x]) if x in captured else None,
            self.step.loop.count,
            sum(s.array_shape.byte_size for s in self.stacks),
        )
        begun = old.parameters[carried + len(back.filled) :]
        results = [
            *old.root.operands[:carried],
            *map(products.without, old.root.operands[carried:], begun),
        ]
        root = builder.instruction("tuple", [*results, *products.stacked])
        made = Computation.make(old.name, old.parameters, root, old.effects)
        return replace(back, computation=made), products

    def _stack_of(self, x: Instruction) -> Tensor | None:
        """A value of the way forwards in all iterations, if it was kept or is a slice."""
        if x in self.residuals.kept:
            return self.stacks[self.residuals.kept.index(x)]
        whole = self.step.sliced(x)
        if whole is None:
            return None
        number, is_reversed = whole
        array = self.begun[number]
        array = ops.reverse(array, (0,)) if is_reversed else array
        return ops.reshape(array, (self.step.loop.count, *x.array_shape.dims))

    def _cotangent(self, given: list[Cotangent], number: int) -> Tensor:
        part = given[number]
        return part if isinstance(part, Tensor) else zeros(self.begun[number].array_shape)

    def _advance(self, back: _Back, number: Tensor, parts: list[Tensor]) -> list[Tensor]:
        """The state of the loop backwards after an iteration.

        That is cotangents, sums, stacks of factors; then what stays.
        """
        carried, changed = len(back.carried), len(back.carried) + len(back.shared)
        end = len(back.computation.root.operands)
        changing, factors, staying = parts[:changed], parts[changed:end], parts[end:]
        filled, rest = staying[: len(back.filled)], staying[len(back.filled) :]
        begun, stacks = rest[: len(self.begun)], rest[len(self.begun) :]
        known = {
            p: self._free(n, begun[n], number).instruction
            for n, p in enumerate(self.step.trace.parameters)
            if self.step.is_free(p)
        }
        for kept, stack in zip(self.residuals.kept, stacks):
            known[kept] = at(stack, number).instruction
        again = map(ops.wrap, self.residuals.again(back.captures, known))
        given = [*changing[:carried], *filled, *changing[carried:], *again]
        made = ops.elements(ops.inlined(back.computation, given))
        stacked = [with_at(s, number, x) for s, x in zip(factors, made[changed:])]
        return [*made[:changed], *stacked, *staying]

    def _free(self, element: int, begun: Tensor, number: Tensor) -> Tensor:
        """What an element that is the same in every iteration, or counts, is in one of them."""
        counter = self.step.loop.counters.get(element)
        if counter is None or not counter.step:
            return begun
        steps = ops.convert(number, counter.element_type)
        if (counter.start, counter.step) == (0, 1):
            return steps
        by = ops.constant(counter.step, counter.element_type)
        start = ops.constant(counter.start, counter.element_type)
        return ops.operation("add", start, ops.operation("multiply", steps, by))
