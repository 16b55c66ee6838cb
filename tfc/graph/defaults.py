"""The graphs and sessions that `with` has made the default ones."""

import threading
from collections.abc import Callable
from typing import Any


class _Threads(threading.local):
    """Of this thread, innermost last."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.sessions: list[Any] = []


default = _Threads()


class Writers:
    """Who makes messages of graphs: `files` says it, as it lies above.

    to_proto: a graph -> a GraphDef.
    """

    def __init__(self) -> None:
        self.to_proto: Callable[[Any], Any]


writers = Writers()


def get_default_session() -> Any:
    """The innermost session of `with`, or None."""
    return default.sessions[-1] if default.sessions else None
