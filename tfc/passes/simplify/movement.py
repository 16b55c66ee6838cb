"""Data movement that takes fewer operations: functions from an instruction to its replacement, or
None. Each states itself as before --> after; all are exact.
"""

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.passes.rewriting.patterns import Function, constant_value
from tfc.passes.rewriting.replacing import made, repeated
from tfc.passes.simplify.movement_chains import MOVERS, Chain, Movement, chain_with

# Operations that are looked at as one chain: where nothing cancels, an index grows by a factor with
# each. Longer chains become shorter a few operations at a time.
_LONGEST = 6


def same_shape(x: Instruction) -> Instruction | None:
    """f32[2,3] convert(f32[2,3] a) --> a; likewise copy, bitcast-convert and dynamic-slice"""
    return x.operands[0] if x.operands[0].shape == x.shape else None


def shorter_chain(x: Instruction) -> Instruction | None:
    """f32[6,4] reshape(f32[2,3,4] transpose(f32[4,2,3] reshape(a), {1,2,0})) --> transpose(a)

    Operations that only move elements, one after the other, as a better chain; see movement_chains.
    """
    found = shortest_chain(x)
    return None if found is None else chain_of(x, *found)


def shortest_chain(x: Instruction) -> tuple[tuple[Movement, ...], Instruction] | None:
    """A better chain than one that ends in an instruction, and what it moves; None if there is
    none. Where somebody chose layouts it is of one operation at most.
    """
    if not x.array_shape.size or (x.array_shape.rank and constant_value(x) is not None):
        return None  # a repeated scalar is the form of constants of one value, also of one element
    chain, source, movers = None, x, list[Instruction]()
    while source.opcode in MOVERS and len(movers) < _LONGEST:
        movers.append(source)
        chain = chain_with(source, chain)
        if chain.operand is None:
            break
        source = source.operands[chain.operand]
        again = _again(x, chain, source) if source.opcode in ("constant", "iota") else None
        if again is not None:
            return (), again
        steps = chain.shorter
        if steps is None:
            continue
        if len(steps) < 2 or all(m.array_shape.has_default_layout for m in movers):
            return steps, source
    return None


def _again(x: Instruction, chain: Chain, source: Instruction) -> Instruction | None:
    """What a chain makes of a scalar constant or an iota, if that is such a thing again."""
    if source.opcode == "constant":
        return None if source.array_shape.rank else repeated(source, x.array_shape)
    assert chain.piece is not None
    index = chain.piece.index[source["iota_dimension"]]
    if index.kind == "variable":
        return made(x, "iota", [], iota_dimension=int(index.name))
    if index.kind != "constant":
        return None
    value = np.asarray(index.value).astype(x.array_shape.element_type.dtype)
    return builder.full(value, x.array_shape)


def chain_of(x: Instruction, steps: tuple[Movement, ...], moved: Instruction) -> Instruction:
    """The operations of a chain, in the place of an instruction."""
    for step in steps:
        moved = step.over(moved, x)
    return moved


def iota_of_unit(x: Instruction) -> Instruction | None:
    """f32[1,3] iota(), iota_dimension=0 --> broadcast(0)"""
    shape = x.array_shape
    return builder.full(0, shape) if shape.dims[x["iota_dimension"]] == 1 else None


MOVEMENT: dict[str, tuple[Function, ...]] = {
    **dict.fromkeys(sorted(MOVERS), (shorter_chain,)),
    "copy": (same_shape,),
    "iota": (iota_of_unit,),
}
