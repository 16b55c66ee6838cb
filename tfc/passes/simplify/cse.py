"""Compute each value once.

    a = f32[8] exponential(x)              a = f32[8] exponential(x)
    b = f32[8] exponential(x)      -->     ROOT s = f32[8] add(a, a)
    ROOT s = f32[8] add(a, b)

Instructions are the same if opcode, operands, attributes and shape are. Called computations count
as the same if their bodies are; those that are part of a kernel (a reduce's to_apply) are merged.

Does nothing when no two instructions of one computation are the same; those with side effects
never are. Loop parts and branches keep their one caller each.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfc.hlo.ir import (
    Computation,
    Instruction,
    Module,
    callees_first,
    has_side_effect,
    rebuild,
    retarget,
)
from tfc.passes.analysis.called import CONTROL


@dataclass(frozen=True)
class Cse:
    """Merge instructions that compute the same value, and equal computations inside kernels."""

    name: ClassVar[str] = "cse"

    def __call__(self, module: Module) -> Module:
        """The module in which no two instructions of one computation are the same."""
        new: dict[Computation, Computation] = {}
        classes = Classes()

        def call_new(instruction: Instruction) -> Instruction:
            inside = instruction.opcode not in CONTROL
            return retarget(instruction, lambda c: classes.first(new[c]) if inside else new[c])

        for computation in module.computations:
            known: dict[Hashable, Instruction] = {}

            def first(old: Instruction, known: dict[Hashable, Instruction] = known) -> Instruction:
                instruction = call_new(old)
                if has_side_effect(instruction):
                    return instruction
                return known.setdefault(classes.key(instruction, instruction.operands), instruction)

            new[computation] = rebuild(computation, first)
            if computation is not module.entry:
                classes.add(new[computation])
        return module.with_entry(new[module.entry])


class Classes:
    """Which computations have equal bodies; callees are added before callers."""

    def __init__(self) -> None:
        self._first: dict[Hashable, Computation] = {}
        self._class: dict[Computation, Computation] = {}

    def add(self, computation: Computation) -> None:
        """Put a computation in its class."""
        key = self._body(computation)
        self._class[computation] = self._first.setdefault(key, computation)

    def first(self, computation: Computation) -> Computation:
        """The first computation added that has the same body."""
        return self._class[computation]

    def key(self, instruction: Instruction, operands: tuple[Any, ...]) -> Hashable:
        """What makes instructions equal, given what stands for the operands."""
        attributes = instruction.attributes
        if attributes.called_computations:
            attributes = retarget(instruction, self.first).attributes
        return (instruction.opcode, operands, attributes, instruction.shape)

    def _body(self, computation: Computation) -> Hashable:
        position: dict[Instruction, int] = {}
        keys: list[Hashable] = []
        for instruction in computation.instructions:
            operands = tuple(position[o] for o in instruction.operands)
            keys.append(self.key(instruction, operands))
            position[instruction] = len(position)
        return (tuple(keys), position[computation.root])


def same_computations(several: Sequence[Computation]) -> bool:
    """True if computations have equal bodies."""
    if len({len(c.instructions) for c in several}) > 1:
        return False
    classes = Classes()
    for computation in dict.fromkeys(c for root in several for c in callees_first(root)):
        classes.add(computation)
    return len({classes.first(c) for c in several}) == 1
