"""Generators: data movement, static and dynamic."""

from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S32, Shape
from tfc.testing.generators.grower import ANY, Grower, generates
from tfc.testing.generators.values import sizes


@generates("copy")
def _copy(g: Grower) -> Instruction:
    return builder.instruction("copy", [g.operand(ANY)])


@generates("broadcast")
def _broadcast(g: Grower) -> Instruction:
    x = g.operand(ANY)
    rank = x.array_shape.rank + g.integer(0, 2)
    chosen = sorted(g.draw(st.permutations(range(rank)))[: x.array_shape.rank])
    dims = [g.draw(sizes(g.zero)) for _ in range(rank)]
    for d, n in zip(chosen, x.array_shape.dims):
        dims[d] = n
    return builder.broadcast(x, dims, chosen)


@generates("reshape")
def _reshape(g: Grower) -> Instruction:
    x = g.operand(ANY)
    dims = list(g.draw(st.permutations(x.array_shape.dims)))
    if len(dims) > 1 and g.integer(0, 1):
        dims[:2] = [dims[0] * dims[1]]
    dims.insert(g.integer(0, len(dims)), 1)
    for at, n in enumerate(dims):
        if n == 4 and g.integer(0, 1):
            dims[at : at + 1] = [2, 2]
            break
    return builder.reshape(x, dims)


@generates("transpose")
def _transpose(g: Grower) -> Instruction:
    x = g.operand(ANY)
    permutation = tuple(g.draw(st.permutations(range(x.array_shape.rank))))
    return builder.instruction("transpose", [x], dimensions=permutation)


@generates("reverse")
def _reverse(g: Grower) -> Instruction:
    x = g.operand(ANY)
    dimensions = g.some_dimensions(x.array_shape.rank)
    return builder.instruction("reverse", [x], dimensions=dimensions)


@generates("slice")
def _slice(g: Grower) -> Instruction:
    x, bounds = g.operand(ANY), []
    for n in x.array_shape.dims:
        start = g.integer(0, n)
        bounds.append((start, g.integer(start, n), g.integer(1, 3)))
    return builder.instruction("slice", [x], slice=tuple(bounds))


def _starts(g: Grower, rank: int) -> list[Instruction]:
    """Scalar start indices for a dynamic slice, in bounds or not."""
    element_type = g.pick([t for t in g.element_types if t.is_integer] or [S32])
    return [g.scalar(element_type) for _ in range(rank)]


@generates("dynamic-slice")
def _dynamic_slice(g: Grower) -> Instruction:
    x = g.operand(ANY, min_rank=1)  # XLA's own forms need one
    sizes = tuple(g.integer(0 if g.zero else min(n, 1), n) for n in x.array_shape.dims)
    return builder.instruction(
        "dynamic-slice", [x, *_starts(g, x.array_shape.rank)], dynamic_slice_sizes=sizes
    )


@generates("dynamic-update-slice")
def _dynamic_update_slice(g: Grower) -> Instruction:
    x = g.operand(ANY, min_rank=1)  # XLA's own forms need one
    dims = tuple(g.integer(0 if g.zero else min(n, 1), n) for n in x.array_shape.dims)
    update = g.like(Shape(x.array_shape.element_type, dims))
    return builder.instruction("dynamic-update-slice", [x, update, *_starts(g, x.array_shape.rank)])


@generates("concatenate")
def _concatenate(g: Grower) -> Instruction:
    x = g.operand(ANY, min_rank=1)
    shape, parts = x.array_shape, [x]
    dimension = g.integer(0, shape.rank - 1)
    for _ in range(g.integer(0, 2)):
        dims = list(shape.dims)
        dims[dimension] = g.draw(sizes(g.zero))
        parts.append(g.like(Shape(shape.element_type, tuple(dims))))
    return builder.instruction("concatenate", parts, dimensions=(dimension,))


@generates("pad")
def _pad(g: Grower) -> Instruction:
    x, padding = g.operand(ANY, min_rank=1), []  # XLA has no text for a scalar's padding
    for n in x.array_shape.dims:
        low, high, interior = g.integer(-2, 3), g.integer(-2, 3), g.integer(0, 2)
        size = n + max(n - 1, 0) * interior + low + high
        padding.append((low, high - min(size, 0), interior))
    value = g.scalar(x.array_shape.element_type)
    return builder.instruction("pad", [x, value], padding=tuple(padding))
