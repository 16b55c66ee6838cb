"""Several values as one, and which values of the outside a region uses."""

from collections.abc import Iterator, Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.hlo import builder
from tfc.hlo.ir import Instruction


def captured(regions: Iterator[Any] | Sequence[Any]) -> list[Any]:
    """The values that regions use from outside, constants left out, each once."""
    inside: set[Any] = set()
    found: dict[Any, None] = {}
    for region in regions:
        for block in _blocks(region):
            inside.update(block.arguments)
            for operation in block.operations:
                inside.update(operation.results)
                found.update(dict.fromkeys(operation.operands))
    return [v for v in found if v not in inside and not is_constant(v)]


def _blocks(region: Any) -> Iterator[Any]:
    """The blocks in a region, at any depth."""
    pending = [region]
    while pending:
        for block in pending.pop().blocks:
            yield block
            pending.extend(r for operation in block.operations for r in operation.regions)


def is_constant(value: Any) -> bool:
    """Whether a value is the result of a constant operation."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "stablehlo.constant"


def as_one(results: Sequence[Instruction]) -> Instruction:
    """One instruction for several results: a tuple, or the only one itself."""
    return results[0] if len(results) == 1 else builder.instruction("tuple", results)


def elements(value: Instruction, count: int, always: bool = False) -> list[Instruction]:
    """What as_one made one of; `always` if the value is a tuple even for one element."""
    if count == 1 and not always:
        return [value]
    return [builder.instruction("get-tuple-element", [value], index=n) for n in range(count)]
