"""What says how values are spread over devices: it gives them as they are, on one device.

On several it becomes annotations, which the pass `spmd` reads: of the entry's parameters, and of
XLA's custom calls.
"""

from collections.abc import Sequence
from typing import Any

from tfc.hlo import builder
from tfc.hlo.attributes.sharding import MANUAL, Sharding, with_sharding
from tfc.hlo.ir import Computation, Instruction, rebuild
from tfc.hlo.shape import AnyShape
from tfc.stablehlo.operations.custom_calls import (
    call_of_sharding,
    require_same,
    same,
    sharding_from,
)
from tfc.stablehlo.operations.operation import Operation, Reader
from tfc.stablehlo.types import shape_from


def _computation(operation: Operation) -> Sequence[Instruction]:
    region = operation.mlir.regions[0]
    arguments = [shape_from(a.type) for a in region.blocks[0].arguments]
    if operation.has("given"):
        return _of_parts(operation, arguments)
    for operand, shape in zip(operation.operands, arguments):
        require_same(operation, operand, shape)
    results = operation.scope.inline(region, operation.operands)
    for result, shape in zip(results, operation.shapes):
        require_same(operation, result, shape)
    return results


def _of_parts(operation: Operation, arguments: Sequence[AnyShape]) -> list[Instruction]:
    """The results of a computation over parts of whole arrays, put together."""
    given, made = (
        list(map(sharding_from, operation.attribute(name))) for name in ("given", "made")
    )
    parts = [
        call_of_sharding(
            "SPMDFullToShardShape", call_of_sharding("Sharding", operand, operand.shape, sharding),
            shape, MANUAL,
        )
        for operand, shape, sharding in zip(operation.operands, arguments, given, strict=True)
    ]  # fmt: skip
    results = operation.scope.inline(operation.mlir.regions[0], parts)
    return [
        call_of_sharding(
            "SPMDShardToFullShape", call_of_sharding("Sharding", result, result.shape, MANUAL),
            shape, sharding,
        )
        for result, shape, sharding in zip(results, operation.shapes, made, strict=True)
    ]  # fmt: skip


def annotated(entry: Computation, function: Any) -> Computation:
    """The entry with the shardings that its function states of arguments and results."""
    given, made = _stated(function, "arg_attrs"), _stated(function, "res_attrs")

    def annotate(x: Instruction) -> Instruction:
        sharding = given.get(x["number"]) if x.opcode == "parameter" else None
        return x if sharding is None else with_sharding(x, sharding)

    computation = rebuild(entry, annotate)
    if not made:
        return computation
    root = computation.root
    is_one = len(function["function_type"].value.results) == 1
    results = [root] if is_one else [
        builder.instruction("get-tuple-element", [root], index=k)
        if root.opcode != "tuple" else root.operands[k]
        for k in range(len(function["function_type"].value.results))
    ]  # fmt: skip
    results = [
        call_of_sharding("Sharding", r, r.shape, made[k]) if k in made else r
        for k, r in enumerate(results)
    ]
    root = results[0] if is_one else builder.instruction("tuple", results)
    return Computation.make(entry.name, computation.parameters, root, computation.effects)


def _stated(function: Any, name: str) -> dict[int, Sharding]:
    """The shardings of a function's arguments or results, by their numbers."""
    every = function[name] if name in function else ()  # noqa: SIM401
    return {
        n: sharding_from(a["mhlo.sharding"]) for n, a in enumerate(every) if "mhlo.sharding" in a
    }


READERS: dict[str, Reader] = {
    "sdy.sharding_constraint": same,
    "sdy.reshard": same,
    "sdy.propagation_barrier": same,
    "sdy.sharding_group": same,
    "sdy.manual_computation": _computation,
    "sdy.named_computation": _computation,
}
