"""What says how values are spread over devices: it gives them as they are, on one device."""

from collections.abc import Sequence

from tfc.hlo.ir import Instruction
from tfc.stablehlo.operations.custom_calls import require_same, same
from tfc.stablehlo.operations.operation import Operation, Reader
from tfc.stablehlo.types import shape_from


def _computation(operation: Operation) -> Sequence[Instruction]:
    region = operation.mlir.regions[0]
    arguments = [shape_from(a.type) for a in region.blocks[0].arguments]
    for operand, shape in zip(operation.operands, arguments):
        require_same(operation, operand, shape)
    results = operation.scope.inline(region, operation.operands)
    for result, shape in zip(results, operation.shapes):
        require_same(operation, result, shape)
    return results


READERS: dict[str, Reader] = {
    "sdy.sharding_constraint": same,
    "sdy.reshard": same,
    "sdy.propagation_barrier": same,
    "sdy.sharding_group": same,
    "sdy.manual_computation": _computation,
    "sdy.named_computation": _computation,
}
