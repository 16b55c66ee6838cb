"""What says how values are spread over devices: it gives them as they are, on one device."""

from collections.abc import Sequence

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction
from tfc.stablehlo.importer.operation import Operation, Reader
from tfc.stablehlo.types import shape_from


def same(operation: Operation) -> list[Instruction]:
    """The operands of an operation that on one device gives them as they are.

    Raises:
        UnsupportedError: its results have other shapes, of parts that lie on several devices.
    """
    if len(operation.operands) < len(operation.shapes):
        raise UnsupportedError(f"{_title(operation)} must have an operand for each result")
    for operand, shape in zip(operation.operands, operation.shapes):
        _require_same(operation, operand, shape)
    return list(operation.operands[: len(operation.shapes)])


def _title(operation: Operation) -> str:
    return operation.text("call_target_name") or operation.name


def _require_same(operation: Operation, operand: Instruction, shape: object) -> None:
    if operand.shape != shape:
        raise UnsupportedError(
            f"{_title(operation)} makes {shape} of {operand.shape}, which is for several devices: "
            "export the program for one"
        )


def _computation(operation: Operation) -> Sequence[Instruction]:
    region = operation.mlir.regions[0]
    arguments = [shape_from(a.type) for a in region.blocks[0].arguments]
    for operand, shape in zip(operation.operands, arguments):
        _require_same(operation, operand, shape)
    results = operation.scope.inline(region, operation.operands)
    for result, shape in zip(results, operation.shapes):
        _require_same(operation, result, shape)
    return results


READERS: dict[str, Reader] = {
    "sdy.sharding_constraint": same,
    "sdy.reshard": same,
    "sdy.propagation_barrier": same,
    "sdy.sharding_group": same,
    "sdy.manual_computation": _computation,
    "sdy.named_computation": _computation,
}
