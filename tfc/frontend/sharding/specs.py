"""Specs for nested structures, given as a prefix of them: one entry for a whole part."""

from collections.abc import Iterator
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.tree import Structure


def spread_specs(option: str, specs: Any, structure: Structure, default: Any) -> list[Any]:
    """The spec of each leaf of a structure, of which `specs` is a prefix.

    Args:
        option: what the specs are called in errors.
        default: what None stands for.

    Raises:
        TraceError: it is no prefix.
    """
    leaves, prefix = tree.flatten(specs)
    return list(_spread(option, iter(leaves), prefix, structure, default))


def _spread(
    option: str, specs: Iterator[Any], prefix: Structure, structure: Structure, default: Any
) -> Iterator[Any]:
    if prefix.is_leaf:
        yield from [next(specs)] * structure.num_leaves
    elif prefix.kind is type(None):
        yield from [default] * structure.num_leaves
    elif (prefix.kind, prefix.keys) != (structure.kind, structure.keys):
        got = "an array" if structure.is_leaf else structure
        raise TraceError(f"{option} must be a prefix of what it is for, got {prefix} for {got}")
    else:
        for child, inner in zip(prefix.children, structure.children):
            yield from _spread(option, specs, child, inner, default)
