"""Ragged dot: a dot whose left operand has groups of unlike sizes along one dimension.

Semantics: jax.lax.ragged_dot_general's, by the role of the ragged dimension.

    free         [b,m,k] · [g,b,k,n] -> [b,m,n]    each row has the right operand of its group
    contracting  [b,m,k] · [b,k,n] -> [g,b,m,n]    one result for each group, of its own products
    batch        [b,m,k] · [b,k,n] -> [b,m,n]      a dot, whatever the groups

The group sizes are [g], or have dimensions before that: the batch dimensions, and those of the
ragged dimension's role that come before it. What is in another group, or none, counts as zero.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    OPS,
    Attribute,
    Call,
    Op,
    Value,
    register,
    require,
    require_array,
)
from tfc.hlo.ops.contraction import DOT_DIMENSIONS, dot_dimensions, free_dimensions
from tfc.hlo.ops.elementwise.families import INT, require_kind
from tfc.hlo.ops.movement import require_dimensions
from tfc.hlo.shape import AnyShape, Shape
from tfc.hlo.traits import Accuracy, Category, Cost


def ragged_role(a: Attributes, rank: int) -> tuple[str, tuple[int, ...]]:
    """The ragged dimension's role, and the dimensions of the left operand that sizes may vary over.

    Args:
        rank: the left operand's.
    """
    lhs_batch, lhs_contracting, _, _ = dot_dimensions(a)
    (ragged,) = a["lhs_ragged_dims"]
    free = free_dimensions(rank, lhs_batch, lhs_contracting)
    for role, dimensions in (("batch", lhs_batch), ("contracting", lhs_contracting)):
        if ragged in dimensions:
            before = dimensions[: dimensions.index(ragged)]
            return role, before if role == "batch" else (*lhs_batch, *before)
    return "free", (*lhs_batch, *free[: free.index(ragged)])


def plain_dot(a: Attributes, rank: int) -> Attributes:
    """The attributes of the dot that a ragged one is, once other groups are zero.

    If a free dimension is ragged, the left operand has a dimension of groups more, its last one.
    """
    kept = {k: v for k, v in a.items() if k in (*DOT_DIMENSIONS, "operand_precision", "algorithm")}
    if a.get("rhs_group_dims"):
        kept["lhs_contracting_dims"] = (*a.get("lhs_contracting_dims", ()), rank)
        kept["rhs_contracting_dims"] = (*a.get("rhs_contracting_dims", ()), *a["rhs_group_dims"])
    return Attributes(kept)


def _infer_ragged_dot(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    lhs, rhs, sizes = (require_array("ragged-dot", s) for s in shapes)
    ragged, group_dims = a["lhs_ragged_dims"], a.get("rhs_group_dims", ())
    require(len(ragged) == 1, "ragged-dot", "one ragged dimension", list(ragged))
    require_dimensions("ragged-dot", ragged, lhs.rank)
    require_dimensions("ragged-dot", dot_dimensions(a)[0] + dot_dimensions(a)[1], lhs.rank, "DG-1")
    require_kind("ragged-dot", sizes.element_type, INT)
    role, before = ragged_role(a, lhs.rank)
    require(
        len(group_dims) == (role == "free"),
        "ragged-dot",
        "one group dimension of the right operand if a free dimension is ragged, and else none",
        list(group_dims),
    )
    varied = tuple(lhs.dims[d] for d in before)
    require(
        sizes.rank > 0 and sizes.dims[:-1] in ((), varied),
        "ragged-dot",
        f"group sizes of dimensions [groups] or {[*varied, 'groups']}",
        sizes,
    )
    groups = sizes.dims[-1]
    wide = Shape(lhs.element_type, (*lhs.dims, groups)) if group_dims else lhs
    plain = OPS["dot"].infer([wide, rhs], plain_dot(a, lhs.rank), stated)
    assert isinstance(plain, Shape)
    return Shape(plain.element_type, (groups, *plain.dims)) if role == "contracting" else plain


def _evaluate_ragged_dot(x: Instruction, values: Sequence[Value], call: Call) -> np.ndarray:
    lhs, rhs, sizes = (np.asarray(v) for v in values)
    role, before = ragged_role(x.attributes, lhs.ndim)
    if role == "batch":
        return OPS["dot"].evaluate(_dot_of(x, x.array_shape, lhs.ndim), [lhs, rhs], call)
    order = [*before, *x["lhs_ragged_dims"]]
    places = np.arange(lhs.shape[order[-1]])
    sizes = np.broadcast_to(
        sizes.astype(np.int64), [*(lhs.shape[d] for d in before), sizes.shape[-1]]
    )
    groups, inside = range(sizes.shape[-1]), []
    for group in groups:
        end = sizes[..., : group + 1].sum(-1)[..., None]
        mask = (places >= end - sizes[..., group, None]) & (places < end)
        # The mask has the dimensions in `order`; over the others it is repeated.
        spread = [lhs.shape[d] if d in order else 1 for d in range(lhs.ndim)]
        inside.append(mask.transpose(np.argsort(order)).reshape(spread))
    shape, zero = x.array_shape, np.zeros((), lhs.dtype)
    parts = [np.where(mask, lhs, zero) for mask in inside]
    if role == "free":
        wide = np.stack(parts, -1) if parts else np.empty((*lhs.shape, 0), lhs.dtype)
        return OPS["dot"].evaluate(_dot_of(x, shape, lhs.ndim), [wide, rhs], call)
    each = Shape(shape.element_type, shape.dims[1:])
    dot = _dot_of(x, each, lhs.ndim)
    results = [OPS["dot"].evaluate(dot, [part, rhs], call) for part in parts]
    return np.stack(results) if results else np.empty(shape.dims, shape.element_type.dtype)


def _dot_of(x: Instruction, shape: Shape, rank: int) -> Instruction:
    return Instruction("dot", (), shape, plain_dot(x.attributes, rank))


register(
    Op(
        "ragged-dot",
        3,
        _infer_ragged_dot,
        _evaluate_ragged_dot,
        (
            *OPS["dot"].attributes[:4],
            Attribute("lhs_ragged_dims", "ints"),
            Attribute("rhs_group_dims", "ints", required=False, default=()),
            *OPS["dot"].attributes[4:],
        ),
        category=Category.PRODUCT,
        cost=Cost.OWN,
        accuracy=Accuracy.SUMMED,
    )
)
