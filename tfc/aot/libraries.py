"""An object file as a library: an archive for static linking, or a shared object."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tfc.backends.target import Target
from tfc.errors import TfcError, UnsupportedError

_ELF, _WASM, _COFF = b"\x7fELF", b"\0asm", (b"\x64\x86", b"\x64\xaa", b"\x4c\x01")


def archive(members: Sequence[tuple[str, bytes]], symbols: Sequence[str]) -> bytes:
    """A static library (.a) of object files, with the index that linkers ask for.

    The format is System V's, of GNU and LLVM linkers; it has no times and no owners.

    Args:
        members: file names of at most 15 characters, and contents.
        symbols: what the first of them defines for others.

    Raises:
        UnsupportedError: linkers of the target's system take another format.
    """
    for _, content in members:
        if not content.startswith((_ELF, _WASM, *_COFF)):
            raise UnsupportedError(
                "an archive is made of object files of ELF, COFF or WebAssembly: give the object "
                "file itself to the target's linker"
            )
    names = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    index_size = 4 + 4 * len(symbols) + len(names)
    first = len(_MAGIC) + _HEAD + index_size + index_size % 2
    index = len(symbols).to_bytes(4, "big") + first.to_bytes(4, "big") * len(symbols) + names
    return _MAGIC + b"".join(_member(*member) for member in (("", index), *members))


_MAGIC = b"!<arch>\n"
_HEAD = 60  # bytes in front of a member


def _member(name: str, content: bytes) -> bytes:
    head = f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'644' if name else '0':<8}{len(content):<10}`\n"
    assert len(head) == _HEAD
    return head.encode() + content + b"\n" * (len(content) % 2)


def shared_object(code: bytes, soname: str | None, target: Target) -> bytes:
    """A shared object (.so) of an object file, linked by this system's C compiler.

    Args:
        soname: what programs that are linked with it ask for when they start; nothing if left out,
            so that they ask for its file's name.

    Raises:
        UnsupportedError: the target is another machine, or there is no C compiler.
        TfcError: the linker refuses, as where a custom call is not to be found.
    """
    command = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    host = Target.host()
    if (
        target.architecture != host.architecture
        or target.triple.split("-")[1:] != (host.triple.split("-")[1:])
    ):
        raise UnsupportedError(
            f"a shared object for {target.triple} needs that system's linker: give it the object "
            "file, with -shared"
        )
    if command is None:
        raise UnsupportedError("a shared object is linked by a C compiler, of which there is none")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "code.o"), Path(folder, "code.so")
        source.write_bytes(code)
        name = [f"-Wl,-soname,{soname}"] if soname else []
        arguments = [
            command,
            "-shared",
            "-nostartfiles",
            str(source),
            *name,
            "-lm",
            "-o",
            str(made),
        ]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TfcError(f"{command} makes no shared object of it: {done.stderr.strip()}")
        return made.read_bytes()
