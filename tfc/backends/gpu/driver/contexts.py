"""A context as what threads use by PyCUDA, which ends the whole process (`abort`) where a thread
ends, or the process does, before it has given back what it has pushed.

The loader of bundles has this file inside, which so imports nothing of tfc.
"""

import threading
import weakref
from typing import Any


class _Stay:
    """Lives as long as its thread, or until the process ends."""


class ThreadsContext:
    """A context that each thread has pushed once."""

    def __init__(self, context: Any):
        self._context, self._here = context, threading.local()

    def enter(self) -> None:
        """Make it this thread's, until the thread ends."""
        if getattr(self._here, "stay", None) is None:
            self._context.push()
            self._here.stay = stay = _Stay()
            # It is called in the thread itself as it ends, and at exit in the main one.
            weakref.finalize(stay, _leave, self._context, threading.get_ident())


def _leave(context: Any, thread: int) -> None:
    if thread == threading.get_ident():  # other threads have a stack of their own
        context.pop()
