"""Pausing Python's collector of cycles while a program is compiled."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_UNSEEN = 1_000_000

_lock = threading.Lock()
_pauses = 0
_was_enabled = False
_unseen = 0  # objects that were let be old since all were looked at


@contextmanager
def paused_collection() -> Iterator[None]:
    """Have no cycles collected meanwhile, in any thread; afterwards all is as it was.

    Compiling and loading make many objects, no cycles to speak of, and keep nearly all of them. The
    collector, which counts objects made, would walk again and again over these and all others of
    the process, which takes a tenth of the time and more, and find nothing. It would walk over all
    of them once when the pause ends, too: so they count as old then, as what has survived it does,
    and all objects are looked at only when a million were let through so.
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
            is_due = not _pauses and _was_enabled and _resume()
        if is_due:  # without the lock: what is collected may run any code
            gc.collect()


def _resume() -> bool:
    """Have cycles collected again; whether it is time to look at all objects."""
    global _unseen  # noqa: PLW0603  # as above
    _unseen += gc.get_count()[0]
    if not gc.get_freeze_count():  # what somebody keeps from ever being looked at stays so
        gc.freeze()
        gc.unfreeze()  # into the oldest generation
    gc.enable()
    if _unseen <= _MOST_UNSEEN:
        return False
    _unseen = 0
    return True
