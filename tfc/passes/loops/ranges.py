"""Leave out what the range of integers decides: above all the checks around indices in loops.

    i = s32[] get-tuple-element(state), index=0          0 <= i < 10
    c = pred[] compare(i, zero), direction=LT    -->
    n = s32[] add(i, ten)                                d = … dynamic-slice(x, i, zero)
    k = s32[] select(c, n, i)
    d = … dynamic-slice(x, k, zero)

A comparison with one possible result is that constant, so the select goes; so do maximum, minimum,
clamp and remainder of what is in range already. Slicing a number out of an iota is that index.
Which values are possible is in intervals.py. Nothing changes where wrap-around is possible.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, rebuild, retarget
from tfc.hlo.op import op_named
from tfc.passes.analysis.intervals import Range, bounds, is_discrete, module_ranges, range_of
from tfc.passes.analysis.trip_counts import limits

# What may become simpler; a computation without any is left alone unseen.
_DECIDABLE = frozenset({
    "abs", "clamp", "compare", "dynamic-slice", "maximum", "minimum", "remainder", "select",
})  # fmt: skip


@dataclass(frozen=True)
class Ranges:
    """Simplify operations whose result the range of their operands decides."""

    name: ClassVar[str] = "ranges"

    def __call__(self, module: Module) -> Module:
        """The module without what ranges decide."""
        decidable = {c for c in module.computations if any(map(_may_simplify, c.instructions))}
        if not decidable:
            return module
        parameters = module_ranges(module)
        new: dict[Computation, Computation] = {}
        for computation in module.computations:
            moved = rebuild(computation, lambda i: retarget(i, new.__getitem__))
            if computation in decidable:
                moved = _simplified(moved, parameters.get(computation))
            new[computation] = moved
        return module.with_entry(new[module.entry])


def _may_simplify(x: Instruction) -> bool:
    return x.opcode in _DECIDABLE and any(map(is_discrete, x.operands))


def _simplified(computation: Computation, parameter: Range) -> Computation:
    ranges: dict[Instruction, Range] = {}

    def rewrite(x: Instruction) -> Instruction:
        known = parameter if x.opcode == "parameter" else range_of(x, ranges)
        if known is not None:
            ranges[x] = known
        if not _may_simplify(x):
            return x
        simpler = _decided(x, ranges)
        if simpler is None or simpler.shape != x.shape:
            return x
        known = range_of(simpler, ranges)
        if known is not None and simpler not in ranges:
            ranges[simpler] = known
        return simpler

    return rebuild(computation, rewrite)


def _decided(x: Instruction, ranges: dict[Instruction, Range]) -> Instruction | None:
    """The value of an instruction in fewer operations; None if its range decides nothing."""
    if op_named(x.opcode).elementwise and is_discrete(x) and x in ranges:
        low, high = bounds(x, ranges)
        if low == high:
            return builder.full(low, x.array_shape)
    match x.opcode:
        case "select":
            low, high = bounds(x.operands[0], ranges)
            return x.operands[1 if low else 2] if low == high else None
        case "dynamic-slice":
            return _index_of_iota(x, ranges)
    if not all(map(is_discrete, x.operands)):
        return None
    given = [bounds(o, ranges) for o in x.operands]
    match x.opcode:
        case "abs":
            return x.operands[0] if given[0][0] >= 0 else None
        case "remainder":
            return x.operands[0] if given[0][0] >= 0 and given[0][1] < given[1][0] else None
        case "clamp":
            (_, low), (least, most), (high, _) = given
            return x.operands[1] if low <= least and most <= high else None
        case "maximum" | "minimum":
            (low, high), (least, most) = given
            first = low >= most if x.opcode == "maximum" else high <= least
            second = least >= high if x.opcode == "maximum" else most <= low
            return x.operands[0] if first else x.operands[1] if second else None
    return None


def _index_of_iota(x: Instruction, ranges: dict[Instruction, Range]) -> Instruction | None:
    """s32[1] dynamic-slice(s32[10] iota(), i) --> broadcast(i), if 0 <= i <= 9"""
    iota, starts = x.operands[0], x.operands[1:]
    if iota.opcode != "iota" or any(s.array_shape.rank for s in starts):
        return None
    dimension, element_type = iota["iota_dimension"], iota.array_shape.element_type
    low, high = bounds(starts[dimension], ranges)
    inside = low >= 0 and high < iota.array_shape.dims[dimension]
    if x["dynamic_slice_sizes"][dimension] != 1 or not inside:
        return None
    if not element_type.is_integer or high > limits(element_type)[1]:
        return None
    index = builder.convert(starts[dimension], element_type)
    return builder.broadcast(index, x.array_shape.dims, ()) if x.array_shape.rank else index
