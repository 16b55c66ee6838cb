"""What a session keeps between its runs."""

import logging
import threading
from dataclasses import dataclass, field
from itertools import count

import numpy as np

_log = logging.getLogger("tfc.graph")


@dataclass(eq=False)
class State:
    """The variables of a session, and what its runs share.

    backend: what clusters are compiled for.
    variables: their values by name. Nobody else holds these arrays, so that compiled code may
        write to them.
    lock: held while variables are read and written.
    clusters, runs: numbers for clusters and runs.
    """

    backend: str = "cpu"
    variables: dict[str, np.ndarray] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    clusters: count = field(default_factory=count)
    runs: count = field(default_factory=lambda: count(1))
    _noted: set[str] = field(default_factory=set)

    def note(self, name: str, text: str, level: int = logging.WARNING) -> None:
        """Say once for a name what users may want to know, through `logging`, as `tfc.graph`."""
        if name not in self._noted:
            self._noted.add(name)
            _log.log(level, "%s", text)
