"""Collectives: what devices do together in a function given to shard_map.

`axis` is the name of an axis of the mesh, or a tuple of names: devices that differ along these
alone take part together.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from math import prod
from operator import index
from typing import Any, ParamSpec, TypeVar

from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.promotion import as_tensor
from tfc.frontend.sharding.boundaries import all_reduce
from tfc.frontend.sharding.mesh import Mesh
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import for_user, refusal
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.shape import PRED, S32, Shape

P = ParamSpec("P")
R = TypeVar("R")
AxisName = str | Sequence[str]


class _Threads(threading.local):
    """The mesh whose devices the function being traced runs on."""

    def __init__(self) -> None:
        self.mesh: Mesh | None = None


_thread = _Threads()


@contextmanager
def on_mesh(mesh: Mesh) -> Iterator[None]:
    """Let the axes of a mesh be known to collectives."""
    before, _thread.mesh = _thread.mesh, mesh
    try:
        yield
    finally:
        _thread.mesh = before


def current_mesh() -> Mesh | None:
    """The mesh whose axes are known here."""
    return _thread.mesh


def _located(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors show the user's line."""

    @wraps(function)
    def located(*args: P.args, **named: P.kwargs) -> R:
        try:
            return function(*args, **named)
        except Exception as error:
            for_user(error)
            raise

    return located


def _axes(name: str, axis: AxisName) -> tuple[Mesh, tuple[str, ...]]:
    """The mesh, and the axes of it that a collective goes along.

    Raises:
        TraceError: there is no mesh here, or it has no such axis.
    """
    axes = (axis,) if isinstance(axis, str) else tuple(axis)
    mesh = _thread.mesh
    if mesh is None:
        raise refusal(
            f"{name} over the axis {axis!r} works among the devices of a mesh: call it in a "
            "function given to tfc.shard_map"
        )
    for each in axes:
        if each not in mesh.axis_names:
            raise refusal(f"{name} needs an axis of {mesh!r}, got {each!r}")
    if len(set(axes)) != len(axes):
        raise refusal(f"{name} takes each axis once, got {axis!r}")
    return mesh, axes


def _dimension(name: str, what: str, number: int, rank: int) -> int:
    """A dimension counted from the front.

    Raises:
        TraceError: the array has none of that number.
    """
    if not -rank <= index(number) < rank:
        raise refusal(f"{name} needs {what} among {rank} dimensions, got {number}")
    return index(number) % rank


@_located
def axis_size(axis: AxisName) -> int:
    """The number of devices along an axis.

    Raises:
        TraceError: there is no such axis here.
    """
    mesh, axes = _axes("axis_size", axis)
    return prod(mesh.shape[a] for a in axes)


@_located
def axis_index(axis: AxisName) -> Tensor:
    """The place of the device along an axis: a scalar of int32, from 0.

    Raises:
        TraceError: there is no such axis here.
    """
    mesh, axes = _axes("axis_index", axis)
    device = ops.convert(ops.operation("partition-id"), S32)
    place = ops.constant(0, S32)
    strides, sizes = mesh.strides(), mesh.shape
    for each in axes:
        own = ops.operation("divide", device, ops.constant(strides[each], S32))
        own = ops.operation("remainder", own, ops.constant(sizes[each], S32))
        place = ops.operation("multiply", place, ops.constant(sizes[each], S32))
        place = ops.operation("add", place, own)
    return place


@_located
def psum(x: Any, axis: AxisName) -> Any:
    """The sum over the devices along an axis, on each of them; of each leaf of a nested structure.

    Of a Python number it is a Python number; booleans are counted.

    Raises:
        TraceError: there is no such axis here.
    """
    mesh, axes = _axes("psum", axis)
    count, groups = prod(mesh.shape[a] for a in axes), mesh.groups(axes)

    def total(leaf: Any) -> Any:
        if isinstance(leaf, (int, float, complex)):
            return leaf * count
        tensor = as_tensor(leaf)
        if tensor.array_shape.element_type == PRED:
            tensor = ops.convert(tensor, S32)
        return all_reduce(tensor, groups)

    return tree.map_leaves(total, x)


@_located
def pmean(x: Any, axis: AxisName) -> Any:
    """The mean over the devices along an axis, on each of them; of each leaf.

    Raises:
        TraceError: there is no such axis here.
    """
    count = axis_size(axis)
    return tree.map_leaves(lambda leaf: leaf / count, psum(x, axis))


def _extreme(name: str, opcode: str) -> Callable[[Any, AxisName], Any]:
    def extreme(x: Any, axis: AxisName) -> Any:
        mesh, axes = _axes(name, axis)
        groups = mesh.groups(axes)
        return tree.map_leaves(lambda leaf: all_reduce(as_tensor(leaf), groups, opcode), x)

    extreme.__name__ = name
    extreme.__doc__ = (
        f"The {opcode} over the devices along an axis, on each of them; of each leaf.\n\n"
        "Its gradient goes to the devices that have it, in equal shares.\n\n"
        "Raises:\n    TraceError: there is no such axis here."
    )
    return _located(extreme)


pmax = _extreme("pmax", "maximum")
pmin = _extreme("pmin", "minimum")


