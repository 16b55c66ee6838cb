"""Merge dots of one left operand into a wider dot, where that moves less.

    a = f32[512,8] dot(x, u)                   w = f32[768,24] concatenate(u, v), dimensions={1}
    b = f32[512,16] dot(x, v)          -->     d = f32[512,24] dot(x, w)
                                               a = f32[512,8] slice(d), slice={[0:512], [0:8]}
                                               b = f32[512,16] slice(d), slice={[0:512], [8:24]}

The shared operand is read once, and the tiles of narrow products are filled. But what follows one
of the dots cannot be its epilogue, and what needs its result in memory by itself needs a copy: the
results are moved once more. So the estimate, in bytes:

    pays if    what the other dots read of the shared operand
             > writing and reading the results again
               + reading and writing the right operands, if they are no constants.

Projections to queries, keys and values as wide as what is projected do not pay; a few narrow heads
do. Refused, with the reason, too: right operands that are computed, and those that need one of the
results.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.passes.analysis.called import control_computations, decided, map_some
from tfc.passes.analysis.products import dot_groups
from tfc.passes.analysis.topological_levels import Levels
from tfc.passes.rewriting.decisions import Decision, Decisions, Refused, Taken, label

_STORED = frozenset({"constant", "parameter", "get-tuple-element"})


@dataclass(frozen=True)
class DotMerger:
    """Merge dots that share their left operand, in every computation that runs as steps."""

    name: ClassVar[str] = "dot-merger"

    def __call__(self, module: Module) -> Module:
        """The module with merged dots."""
        return map_some(module, control_computations(module), _merge)

    def explain(self, module: Module) -> Decisions:
        """The dots that are merged, and those that are not, and why."""
        return decided(module, _decisions)


def _groups(computation: Computation) -> list[list[Instruction]]:
    """The dots that could be one: they differ in the columns of the right operand only."""
    found: dict[object, list[Instruction]] = {}
    for dot in computation.instructions:
        if dot.opcode != "dot":
            continue
        _, (right, (*_, columns)), _ = dot_groups(dot)
        plain = right.has_default_layout and dot.array_shape.has_default_layout
        if len(columns) != 1 or not dot.array_shape.size or not plain:
            continue
        dims = tuple(n for d, n in enumerate(right.dims) if d != columns[0])
        key = (dot.operands[0], dot.attributes, dims, right.element_type,
               dot.array_shape.element_type)  # fmt: skip
        found.setdefault(key, []).append(dot)
    return [group for group in found.values() if len(group) > 1]


def _reason_against(group: Sequence[Instruction], levels: Levels) -> str | None:
    """Why dots are not merged; None if from here on they are."""
    weights = [dot.operands[1] for dot in group]
    if any(w.opcode not in _STORED for w in weights):
        return "its right operand is computed, which may need the other's result"
    saved = (len(group) - 1) * group[0].operands[0].array_shape.byte_size
    moved = 2 * sum(dot.array_shape.byte_size for dot in group)
    if any(w.opcode != "constant" for w in weights):
        moved += 2 * sum(w.array_shape.byte_size for w in weights)
    if saved <= moved:
        return f"moving results and operands costs {moved} bytes, reading the shared one {saved}"
    return next(filter(None, (levels.merge(group[0], dot) for dot in group[1:])), None)


def _decisions(computation: Computation) -> Iterator[Decision]:
    levels = Levels(computation)
    for group in _groups(computation):
        reason = _reason_against(group, levels)
        if reason is not None:
            yield Refused.of(group[-1], reason, group[0])
        else:
            yield Taken(f"one dot of {len(group)}", label(group[0]))


def _merge(computation: Computation) -> Computation:
    groups = _groups(computation)
    if not groups:
        return computation
    levels = Levels(computation)
    groups = [group for group in groups if _reason_against(group, levels) is None]
    if not groups:
        return computation
    group_of = {dot: group for group in groups for dot in group}
    new: dict[Instruction, Instruction] = {}
    for old in levels.ordered(computation.instructions):
        if old in group_of and old not in new:
            new |= _merged(group_of[old], new)
        elif old not in new:
            new[old] = old.renewed(new)
    return remake(computation, new)


def _merged(
    group: Sequence[Instruction], new: dict[Instruction, Instruction]
) -> dict[Instruction, Instruction]:
    """For each dot of a group the slice of the merged one."""
    first = group[0]
    (axis,) = dot_groups(first)[1][1][2]
    weights = [dot.operands[1] for dot in group]
    if all(w.opcode == "constant" for w in weights):
        wide = builder.constant(np.concatenate([w["literal"].array for w in weights], axis))
    else:
        parts = [new[w] for w in weights]
        wide = builder.instruction("concatenate", parts, dimensions=(axis,))
    dims = first.array_shape.dims
    dot = builder.instruction(
        "dot", [new[first.operands[0]], wide], shape=first.shape, metadata=first.metadata,
        name=first.name, **first.attributes,
    )  # fmt: skip
    ends = accumulate((d.array_shape.dims[-1] for d in group), initial=0)
    whole = tuple((0, n, 1) for n in dims[:-1])
    return {
        old: builder.instruction("slice", [dot], slice=(*whole, (start, end, 1)), name=old.name)
        for old, (start, end) in zip(group, pairwise(ends))
    }
