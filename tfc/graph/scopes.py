"""The scopes and collections of the default graph, as functions."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from tfc.graph.graph import get_default_graph


def name_scope(
    name: str | None, default_name: str | None = None, values: Any = None
) -> AbstractContextManager[str]:
    """Put `name/`, or `default_name/` if there is none, before the names of what is made within."""
    del values
    return get_default_graph().name_scope(name if name is not None else default_name)


def op_scope(
    values: Any, name: str | None, default_name: str | None = None
) -> AbstractContextManager[str]:
    """`name_scope` with its arguments in an older order."""
    return name_scope(name, default_name, values)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Let what is made within run after these operations; None forgets outer scopes'."""
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Let what is made within run on a device."""
    return get_default_graph().device(device_name_or_function)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Let what is made within run where an operation runs."""
    return get_default_graph().colocate_with(op, ignore_existing)


def add_to_collection(name: Any, value: Any) -> None:
    """Add a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Add a value to collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """The values of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """The list of a collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)
