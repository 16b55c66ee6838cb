"""Nested structures: containers ↔ flat leaves and a structure that can be hashed and compared.

    {"w": [x, y], "b": None}  ↔  [x, y]  and  a Structure

Containers are dicts, ordered ones and those with a default, lists, tuples, named tuples, None, and
the classes that are registered: dataclasses, and whatever says itself how it is taken apart.
Dictionary entries are taken in the order of their sorted keys, so that two equal dictionaries have
the same leaves in the same order; an OrderedDict, whose order is part of it, keeps its own.
Whatever is not a container is a leaf.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.errors import TfcError, TraceError

Leaves = Callable[[Any], bool]  # what to take for a leaf though it is a container


@dataclass(frozen=True, slots=True)
class Structure:
    """The containers of a nested structure, without its leaves.

    kind: the container's type; None for a leaf.
    keys: what each child is found under: dictionary keys, field names or positions.
    meta: what else makes the container: the default of a dictionary, the other fields of a
        dataclass, the auxiliary data of a registered class.
    """

    kind: type | None = None
    keys: tuple[Hashable, ...] = ()
    children: tuple["Structure", ...] = ()
    meta: Hashable = None

    @property
    def is_leaf(self) -> bool:
        """True for a single leaf without a container."""
        return self.kind is None

    @property
    def num_leaves(self) -> int:
        """How many leaves it has."""
        return 1 if self.is_leaf else sum(child.num_leaves for child in self.children)

    @property
    def holds_registered(self) -> bool:
        """Whether a container in it is of a registered class."""
        return self.kind in _registered or any(c.holds_registered for c in self.children)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind is type(None):
            return "None"
        parts = [str(c) for c in self.children]
        if self.kind in _registered:
            return f"{self.kind.__name__}({_list_of(self.keys, parts)})"
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(self.keys, parts)) + "}"
        if self.kind is list:
            return f"[{', '.join(parts)}]"
        name = "" if self.kind is tuple else self.kind.__name__
        return f"{name}({', '.join(parts)}{',' if len(parts) == 1 and not name else ''})"


def _list_of(keys: Sequence[Hashable], parts: Sequence[str]) -> str:
    return ", ".join(f"{k}={p}" if isinstance(k, str) else p for k, p in zip(keys, parts))


@dataclass(frozen=True)
class Container:
    """How a registered class is taken apart and made again.

    flatten: an object → (its children, what they are found under, what else it is made of).
    unflatten: (what else it is made of, children) → an object.
    has_fields: whether the children are found as attributes, and not by number.
    """

    flatten: Callable[[Any], tuple[Sequence[Any], tuple[Hashable, ...], Hashable]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    has_fields: bool = False


_registered: dict[type | None, Container] = {}


def register_container(kind: type, container: Container) -> None:
    """Make a class known as one of containers.

    Raises:
        TraceError: it is one already, or no class.
    """
    if not isinstance(kind, type):
        raise TraceError(f"only classes are registered as containers, got {kind!r}")
    if kind in _registered or kind in (dict, OrderedDict, defaultdict, list, tuple, type(None)):
        raise TraceError(f"{kind.__name__} is registered as a container already")
    _registered[kind] = container


LEAF = Structure()
_NONE = Structure(type(None))


def flatten(tree: Any, is_leaf: Leaves | None = None) -> tuple[list[Any], Structure]:
    """The leaves of a nested structure, depth first, and the structure that held them."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(tree: Any, leaves: list[Any], is_leaf: Leaves | None) -> Structure:
    if is_leaf is None or not is_leaf(tree):
        kind = type(tree)
        if tree is None:
            return _NONE
        if kind is list or kind is tuple:  # as below, but quickly
            made = tuple([_flatten_into(child, leaves, is_leaf) for child in tree])
            return Structure(kind, tuple(range(len(made))), made)
        if kind is np.ndarray:
            leaves.append(tree)
            return LEAF
        found = _taken_apart(tree)
        if found is not None:
            children, keys, meta = found
            made = tuple([_flatten_into(child, leaves, is_leaf) for child in children])
            return Structure(kind, keys, made, meta)
    leaves.append(tree)
    return LEAF


