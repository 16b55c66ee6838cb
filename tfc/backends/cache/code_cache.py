"""Machine code of earlier compilations, kept in a folder for the processes to come.

    <digest of all that the code depends on>.code:    the SHA-256 of the rest, then pieces of bytes,
                                                      each after its length in 8 bytes

The digest is of the optimised module, constants included, the target, the options that change code,
and the versions of everything that makes it. The SHA-256 begins with the digest, so that an entry
is good under its own name only. Files appear whole under their names, so processes may share a
folder; one that is damaged, or written by something else, is as good as none.

Code that is found is run: only what this user alone can have put there is (private_folder.py). A
cache that cannot be used costs time, never the program; the user is told once.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvmlite

from tfc.backends.cache.private_folder import NotPrivateError, PrivateFolder
from tfc.backends.mlir.provider import ir
from tfc.hlo.ir import Module
from tfc.hlo.text.printer import print_module

_CHECK_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".code"
_warned: set[Path] = set()  # folders that were complained about


@dataclass(frozen=True)
class CodeCache:
    """A folder of machine code.

    limit: bytes above which what was not used for longest is removed.
    warns: whether the user asked for it, and is told if it cannot be used.
    """

    folder: Path
    limit: int = 1 << 30
    warns: bool = True

    def get(self, key: str) -> list[bytes] | None:
        """The pieces of code under a key, or None."""
        try:
            content = self._private.read(key + _SUFFIX)
        except FileNotFoundError:
            return None
        except (OSError, NotPrivateError) as error:
            self._warn(error)
            return None
        check, packed = content[:_CHECK_BYTES], content[_CHECK_BYTES:]
        return _unpack(packed) if check == _check(key, packed) else None

    def put(self, key: str, pieces: Sequence[bytes]) -> None:
        """Keep pieces of code under a key, if that can be done."""
        self.put_all({key: pieces})

    def put_all(self, entries: Mapping[str, Sequence[bytes]]) -> None:
        """Keep the pieces of code under each key, if that can be done."""
        try:
            for key, pieces in entries.items():
                packed = b"".join(len(piece).to_bytes(8, "little") + piece for piece in pieces)
                self._private.write(key + _SUFFIX, _check(key, packed) + packed)
            self._private.trim(self.limit)
        except (OSError, NotPrivateError) as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if self.warns:
            _warn(self.folder, error)

    @property
    def _private(self) -> PrivateFolder:
        return PrivateFolder(self.folder, _SUFFIX)


def _check(key: str, packed: bytes) -> bytes:
    return hashlib.sha256(key.encode() + packed).digest()


def _warn(folder: Path, error: Exception) -> None:
    """Say once in a process why a folder is not used, and what to do."""
    if folder in _warned:
        return
    _warned.add(folder)
    if isinstance(error, NotPrivateError):
        what = "make it your own and writable by you alone (`chown`, `chmod go-w`)"
    else:
        error, what = getattr(error, "strerror", None) or error, "make it readable and writable"
    warnings.warn(
        f"machine code in the folder {folder} is not used or kept: {error}; {what}, or have "
        "TFC_CACHE name another folder, or none",
        RuntimeWarning,
        stacklevel=2,
    )


def _unpack(packed: bytes) -> list[bytes]:
    pieces, rest = [], packed
    while rest:
        end = 8 + int.from_bytes(rest[:8], "little")
        pieces.append(rest[8:end])
        rest = rest[end:]
    return pieces


def code_key(module: Module, *others: object) -> str:
    """What stands for the code of an optimised module, given what else it depends on."""
    digest = hashlib.sha256(print_module(module, short=True).encode())
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.opcode == "constant":
                digest.update(instruction["literal"].bytes)
    digest.update(repr((*others, versions())).encode())
    return digest.hexdigest()


def text_key(text: str, *others: object) -> str:
    """What stands for the code of a text, given what else it depends on."""
    digest = hashlib.sha256(text.encode())
    digest.update(repr(others).encode())
    return digest.hexdigest()


@cache
def versions() -> tuple[object, ...]:
    """What makes code: tfc file by file, since a version may be worked on, and its libraries."""
    folders = Path(__file__).parents[2], Path(ir.__file__).parent / "_mlir_libs"
    files = sorted(file for folder in folders for file in _files(str(folder)))
    return llvmlite.llvm_version_info, hashlib.sha256(repr(files).encode()).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """The files in a folder and below that code may depend on: name, size, time of change."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".ll", ".so", ".dylib", ".pyd", ".dll")):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)
