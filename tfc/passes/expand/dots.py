"""Canonical dots: operands whose batch, free and contracting dimensions each form one stride.

    before:  d = f32[2,3,5] dot(x, y)  with x = f32[3,4,2], contracting 1, free dimensions 0 and 2 …
    after:   t = f32[2,3,4] transpose(x), dimensions={2,0,1}
             d = f32[2,3,5] dot(t, y)

A tiled kernel reads matrices with one stride a direction. A dot already of that form, transposed
operands included, is left alone: only groups of several dimensions that do not lie together are
moved. Operands of other types than sums are taken in are converted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.builder import instruction
from tfc.hlo.ir import Attributes, Instruction, Module, map_computations, rebuild
from tfc.hlo.shape import Layout, Shape
from tfc.passes.analysis.products import dot_groups, group_stride
from tfc.passes.expand.one_sum_type import in_one_type, moved


def swapped(dot: Instruction) -> Instruction:
    """f32[2,3,5] dot(a, b) --> f32[2,3,5] transpose(f32[2,5,3] dot(b, a)), without moving bytes"""
    (_, (batch, _, summed)), (_, (rhs_batch, rhs_summed, _)), (out, groups) = dot_groups(dot)
    order = [d for n in (0, 2, 1) for d in groups[n]]
    back = {d: k for k, d in enumerate(order)}
    layout = Layout(tuple(back[d] for d in out.layout.minor_to_major))
    shape = Shape(out.element_type, tuple(out.dims[d] for d in order), layout)
    precision = dot.attributes.get("operand_precision")
    if precision is not None:
        precision = precision[::-1]
    attributes = dot.attributes.with_(
        lhs_batch_dims=tuple(rhs_batch) or None, rhs_batch_dims=tuple(batch) or None,
        lhs_contracting_dims=tuple(rhs_summed), rhs_contracting_dims=tuple(summed),
        operand_precision=precision,
    )  # fmt: skip
    made = dot.with_(operands=dot.operands[::-1], shape=shape, attributes=attributes)
    place = tuple(back[d] for d in range(out.rank))
    return Instruction("transpose", (made,), dot.shape, Attributes(dimensions=place), "transpose",
                       dot.metadata)  # fmt: skip


@dataclass(frozen=True)
class Dots:
    """Convert the operands of dots, and transpose those without one stride a direction.

    converts_first: what is transposed and then widened is widened first, so that the transpose
        can become part of the dot; for kernels that multiply narrow numbers wherever they lie.
    """

    name: ClassVar[str] = "dots"
    converts_first: bool = False

    def __call__(self, module: Module) -> Module:
        """The module with every dot in canonical form."""

        def canonical(x: Instruction) -> Instruction:
            found = _canonicalize(x)
            return _with_conversions_first(found) if self.converts_first else found

        return map_computations(module, lambda c: rebuild(c, canonical))


def _with_conversions_first(x: Instruction) -> Instruction:
    """dot(convert(transpose(a)), b) --> dot(transpose(convert(a)), b), also under a conversion."""
    if x.opcode == "convert" and x.operands[0].opcode == "dot":
        return x.with_(operands=(_with_conversions_first(x.operands[0]),))
    if x.opcode != "dot":
        return x
    return x.with_(operands=tuple(_converted_first(o) for o in x.operands))


def _converted_first(x: Instruction) -> Instruction:
    if x.opcode != "convert" or x.operands[0].opcode != "transpose":
        return x
    move = x.operands[0]
    source = builder.convert(move.operands[0], x.array_shape.element_type)
    return move.with_(operands=(source,), shape=x.shape)


def _canonicalize(dot: Instruction) -> Instruction:
    if dot.opcode != "dot":
        return dot
    wide = in_one_type(dot)
    if wide.opcode == "convert":
        return wide.with_(operands=(_canonicalize(wide.operands[0]),))
    dot = wide
    lhs, rhs = dot.operands
    (_, (lhs_batch, lhs_free, lhs_contracting)), (_, (rhs_batch, rhs_contracting, rhs_free)), _ = (
        dot_groups(dot)
    )
    new_lhs = _together(lhs, [lhs_batch, lhs_free, lhs_contracting])
    new_rhs = _together(rhs, [rhs_batch, rhs_contracting, rhs_free])
    if new_lhs is lhs and new_rhs is rhs:
        return dot
    attributes = dict(dot.attributes)
    batch = len(lhs_batch)
    if new_lhs is not lhs:
        start = batch + len(lhs_free)
        attributes["lhs_batch_dims"] = tuple(range(batch))
        attributes["lhs_contracting_dims"] = tuple(range(start, start + len(lhs_contracting)))
    if new_rhs is not rhs:
        attributes["rhs_batch_dims"] = tuple(range(batch))
        attributes["rhs_contracting_dims"] = tuple(range(batch, batch + len(rhs_contracting)))
    return dot.with_(operands=(new_lhs, new_rhs), attributes=Attributes(attributes))


def _together(operand: Instruction, groups: Sequence[Sequence[int]]) -> Instruction:
    """The operand with its dimensions in the order of the groups, unless each has one stride."""
    if all(group_stride(operand.array_shape, g) is not None for g in groups):
        return operand
    order = tuple(d for group in groups for d in group)
    return moved(operand, partial(_transposed, order=order))


def _transposed(operand: Instruction, order: Sequence[int]) -> Instruction:
    return instruction("transpose", [operand], dimensions=tuple(order), metadata=operand.metadata)
