"""The gradients of gather and scatter: each is the other, at the same start indices."""

from collections.abc import Callable
from functools import cache

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, vjp
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Computation
from tfc.hlo.ops.indexed import (
    GATHER,
    SCATTER,
    Windows,
    gather_windows,
    scatter_windows,
    window_sizes,
)
from tfc.hlo.shape import S32, S64, ElementType, Shape


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
    combination = _combination(y)
    rule = _SCATTERS.get(combination) if len(operands) == 3 else None
    if rule is None:
        raise TraceError(
            "only a scatter of one array that sets, adds, multiplies or takes extremes can be "
            "differentiated: scatter the updates into zeros and combine the results"
        )
    x, _, updates = operands
    of_operand, of_updates = rule(_Scattered(y, *operands), g, y, x, updates)
    return [of_operand, None, of_updates]


def _combination(y: Tensor) -> str:
    """What a scatter does with the old element and the new one: an op's name, or "set"."""
    computation = y.instruction["to_apply"]
    root, parameters = computation.root, computation.parameters
    if root is parameters[-1]:
        return "set"
    both = len(root.operands) == 2 and set(root.operands) == set(parameters)
    return root.opcode if both else "other"


class _Scattered:
    """A scatter of one array: what it does, done with other arrays at the same places."""

    def __init__(self, y: Tensor, x: Tensor, indices: Tensor, updates: Tensor):
        self.attributes, self.indices = y.instruction.attributes, indices
        self.windows = scatter_windows(y.instruction)
        self.sizes = window_sizes(self.windows, x.array_shape, updates.array_shape)
        self.updates = updates
        self.is_unique = bool(self.attributes.get("unique_indices"))
        limits = [x.shape[d] - self.sizes[d] for d in self.windows.index_map]
        fits = _fits(limits, self.windows, indices)
        outside = [d for d in range(updates.ndim) if d not in self.windows.window_dims]
        self.fits = ops.broadcast(fits, updates.shape, outside)

    def gather(self, tensor: Tensor) -> Tensor:
        """The elements where the updates go; zero for those left out."""
        same = dict(zip(GATHER, (self.attributes.get(n, ()) for n in SCATTER)))
        gathered = operation(
            "gather", tensor, self.indices, slice_sizes=tuple(self.sizes),
            index_vector_dim=self.windows.vector_dim, **same,
        )  # fmt: skip
        return select(self.fits, gathered, full_like(0, gathered))

    def scatter(self, tensor: Tensor, updates: Tensor, opcode: str | None) -> Tensor:
        """The updates combined by an op into an array, or put into it."""
        kind = tensor.array_shape.element_type
        given = {**self.attributes, "to_apply": _replace(kind)}
        if opcode is not None:
            given["to_apply"] = ops.scalar_computation(opcode, kind)
        return operation("scatter", tensor, self.indices, updates, **given)


@cache
def _replace(element_type: ElementType) -> Computation:
    parameters = [builder.parameter(number, Shape(element_type)) for number in range(2)]
    return Computation.make("replace", parameters, parameters[1])


def _added(s: _Scattered, g: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
    return g, s.gather(g)


def _set(s: _Scattered, g: Tensor, y: Tensor, x: Tensor, updates: Tensor) -> tuple[Tensor, Tensor]:
    """To the updates that are in the result, of several at one place the one that stayed."""
    if s.is_unique:
        return s.scatter(g, full_like(0, updates), None), s.gather(g)
    number = S32 if updates.size < (1 << 31) - 1 else S64
    counted = ops.iota(number, (updates.size,), 0)
    numbers = ops.reshape(operation("add", counted, full_like(1, counted)), updates.shape)
    writer = s.scatter(ops.full(0, x.shape, number), numbers, None)
    stays = compare("EQ", s.gather(writer), numbers)
    is_old = compare("EQ", writer, full_like(0, writer))
    gathered = s.gather(g)
    return (
        select(is_old, g, full_like(0, g)),
        select(stays, gathered, full_like(0, gathered)),
    )


def _multiplied(
    s: _Scattered, g: Tensor, y: Tensor, x: Tensor, updates: Tensor
) -> tuple[Tensor, Tensor]:
    """To each factor the product of the others, without dividing by a factor that is zero."""
    ones = full_like(1, x)
    of_operand = operation("multiply", g, s.scatter(ones, updates, "multiply"))
    if s.is_unique:
        return of_operand, s.gather(operation("multiply", g, x))
    is_zero = compare("EQ", updates, full_like(0, updates))
    others = select(is_zero, full_like(1, updates), updates)
    weight = operation("multiply", g, operation("multiply", x, s.scatter(ones, others, "multiply")))
    count = ops.convert(is_zero, S32)
    zeros = s.scatter(ops.full(0, x.shape, S32), count, "add")
    other_zeros = operation("subtract", s.gather(zeros), count)
    rest = operation("divide", s.gather(weight), others)
    none = compare("EQ", other_zeros, full_like(0, other_zeros))
    return of_operand, select(none, rest, full_like(0, rest))


def _extreme(
    s: _Scattered, g: Tensor, y: Tensor, x: Tensor, updates: Tensor
) -> tuple[Tensor, Tensor]:
    """In equal parts to all that are the extreme, as in JAX."""
    zeros = full_like(0, x)
    is_operand = ops.convert(compare("EQ", x, y), x.array_shape.element_type)
    reached = operation("and", compare("EQ", updates, s.gather(y)), s.fits)
    is_update = ops.convert(reached, x.array_shape.element_type)
    count = operation("add", is_operand, s.scatter(zeros, is_update, "add"))
    several = operation("maximum", count, full_like(1, count))
    part = operation("divide", g, several)
    return (
        operation("multiply", part, is_operand),
        operation("multiply", s.gather(part), is_update),
    )


_SCATTERS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "add": _added,
    "set": _set,
    "multiply": _multiplied,
    "minimum": _extreme,
    "maximum": _extreme,
}


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
