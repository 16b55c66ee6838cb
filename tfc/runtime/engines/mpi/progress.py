"""A thread that moves on what has been begun, while its process computes.

Over a network MPI moves little between its calls: a message in many pieces stands still until its
receiver asks for the next, and a sum of many messages until somebody asks for the next of them.
"""

import atexit
import threading
import time
from collections.abc import Callable
from typing import Any

_PAUSE = 1e-4  # seconds between looks: 125 KB of 10 Gbit/s


class Progress:
    """Asks MPI again and again while something is under way, and sleeps otherwise.

    Args:
        everyone: all processes of the job.
    """

    def __init__(self, everyone: Any):
        self._communicator = everyone.Dup()  # on which nobody sends: its probes find nothing
        self._changed = threading.Condition()
        self._under_way, self._has_ended = 0, False
        self._sent: list[tuple[Any, Any]] = []  # what MPI may still read, with its request
        self._thread: threading.Thread | None = None

    def send(self, request: Any, value: Any) -> None:
        """Move on a message for which nobody waits here, and keep its value until it has gone."""
        with self._changed:
            self._sent.append((request, value))
            self._wake()

    def moving(self, wait: Callable[[], None]) -> Callable[[], None]:
        """The same function, which waits for what is under way from now on."""
        with self._changed:
            self._under_way += 1
            self._wake()

        def finish() -> None:
            with self._changed:  # who waits asks MPI itself
                self._under_way -= 1
            wait()

        return finish

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="tfc-progress")
            self._thread.start()
            atexit.register(self._end)  # MPI ends later
        self._changed.notify()

    def _run(self) -> None:
        probe = self._communicator.Iprobe
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._under_way or self._sent or self._has_ended)
                if self._has_ended:
                    return
                self._sent = [(r, v) for r, v in self._sent if not r.Test()]
            probe()
            time.sleep(_PAUSE)

    def _end(self) -> None:
        with self._changed:
            self._has_ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
