"""Machine code of earlier compilations, kept in a folder for the processes to come.

    <digest of all that the code depends on>.code:    the SHA-256 of the rest, then pieces of bytes,
                                                      each after its length in 8 bytes

The digest is of the optimised module, constants included, the target, the options that change code,
and the versions of everything that makes it. Files appear whole under their names, so processes may
share a folder; one that is damaged, or written by something else, is as good as none.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvmlite

from tfc.backends.mlir.provider import ir
from tfc.errors import TfcError
from tfc.files import write_files
from tfc.hlo.ir import Module
from tfc.hlo.printer import print_module

_CHECK_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True)
class CodeCache:
    """A folder of machine code.

    limit: bytes above which what was not used for longest is removed.
    """

    folder: Path
    limit: int = 1 << 30

    def get(self, key: str) -> list[bytes] | None:
        """The pieces of code under a key, or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        check, packed = content[:_CHECK_BYTES], content[_CHECK_BYTES:]
        return _unpack(packed) if check == hashlib.sha256(packed).digest() else None

    def put(self, key: str, pieces: Sequence[bytes]) -> None:
        """Keep pieces of code under a key.

        Raises:
            TfcError: the folder cannot be made or written to.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TfcError(f"cannot make the folder {self.folder}: {error.strerror}") from error
        packed = b"".join(len(piece).to_bytes(8, "little") + piece for piece in pieces)
        write_files((self._path(key), hashlib.sha256(packed).digest() + packed))
        self._trim()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.code"

    def _trim(self) -> None:
        files = sorted(self._files())
        excess = sum(size for _, size, _ in files) - self.limit
        for _, size, path in files:
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """When each file was used last, its size and its path."""
        for path in self.folder.glob("*.code"):
            try:
                found = path.stat()
            except FileNotFoundError:  # another process has removed it
                continue
            yield found.st_mtime, found.st_size, path


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
                digest.update(instruction["literal"].array.tobytes())
    digest.update(repr((*others, _versions())).encode())
    return digest.hexdigest()


@cache
def _versions() -> tuple[object, ...]:
    """What makes code: tfc file by file, since a version may be worked on, and its libraries."""
    sources = sorted(Path(__file__).parents[2].rglob("*.py"))
    libraries = sorted((Path(ir.__file__).parent / "_mlir_libs").iterdir())
    stats = [(str(path), path.stat()) for path in (*sources, *libraries)]
    files = tuple((path, found.st_size, found.st_mtime_ns) for path, found in stats)
    return llvmlite.llvm_version_info, files