def _taken_apart(tree: Any) -> tuple[Sequence[Any], tuple[Hashable, ...], Hashable] | None:
    """A container's children, what they are found under, and what else it is; None for a leaf."""
    kind = type(tree)
    if kind is list or kind is tuple:
        return tree, tuple(range(len(tree))), None
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        keys = tuple(tree) if kind is OrderedDict else _in_order(tree)
        meta = tree.default_factory if kind is defaultdict else None
        return [tree[k] for k in keys], keys, meta
    container = _registered.get(kind)
    if container is not None:
        return _checked(kind, container.flatten(tree))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return tree, tuple(tree._fields), None  # pyright: ignore[reportAttributeAccessIssue]
    return None


def _checked(kind: type, found: Any) -> Any:
    """What a registered class is taken apart to.

    Raises:
        TraceError: what else it is made of cannot be hashed.
    """
    try:
        hash(found[2])
    except TypeError as error:
        raise TraceError(
            f"what {kind.__name__} is made of besides its children must be hashable, as programs "
            f"are compiled for it, got {found[2]!r} ({error})"
        ) from None
    return found


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
    if kind is list or kind is tuple:
        return kind(children)
    container = _registered.get(kind)
    if container is not None:
        return container.unflatten(structure.meta, children)
    if issubclass(kind, defaultdict):
        made: Any = kind
        return made(structure.meta, zip(structure.keys, children))
    if issubclass(kind, dict):
        return kind(zip(structure.keys, children))
    return kind(*children)


def _step(structure: Structure, key: Hashable) -> str:
    """How a child is reached: ['w'], [0], .x"""
    container = _registered.get(structure.kind)
    has_fields = container.has_fields if container else hasattr(structure.kind, "_fields")
    return f".{key}" if has_fields else f"[{key!r}]"


def paths(structure: Structure, prefix: str = "") -> list[str]:
    """For each leaf, how to reach it from `prefix`: params['w'][0], state.step …"""
    if structure.is_leaf:
        return [prefix]
    found: list[str] = []
    for key, child in zip(structure.keys, structure.children):
        found.extend(paths(child, prefix + _step(structure, key)))
    return found


def key_paths(structure: Structure) -> list[tuple[Hashable, ...]]:
    """For each leaf the keys, field names and numbers that lead to it."""
    if structure.is_leaf:
        return [()]
    return [
        (key, *rest)
        for key, child in zip(structure.keys, structure.children)
        for rest in key_paths(child)
    ]


def difference(expected: Structure, got: Structure, path: str = "") -> str | None:
    """Where two structures differ first, as a clause; None if they do not.

    Args:
        path: how to reach them.
    """
    at = f"at {path} " if path else ""
    if expected.is_leaf or got.is_leaf or expected.kind is not got.kind:
        if expected == got:
            return None
        return f"{at}{_described(expected)} is expected, got {_described(got)}"
    if expected.keys != got.keys:
        return f"{at}{_described(expected)} is expected, got {_described(got)}"
    for key, one, other in zip(expected.keys, expected.children, got.children):
        if (found := difference(one, other, path + _step(expected, key))) is not None:
            return found
    if expected.meta != got.meta:
        return f"{at}{_described(expected)} with {expected.meta!r} is expected, got {got.meta!r}"
    return None


def _described(structure: Structure) -> str:
    """A container, or a leaf, with its article."""
    if structure.kind is None:
        return "a leaf"
    if structure.kind is type(None):
        return "None"
    name, count = structure.kind.__name__, len(structure.children)
    if issubclass(structure.kind, dict):
        return f"a {name} with the keys {', '.join(map(repr, structure.keys)) or 'none'}"
    return f"a {name} of {count}"


def flatten_up_to(structure: Structure, tree: Any, path: str = "the tree") -> list[Any]:
    """What lies at the leaves of a structure in a tree that may go on there.

    Raises:
        TraceError: the tree has other containers where the structure has some.
    """
    if structure.is_leaf:
        return [tree]
    if structure.kind is type(None):
        if tree is not None:
            raise TraceError(f"at {path} None is expected, got {_described(flatten(tree)[1])}")
        return []
    found = _taken_apart(tree) if tree is not None else None
    if found is None or type(tree) is not structure.kind or found[1:] != (
        structure.keys, structure.meta
    ):  # fmt: skip
        text = difference(structure, flatten(tree)[1], path)
        raise TraceError(text or f"at {path} {_described(structure)} is expected")
    return [
        leaf
        for key, one, child in zip(structure.keys, structure.children, found[0])
        for leaf in flatten_up_to(one, child, path + _step(structure, key))
    ]


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same nested structure with `function` applied to each leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])
