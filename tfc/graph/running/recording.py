"""What was run when, for timelines."""

import threading
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """One operation or cluster that ran.

    name: its name. kind: the operation's type; _XlaLaunch of a cluster.
    began, ended: nanoseconds since the epoch. thread: who ran it.
    """

    name: str
    kind: str
    began: int
    ended: int
    thread: int


@dataclass
class Recorder:
    """The events of a run, in order."""

    events: list[Event] = field(default_factory=list)
    _offset: int = field(default_factory=lambda: time.time_ns() - time.perf_counter_ns())

    def add(self, name: str, kind: str, began: int, ended: int) -> None:
        """Add an event; times are those of time.perf_counter_ns."""
        thread = threading.get_ident()
        self.events.append(Event(name, kind, began + self._offset, ended + self._offset, thread))
