"""Evaluate what depends on constants only.

    a = s32[] constant(2)                  ROOT s = s32[] constant(5)
    b = s32[] constant(3)          -->
    ROOT s = s32[] add(a, b)

The values are the evaluator's. A result must be small (`max_elements`) or no larger than what it is
made from, and the work to make it bounded; iota and broadcast stay, since they are smaller as they
are, and so do calls, fusions and control flow. A conversion of narrow integers stays before a
product, which multiplies several of them at once and reads fewer bytes.

Does nothing when no such instruction has only constant operands.
"""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Attributes, Computation, Instruction, Module, map_computations, rebuild
from tfc.hlo.literal import Literal
from tfc.hlo.op import op_named
from tfc.hlo.ops.convolution import product_count
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import is_narrow_factor

_MOST_WORK = 1 << 22  # multiplications of a dot or convolution, applications of a reducer
_FOLDABLE = frozenset({"dot", "convolution", "reduce"})
_KEPT = frozenset({"broadcast", "iota"})


@dataclass(frozen=True)
class Fold:
    """Replace instructions on constants by their value.

    max_elements: the largest result to make when it is larger than the operands together.
    narrow_floats: whether what products multiply as narrow floats stays narrow.
    """

    name: ClassVar[str] = "fold"
    max_elements: int = 1 << 16
    narrow_floats: bool = False

    def __call__(self, module: Module) -> Module:
        """The module with constants for what depends on constants only."""
        return map_computations(module, self._folded)

    def _folded(self, computation: Computation) -> Computation:
        users, each = computation.users, iter(computation.instructions)

        def fold(instruction: Instruction) -> Instruction:
            kept = is_narrow_factor(instruction, users[next(each)], self.narrow_floats)
            return instruction if kept else self._fold(instruction)

        return rebuild(computation, fold)

    def _fold(self, instruction: Instruction) -> Instruction:
        if not self._can_fold(instruction):
            return instruction
        values = [o["literal"].strided for o in instruction.operands]
        op = op_named(instruction.opcode)
        value = op.evaluate(instruction, values, evaluate_computation)
        return Instruction(
            "constant",
            (),
            instruction.shape,
            Attributes(literal=Literal.of_own(value)),
            "constant",
            instruction.metadata,
        )

    def _can_fold(self, instruction: Instruction) -> bool:
        operands = instruction.operands
        if not operands or any(o.opcode != "constant" for o in operands):
            return False
        if not isinstance(instruction.shape, Shape) or instruction.opcode in _KEPT:
            return False
        op = op_named(instruction.opcode)
        if not (op.elementwise or op.is_movement or op.name in _FOLDABLE):
            return False
        made_from = sum(o.array_shape.size for o in operands)
        small = instruction.shape.size <= max(self.max_elements, made_from)
        return small and _work(instruction) <= _MOST_WORK


def _work(instruction: Instruction) -> int:
    """How often a dot or convolution multiplies or a reduce combines; 0 for what does neither."""
    first = instruction.operands[0].array_shape
    if instruction.opcode == "reduce":
        return first.size
    if instruction.opcode == "convolution":
        return product_count(instruction)
    if instruction.opcode == "dot":
        summed = instruction.attributes.get("lhs_contracting_dims", ())
        return instruction.array_shape.size * prod(first.dims[d] for d in summed)
    return 0
