"""Operations of CHLO that HLO has as its own, where it has them for the type of their operands.

HLO's are quicker and more accurate than what CHLO's are decomposed into.
"""

from collections.abc import Sequence, Set

from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import Shape
from tfc.stablehlo.operations.decomposition import decomposed
from tfc.stablehlo.operations.fields import integer
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.operations.row import Field, Values, row

PLAIN = tuple(op.name for op in OPS.values() if op.stablehlo == f"chlo.{op.name}")


def is_defined(operation: Operation, kinds: Set[str]) -> bool:
    """Whether the first operand is an array of one of these kinds of element types."""
    shape = operation.operands[0].shape if operation.operands else None
    return isinstance(shape, Shape) and shape.element_type.kind in kinds


def _make(
    operation: Operation, opcode: str, attributes: Values
) -> Instruction | Sequence[Instruction]:
    if is_defined(operation, OPS[opcode].domain):
        return operation.make(opcode, **attributes)
    return decomposed(operation)


# That of the smallest elements is expanded before it is written (exporter/module.py).
LARGEST = Field(lambda _: {"largest": True}, lambda _: {})

ROWS = (
    *(row(opcode, name=f"chlo.{opcode}", make=_make) for opcode in PLAIN),
    row("topk", integer("k"), LARGEST, name="chlo.top_k", make=_make),
)
