"""How many threads compiled programs use in this process."""

import os
import threading
from collections.abc import Callable

from tfc.errors import TfcError
from tfc.options import threads_from_environment
from tfc.tracebacks import api_boundary

MOST_THREADS = 256


def available_cores() -> int:
    """The number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Setting:
    """The number of threads, 0 until it is asked for, and who wants to know when it changes."""

    def __init__(self) -> None:
        self.threads = 0
        self.listeners: list[Callable[[int], None]] = []
        self.lock = threading.Lock()


_setting = _Setting()


@api_boundary
def set_threads(threads: int) -> None:
    """Say how many threads the kernels of compiled programs may use, from the next call on.

    At first they are as many as TFC_THREADS says, or else as there are cores for this process.
    Results do not depend on it.

    Raises:
        TfcError: it is no whole number from 1 to 256.
    """
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TfcError(f"set_threads takes a whole number, got {threads!r}")
    if not 1 <= threads <= MOST_THREADS:
        raise TfcError(f"set_threads takes a number from 1 to {MOST_THREADS}, got {threads}")
    with _setting.lock:
        _setting.threads = threads
        for listener in _setting.listeners:
            listener(threads)


def get_threads() -> int:
    """How many threads the kernels of compiled programs may use.

    Raises:
        TfcError: nothing else was asked for, and TFC_THREADS is no positive number.
    """
    if not _setting.threads:
        _setting.threads = min(threads_from_environment() or available_cores(), MOST_THREADS)
    return _setting.threads


def on_change(listener: Callable[[int], None]) -> None:
    """Call a function now, and whenever `set_threads` is called."""
    with _setting.lock:
        listener(get_threads())
        _setting.listeners.append(listener)
