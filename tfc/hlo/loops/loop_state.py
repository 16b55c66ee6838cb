"""The state of a loop element by element, and how a while is stated anew over another state.

A while has one operand, one parameter in its condition and in its body: its state, a tuple. The
passes over loops change which elements there are. All of them say two things: what the new elements
begin with, and the old elements in terms of the new ones (a `View`); the computations follow.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, holding, map_computations, remake
from tfc.hlo.loops.loop_config import without_element_numbers
from tfc.hlo.shape import AnyShape, TupleShape

Known = Mapping[Instruction, Instruction]
View = Callable[[Sequence[Instruction]], Sequence[Instruction]]
Numbers = frozenset[int]
# What stands for an instruction, given what stands for those before it; None if it is kept.
Replace = Callable[[Instruction, Known], Instruction | None]
_KEPT_ANNOTATIONS = ("frontend_attributes", "backend_config")


def element(value: Instruction, number: int) -> Instruction:
    """An element of a tuple, without the tuple if it is made on the spot."""
    if value.opcode == "tuple":
        return value.operands[number]
    return builder.instruction("get-tuple-element", [value], index=number)


def elements(value: Instruction) -> list[Instruction]:
    """An instruction for each element of a tuple; what is no tuple is its only element."""
    if not isinstance(value.shape, TupleShape):
        return [value]
    return [element(value, number) for number in range(len(value.shape.elements))]


def packed(shape: AnyShape, parts: Sequence[Instruction]) -> Instruction:
    """The value of a shape whose elements are given: the inverse of `elements`."""
    return builder.instruction("tuple", parts) if isinstance(shape, TupleShape) else parts[0]


@dataclass(frozen=True)
class Applied:
    """A computation put in the place of its call.

    new: what stands for each of its instructions.
    results: the elements of its root.
    effects: those of its effects, in order.
    """

    new: Known
    results: list[Instruction]
    effects: tuple[Instruction, ...]


def keep(_: Instruction, __: Known) -> None:
    """The Replace that replaces nothing."""


def apply(
    computation: Computation, arguments: Sequence[Instruction], replace: Replace = keep
) -> Applied:
    """A computation of one parameter, the elements of which are `arguments`."""
    (parameter,) = computation.parameters
    new = {parameter: packed(parameter.shape, arguments)}
    for old in computation.instructions:
        if old in new:
            continue
        replacement = replace(old, new)
        if replacement is not None:
            new[old] = replacement
        elif old.opcode == "get-tuple-element" and new[old.operands[0]].opcode == "tuple":
            new[old] = new[old.operands[0]].operands[old["index"]]
        else:
            made = old.renewed(new)
            new[old] = old.with_() if made is old else made
    effects = tuple(new[e] for e in computation.effects)
    return Applied(new, elements(new[computation.root]), effects)


def repeated(loop: Instruction, times: int) -> Instruction:
    """The state after running the body a number of times, as instructions beside the loop."""
    state, effects = elements(loop.operands[0]), []
    for _ in range(times):
        applied = apply(loop["body"], state)
        state = applied.results
        effects += applied.effects
    return holding(packed(loop.shape, state), effects)


def element_bits(computation: Computation) -> dict[Instruction, int]:
    """Which elements of the parameter each instruction depends on: bit k for element k."""
    (parameter,) = computation.parameters
    bits = {parameter: -1}  # used whole: all of them
    for instruction in computation.instructions:
        if instruction.opcode == "get-tuple-element" and instruction.operands[0] is parameter:
            bits[instruction] = 1 << instruction["index"]
        elif instruction is not parameter:
            bits[instruction] = 0
            for operand in instruction.operands:
                bits[instruction] |= bits[operand]
    return bits


def dependences(computation: Computation) -> tuple[list[int], int]:
    """What each element of the root depends on, and all effects together, as element_bits says."""
    bits, root = element_bits(computation), computation.root
    effects = 0
    for effect in computation.effects:
        effects |= bits[effect]
    if root.opcode == "tuple":
        return [bits[o] for o in root.operands], effects
    count = len(elements(root))
    if root in computation.parameters:
        return [1 << number for number in range(count)], effects
    return [bits[root]] * count, effects


def is_from_nothing(value: Instruction) -> bool:
    """True for what any computation can make itself: constants, one repeated, and iota."""
    return value.opcode in ("constant", "iota") or (
        value.opcode == "broadcast" and value.operands[0].opcode == "constant"
    )


def made_again(value: Instruction) -> Instruction:
    """The same value for another computation, if it is from nothing; otherwise itself."""
    if not is_from_nothing(value):
        return value
    return value.with_(operands=tuple(map(made_again, value.operands)))


@dataclass(frozen=True, eq=False)
class Loop:
    """A while whose state is a tuple of arrays and tokens, in one layout wherever it is named."""

    instruction: Instruction

    @property
    def condition(self) -> Computation:
        """The computation that says whether to go on."""
        return self.instruction["condition"]

    @property
    def body(self) -> Computation:
        """The computation of one iteration."""
        return self.instruction["body"]

    @cached_property
    def inits(self) -> list[Instruction]:
        """What the elements begin with."""
        return elements(self.instruction.operands[0])

    @cached_property
    def results(self) -> list[Instruction]:
        """What the elements are after an iteration, in the body."""
        return elements(self.body.root)

    def number_in(self, computation: Computation, value: Instruction) -> int | None:
        """Which element of the state a value of the condition or body is; None if it is none."""
        is_element = value.opcode == "get-tuple-element"
        return value["index"] if is_element and value.operands == computation.parameters else None

    @cached_property
    def invariant(self) -> list[bool]:
        """For each element, whether it never changes."""
        return [
            self.number_in(self.body, result) == number or _same_constant(init, result)
            for number, (init, result) in enumerate(zip(self.inits, self.results))
        ]

    def needed(self, roots: int, is_tested: bool = True) -> int:
        """The elements that those of `roots`, the condition and the effects depend on, as bits.

        Args:
            is_tested: False where the condition is not asked.
        """
        results, effects = self.dependences
        needed, done = roots | effects, 0
        if is_tested:
            (test,), test_effects = dependences(self.condition)
            needed |= test | test_effects
        while missing := [n for n in range(len(results)) if (needed & ~done) >> n & 1]:
            for number in missing:
                done |= 1 << number
                needed |= results[number]
        return done

    @cached_property
    def dependences(self) -> tuple[list[int], int]:
        """Which elements those after an iteration, and the body's effects, depend on."""
        return dependences(self.body)


