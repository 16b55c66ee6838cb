"""The computations that instructions call: which are control flow, and how to replace them.

A while or conditional *runs* its computations as steps of the program; those of any other
instruction (a reduce's `to_apply`, a fusion's `calls`) are part of what one kernel computes.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace

from tfc.hlo.ir import Computation, Instruction, Module, calling, retarget
from tfc.passes.rewriting.decisions import Decision, Decisions

CONTROL = frozenset({"while", "conditional"})
Walk = Iterator["Walk"]  # over a computation; yields the walks over those that it runs


def control_callees(computation: Computation) -> list[Computation]:
    """The computations that whiles and conditionals of this one run, in order, repeats kept."""
    return [
        callee
        for instruction in computation.instructions
        if instruction.opcode in CONTROL
        for callee in instruction.called_computations
    ]


def control_computations(module: Module) -> set[Computation]:
    """The entry and everything that runs as a step of the program: loop parts and branches."""
    found = {module.entry}
    pending = [module.entry]
    while pending:
        for callee in control_callees(pending.pop()):
            if callee not in found:
                found.add(callee)
                pending.append(callee)
    return found


def kernel_loop(computation: Computation) -> Instruction | None:
    """The while that a kernel's computation runs as a whole (loop_kernels.py); None if it has none.

    Its operand is a tuple of parameters and constants, and the root a tuple of its elements.
    """
    return next((i for i in computation.instructions if i.opcode == "while"), None)


def decided(module: Module, decide: Callable[[Computation], Iterable[Decision]]) -> Decisions:
    """The decisions about the computations that run as steps."""
    control = control_computations(module)
    return tuple(d for c in module.computations if c in control for d in decide(c))


def map_some(
    module: Module, some: Container[Computation], change: Callable[[Computation], Computation]
) -> Module:
    """Apply `change` to the computations among `some`; callers see the changed callees."""
    new: dict[Computation, Computation] = {}
    for computation in module.computations:
        moved = calling(computation, new)
        new[computation] = change(moved) if computation in some else moved
    return module.with_entry(new[module.entry])


def clone(
    computation: Computation, change: Callable[[Computation], Computation] = lambda c: c
) -> Computation:
    """A copy in which every instruction is a new object, calling `change(c)` for each c."""
    new: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        made = retarget(old, change).renewed(new)
        new[old] = made.with_() if made is old else made
    return replace(
        computation,
        parameters=tuple(new[p] for p in computation.parameters),
        instructions=tuple(new.values()),
        root=new[computation.root],
    )


def run_walk(walk: Walk) -> None:
    """Go through a walk, and through each that it yields before it goes on, at any depth."""
    stack = [walk]
    while stack:
        inner = next(stack[-1], None)
        if inner is None:
            stack.pop()
        else:
            stack.append(inner)
