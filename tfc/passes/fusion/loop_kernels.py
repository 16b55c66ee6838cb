"""Loops of little work in each iteration become one kernel each.

    t = (s32[], f32[]) tuple(zero, x)              whole { p = f32[] parameter(0)
    w = … while(t), condition=c, body=b     -->            z = s32[] constant(0)
    y = f32[] get-tuple-element(w), index=1                t = (s32[], f32[]) tuple(z, p)
                                                           w = … while(t), condition=c, body=b
                                                           v = f32[] get-tuple-element(w), index=1
                                                           ROOT r = (f32[]) tuple(v) }
                                                   f = (f32[]) fusion(x), kind=kCustom, calls=whole
                                                   y = f32[] get-tuple-element(f), index=0

As steps of the program each kernel of an iteration is called through memory, which takes longer
than adding a few numbers. In one kernel, scalars and small arrays of the state stay in registers.
What the loop hands on as it is, and what nobody wants, is no result. Conditionals and further loops
inside come along; the outermost loop that can be one kernel is it.

A loop stays as it is, with a reason, if an iteration has a kernel with work enough to be called
(and be shared by threads, and found in a profile), many kernels, or anything that does more than
compute its value. Kernels must be formed and in order before: what runs in a kernel is no longer
changed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import (
    Attributes,
    Computation,
    Instruction,
    Module,
    has_side_effect,
    postorder,
    retarget,
)
from tfc.hlo.loops.loop_state import elements, made_again, packed
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape, leaves
from tfc.passes.analysis.aliases import is_alias, unchanging_leaves
from tfc.passes.analysis.called import CONTROL, control_computations
from tfc.passes.analysis.cost import kernel_cost
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label

_MOST_KERNELS = 64  # the parts of loops and conditionals inside counted, too
_MOST_BYTES = 32 * 1024  # that a kernel moves: being called takes a hundredth of that time
_MOST_OPERATIONS = 16 * 1024
_MOST_FUNCTIONS = 1024  # exponentials and the like
_MOST_CONSTANTS = 512  # elements of arrays, which become code
_SMALL_CONSTANT = 16  # elements that are made in the kernel rather than read


@dataclass(frozen=True)
class LoopKernels:
    """Make a kernel of each loop whose iterations are short."""

    name: ClassVar[str] = "loop-kernels"

    def __call__(self, module: Module) -> Module:
        """The module with a fusion of kind kCustom for each such loop."""
        taken = {loop: _whole for loop, reason in _outermost(module) if reason is None}
        return with_loop_kernels(module, taken, _is_small_constant)

    def explain(self, module: Module) -> Decisions:
        """The loops that become kernels, and why others do not."""
        return tuple(
            Refused.of(loop, reason) if reason else Taken("one kernel", label(loop))
            for loop, reason in _outermost(module)
        )


Split = Callable[[Sequence[int]], Sequence[Sequence[int]]]


def with_loop_kernels(
    module: Module,
    taken: Mapping[Instruction, Split],
    is_made_inside: Callable[[Instruction], bool],
) -> Module:
    """The module with fusions in the place of some loops.

    Args:
        taken: the loops, with what says which of the elements that are wanted each fusion gives.
        is_made_inside: whether a fusion makes what an element begins with, rather than read it.
    """
    if not taken:
        return module
    made = _Making(taken, unchanging_leaves(module), is_made_inside)
    new: dict[Computation, Computation] = {}
    for computation in module.computations:
        new[computation] = made.remade(computation, new)
    return module.with_entry(new[module.entry])


def _whole(ended: Sequence[int]) -> Sequence[Sequence[int]]:
    return [ended]


def _is_small_constant(init: Instruction) -> bool:
    return init.opcode == "constant" and init.array_shape.size <= _SMALL_CONSTANT


def _outermost(module: Module) -> Iterator[tuple[Instruction, str | None]]:
    """Loops with the reason why they are no kernels, those inside of a refused one after it."""
    work = _work_of_parts(module)
    pending = [module.entry]
    while pending:
        computation = pending.pop()
        for instruction in computation.instructions:
            if instruction.opcode == "while":
                reason = _why_no_kernel(instruction, work)
                yield instruction, reason
                if reason is not None:
                    pending += instruction.called_computations
            elif instruction.opcode in CONTROL:
                pending += instruction.called_computations


@dataclass(frozen=True)
class _Work:
    """What would run in a kernel, with the loops and conditionals inside, or why it cannot.

    kernels: how many, each part of a loop or conditional being one, too.
    constants: the elements of constant arrays.
    """

    kernels: int = 0
    constants: int = 0
    refusal: str | None = None


def _work_of_parts(module: Module) -> dict[Computation, _Work]:
    """The work of every computation that loops and conditionals run, if there is a loop."""
    control = control_computations(module) - {module.entry}
    if not any(x.opcode == "while" for c in module.computations for x in c.instructions):
        return {}
    found: dict[Computation, _Work] = {}
    for computation in module.computations:  # callees first
        if computation in control:
            found[computation] = _work(computation.instructions, found)
    return found


def _why_no_kernel(loop: Instruction, work: Mapping[Computation, _Work]) -> str | None:
    """Why a while stays steps of the program; None if it can be one kernel."""
    if not all(isinstance(e.shape, Shape) for e in elements(loop)):
        return "its state has tuples or tokens in it"
    return _work([loop], work).refusal


def _work(instructions: Sequence[Instruction], known: Mapping[Computation, _Work]) -> _Work:
    """The work of instructions, given that of the computations that they run."""
    parts = [known[c] for i in instructions if i.opcode in CONTROL for c in i.called_computations]
    refused = next((part for part in parts if part.refusal), None)
    if refused is not None:
        return refused
    kernels = len(parts) + sum(part.kernels for part in parts)
    constants = sum(part.constants for part in parts)
    for instruction in instructions:
        reason = _why_not_inside(instruction)
        if reason is not None:
            return _Work(refusal=f"{label(instruction)} {reason}")
        if instruction.opcode == "constant":
            constants += instruction.array_shape.size if instruction.array_shape.rank else 0
        elif instruction.opcode not in (*CONTROL, "parameter") and not is_alias(instruction):
            kernels += 1
        if kernels > _MOST_KERNELS:
            return _Work(refusal=f"it has more than {_MOST_KERNELS} kernels and branches")
        if constants > _MOST_CONSTANTS:
            return _Work(refusal=f"it has constants of more than {_MOST_CONSTANTS} elements")
    return _Work(kernels, constants)


def _why_not_inside(instruction: Instruction) -> str | None:
    """Why an instruction cannot be part of a loop's kernel."""
    if instruction.opcode in CONTROL:
        return _why_not_alike(instruction)
    if instruction.opcode in ("parameter", "constant") or is_alias(instruction):
        return None
    if op_named(instruction.opcode).on_host or instruction.opcode == "custom-call":
        return "is run by a function outside of the code"
    if has_side_effect(instruction):
        return "does more than compute its value"
    if not all(isinstance(o.shape, Shape) for o in instruction.operands):
        return "has an operand that is no array"
    return _why_too_much(instruction)


