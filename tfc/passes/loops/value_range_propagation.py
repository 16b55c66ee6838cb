"""Leave out what the ranges of values decide: above all the checks around indices in loops.

    i = s32[] get-tuple-element(state), index=0          0 <= i < 10
    c = pred[] compare(i, zero), direction=LT    -->
    n = s32[] add(i, ten)                                d = … dynamic-slice(x, i, zero)
    k = s32[] select(c, n, i)
    d = … dynamic-slice(x, k, zero)

A comparison with one possible result is that constant, so the select goes; so do maximum, minimum,
clamp and remainder of what is in range already. Slicing a number out of an iota is that index.
Which values are possible is in value_ranges.py and loop_ranges.py, and what that decides in
simplify/in_range.py. Nothing changes where wrap-around is possible.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, rebuild, retarget
from tfc.passes.analysis.loop_ranges import module_ranges
from tfc.passes.analysis.value_ranges import Range, is_discrete, range_of
from tfc.passes.simplify.in_range import decided

# What may become simpler; a computation without any is left alone unseen.
_DECIDABLE = frozenset({
    "abs", "clamp", "compare", "dynamic-slice", "maximum", "minimum", "remainder", "select",
})  # fmt: skip


@dataclass(frozen=True)
class ValueRangePropagation:
    """Simplify operations whose result the ranges of their operands decide."""

    name: ClassVar[str] = "value-ranges"

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
        ranges[x] = parameter if x.opcode == "parameter" else range_of(x, ranges.__getitem__)
        simpler = decided(x, ranges.__getitem__) if _may_simplify(x) else None
        if simpler is None or simpler.shape != x.shape:
            return x
        ranges.setdefault(simpler, ranges[x])
        return simpler

    return rebuild(computation, rewrite)
