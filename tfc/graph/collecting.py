"""Collections of graphs: lists under names, in which programs keep what they find again later."""

import re
from typing import Any


class Collections:
    """Lists of values by key; part of a graph."""

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    def _check_open(self) -> None:
        """Check that the graph may be changed."""

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Add a value to a collection."""
        self._check_open()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Add a value to several collections, or to one."""
        for name in [names] if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """The values of a collection, of those whose names match `scope` from their beginning."""
        found = self._collections.get(name, [])
        if scope is None:
            return list(found)
        pattern = re.compile(scope)
        return [x for x in found if hasattr(x, "name") and pattern.match(x.name)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The list of a collection itself, which may be changed."""
        return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        """Empty a collection."""
        self._check_open()
        self._collections.pop(name, None)
