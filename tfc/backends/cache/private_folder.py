"""A folder whose files can be believed to be what this user has put there.

    folder, 0700, ours ─► descriptor ─► name ─► descriptor, 0600, ours ─► bytes

Whoever else could write into the folder or to a file of it would decide what is in the file, so
neither is used unless it belongs to the current user and nobody else may write to it. What is
checked is what has been opened, not what lies under its name a moment later. Root can do everything
anyway. Where files have no such owner and permissions (Windows), the folder's access list decides.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from tfc.errors import TfcError

_HAS_OWNERS = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
# Links are not followed, and no pipe is waited for.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NotPrivateError(TfcError):
    """A file or folder belongs to somebody else, or others may write to it."""


@dataclass(frozen=True)
class PrivateFolder:
    """A folder, and the files in it whose names have a certain suffix.

    Every method raises NotPrivateError if the folder, or the file that is read, is not private, and
    OSError as the system does.
    """

    path: Path
    suffix: str

    def read(self, name: str) -> bytes:
        """The content of a file, which counts as used now."""
        with self._opened() as folder, _file(self._place(name), folder) as descriptor:
            _check(descriptor, self.path / name)
            with suppress(OSError):  # a folder that cannot be written to is as good to read from
                os.utime(descriptor if os.utime in os.supports_fd else self.path / name)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which appears whole or not at all; a folder that is missing is made."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = f"{name}.{uuid4().hex}.part"
        with self._opened() as folder:
            opener = partial(os.open, mode=0o600, dir_fd=folder)
            try:
                with open(self._place(temporary), "xb", opener=opener) as file:
                    file.write(content)
                source, target = self._place(temporary), self._place(name)
                os.replace(source, target, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(self._place(temporary), dir_fd=folder)
                raise

    def trim(self, limit: int) -> None:
        """Remove what was not used for longest until at most so many bytes are left."""
        with self._opened() as folder:
            files = sorted(self._files(folder))  # no others: somebody may have named his home
            excess = sum(size for _, size, _ in files) - limit
            for _, size, name in files:
                if excess <= 0:
                    return
                with suppress(FileNotFoundError):  # another process has removed it
                    os.unlink(self._place(name), dir_fd=folder)
                excess -= size

    def _files(self, folder: int | None) -> Iterator[tuple[float, int, str]]:
        """When each file was used last, its size and its name; also of those left unfinished."""
        own = re.compile(rf".+{re.escape(self.suffix)}(\.[0-9a-f]{{32}}\.part)?")
        for name in filter(own.fullmatch, os.listdir(self.path if folder is None else folder)):
            with suppress(FileNotFoundError):
                found = os.stat(self._place(name), dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield found.st_mtime, found.st_size, name

    def _place(self, name: str) -> str:
        """A file as the functions take it that are given the folder's descriptor, too."""
        return name if _HAS_OWNERS else str(self.path / name)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """The folder's descriptor; None where folders have none."""
        if not _HAS_OWNERS:
            yield None
            return
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _check(descriptor, self.path)
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _file(place: str, folder: int | None) -> Iterator[int]:
    descriptor = os.open(place, _READ | _BINARY, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check(descriptor: int, path: Path) -> None:
    found = os.fstat(descriptor)
    if not _HAS_OWNERS:
        return
    if found.st_uid != os.geteuid():
        raise NotPrivateError(f"{path} belongs to another user")
    if found.st_mode & _OTHERS:
        raise NotPrivateError(f"{path} can be written by other users")
