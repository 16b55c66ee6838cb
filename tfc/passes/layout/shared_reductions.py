"""Reduce further what is reduced already, rather than the whole array once more.

    p = f32[8,64] reduce(f32[8,900,64] x, 0, {1})      p = f32[8,64] reduce(x, 0, {1})
    s = f32[64] reduce(x, 0, {0,1})                -->  s = f32[64] reduce(p, 0, {0})

As gradients of what was repeated along some dimensions, and of something else along more. Nothing
is done where partial results would be rounded, or where they are not much smaller than the array.
"""

from collections import ChainMap, defaultdict
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.hlo.shape import ElementType
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.rewriting.replacing import reducer
from tfc.passes.simplify.reductions import is_neutral, rounds_parts

_LEAST = 16  # elements of the array for one of the partial results


@dataclass(frozen=True)
class SharedReductions:
    """Take one reduction of an array from another one, in every computation that runs as steps."""

    name: ClassVar[str] = "shared-reductions"

    def __call__(self, module: Module) -> Module:
        """The module with such reductions in two steps, of which they share the first."""
        return map_some(module, control_computations(module), _sharing)


def _sharing(computation: Computation) -> Computation:
    alike = defaultdict[tuple[Instruction, str], list[Instruction]](list)
    for x in computation.instructions:
        opcode = reducer(x["to_apply"]) if x.opcode == "reduce" and len(x.operands) == 2 else None
        if opcode is not None and _in_any_steps(x.array_shape.element_type, opcode):
            alike[x.operands[0], opcode].append(x)
    first: dict[Instruction, Instruction] = {}
    for (_, opcode), several in alike.items():
        for x in several:
            smaller = [y for y in several if _begins(y, x, opcode)]
            if smaller:
                first[x] = max(smaller, key=lambda y: len(y["dimensions"]))
    if not first:
        return computation
    new: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        if old not in new:  # else another one was taken from it
            new[old] = _renewed(old, first, new)
    return remake(computation, new)


def _in_any_steps(element_type: ElementType, opcode: str) -> bool:
    """Whether partial results do not change what comes out, more than another order would."""
    overflows = opcode == "multiply" and element_type.is_float  # a part may, where all of it is 0
    return not (overflows or rounds_parts(opcode, element_type))


def _begins(y: Instruction, x: Instruction, opcode: str) -> bool:
    """Whether a reduction is worth being the first step of another one of the same array."""
    small = y.array_shape.size * _LEAST <= x.operands[0].array_shape.size
    fewer = set(y["dimensions"]) < set(x["dimensions"])
    return small and fewer and is_neutral(y.operands[1], opcode, x.operands[1])


def _renewed(
    x: Instruction, first: dict[Instruction, Instruction], new: dict[Instruction, Instruction]
) -> Instruction:
    """An instruction on new operands; of a reduction the second step, if it has a first one, which
    is made now if it comes later."""
    partial = first.get(x)
    if partial is None:
        own = {o: o for o in x.operands if o not in new}  # constants that come later
        return x.renewed(ChainMap(own, new))
    if partial not in new:
        new[partial] = _renewed(partial, first, new)
    kept = [d for d in range(x.operands[0].array_shape.rank) if d not in partial["dimensions"]]
    further = tuple(n for n, d in enumerate(kept) if d in x["dimensions"])
    operands = (new[partial], new.get(x.operands[1], x.operands[1]))
    return x.with_(operands=operands, attributes=x.attributes.with_(dimensions=further))
