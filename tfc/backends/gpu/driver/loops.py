"""Loops that a GPU decides about: waiting for them so that a signal can end it.

Nobody knows whether such a loop ends, and the driver's own waits see no signal. So the host asks
again and again whether the GPU has come to an event; if an exception ends that (Ctrl-C), loops stop
after the round that they are in, and the arrays that they were to be made of are deleted.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from typing import Protocol
from weakref import WeakKeyDictionary

from tfc.errors import DriverError

_AT_ONCE = 1e-3  # seconds, for which the host asks without a break
_SHARE = 16  # later it sleeps for this part of the time that it has waited for
_LONGEST = 10e-3  # seconds
_WHY = "was not computed to the end, since a loop that it depends on was interrupted"


class Perishable(Protocol):
    """An array that may never be computed."""

    def delete(self, reason: str = ...) -> None:
        """Make it of no use."""
        ...


class Loops:
    """The graphs with loops that a driver was asked for.

    Args:
        stop: makes all loops that were asked for end; may be called by any thread.

    Attributes:
        asked, ended: how many were asked for, and how many of these are known to have ended.
        stopped: how many times loops were made to stop.
    """

    def __init__(self, stop: Callable[[], None]):
        self._stop = stop
        self.asked = self.ended = self.stopped = 0
        # With how many loops they come after.
        self._arrays: WeakKeyDictionary[Perishable, int] = WeakKeyDictionary()

    @property
    def are_under_way(self) -> bool:
        """Whether some may not have ended."""
        return self.asked != self.ended

    def note(self, arrays: Iterable[Perishable], stopped: int) -> None:
        """Take note of arrays that a program makes while loops are under way, or may be.

        Args:
            stopped: that attribute as it was before the program was asked for.
        """
        if stopped != self.stopped:
            for array in arrays:
                array.delete(_WHY)
        elif self.are_under_way:
            self._arrays.update((array, self.asked) for array in arrays)

    def wait(self, is_done: Callable[[], bool], asked: int) -> None:
        """Wait for an event, and let an exception of a signal's handler stop all loops.

        Args:
            is_done: whether the GPU has come to the event.
            asked: how many loops it comes after.
        """
        begin = time.monotonic()
        try:
            while not is_done():
                passed = time.monotonic() - begin
                if passed > _AT_ONCE:
                    time.sleep(min(passed / _SHARE, _LONGEST))
        except DriverError:
            raise
        except BaseException:
            self.stop()
            raise
        self.ended = max(self.ended, asked)
        if not self.are_under_way:
            self._arrays.clear()

    def stop(self) -> None:
        """Make all loops stop that were asked for; arrays that depend on them are deleted."""
        # A thread of its own, which no further signal can interrupt before all is as it was.
        thread = Thread(target=self.stop_in_this_thread)
        thread.start()
        thread.join()

    def stop_in_this_thread(self) -> None:
        """The same, for when no thread can begin any more."""
        with suppress(DriverError):  # where the GPU is of no use any more, its loops are over
            self._stop()
        self.stopped += 1
        for array, asked in list(self._arrays.items()):
            if asked > self.ended:
                array.delete(_WHY)
        self._arrays.clear()
        self.ended = self.asked


def never_loops() -> Loops:
    """Those of a driver whose graphs do not decide."""
    return Loops(lambda: None)
