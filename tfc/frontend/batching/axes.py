"""in_axes and out_axes: which axis of each array holds the batch.

in_axes=0                       axis 0 of every array
in_axes=(0, None)               axis 0 of all in the first argument, the second as it is
in_axes=({"w": 1, "b": None},)  a prefix of the arguments' structure: one entry for a whole part
"""

from collections.abc import Iterator, Sequence
from operator import index
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.tensor import Tensor
from tfc.frontend.tree import Structure

Axis = int | None


def spread(option: str, axes: Any, structure: Structure, name: str) -> list[Axis]:
    """The axis of each leaf of a structure, of which `axes` is a prefix.

    Args:
        option: "in_axes" or "out_axes", for errors.
        name: what the structure is called in errors.

    Raises:
        TraceError: `axes` is no prefix, or holds something else than integers and None.
    """
    leaves, prefix = tree.flatten(axes)
    return list(_spread(option, iter(leaves), prefix, structure, name))


def _spread(
    option: str, leaves: Iterator[Any], prefix: Structure, structure: Structure, name: str
) -> Iterator[Axis]:
    count = len(tree.paths(structure))
    if prefix.is_leaf:
        yield from [_axis(option, next(leaves), name)] * count
    elif prefix.kind is type(None):
        yield from [None] * count
    elif (prefix.kind, prefix.keys) != (structure.kind, structure.keys):
        raise TraceError(
            f"vmap requires {option} to be a prefix of what it is for, got {prefix} for {name}, "
            f"which is {structure if not structure.is_leaf else 'an array'}"
        )
    else:
        for key, child, inner in zip(structure.keys, prefix.children, structure.children):
            yield from _spread(option, leaves, child, inner, f"{name}[{key!r}]")


def _axis(option: str, axis: Any, name: str) -> int:
    try:
        return index(axis)
    except TypeError:
        raise TraceError(
            f"vmap requires {option} of integers and None, got {axis!r} for {name}"
        ) from None


def check_in_axes(in_axes: Any) -> None:
    """Check what `in_axes` is, before there are arguments.

    Raises:
        TraceError: it is no integer, None, tuple or list.
    """
    if in_axes is not None and not isinstance(in_axes, (tuple, list)):
        try:
            index(in_axes)
        except TypeError:
            raise TraceError(
                "vmap requires in_axes to be an integer, None or a tuple with an entry for each "
                f"positional argument, got {in_axes!r}"
            ) from None


def argument_axes(in_axes: Any, args: Sequence[Any], names: Sequence[str]) -> list[Axis]:
    """The axis of each leaf of the positional arguments.

    Raises:
        TraceError: in_axes does not fit them.
    """
    if not isinstance(in_axes, (tuple, list)):
        in_axes = [in_axes] * len(args)
    if len(in_axes) != len(args):
        raise TraceError(
            f"vmap requires in_axes with an entry for each positional argument, got "
            f"{len(in_axes)} entries for {len(args)} arguments"
        )
    each = zip(in_axes, args, names)
    return [a for axes, x, n in each for a in spread("in_axes", axes, tree.flatten(x)[1], n)]


def checked_axis(option: str, axis: int, rank: int, shown: str) -> int:
    """The axis, counted from the front.

    Args:
        shown: the array as errors call it.

    Raises:
        TraceError: the array has no such axis.
    """
    if not rank:
        raise TraceError(
            f"vmap cannot map {shown}, a scalar; give None in {option} to pass it as it is"
        )
    if not -rank <= axis < rank:
        raise TraceError(
            f"vmap requires {option} within the axes {-rank} to {rank - 1} of {shown}, got {axis}"
        )
    return axis % rank


def batch_size(
    sizes: Sequence[tuple[str, int, Tensor]], stated: int | None, option: str = "axis_size"
) -> int:
    """The size that all mapped axes have.

    Args:
        sizes: of each mapped array its name, axis and Tensor.

    Raises:
        TraceError: they differ, or there are none and none is stated.
    """
    found: dict[int, str] = {}
    for name, axis, tensor in sizes:
        shown = f"{name} ({tensor.array_shape.without_layout()}, axis {axis})"
        found.setdefault(tensor.shape[axis], shown)
    if stated is not None:
        found.setdefault(stated, option)
    if len(found) > 1:
        listed = " and ".join(f"{size} for {shown}" for size, shown in found.items())
        raise TraceError(f"vmap requires mapped axes of one size, got {listed}")
    if not found:
        raise TraceError(
            "vmap requires at least one mapped array, got in_axes without any; map one, or give "
            "axis_size"
        )
    return next(iter(found))
