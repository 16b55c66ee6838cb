"""From one sharding of a value to another: the steps, and what they move.

slice           a dimension is cut further: each device keeps a part of what it has; moves nothing
permute         as many parts of each dimension, on other devices: one collective-permute
exchange        a cut goes from one dimension to another: one all-to-all
gather          a dimension is cut less: one all-gather

A cut along axes that nothing uses comes first, since what is gathered is less then.

The parts of a size that does not divide are ceil(n / t) long, so those for t = 4 of 5 elements,
[0 1] [2 3] [4 .] [. .], are no pieces of those for t = 2, [0 1 2] [3 4 .]. From one to the other
the dimension is whole between: `nests` says where a step may go without.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tfc.hlo.shape import Shape
from tfc.passes.spmd.logical_mesh import Axes, LogicalMesh, Spec


@dataclass(frozen=True)
class Step:
    """One step on the way to another sharding.

    kind: "slice", "permute", "exchange" or "gather".
    spec: that after it.
    dimension: what is cut further or less; where the cut of an exchange goes to.
    axes: along which.
    source: the dimension that the cut of an exchange comes from.
    """

    kind: str
    spec: Spec
    dimension: int = 0
    axes: Axes = ()
    source: int = 0


def nests(mesh: LogicalMesh, size: int, outer: Axes, more: Axes) -> bool:
    """Whether the parts along `outer`, cut further along `more`, are those along all of them."""
    if not outer or not more:
        return True
    count = mesh.count(more)
    return mesh.part(size, outer) == count * mesh.part(size, (*outer, *more))


def steps(mesh: LogicalMesh, dims: Sequence[int], before: Spec, after: Spec) -> Iterator[Step]:
    """The steps from one spec to another, of an array of these dims."""
    spec = before
    while spec != after:
        step = _next(mesh, dims, spec, after)
        spec = step.spec
        yield step


def _next(mesh: LogicalMesh, dims: Sequence[int], now: Spec, after: Spec) -> Step:
    used = {a for axes in now for a in axes}
    for d, axes in enumerate(after):
        more = axes[len(now[d]) :]
        is_further = more and axes[: len(now[d])] == now[d] and not used & set(more)
        if is_further and nests(mesh, dims[d], now[d], more):
            return Step("slice", _with(now, d, axes), d, more)
    if mesh.parts(now) == mesh.parts(after):
        return Step("permute", after)
    return _exchange(mesh, dims, now, after) or _gather(mesh, dims, now, after)


def _exchange(mesh: LogicalMesh, dims: Sequence[int], now: Spec, after: Spec) -> Step | None:
    for i, have in enumerate(now):
        if after[i][: len(have)] == have:
            continue
        for length in range(len(have), 0, -1):
            kept, moved = have[:-length], have[-length:]
            if not nests(mesh, dims[i], kept, moved):
                continue
            for j, axes in enumerate(now):
                wanted = (*axes, *moved)
                is_right = j != i and after[j][: len(wanted)] == wanted
                if is_right and nests(mesh, dims[j], axes, moved):
                    return Step("exchange", _with(_with(now, i, kept), j, wanted), j, moved, i)
    return None


def _gather(mesh: LogicalMesh, dims: Sequence[int], now: Spec, after: Spec) -> Step:
    for d, (have, wanted) in enumerate(zip(now, after)):
        kept = 0
        while kept < len(have) and wanted[kept : kept + 1] == have[kept : kept + 1]:
            kept += 1
        while not (
            nests(mesh, dims[d], have[:kept], have[kept:])
            and nests(mesh, dims[d], have[:kept], wanted[kept:])
        ):
            kept -= 1
        if kept < len(have):
            return Step("gather", _with(now, d, have[:kept]), d, have[kept:])
    raise AssertionError("specs that differ can be sliced or gathered")


def _with(spec: Spec, dimension: int, axes: Axes) -> Spec:
    return (*spec[:dimension], axes, *spec[dimension + 1 :])


def cost(mesh: LogicalMesh, shape: Shape, before: Spec, after: Spec) -> int:
    """The bytes that a device gets on the way from one spec to another."""
    total = 0
    for step in steps(mesh, shape.dims, before, after):
        held = prod(mesh.local(shape.dims, step.spec)) * shape.element_type.bytes
        count = mesh.count(step.axes)
        if step.kind == "permute":
            total += held
        elif step.kind != "slice":
            total += held * (count - 1) // count
    return total


def reduction_cost(mesh: LogicalMesh, size: int, axes: Axes) -> int:
    """The bytes that a device gets in an all-reduce of so many."""
    count = mesh.count(axes)
    return 2 * size * (count - 1) // count
