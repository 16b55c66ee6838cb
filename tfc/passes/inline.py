"""Inline calls and fusions, and give every computation that control flow runs a caller of its own.

inline:     y = f32[2] call(x), to_apply=f          y = f32[2] exponential(x)
            f { ROOT e = exponential(p) }     -->

flatten:    a = while(s), condition=c, body=b       a = while(s), condition=c, body=b
            d = while(t), condition=c, body=b -->   d = while(t), condition=c.1, body=b.1

`inline` undoes the fusions of a module that comes from outside, whose kernels were formed for
another compiler; it does nothing to a module without calls and fusions. `flatten` does nothing when
each loop part and branch has one caller and no instruction sits in two of them; computations that
are part of a kernel (a reduce's to_apply, a fusion's calls) stay shared.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, inline, map_computations, rebuild, retarget
from tfc.passes.called import CONTROL, clone, control_callees, control_computations


def _inline_call(instruction: Instruction) -> Instruction:
    match instruction.opcode:
        case "call":
            return inline(instruction["to_apply"], instruction.operands)
        case "fusion":
            return inline(instruction["calls"], instruction.operands)
        case _:
            return instruction


@dataclass(frozen=True)
class Inline:
    """Replace each call and fusion by the body of what it calls."""

    name: ClassVar[str] = "inline"

    def __call__(self, module: Module) -> Module:
        """The module without calls and fusions."""
        return map_computations(module, lambda c: rebuild(c, _inline_call))


@dataclass(frozen=True)
class Flatten:
    """Clone computations until each that control flow runs has one caller."""

    name: ClassVar[str] = "flatten"

    def __call__(self, module: Module) -> Module:
        """The module whose loop parts and branches are a tree."""
        control = control_computations(module)
        new: dict[Computation, Computation] = {}
        claimed: set[Computation] = set()
        owned: set[Instruction] = set()

        def claim(callee: Computation) -> Computation:
            made = new[callee]
            if made in claimed:
                made = _clone_tree(made)
            claimed.add(made)
            return made

        for computation in module.computations:  # callees first: what is claimed is final
            if computation not in control:
                new[computation] = computation
                continue
            own = _own_instructions(computation, owned)
            owned.update(own.instructions)
            new[computation] = rebuild(
                own, lambda i: retarget(i, claim) if i.opcode in CONTROL else i
            )
        return module.with_entry(new[module.entry])


def _own_instructions(computation: Computation, taken: set[Instruction]) -> Computation:
    """The computation, with new instructions if another computation holds some of them."""
    shared = any(i in taken for i in computation.instructions)
    return clone(computation) if shared else computation


def _clone_tree(root: Computation) -> Computation:
    """A copy of a computation and of everything that its control flow runs."""
    new: dict[Computation, Computation] = {}
    stack = [(root, False)]
    while stack:
        computation, expanded = stack.pop()
        if expanded:
            new[computation] = clone(computation, lambda c: new.get(c, c))
        else:
            stack.append((computation, True))
            stack.extend((c, False) for c in control_callees(computation))
    return new[root]
