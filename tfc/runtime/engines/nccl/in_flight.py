"""What this process's GPU is in, told to the watcher of the job while the host does something else.

A collective is entered when it is asked for and left when the GPU has come to the mark behind it. A
thread looks at the marks a few times in a second, as long as there are any.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tfc.runtime.engines.mpi.board import Board

_TICK = 0.02  # seconds between looks


class Passed(Protocol):
    """A place in what a GPU was asked for."""

    def is_passed(self) -> bool:
        """Whether all that was asked before is done, without waiting for it."""
        ...


class InFlight:
    """Collectives that a GPU was asked for and has not finished.

    Args:
        broken: what went wrong in the library meanwhile, or "".
        fail: ends the job, and says why.
    """

    def __init__(self, board: Board, broken: Callable[[], str], fail: Callable[[str], None]):
        self._board, self._broken, self._fail = board, broken, fail
        self._marks: deque[tuple[int, Passed]] = deque()
        self._some = threading.Event()
        threading.Thread(target=self._look, name="tfc-nccl", daemon=True).start()

    def add(self, what: str, group: tuple[int, ...], mark: Passed) -> None:
        """What was asked for last before a mark."""
        number = self._board.number(what, group)
        if not self._marks:
            self._board.fly(number)
        self._marks.append((number, mark))
        self._some.set()

    def wait(self) -> None:
        """Wait until the GPU has finished all of them."""
        while self._marks:
            time.sleep(_TICK)

    def _look(self) -> None:
        while True:
            self._some.wait()
            self._some.clear()
            while self._marks:
                number, mark = self._marks[0]
                self._board.fly(number)
                try:
                    is_passed = mark.is_passed()
                except Exception as error:
                    self._fail(str(error))
                    return
                if is_passed:
                    self._marks.popleft()
                    self._board.land()
                    continue
                wrong = self._broken()
                if wrong:
                    self._fail(wrong)
                    return
                time.sleep(_TICK)
