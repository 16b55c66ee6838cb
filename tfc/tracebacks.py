"""Tracebacks of the user's mistakes end at the user's line: the frames of tfc are left out of them.

      File "train.py", line 9, in <module>          step(x)
      (tfc traces the function: hidden)
      File "train.py", line 5, in step              return x @ w
      (tfc finds that the shapes differ: hidden)
    tfc.errors.ShapeError: dot requires …

An error loses them in the functions through which users enter tfc, on its way out of each. One that
is tfc's own fault keeps them all: an InternalError, and whatever was raised by tfc and is not a
TfcError. TFC_TRACEBACK=full shows them always.
"""

import os
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

import numpy as np

from tfc.errors import InternalError, TfcError
from tfc.options import full_traceback_from_environment

P = ParamSpec("P")
R = TypeVar("R")

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = (os.path.dirname(np.__file__) + os.sep, "<frozen ")  # and Python's import
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_full = ContextVar("full", default=False)


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors leave it without the frames of tfc."""

    @wraps(function)
    def bounded(*args: P.args, **named: P.kwargs) -> R:
        try:
            return function(*args, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return bounded


@contextmanager
def full_tracebacks(wanted: bool = True) -> Iterator[None]:
    """Hide nothing meanwhile, if that is wanted."""
    token = _full.set(wanted or _full.get())
    try:
        yield
    finally:
        _full.reset(token)


def hide_frames(error: BaseException) -> None:
    """Leave tfc's frames out of the traceback of an error and of those it came from.

    The caller raises it again by a plain `raise`, which adds no frame. Nothing is changed for an
    error that is tfc's fault.

    Raises:
        TfcError: TFC_TRACEBACK is neither "full" nor "short".
    """
    if not _is_users(error) or _full.get() or full_traceback_from_environment():
        return
    met: set[int] = set()
    pending = [error]
    while pending:
        found = pending.pop()
        if id(found) in met:
            continue
        met.add(id(found))
        found.__traceback__ = _without_own(found.__traceback__)
        if found.__cause__ is not None:
            pending.append(found.__cause__)
        context = found.__context__
        if context is None or found.__suppress_context__:
            continue
        pending.append(context)
        # How tfc noticed is of no interest; what the user was handling is.
        found.__suppress_context__ = _is_wholly_own(context.__traceback__)


def is_own_frame(frame: FrameType) -> bool:
    """True if a frame runs code of tfc, including what a dataclass of tfc generates."""
    file = frame.f_code.co_filename
    if file.startswith("<"):
        return str(frame.f_globals.get("__name__", "")).startswith("tfc.")
    return file.startswith(PACKAGE)


def _entries(traceback: TracebackType | None) -> Iterator[tuple[TracebackType, bool]]:
    """Each entry from the outermost to the innermost, and whether it is to be hidden.

    Libraries are hidden where tfc calls them.
    """
    is_hidden = False
    while traceback is not None:
        frame = traceback.tb_frame
        is_hidden = is_own_frame(frame) or (is_hidden and _is_library(frame.f_code.co_filename))
        yield traceback, is_hidden
        traceback = traceback.tb_next


def _is_library(file: str) -> bool:
    """True for files of NumPy and of Python's own library, in whose folder others may lie."""
    if file.startswith(_STANDARD):
        return "-packages" not in file[len(_STANDARD) :]
    return file.startswith(_NUMPY)


def _is_users(error: BaseException) -> bool:
    if isinstance(error, TfcError):
        return not isinstance(error, InternalError)
    if isinstance(error, MemoryError):
        return True
    found = list(_entries(error.__traceback__))
    if isinstance(error, RecursionError):
        # Wherever the end was reached: it is the user's code that runs in rounds, or tfc's alone.
        users = [entry.tb_frame.f_code for entry, is_hidden in found if not is_hidden]
        return len(set(users)) < len(users)
    return not found or not found[-1][1]


def _is_wholly_own(traceback: TracebackType | None) -> bool:
    return traceback is not None and all(hidden for _, hidden in _entries(traceback))


def _without_own(traceback: TracebackType | None) -> TracebackType | None:
    kept = [entry for entry, is_hidden in _entries(traceback) if not is_hidden]
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made
