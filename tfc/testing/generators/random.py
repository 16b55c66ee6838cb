"""Generators: random numbers."""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.random import DISTRIBUTIONS, STATE, STATE_SIZES
from tfc.hlo.shape import F32, U64, Shape, TupleShape
from tfc.testing.generators.grower import Grower, generates
from tfc.testing.generators.values import shapes

INTEGERS = {"signed": 8, "unsigned": 8}  # the least bits that rng draws of a kind


@generates("rng-bit-generator")
def _bits(g: Grower) -> Instruction:
    algorithm = g.pick(sorted(STATE_SIZES))
    state = g.like(Shape(U64, (g.pick(STATE_SIZES[algorithm]),)))
    integers = [t for t in g.element_types if t.is_integer] or [U64]
    shape = g.draw(shapes(integers, g.max_rank, g.zero))
    made = g.add(builder.instruction(
        "rng-bit-generator", [state], shape=TupleShape((state.shape, shape)), algorithm=algorithm
    ))  # fmt: skip
    return builder.instruction("get-tuple-element", [made], index=1)


@generates("rng-get-and-update-state")
def _state(g: Grower) -> Instruction:
    return builder.instruction(
        "rng-get-and-update-state", [], shape=STATE, delta=g.integer(0, 1 << 40)
    )


@generates("rng")
def _rng(g: Grower) -> Instruction:
    distribution = g.pick(DISTRIBUTIONS)
    least = {"float": 16} if distribution == "rng_normal" else {"float": 16, **INTEGERS}
    types = [t for t in g.element_types if t.bits >= least.get(t.kind, t.bits + 1)]
    shape = g.draw(shapes(types or [F32], g.max_rank, g.zero))
    bounds = [g.scalar(shape.element_type) for _ in range(2)]
    return builder.instruction("rng", bounds, shape=shape, distribution=distribution)
