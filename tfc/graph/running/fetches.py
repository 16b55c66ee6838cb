"""What a run is asked for: the tensors and operations in a nested structure."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor


class Fetches:
    """The fetches of a run, taken apart.

    operations: what must run. tensors: whose values are given, each once.
    leaves: the fetches that are no containers.
    """

    def __init__(self, graph: Graph, fetches: Any):
        self._graph, self._fetches = graph, fetches
        self.operations: list[Operation] = []
        self.tensors: list[Tensor] = []
        self.leaves: list[Any] = []
        self._places: dict[Tensor, int] = {}
        self._plan = self._taken_apart(fetches)

    def _taken_apart(self, fetch: Any) -> Any:
        """The structure with places in `tensors` as its leaves, None for operations.

        Raises:
            TypeError: a leaf can be no fetch. ValueError: it is of another graph, or cannot be.
        """
        parts = _parts(fetch)
        if parts is not None:
            return [self._taken_apart(part) for part in parts]
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type NoneType")
        try:
            found = self._graph.as_graph_element(fetch)
        except (TypeError, KeyError) as error:
            kind = TypeError if isinstance(error, TypeError) else ShapeError
            raise kind(f"Fetch argument {fetch!r} cannot be fetched: {error.args[0]}") from None
        if not self._graph.is_fetchable(found):
            raise ShapeError(f"{found.name!r} has been marked as not fetchable")
        self.leaves.append(fetch)
        if isinstance(found, Operation):
            self.operations.append(found)
            return None
        if found.dtype.name in ("resource", "variant"):
            raise TypeError(
                f"Fetch argument {fetch!r} cannot be fetched: a {found.dtype.name} has no value"
            )
        self.operations.append(found.op)
        if found not in self._places:
            self._places[found] = len(self.tensors)
            self.tensors.append(found)
        return self._places[found]

    @property
    def is_list(self) -> bool:
        """Whether they are a list of different tensors, so that their values are the result."""
        return type(self._fetches) is list and self._plan == list(range(len(self.tensors)))

    def structured(self, values: Sequence[Any]) -> Any:
        """The values of `tensors` in the structure of the fetches."""
        return self._built(self._fetches, self._plan, values)

    def _built(self, fetch: Any, plan: Any, values: Sequence[Any]) -> Any:
        if not isinstance(plan, list):
            return None if plan is None else values[plan]
        made = [self._built(f, p, values) for f, p in zip(_parts(fetch) or (), plan)]
        return _together(fetch, made)


def _parts(fetch: Any) -> list[Any] | None:
    """What a container holds, in order; None for what is none."""
    if isinstance(fetch, Mapping):
        return list(fetch.values())
    if isinstance(fetch, (list, tuple)):
        return list(fetch)
    names = _fields(fetch)
    return None if names is None else [getattr(fetch, name) for name in names]


def _fields(fetch: Any) -> list[str] | None:
    """The fields of an object of a dataclass, or of a class of the package attrs."""
    if isinstance(fetch, type):
        return None
    if is_dataclass(fetch):
        return [field.name for field in fields(fetch)]
    attributes = getattr(type(fetch), "__attrs_attrs__", None)
    return None if attributes is None else [attribute.name for attribute in attributes]


def _together(fetch: Any, made: list[Any]) -> Any:
    """A container like `fetch` that holds other values."""
    if isinstance(fetch, Mapping):
        named = dict(zip(fetch, made))
        return named if type(fetch) is dict else _mapping(fetch, named)
    if isinstance(fetch, list):
        return made
    if hasattr(fetch, "_fields"):
        return type(fetch)(*made)
    if isinstance(fetch, tuple):
        return tuple(made)
    return type(fetch)(*made)


def _mapping(fetch: Mapping[Any, Any], named: dict[Any, Any]) -> Any:
    """A mapping of the class of another: a defaultdict has its function before what it holds."""
    function = getattr(fetch, "default_factory", None)
    kind: Any = type(fetch)
    return kind(named) if function is None else kind(function, named)
