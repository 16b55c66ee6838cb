"""What a run is asked for: the tensors and operations in a nested structure."""

from collections.abc import Mapping, Sequence
from typing import Any

from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor


class Fetches:
    """The fetches of a run, taken apart.

    operations: what must run. tensors: whose values are given, each once.
    """

    def __init__(self, graph: Graph, fetches: Any):
        self._graph, self._fetches = graph, fetches
        self.operations: list[Operation] = []
        self.tensors: list[Tensor] = []
        self._places: dict[Tensor, int] = {}
        self._plan = self._taken_apart(fetches)

    def _taken_apart(self, fetch: Any) -> Any:
        """The structure with places in `tensors` as its leaves, None for operations.

        Raises:
            TypeError: a leaf can be no fetch. ValueError: it is of another graph, or cannot be.
        """
        if isinstance(fetch, Mapping):
            return {key: self._taken_apart(value) for key, value in fetch.items()}
        if isinstance(fetch, (list, tuple)):
            return [self._taken_apart(value) for value in fetch]
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type NoneType")
        try:
            found = self._graph.as_graph_element(fetch)
        except (TypeError, KeyError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"Fetch argument {fetch!r} cannot be fetched: {error.args[0]}") from None
        if not self._graph.is_fetchable(found):
            raise ValueError(f"{found.name!r} has been marked as not fetchable")
        if isinstance(found, Operation):
            self.operations.append(found)
            return None
        self.operations.append(found.op)
        if found not in self._places:
            self._places[found] = len(self.tensors)
            self.tensors.append(found)
        return self._places[found]

    def structured(self, values: Sequence[Any]) -> Any:
        """The values of `tensors` in the structure of the fetches."""
        return self._built(self._fetches, self._plan, values)

    def _built(self, fetch: Any, plan: Any, values: Sequence[Any]) -> Any:
        if isinstance(plan, dict):
            made = {key: self._built(fetch[key], part, values) for key, part in plan.items()}
            return type(fetch)(made) if type(fetch) is not dict else made
        if isinstance(plan, list):
            parts = [self._built(f, p, values) for f, p in zip(fetch, plan)]
            if hasattr(fetch, "_fields"):
                return type(fetch)(*parts)
            return parts if isinstance(fetch, list) else tuple(parts)
        return None if plan is None else values[plan]
