"""Generators: dot, ragged dot and reduce."""

import numpy as np
from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.attributes.precision import PRECISIONS
from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.hlo.ops.sum_types import BITS_KEPT
from tfc.hlo.shape import F32, S32, ElementType, Shape
from tfc.testing.generators.grower import ANY, Grower, generates
from tfc.testing.generators.values import sizes

_REDUCERS = {"pred": ("and", "or"), "float": ("add", "maximum", "minimum"), "complex": ("add",)}
_OF_INTEGERS = ("add", "maximum", "and", "xor")


@generates("reduce")
def _reduce(g: Grower) -> Instruction:
    x = g.operand(ANY)
    element_type = x.array_shape.element_type
    reducer = drawn_reducer(g, element_type)
    init = identity(reducer, element_type)
    dimensions = g.some_dimensions(x.array_shape.rank)
    return builder.reduce(x, init, dimensions, builder.scalar_computation(reducer, element_type))


@generates("dot")
def _dot(g: Grower) -> Instruction:
    lhs = g.operand(ANY)
    dims = lhs.array_shape.dims
    roles = [g.pick("bkf") for _ in dims]
    batch = tuple(d for d, r in enumerate(roles) if r == "b")
    contracting = tuple(d for d, r in enumerate(roles) if r == "k")
    free = [g.draw(sizes(g.zero)) for _ in range(g.integer(0, 1))]
    # The right operand's dimensions in any order: batch numbers need not come first.
    wanted = [*batch, *contracting, *(-1 - i for i in range(len(free)))]
    order = g.draw(st.permutations(wanted))
    other = tuple(dims[d] if d >= 0 else free[-1 - d] for d in order)
    rhs = g.like(Shape(lhs.array_shape.element_type, other))
    # The default for both is left out, as StableHLO does, which has no other with an algorithm.
    algorithm = _drawn_algorithm(g, lhs)
    has_precision = algorithm is None and g.integer(0, 3) == 0
    precision = (g.pick(PRECISIONS), g.pick(PRECISIONS[1:])) if has_precision else None
    return builder.instruction(
        "dot", [lhs, rhs], operand_precision=precision, algorithm=algorithm,
        lhs_batch_dims=batch, lhs_contracting_dims=contracting,
        rhs_batch_dims=tuple(order.index(d) for d in batch),
        rhs_contracting_dims=tuple(order.index(d) for d in contracting),
    )  # fmt: skip


@generates("ragged-dot")
def _ragged_dot(g: Grower) -> Instruction:
    element_type, picked = g.type_of(ANY), [g.draw(sizes(g.zero)) for _ in range(5)]
    b, m, k, n, groups = picked
    ragged = g.integer(0, 2)  # of [batch, free, contracting]
    before = {0: [], 1: [b], 2: [b]}[ragged] if g.integer(0, 1) else []
    dims = [groups, b, k, n] if ragged == 1 else [b, k, n]
    kind = g.pick([t for t in g.element_types if t.is_integer] or [S32])
    first = len(dims) - 3
    return builder.instruction(
        "ragged-dot",
        [g.like(Shape(element_type, (b, m, k))), g.like(Shape(element_type, tuple(dims))),
         g.like(Shape(kind, (*before, groups)))],
        lhs_batch_dims=(0,), lhs_contracting_dims=(2,), rhs_batch_dims=(first,),
        rhs_contracting_dims=(first + 1,), lhs_ragged_dims=(ragged,),
        rhs_group_dims=(0,) if ragged == 1 else (),
    )  # fmt: skip


def _drawn_algorithm(g: Grower, factor: Instruction) -> str | None:
    """An algorithm for products of such factors, or none: those of f32 may have fewer bits then."""
    if factor.array_shape.element_type != F32 or g.integer(0, 1):
        return None
    return g.pick(sorted(BITS_KEPT))


def drawn_reducer(g: Grower, element_type: ElementType) -> str:
    """An op to reduce elements of a type by."""
    return g.pick(_REDUCERS.get(element_type.kind, _OF_INTEGERS))


def identity(reducer: str, element_type: ElementType) -> Instruction:
    """The constant that a reducer leaves everything unchanged with."""
    neutral = OPS[reducer].neutral
    assert neutral is not None, f"{reducer} is no reducer"
    value = neutral(element_type) + 0  # sums begin with 0 rather than -0
    if element_type.is_float and element_type.bits == 8:  # not all of these have infinities
        limits = element_type.float_limits
        value = np.clip(value, float(limits.min), float(limits.max))
    return builder.constant(np.array(value).astype(element_type.dtype))
