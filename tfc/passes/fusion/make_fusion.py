"""The fusion instruction of a set of instructions that become one kernel."""

from collections.abc import Iterable

from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Computation, Instruction


def make_fusion(
    kind: str, members: Iterable[Instruction], new: dict[Instruction, Instruction]
) -> Instruction:
    """A fusion whose computation holds copies of the members.

    Args:
        members: operands first, the root last.
        new: what stands for the operands that are not members.
    """
    inside: dict[Instruction, Instruction] = {}
    inputs: dict[Instruction, Instruction] = {}  # operand -> parameter
    root = None
    for root in members:
        for operand in root.operands:
            if operand not in inside:
                inputs[operand] = inside[operand] = builder.parameter(len(inputs), operand.shape)
        operands = tuple(inside[o] for o in root.operands)
        inside[root] = root.with_(operands=operands, control_predecessors=())
    assert root is not None
    called = Computation.make(
        f"fused_{root.opcode.replace('-', '_')}", list(inputs.values()), inside[root]
    )
    attributes = Attributes(kind=kind, calls=called)
    operands = tuple(new[o] for o in inputs)
    name = f"{root.name}_fusion"
    return Instruction("fusion", operands, root.shape, attributes, name, root.metadata)
