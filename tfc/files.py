"""Writing files so that each appears under its name complete, or not at all.

A regular file is replaced by one that was written beside it; links are followed to the file
behind them. What is no regular file (a device, a pipe, an open file of this process such as
/dev/stdout) is written into. "-" is the standard output.
"""

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from uuid import uuid4

from tfc.errors import TfcError

STANDARD_OUTPUT = "-"
_PATIENCE = 5.0  # seconds that a disk is given to finish
_MOST_LINKS = 40  # as many as Linux follows
_DESCRIPTOR = re.compile(r"(?:/dev|/proc/(self|thread-self|\d+))/fd/(\d+)")

# Held while files come to be and get their names, so that a process does not end meanwhile.
_changing = Lock()
_unfinished: set[Path] = set()


def write_files(*contents: tuple[Path, bytes]) -> None:
    """Write files that belong together: all of them, or none.

    Each is written beside its place under a temporary name, and all are renamed at the end. A file
    that is replaced keeps its permissions; folders that are missing are made. What is written into
    comes before anything is renamed.

    Raises:
        TfcError: two are the same file, or one cannot be written; then none is replaced, unless
            renaming itself fails.
        BrokenPipeError: who reads what is written into has stopped; then none is replaced, either.
    """
    _check_different([path for path, _ in contents])
    replaced: list[tuple[Path, Path, Path]] = []  # the temporary file, its place, the path given
    streams: list[tuple[Path, bytes]] = []
    try:
        for path, content in contents:
            with _changing, _naming(path):
                place = _file_behind(path)
                if place is None:
                    streams.append((path, content))
                    continue
                temporary = place.with_name(f".tfc-{uuid4().hex}")
                replaced.append((temporary, place, path))
                _unfinished.add(temporary)
                _write_beside(place, temporary, content)
        for path, content in streams:
            with _naming(path):
                _write_into(path, content)
        with _changing:
            for temporary, place, path in replaced:
                with _naming(path):
                    os.replace(temporary, place)
    finally:
        for temporary, _, _ in replaced:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            _unfinished.discard(temporary)


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Say that a file is of no use if the user ends the process meanwhile."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unfinished.discard(path)


def abandon() -> None:
    """Remove what is unfinished, and write no file any more: the process is about to end.

    To be called from another thread than that which writes.
    """
    _changing.acquire(timeout=_PATIENCE)
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have what goes wrong name the path; of a reader that stopped nothing need be said."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:  # ValueError: no path can have a zero in it
        reason = getattr(error, "strerror", None) or error
        raise TfcError(f"cannot write {path}: {reason}") from error


def _check_different(paths: list[Path]) -> None:
    kept: list[int | str] = []
    for path in paths:
        with _naming(path):
            number, place = _descriptor(path), os.path.realpath(path)
        if place != os.devnull:  # any number of them may be thrown away
            kept.append(place if number is None else number)
    if len(set(kept)) != len(kept):
        listed = ", ".join(map(str, paths))
        raise TfcError(f"the outputs must be different files, got {listed}")


def _descriptor(path: Path) -> int | None:
    """The number of the open file of this process that a path names, if it names one."""
    if str(path) == STANDARD_OUTPUT:
        return 1
    named = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        found = _DESCRIPTOR.fullmatch(named)
        if found and found[1] in (None, "self", "thread-self", str(os.getpid())):
            return int(found[2])
        try:
            link = os.readlink(named)
        except OSError:
            return None
        named = os.path.normpath(os.path.join(os.path.dirname(named), link))
    return None


def _file_behind(path: Path) -> Path | None:
    """The regular file to replace, or to make; None for what is written into.

    Raises:
        OSError: it is a folder, or its own folder cannot be made.
    """
    if _descriptor(path) is not None:
        return None
    place = Path(os.path.realpath(path))
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        place.parent.mkdir(parents=True, exist_ok=True)
        return place
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return place if stat.S_ISREG(mode) else None


def _write_beside(place: Path, temporary: Path, content: bytes) -> None:
    """Write a temporary file with the permissions and the owner of the one it is to replace."""
    try:
        known = place.stat()
    except FileNotFoundError:
        known = None
    if known is not None and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # Nobody else may read what is not yet under the permissions of the file it replaces.
    mode = 0o666 if known is None else 0o600
    with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
        file.write(content)
    if known is not None:
        if hasattr(os, "chown"):
            with suppress(PermissionError):
                os.chown(temporary, known.st_uid, known.st_gid)
        os.chmod(temporary, known.st_mode & 0o777)


def _write_into(path: Path, content: bytes) -> None:
    """Write into an open file, a device or a pipe."""
    number = _descriptor(path)
    if number == 1:
        if sys.stdout is None:  # closed: another file may have its number by now
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sys.stdout.flush()  # what was printed comes first
    printer = getattr(sys.stdout, "buffer", None) if str(path) == STANDARD_OUTPUT else None
    if printer is not None:
        printer.write(content)
        printer.flush()
        return
    opened = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    with os.fdopen(opened, "wb") as file:
        file.write(content)
