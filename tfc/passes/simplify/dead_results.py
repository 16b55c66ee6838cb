"""Dead-result elimination: results that nobody reads are not computed.

    s = (f32[8], s32[8]) sort(keys, values)              k = f32[8] sort(keys)
    k = f32[8] get-tuple-element(s), index=0      -->    ROOT n = f32[8] negate(k)
    ROOT n = f32[8] negate(k)

A sort loses the operands that are neither read nor compared, a conditional the elements of its
result. Nothing is done to one whose result is used as a whole, as the root is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import (
    Attributes,
    Computation,
    Instruction,
    Module,
    laid_out,
    map_computations,
    remake,
)
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import TupleShape


@dataclass(frozen=True)
class DeadResults:
    """Remove operands of sorts and results of conditionals that nothing depends on."""

    name: ClassVar[str] = "dead-results"

    def __call__(self, module: Module) -> Module:
        """The module in which sorts and conditionals give what is read."""
        return map_computations(module, _trim)


def _trim(computation: Computation) -> Computation:
    trimmed: dict[Instruction, dict[int, int]] = {}  # the new index of each element that is left
    new: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        read = _read(computation, old)
        now = old.renewed(new)
        if old.opcode == "get-tuple-element" and old.operands[0] in trimmed:
            left = new[old.operands[0]]
            now = laid_out(_element(left, trimmed[old.operands[0]][old["index"]]), old.shape)
        elif read is not None:
            smaller = _sort(now, read) if old.opcode == "sort" else _conditional(now, read)
            if smaller is not None:
                now, kept = smaller
                trimmed[old] = {index: place for place, index in enumerate(kept)}
        new[old] = now
    if all(a is b for a, b in new.items()):
        return computation
    return remake(computation, new)


def _element(x: Instruction, index: int) -> Instruction:
    if not isinstance(x.shape, TupleShape):
        return x
    return builder.instruction("get-tuple-element", [x], index=index)


def _read(computation: Computation, x: Instruction) -> list[int] | None:
    """The elements that are read of a sort's or conditional's result, if only some are."""
    if x.opcode not in ("sort", "conditional") or not isinstance(x.shape, TupleShape):
        return None
    users = computation.users[x]
    if x is computation.root or any(u.opcode != "get-tuple-element" for u in users):
        return None
    read = sorted({u["index"] for u in users})
    return read if 0 < len(read) < len(x.shape.elements) else None


def _sort(x: Instruction, read: Sequence[int]) -> tuple[Instruction, list[int]] | None:
    """The sort of the operands that are read or compared, and which those are."""
    order = x["to_apply"]
    compared = {p for i in order.instructions for p in i.operands} | {order.root}
    kept = [
        k
        for k in range(len(x.operands))
        if k in read or any(p in compared for p in order.parameters[2 * k : 2 * k + 2])
    ]
    if len(kept) == len(x.operands):
        return None
    numbers = [n for k in kept for n in (2 * k, 2 * k + 1)]
    parameters = {
        order.parameters[n]: builder.parameter(m, order.parameters[n].shape)
        for m, n in enumerate(numbers)
    }
    inside = dict(parameters)
    for i in order.instructions:
        if i not in inside and i.opcode != "parameter":
            inside[i] = i.renewed(inside)
    smaller = Computation.make(order.name, list(parameters.values()), inside[order.root])
    attributes = x.attributes.with_(to_apply=smaller)
    made = builder.instruction(
        "sort", [x.operands[k] for k in kept], metadata=x.metadata, **attributes
    )
    return made, kept


def _conditional(x: Instruction, read: Sequence[int]) -> tuple[Instruction, list[int]] | None:
    """The conditional whose branches give the elements that are read, and which those are."""
    called = {c: _giving(c, read) for c in branches(x)}
    attributes = {
        key: tuple(called[c] for c in value)
        if isinstance(value, tuple)
        else called.get(value, value)
        for key, value in x.attributes.items()
    }
    shape = called[branches(x)[0]].root.shape
    return x.with_(attributes=Attributes(attributes), shape=shape), list(read)


def _giving(branch: Computation, read: Sequence[int]) -> Computation:
    root = branch.root
    if root.opcode == "tuple":
        elements = [root.operands[k] for k in read]
    else:
        elements = [builder.instruction("get-tuple-element", [root], index=k) for k in read]
    one = elements[0] if len(elements) == 1 else builder.instruction("tuple", elements)
    return Computation.make(branch.name, branch.parameters, one, branch.effects)
