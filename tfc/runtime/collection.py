"""Pausing Python's collector of cycles while a program is compiled."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_was_enabled = False


@contextmanager
def paused_collection() -> Iterator[None]:
    """Have no cycles collected meanwhile, in any thread; afterwards all is as it was.

    Compiling makes many objects, no cycles to speak of, and keeps nearly all of them until it is
    done. The collector, which counts objects made, would walk again and again over these and all
    others of the process, which takes a tenth of the time and more, and find nothing.
    """
    global _pauses, _was_enabled  # noqa: PLW0603  # the collector is one for all threads, too
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _was_enabled:
                gc.enable()
