"""Nested structures: dicts, lists, tuples, named tuples and None ↔ flat leaves and a structure.

    {"w": [x, y], "b": None}  ↔  [x, y]  and  a Structure that can be hashed and compared

Dictionary entries are taken in the order of their sorted keys, so that two equal dictionaries have
the same leaves in the same order. Whatever is not a container is a leaf.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tfc.errors import TfcError, TraceError


@dataclass(frozen=True, slots=True)
class Structure:
    """The containers of a nested structure, without its leaves.

    kind: the container's type; None for a leaf.
    keys: what each child is found under: dictionary keys, field names or positions.
    """

    kind: type | None = None
    keys: tuple[Hashable, ...] = ()
    children: tuple["Structure", ...] = ()

    @property
    def is_leaf(self) -> bool:
        """True for a single leaf without a container."""
        return self.kind is None

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        parts = [str(c) for c in self.children]
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(self.keys, parts)) + "}"
        if self.kind is list:
            return f"[{', '.join(parts)}]"
        if self.kind is type(None):
            return "None"
        name = "" if self.kind is tuple else self.kind.__name__
        return f"{name}({', '.join(parts)}{',' if len(parts) == 1 and not name else ''})"


LEAF = Structure()
_NONE = Structure(type(None))


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a nested structure, depth first, and the structure that held them."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves)


def _flatten_into(tree: Any, leaves: list[Any]) -> Structure:
    kind = type(tree)
    if tree is None:
        return _NONE
    if kind is list or kind is tuple:
        children = tuple(_flatten_into(child, leaves) for child in tree)
        return Structure(kind, tuple(range(len(children))), children)
    if kind is dict or kind is OrderedDict:
        keys = _in_order(tree)
        return Structure(kind, keys, tuple(_flatten_into(tree[k], leaves) for k in keys))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        children = tuple(_flatten_into(child, leaves) for child in tree)
        return Structure(kind, tuple(kind._fields), children)
    leaves.append(tree)
    return LEAF


def _in_order(keys: Iterable[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(keys, key=_sort_key))
    except TypeError as error:
        if isinstance(error, TfcError):
            raise
        shown = ", ".join(map(repr, keys))
        raise TraceError(f"a dictionary's keys must have an order, got {shown}") from None


def _sort_key(key: Any) -> tuple[str, Any]:
    # Keys of different types have no order among themselves: group them by type.
    return type(key).__name__, key


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The nested structure with `leaves` in their places; the inverse of `flatten`."""
    return _unflatten_from(structure, iter(leaves))


def _unflatten_from(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind = structure.kind
    if kind is None:
        return next(leaves)
    if kind is type(None):
        return None
    children = [_unflatten_from(child, leaves) for child in structure.children]
    if issubclass(kind, dict):
        return kind(zip(structure.keys, children))
    if hasattr(kind, "_fields"):
        return kind(*children)
    return kind(children)


def paths(structure: Structure, prefix: str = "") -> list[str]:
    """For each leaf, how to reach it from `prefix`: params['w'][0], state.step …"""
    if structure.is_leaf:
        return [prefix]
    found: list[str] = []
    for key, child in zip(structure.keys, structure.children):
        named = structure.kind is not None and hasattr(structure.kind, "_fields")
        found.extend(paths(child, f"{prefix}.{key}" if named else f"{prefix}[{key!r}]"))
    return found


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same nested structure with `function` applied to each leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])
