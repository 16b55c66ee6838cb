"""Ragged dot in plain operations: one dot of what is zero outside of its group.

y = f32[6,4] ragged-dot(f32[6,3] x, f32[2,3,4] w, s32[2] sizes), lhs_ragged_dims={0} …
is
inside = pred[2,6,3], whether a row is in a group: its number between the sums of the sizes
wide = f32[2,6,3] select(inside, broadcast(x), 0)
y = f32[6,4] dot(wide, w), lhs_contracting_dims={2,0}, rhs_contracting_dims={1,0}
"""

import numpy as np

from tfc.hlo.builder import (
    binary,
    broadcast,
    compare,
    constant,
    convert,
    full,
    instruction,
    iota,
)
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.ragged_dot import plain_dot, ragged_role
from tfc.hlo.shape import S64, Shape


def expand_ragged_dot(x: Instruction) -> Instruction:
    """The instruction that computes a ragged dot from its operands."""
    lhs, rhs, _ = x.operands
    shape, rank = lhs.array_shape, lhs.array_shape.rank
    role, before = ragged_role(x.attributes, rank)
    attributes = dict(plain_dot(x.attributes, rank))
    part = lhs
    if role != "batch":
        inside = _members(x, before)
        spread = broadcast(lhs, inside.array_shape.dims, range(1, rank + 1))
        zero = full(0, Shape(shape.element_type, inside.array_shape.dims))
        part = instruction("select", [inside, spread, zero])
        # In `part` the groups come first; plain_dot has them last.
        for name in ("lhs_batch_dims", "lhs_contracting_dims"):
            attributes[name] = tuple((d + 1) % (rank + 1) for d in attributes.get(name, ()))
    stated = Shape(x.array_shape.element_type)
    made = instruction("dot", [part, rhs], shape=stated, metadata=x.metadata, **attributes)
    if role == "contracting":
        # The groups are the first free dimension, which comes after those of the batch.
        at, last = len(attributes["lhs_batch_dims"]), made.array_shape.rank
        order = (at, *(d for d in range(last) if d != at))
        made = instruction("transpose", [made], dimensions=order)
    return made.with_(shape=x.shape, annotations=x.annotations)


def _members(x: Instruction, before: tuple[int, ...]) -> Instruction:
    """pred[groups, *lhs]: whether an element is in a group."""
    lhs, sizes = x.operands[0].array_shape, convert(x.operands[2], S64)
    groups = sizes.array_shape.dims[-1]
    # A sum of the sizes up to each group's, as a product with a triangle of ones.
    triangle = constant(np.triu(np.ones((groups, groups), np.int64)))
    last = sizes.array_shape.rank - 1
    ends = instruction(
        "dot", [sizes, triangle], lhs_contracting_dims=(last,), rhs_contracting_dims=(0,)
    )
    starts = binary("subtract", ends, sizes)
    dims = (groups, *lhs.dims)
    places = iota(Shape(S64, dims), x["lhs_ragged_dims"][0] + 1)
    varied = tuple(d + 1 for d in before) if last else ()
    low, high = (broadcast(value, dims, (*varied, 0)) for value in (starts, ends))
    return binary("and", compare("GE", places, low), compare("LT", places, high))
