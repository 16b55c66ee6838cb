"""Nested structures, under the names of jax.tree: what `jit`, `grad` and the like take and return.

    tfc.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    @tfc.tree.register_dataclass
    @dataclass(frozen=True)
    class State:
        params: dict
        step: int

Containers are dicts (OrderedDict and defaultdict too), lists, tuples, named tuples, None, and
classes that are registered; all else is a leaf. Functions that compare structures say where they
differ: at `params['w'][0]`.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import reduce as _fold
from typing import Any, TypeVar, overload

from tfc.errors import TraceError
from tfc.frontend import tree as nested
from tfc.frontend.tree import Container, Leaves, Structure
from tfc.tracebacks import api_boundary

__all__ = [
    "Structure",
    "all",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "register",
    "register_dataclass",
    "register_node_class",
    "structure",
    "transpose",
    "unflatten",
]

T = TypeVar("T", bound=type)
Path = tuple[Hashable, ...]
_MISSING = object()


@api_boundary
def flatten(tree: Any, is_leaf: Leaves | None = None) -> tuple[list[Any], Structure]:
    """The leaves, depth first, and the structure that holds them.

    Args:
        is_leaf: what to take for a leaf though it is a container.

    Raises:
        TraceError: a dictionary's keys have no order.
    """
    return nested.flatten(tree, is_leaf)


@api_boundary
def unflatten(treedef: Structure, leaves: Iterable[Any]) -> Any:
    """The nested structure with these leaves.

    Raises:
        TraceError: there are more leaves or fewer than the structure has.
    """
    listed = list(leaves)
    if len(listed) != treedef.num_leaves:
        raise TraceError(f"{treedef} has {treedef.num_leaves} leaves, got {len(listed)}")
    return nested.unflatten(treedef, listed)


@api_boundary
def leaves(tree: Any, is_leaf: Leaves | None = None) -> list[Any]:
    """The leaves, depth first."""
    return nested.flatten(tree, is_leaf)[0]


@api_boundary
def structure(tree: Any, is_leaf: Leaves | None = None) -> Structure:
    """The containers without the leaves, to be compared and hashed."""
    return nested.flatten(tree, is_leaf)[1]


@api_boundary
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Leaves | None = None) -> Any:
    """f of each leaf, and of what lies there in the other trees, nested as the first.

    Raises:
        TraceError: another tree has other containers than the first; the message says where.
    """
    found, known = nested.flatten(tree, is_leaf)
    others = [nested.flatten_up_to(known, other) for other in rest]
    return nested.unflatten(known, [f(*parts) for parts in zip(found, *others)])


@api_boundary
def flatten_with_path(
    tree: Any, is_leaf: Leaves | None = None
) -> tuple[list[tuple[Path, Any]], Structure]:
    """Each leaf with the keys, field names and numbers that lead to it; the structure."""
    found, known = nested.flatten(tree, is_leaf)
    return list(zip(nested.key_paths(known), found)), known


@api_boundary
def leaves_with_path(tree: Any, is_leaf: Leaves | None = None) -> list[tuple[Path, Any]]:
    """Each leaf with the keys, field names and numbers that lead to it."""
    return flatten_with_path(tree, is_leaf)[0]


@api_boundary
def map_with_path(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Leaves | None = None
) -> Any:
    """f(path, leaf, …), as `map` else.

    Raises:
        TraceError: another tree has other containers than the first.
    """
    found, known = nested.flatten(tree, is_leaf)
    others = [nested.flatten_up_to(known, other) for other in rest]
    made = [f(*parts) for parts in zip(nested.key_paths(known), found, *others)]
    return nested.unflatten(known, made)


@api_boundary
def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: Leaves | None = None,
) -> Any:
    """The leaves combined one after the other, from `initializer` if there is one.

    Raises:
        TraceError: there are no leaves and nothing to begin with.
    """
    found = nested.flatten(tree, is_leaf)[0]
    if initializer is not _MISSING:
        return _fold(function, found, initializer)
    if not found:
        raise TraceError("reduce of a tree without leaves needs an initializer")
    return _fold(function, found)


@api_boundary
def all(tree: Any, *, is_leaf: Leaves | None = None) -> bool:
    """Whether all leaves are true."""
    return not any(not leaf for leaf in nested.flatten(tree, is_leaf)[0])


@api_boundary
def transpose(outer_treedef: Structure, inner_treedef: Structure | None, pytree_to_transpose: Any):
    """A tree of trees, turned inside out: inner containers of outer ones.

    Args:
        inner_treedef: found at the first leaf of the outer structure if left out.

    Raises:
        TraceError: the tree has not the outer structure with the inner one at each leaf.
    """
    parts = nested.flatten_up_to(outer_treedef, pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = nested.flatten(parts[0])[1] if parts else nested.LEAF
    columns = [nested.flatten_up_to(inner_treedef, part) for part in parts]
    made = [nested.unflatten(outer_treedef, column) for column in zip(*columns)]
    return nested.unflatten(inner_treedef, made)


@api_boundary
def register(
    nodetype: T,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
) -> T:
    """Make a class a container: jax.tree_util.register_pytree_node.

    Args:
        flatten_func: an object → (its children, the rest of it, which must be hashable).
        unflatten_func: (the rest, children) → an object. The children may be anything, as trees
            are made of Tensors, structures and other things too: nothing may be checked of them.

    Raises:
        TraceError: it is no class, or a container already.
    """

    def apart(value: Any) -> Any:
        children, rest = flatten_func(value)
        listed = tuple(children)
        return listed, tuple(range(len(listed))), rest

    nested.register_container(nodetype, Container(apart, unflatten_func))
    return nodetype


@api_boundary
def register_node_class(cls: T) -> T:
    """Make a class a container that has tree_flatten() and a classmethod tree_unflatten(aux, …).

    Raises:
        TraceError: it has not, or is a container already.
    """
    missing = [n for n in ("tree_flatten", "tree_unflatten") if not hasattr(cls, n)]
    if missing:
        raise TraceError(f"register_node_class takes a class with {missing[0]}, got {cls!r}")
    return register(cls, lambda value: value.tree_flatten(), cls.tree_unflatten)


@overload
def register_dataclass(nodetype: T) -> T: ...
@overload
def register_dataclass(
    nodetype: T, data_fields: Sequence[str], meta_fields: Sequence[str] = ()
) -> T: ...
@api_boundary
def register_dataclass(
    nodetype: T, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None
) -> T:
    """Make a dataclass, or a class that is made like one, a container.

    Args:
        data_fields: the fields that are children; all that are not `meta_fields` if left out, but
            those with metadata={"static": True}.
        meta_fields: the fields that are part of the structure: hashable, and compiled for.

    Raises:
        TraceError: the fields are not those of the class, or it is a container already.
    """
    kind: Any = nodetype
    known = [f for f in fields(kind) if f.init] if is_dataclass(kind) else []
    if not known and data_fields is None:
        raise TraceError(f"register_dataclass takes a dataclass, got {nodetype!r}")
    if meta_fields is None:
        meta_fields = [f.name for f in known if f.metadata.get("static")] if not data_fields else []
    if data_fields is None:
        data_fields = [f.name for f in known if f.name not in meta_fields]
    data, meta = tuple(data_fields), tuple(meta_fields)
    _check_fields(nodetype, known, data, meta)

    def apart(value: Any) -> Any:
        rest = tuple([getattr(value, name) for name in meta])
        return [getattr(value, name) for name in data], data, rest

    def made(rest: Any, children: Sequence[Any]) -> Any:
        return nodetype(**dict(zip(data, children)), **dict(zip(meta, rest)))

    nested.register_container(nodetype, Container(apart, made, has_fields=True))
    return nodetype


def _check_fields(
    nodetype: type, known: Sequence[Any], data: Sequence[str], meta: Sequence[str]
) -> None:
    """Check that the fields named are those that the class is made of.

    Raises:
        TraceError: one is missing, named twice, or unknown.
    """
    if twice := sorted(set(data) & set(meta)):
        raise TraceError(f"{twice[0]} of {nodetype.__name__} is named as data and as meta")
    if not known:
        return
    names = [f.name for f in known]
    needed = {f.name for f in known if f.default is MISSING and f.default_factory is MISSING}
    for name in (*data, *meta):
        if name not in names:
            raise TraceError(f"{nodetype.__name__} has no field {name}; it has {', '.join(names)}")
    if missing := [n for n in names if n in needed and n not in (*data, *meta)]:
        raise TraceError(
            f"{nodetype.__name__} cannot be made again without its field {missing[0]}; name it in "
            "data_fields or meta_fields"
        )
