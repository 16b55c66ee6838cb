"""Expansion: sums of narrow floats, taken in f32 and rounded once.

    before:  y = bf16[8] reduce(x, zero), dimensions={1}, to_apply=add
    after:   y = bf16[8] convert(f32[8] reduce(convert(x), convert(zero)), …, to_apply=add of f32)

A sum of bf16 that is rounded at each step stops growing after a few hundred elements. XLA, too, has
its sums in f32 here. What rounds by itself in between (a `to_apply` of more than an addition) is
left as it is written.
"""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, Shape
from tfc.passes.rewriting.replacing import reducer


def expand_sum(x: Instruction) -> Instruction:
    """A reduce or reduce-window that adds narrow floats, in f32; itself if it is no such sum."""
    shape = x.shape
    if not isinstance(shape, Shape) or not shape.element_type.is_float:
        return x
    if shape.element_type.bits >= F32.bits or reducer(x["to_apply"]) != "add":
        return x
    attributes = x.attributes.with_(to_apply=builder.scalar_computation("add", F32))
    operands = tuple(builder.convert(o, F32) for o in x.operands)
    wide = x.with_(operands=operands, shape=shape.with_element_type(F32), attributes=attributes)
    return builder.convert(wide, shape.element_type)