@_located
def all_gather(x: Any, axis_name: AxisName, *, axis: int = 0, tiled: bool = False) -> Any:
    """The arrays of the devices along an axis of the mesh, on each of them.

    Args:
        axis: the dimension along which they are stacked.
        tiled: they are joined along that dimension, which is there; else it is a new one.

    Raises:
        TraceError: there is no such axis here, or no such dimension.
    """
    mesh, axes = _axes("all_gather", axis_name)
    groups = mesh.groups(axes)

    def gather(leaf: Any) -> Tensor:
        tensor = as_tensor(leaf)
        place = _dimension("all_gather", "axis", axis, tensor.ndim + (not tiled))
        if not tiled:
            dims = tensor.shape
            tensor = ops.reshape(tensor, (*dims[:place], 1, *dims[place:]))
        return _grown("all-gather", tensor, groups, place)

    return tree.map_leaves(gather, x)


def _grown(
    opcode: str, tensor: Tensor, groups: Sequence[Sequence[int]], place: int, **more: Any
) -> Tensor:
    """An all-gather or reduce-scatter along a dimension."""
    count, dims = len(groups[0]), list(tensor.shape)
    dims[place] = dims[place] * count if opcode == "all-gather" else dims[place] // count
    shape = Shape(tensor.array_shape.element_type, tuple(dims))
    return ops.operation(
        opcode, tensor, shape=shape, channel_id=1, use_global_device_ids=True,
        replica_groups=ReplicaGroups(tuple(map(tuple, groups))), dimensions=(place,), **more,
    )  # fmt: skip


@_located
def psum_scatter(
    x: Any, axis_name: AxisName, *, scatter_dimension: int = 0, tiled: bool = False
) -> Any:
    """The sum over the devices along an axis, of which each keeps its part.

    Args:
        scatter_dimension: the dimension that is divided among them.
        tiled: each keeps a part of that dimension; else the dimension has their number of elements
            and is gone afterwards.

    Raises:
        TraceError: there is no such axis here, or the dimension does not divide.
    """
    mesh, axes = _axes("psum_scatter", axis_name)
    groups = mesh.groups(axes)
    count = len(groups[0])

    def scatter(leaf: Any) -> Tensor:
        tensor = as_tensor(leaf)
        place = _dimension("psum_scatter", "scatter_dimension", scatter_dimension, tensor.ndim)
        size = tensor.shape[place]
        if size % count or not (tiled or size == count):
            wanted = f"divisible by the {count} devices" if tiled else f"of size {count}"
            raise refusal(f"psum_scatter needs dimension {place} {wanted}, got {size}")
        add = ops.scalar_computation("add", tensor.array_shape.element_type)
        made = _grown("reduce-scatter", tensor, groups, place, to_apply=add)
        dims = made.shape
        return made if tiled else ops.reshape(made, (*dims[:place], *dims[place + 1 :]))

    return tree.map_leaves(scatter, x)


@_located
def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """Each device's array goes to another along an axis; who is sent nothing gets zeros.

    Args:
        perm: pairs (source, target) of places along the axis.

    Raises:
        TraceError: there is no such axis here, or a place is named twice or does not exist.
    """
    mesh, axes = _axes("ppermute", axis_name)
    groups = mesh.groups(axes)
    pairs = [(index(s), index(t)) for s, t in perm]
    for ends in zip(*pairs):
        if len(set(ends)) != len(ends) or not all(0 <= n < len(groups[0]) for n in ends):
            raise refusal(
                f"ppermute needs sources and targets that occur once among 0 to "
                f"{len(groups[0]) - 1}, got {pairs}"
            )
    every = tuple((g[s], g[t]) for g in groups for s, t in pairs)
    return tree.map_leaves(
        lambda leaf: ops.operation(
            "collective-permute", as_tensor(leaf), channel_id=1, source_target_pairs=every
        ),
        x,
    )


@_located
def all_to_all(
    x: Any, axis_name: AxisName, split_axis: int, concat_axis: int, *, tiled: bool = False
) -> Any:
    """Each device gives a part of its array to each along an axis of the mesh.

    Args:
        split_axis: the dimension that is divided among them.
        concat_axis: the dimension along which each joins what it gets.
        tiled: parts are joined along a dimension that is there, and the divided one stays; else it
            has as many elements as there are devices and becomes the new dimension `concat_axis`.

    Raises:
        TraceError: there is no such axis here, or the dimension does not divide.
    """
    mesh, axes = _axes("all_to_all", axis_name)
    groups = mesh.groups(axes)
    count = len(groups[0])

    def exchange(leaf: Any) -> Tensor:
        tensor = as_tensor(leaf)
        split = _dimension("all_to_all", "split_axis", split_axis, tensor.ndim)
        joined = _dimension("all_to_all", "concat_axis", concat_axis, tensor.ndim)
        dims = list(tensor.shape)
        if dims[split] % count or not (tiled or dims[split] == count):
            wanted = f"divisible by the {count} devices" if tiled else f"of size {count}"
            raise refusal(f"all_to_all needs dimension {split} {wanted}, got {dims[split]}")
        # The parts as a dimension of their own, which afterwards says whose they were.
        parts = [*dims[:split], count, dims[split] // count, *dims[split + 1 :]]
        made = ops.operation(
            "all-to-all", ops.reshape(tensor, parts), channel_id=1, dimensions=(split,),
            replica_groups=ReplicaGroups(groups),
        )  # fmt: skip
        rest = [d for d in range(len(parts)) if d != split]
        made = ops.transpose(made, [*rest[:joined], split, *rest[joined:]])
        left = [n // count if d == split else n for d, n in enumerate(dims)]
        if tiled:
            left[joined] *= count
            return ops.reshape(made, left)
        del left[split]
        return ops.reshape(made, [*left[:joined], count, *left[joined:]])

    return tree.map_leaves(exchange, x)
