"""Generators: gather and scatter."""

from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S32, Shape
from tfc.testing.generators.grower import ANY, Grower, generates
from tfc.testing.generators.values import sizes


def _indices(g: Grower, components: int) -> tuple[Instruction, int]:
    """Start indices of a number of components, and the dimension that holds them."""
    element_type = g.pick([t for t in g.element_types if t.is_integer] or [S32])
    batch = [g.draw(sizes(g.zero)) for _ in range(g.integer(0, 2))]
    vector = g.integer(0, len(batch))
    dims = [*batch[:vector], components, *batch[vector:]]
    if components == 1 and g.integer(0, 1):
        vector, dims = len(batch), batch
    return g.like(Shape(element_type, tuple(dims))), vector


def _windows(g: Grower, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which operand dimensions start indices name, and which windows leave out."""
    named = g.draw(st.permutations(range(rank)))[: g.integer(0, rank)]
    return tuple(named), g.some_dimensions(rank)


@generates("gather")
def _gather(g: Grower) -> Instruction:
    x = g.operand(ANY)
    dims = x.array_shape.dims
    named, dropped = _windows(g, len(dims))
    dropped = tuple(sorted(d for d in dropped if dims[d]))
    indices, vector = _indices(g, len(named))
    low = 0 if g.zero else 1
    slices = [1 if d in dropped else g.integer(min(low, n), n) for d, n in enumerate(dims)]
    batch = indices.array_shape.rank - (vector < indices.array_shape.rank)
    kept = len(dims) - len(dropped)
    places = sorted(g.draw(st.permutations(range(batch + kept)))[:kept])
    return builder.instruction(
        "gather", [x, indices], offset_dims=tuple(places), collapsed_slice_dims=dropped,
        start_index_map=named, index_vector_dim=vector, slice_sizes=tuple(slices),
    )  # fmt: skip


@generates("scatter")
def _scatter(g: Grower) -> Instruction:
    x = g.operand(ANY - {"pred"})
    dims = x.array_shape.dims
    named, dropped = _windows(g, len(dims))
    dropped = tuple(sorted(dropped))
    indices, vector = _indices(g, len(named))
    batch = [n for d, n in enumerate(indices.array_shape.dims) if d != vector]
    inside = [g.integer(0, n) for d, n in enumerate(dims) if d not in dropped]
    rank = len(batch) + len(inside)
    places = sorted(g.draw(st.permutations(range(rank)))[: len(inside)])
    windows, others = iter(inside), iter(batch)
    update = tuple(next(windows if d in places else others) for d in range(rank))
    return builder.instruction(
        "scatter", [x, indices, g.like(Shape(x.array_shape.element_type, update))],
        update_window_dims=tuple(places), inserted_window_dims=dropped,
        scatter_dims_to_operand_dims=named, index_vector_dim=vector,
        to_apply=builder.scalar_computation("add", x.array_shape.element_type),
    )  # fmt: skip
