"""The gradients of gather and scatter: each is the other, at the same start indices."""

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, vjp
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.tensor import Tensor
from tfc.hlo.ops.indexed import (
    GATHER,
    SCATTER,
    Windows,
    gather_windows,
    scatter_windows,
    window_sizes,
)


@vjp("gather")
def _gather(g: Tensor, y: Tensor, x: Tensor, indices: Tensor) -> list[Cotangent]:
    attributes, windows = y.instruction.attributes, gather_windows(y.instruction)
    sizes = attributes["slice_sizes"]
    limits = [x.shape[d] - sizes[d] for d in windows.index_map]
    # A gather clamps its start indices where a scatter would leave the window out.
    clamped = operation("clamp", full_like(0, indices), indices, _spread(limits, windows, indices))
    same = dict(zip(SCATTER, (attributes.get(n, ()) for n in GATHER)))
    add = ops.scalar_computation("add", g.array_shape.element_type)
    spread = operation(
        "scatter", full_like(0, x), clamped, g, to_apply=add,
        index_vector_dim=windows.vector_dim, **same,
    )  # fmt: skip
    return [spread, None]


@vjp("scatter")
def _scatter(g: Tensor, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    root = y.instruction["to_apply"].root
    if len(operands) != 3 or root.opcode != "add" or len(set(root.operands)) != 2:
        raise TraceError(
            "only a scatter of one array that adds can be differentiated: "
            "scatter the updates into zeros and combine the results"
        )
    x, indices, updates = operands
    attributes, windows = y.instruction.attributes, scatter_windows(y.instruction)
    sizes = window_sizes(windows, x.array_shape, updates.array_shape)
    same = dict(zip(GATHER, (attributes.get(n, ()) for n in SCATTER)))
    gathered = operation(
        "gather", g, indices, slice_sizes=tuple(sizes),
        index_vector_dim=windows.vector_dim, **same,
    )  # fmt: skip
    limits = [x.shape[d] - sizes[d] for d in windows.index_map]
    fits = _fits(limits, windows, indices)
    outside = [d for d in range(updates.ndim) if d not in windows.window_dims]
    mask = ops.broadcast(fits, updates.shape, outside)
    return [g, None, select(mask, gathered, full_like(0, gathered))]


def _spread(limits: list[int], windows: Windows, indices: Tensor) -> Tensor:
    """The limit of each component, in the shape of the start indices."""
    element_type = indices.array_shape.element_type
    most = element_type.limits[1]
    values = np.minimum(limits, most)
    if windows.vector_dim == indices.ndim:
        return full_like(int(values[0]), indices)
    vector = ops.constant(values, element_type)
    return ops.broadcast(vector, indices.shape, [windows.vector_dim])


def _fits(limits: list[int], windows: Windows, indices: Tensor) -> Tensor:
    """pred: whether the window of each start index lies inside the operand."""
    most = _spread(limits, windows, indices)
    inside = operation(
        "and", compare("GE", indices, full_like(0, indices)), compare("LE", indices, most)
    )
    if windows.vector_dim == indices.ndim:
        return inside
    return ops.reduce(inside, "and", True, (windows.vector_dim,))