def _why_not_alike(instruction: Instruction) -> str | None:
    """Why values of a loop or conditional, which share memory, cannot."""
    named = instruction.attributes
    passed = instruction.operands if instruction.opcode == "while" else ()
    results = [c.root for c in instruction.called_computations if c is not named.get("condition")]
    stated = list(leaves(instruction.shape))
    alike = all(list(leaves(i.shape)) == stated for i in (*passed, *results))
    return None if alike else "has values in different layouts"


def _why_too_much(instruction: Instruction) -> str | None:
    """Why calling the instruction's kernel costs next to nothing."""
    cost = kernel_cost(instruction, bool(overwritable(instruction)))
    for done, limit, what in (
        (cost.bytes_accessed, _MOST_BYTES, "moves {} bytes"),
        (cost.flops, _MOST_OPERATIONS, "does {} operations"),
        (cost.transcendentals, _MOST_FUNCTIONS, "computes {} functions"),
    ):
        if done > limit:
            return f"{what.format(done)}, which is worth a kernel of its own"
    return None


@dataclass(frozen=True)
class _Making:
    """Makes computations anew; what it is told is as in `with_loop_kernels`.

    unchanging: the elements of the state that a loop hands on as they are, by its body.
    """

    taken: Mapping[Instruction, Split]
    unchanging: Mapping[Computation, frozenset[int]]
    is_made_inside: Callable[[Instruction], bool]

    def remade(
        self, computation: Computation, new: Mapping[Computation, Computation]
    ) -> Computation:
        """The computation with kernels for its loops that are taken, in the order that it has."""
        is_same = all(new[c] is c for c in computation.callees)
        if is_same and not any(i in self.taken for i in computation.instructions):
            return computation
        made: dict[Instruction, Instruction] = {}
        order: list[Instruction] = []
        for old in computation.instructions:
            if old in self.taken:
                users = () if old is computation.root else computation.users[old]
                order += self.replace_loop(old, users, made)
            elif old not in made:  # as is an element of what a loop ends with
                made[old] = retarget(old.renewed(made), lambda c: new[c])
                order.append(made[old])
        parameters, root = [made[p] for p in computation.parameters], made[computation.root]
        needed = set(postorder([*parameters, *(made[e] for e in computation.effects), root]))
        instructions = tuple(i for i in order if i in needed)
        return replace(
            computation, parameters=tuple(parameters), instructions=instructions, root=root
        )

    def replace_loop(
        self, old: Instruction, users: Sequence[Instruction], made: dict[Instruction, Instruction]
    ) -> list[Instruction]:
        """Enter into `made` what stands for a loop or its elements; gives the instructions, in
        order.

        Args:
            users: what has the loop as an operand; none if it is a root.
        """
        loop, kept = old.renewed(made), self.unchanging[old["body"]]
        inits = elements(loop.operands[0])
        in_parts = bool(users) and all(u.opcode == "get-tuple-element" for u in users)
        wanted = {u["index"] for u in users} if in_parts else set(range(len(inits)))
        ended = sorted(k for k in wanted if k not in kept)
        operand = loop.operands[0]
        order = [i for i in inits if operand.opcode != "tuple" and i is not operand]
        parts = dict(enumerate(inits))
        for some in self.taken[old](ended) if ended else ():
            fusion = self.kernel_of(loop, inits, some)
            parts.update(zip(some, elements(fusion)))
            order += [fusion, *(parts[k] for k in some)]
        if in_parts:
            made.update((u, parts[u["index"]]) for u in users)
        else:
            made[old] = packed(loop.shape, [parts[k] for k in range(len(inits))])
            order += [made[old]] if made[old] not in order else []
        return order

    def kernel_of(
        self, loop: Instruction, inits: Sequence[Instruction], ended: Sequence[int]
    ) -> Instruction:
        """The fusion that runs a loop and gives some elements of what it ends with."""
        inside: dict[Instruction, Instruction] = {}
        inputs: list[Instruction] = []
        for init in inits:
            if self.is_made_inside(init):
                inside[init] = made_again(init)
            elif init not in inside:
                inside[init] = builder.parameter(len(inputs), init.shape)
                inputs.append(init)
        start = packed(loop.shape, [inside[i] for i in inits])
        whole = loop.with_(operands=(start,), control_predecessors=())
        root = builder.instruction("tuple", [elements(whole)[k] for k in ended])
        called = Computation.make("whole_while", [inside[i] for i in inputs], root)
        attributes = Attributes(kind="kCustom", calls=called)
        name = f"{loop.name}_fusion"
        return Instruction("fusion", tuple(inputs), root.shape, attributes, name, loop.metadata)
