"""Generators: cholesky and triangular-solve.

Their results are well conditioned: the diagonal is large and all else lies between -1 and 1. What
disturbs a result then is a mistake, not the order of a sum.
"""

from typing import Any

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.triangular import SOLVE_FLAGS, TRANSPOSES
from tfc.hlo.shape import S32, Shape
from tfc.testing.generators.grower import Grower, generates
from tfc.testing.generators.values import sizes

_KINDS = frozenset({"float", "complex"})


def _bounded(g: Grower, shape: Shape) -> Instruction:
    """Values whose parts are between -1 and 1, or NaN."""
    if not shape.element_type.is_complex:
        return builder.unary("sine", g.like(shape))
    part = shape.with_element_type(shape.element_type.component)
    parts = [builder.unary("sine", g.like(part)) for _ in range(2)]
    return builder.instruction("complex", parts)


def _matrices(g: Grower, diagonal: int) -> Instruction:
    """Square matrices, perhaps a batch of them, with multiples of `diagonal` on the diagonal."""
    size = g.draw(sizes(g.zero))
    batch = [g.draw(sizes(g.zero)) for _ in range(g.integer(0, min(1, g.max_rank - 2)))]
    shape = Shape(g.type_of(_KINDS), (*batch, size, size))
    row, column = (
        builder.broadcast(builder.iota(Shape(S32, (size,)), 0), shape.dims, [shape.rank + d])
        for d in (-2, -1)
    )
    large = builder.full(diagonal * size, shape)
    return builder.instruction(
        "select", [builder.compare("EQ", row, column), large, _bounded(g, shape)]
    )


@generates("cholesky")
def _cholesky(g: Grower) -> Instruction:
    a = _matrices(g, g.pick([4, 4, 4, -1]))  # no matrix with -1 there is positive definite
    return builder.instruction("cholesky", [a], lower=bool(g.integer(0, 1)))


@generates("triangular-solve")
def _triangular_solve(g: Grower) -> Instruction:
    a = _matrices(g, 4)
    chosen: dict[str, Any] = {name: bool(g.integer(0, 1)) for name in SOLVE_FLAGS}
    if chosen["unit_diagonal"]:  # the rest of the triangle must be small beside the ones
        a = builder.binary("multiply", a, builder.full(0.125, a.array_shape))
    *batch, size, _ = a.array_shape.dims
    other = g.draw(sizes(g.zero))
    dims = (*batch, size, other) if chosen["left_side"] else (*batch, other, size)
    b = _bounded(g, Shape(a.array_shape.element_type, dims))
    return builder.instruction("triangular-solve", [a, b], transpose_a=g.pick(TRANSPOSES), **chosen)