def _same_constant(a: Instruction, b: Instruction) -> bool:
    return a.opcode == b.opcode == "constant" and a["literal"] == b["literal"]


def loop_of(instruction: Instruction) -> Loop | None:
    """The loop that a while is; None where tuples are nested, or layouts differ."""
    shape = instruction.shape
    flat = isinstance(shape, TupleShape) and not any(
        isinstance(e, TupleShape) for e in shape.elements
    )
    return Loop(instruction) if flat and same_layouts(instruction) else None


def same_layouts(loop: Instruction) -> bool:
    """True if the state of a while has the same shape, layout included, wherever it is named."""
    body = loop["body"]
    named = (loop["condition"].parameters[0], body.parameters[0], body.root)
    return all(other.shape == loop.shape for other in named)


def restated(
    loop: Instruction,
    inits: Sequence[Instruction],
    view: View,
    pick: Callable[[Applied, Sequence[Instruction]], Sequence[Instruction]],
    replace: Callable[[Sequence[Instruction]], Replace] = lambda _: keep,
) -> Instruction:
    """A while over another state.

    Args:
        inits: what the new elements begin with.
        view: the elements of the old state, given those of the new one in a computation.
        pick: the new elements after an iteration, given what the old body makes, and those before.
        replace: what stands for some of the old body's instructions, given the new elements.
    """
    shape = TupleShape(tuple(i.shape for i in inits))

    def state() -> Instruction:
        return builder.parameter(0, shape, loop["body"].parameters[0].name)

    test, step = state(), state()
    condition = apply(loop["condition"], view(elements(test)))
    made = elements(step)
    body = apply(loop["body"], view(made), replace(made))
    root = builder.instruction("tuple", pick(body, made), name=loop["body"].root.name)
    named = loop.attributes.with_(
        condition=remade(loop["condition"], test, condition.results[0], condition),
        body=remade(loop["body"], step, root, body),
    )
    operand = builder.instruction("tuple", inits)
    kept = tuple(a for a in loop.annotations if a[0] in _KEPT_ANNOTATIONS)
    made = loop.with_(operands=(operand,), shape=shape, attributes=named, annotations=kept)
    return without_element_numbers(made)


def extended(
    loop: Loop,
    more: Sequence[Instruction],
    replace: Callable[[Sequence[Instruction]], Replace],
) -> Instruction:
    """The state after a while with further elements, which it hands on as they are.

    Args:
        more: what the further elements are.
        replace: what stands for some of the body's instructions, given the further elements.
    """
    count = len(loop.inits)
    made = restated(
        loop.instruction,
        [*loop.inits, *more],
        lambda parts: parts[:count],
        lambda applied, parts: [*applied.results, *parts[count:]],
        lambda parts: replace(parts[count:]),
    )
    return packed(loop.instruction.shape, elements(made)[:count])


def remade(
    old: Computation, parameter: Instruction, root: Instruction, applied: Applied
) -> Computation:
    """A computation with another parameter and root, and what it makes of that parameter."""
    made = Computation.make(old.name, [parameter], root, applied.effects)
    return dataclasses.replace(made, annotations=old.annotations)


Change = Callable[[Instruction, Numbers], Instruction]


def rewrite_each(module: Module, opcode: str, change: Change) -> Module:
    """Apply `change` to every instruction of an opcode, in callees first.

    It is given the instruction and the elements of its value that are used. What has another shape
    than the instruction (a layout that somebody chose) does not take its place.
    """
    if not any(i.opcode == opcode for c in module.computations for i in c.instructions):
        return module

    def rewrite(computation: Computation) -> Computation:
        if not any(i.opcode == opcode for i in computation.instructions):
            return computation
        new: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            made = old.renewed(new)
            if made.opcode == opcode:
                found = change(made, used_elements(computation, old))
                made = found if found.shape == made.shape else made
            elif made is not old and made.opcode == "get-tuple-element":
                made = _direct(made)
            new[old] = made
        return computation if all(a is b for a, b in new.items()) else remake(computation, new)

    return map_computations(module, rewrite)


def _direct(x: Instruction) -> Instruction:
    """An element of a tuple that is there, or that is itself an element of one."""
    operand = x.operands[0]
    while operand.opcode == "get-tuple-element" and operand.operands[0].opcode == "tuple":
        operand = operand.operands[0].operands[operand["index"]]
    return operand.operands[x["index"]] if operand.opcode == "tuple" else x


def used_elements(computation: Computation, value: Instruction) -> Numbers:
    """The elements of an instruction's value that the computation uses."""
    users = computation.users[value]
    if value is not computation.root and all(u.opcode == "get-tuple-element" for u in users):
        return frozenset(u["index"] for u in users)
    return frozenset(range(len(elements(value))))
