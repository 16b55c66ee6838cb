"""Make the LLVM IR of the C files anew: `python -m tfc.backends.cpu.runtime.regenerate`.

Clang is the one of the package ziglang, at the version that tfc's test dependencies state. What it
says about one machine (triple, data layout, processor) is left out, so that the text is for all
whose pointers are as wide.
"""

import ctypes
import importlib.util
import re
import subprocess
from pathlib import Path

from tfc.backends.cpu.runtime.abi import WRONG_PROCESSOR
from tfc.backends.cpu.runtime.bound_calls import (
    MOST_WORDS,
    BoundSite,
    DirectCalls,
    Source,
    Step,
)
from tfc.backends.cpu.runtime.bytecode import Opcode
from tfc.backends.cpu.runtime.bytecode_interpreter import Context
from tfc.backends.cpu.runtime.entry_table import Argument, Entry, Kind, Node, Number, Result
from tfc.backends.cpu.runtime.generated import FOLDER
from tfc.backends.cpu.runtime.timing import Clock
from tfc.errors import UnsupportedError
from tfc.runtime.threads import MOST_THREADS

CLANG = "22.1.8"  # that of llvmlite's LLVM
_LINUX, _WINDOWS = "x86_64-unknown-linux-gnu", "x86_64-pc-windows-gnu"
# By .ll file: the C file, and a machine whose pointers are as wide. Windows is where LLVM IR says
# that a function is called as on other systems, which the processor check needs.
_FILES = {
    "python_entry": ("python_entry.c", _LINUX),
    "pool": ("pool.c", _LINUX),
    "bound_calls": ("bound_calls.c", _LINUX),
    "bytecode_interpreter.64": ("bytecode_interpreter.c", _LINUX),
    "bytecode_interpreter.32": ("bytecode_interpreter.c", "i386-unknown-linux-gnu"),
    "processor_check": ("processor_check.c", _WINDOWS),
}
# Loops stay loops: code is made of this without further passes.
_OPTIONS = (
    "-std=c11 -Os -Wall -Wextra -Werror -ffreestanding -fPIC -fno-strict-aliasing "
    "-fno-stack-protector -fno-asynchronous-unwind-tables -fno-discard-value-names "
    "-S -emit-llvm -o -"
)
_HEAD = "; {file} as LLVM IR: made by regenerate.py with clang {clang}, not by hand.\n\n"
# Of one machine, of one module among others, remarks, and what LLVM knows anyhow.
_LINES = re.compile(
    r"^(?:;|source_filename|target |attributes |!|declare .*@llvm\.).*\n", re.MULTILINE
)
_WORDS = re.compile(
    r"(?:, !\S+ !\d+)+$| +; preds = .*$| #\d+\b| (?:dso_local|(?:local_)?unnamed_addr)\b",
    re.MULTILINE,
)


def regenerated() -> dict[str, str]:
    """The LLVM IR as clang makes it now, by file name.

    Raises:
        UnsupportedError: there is no such clang.
    """
    clang = _clang()
    return {f"{name}.ll": _made(clang, *how) for name, how in _FILES.items()}


def shared_numbers() -> dict[str, int]:
    """The numbers that C and Python code agree on, by their names in C."""
    tables: tuple[type[ctypes.Structure], ...] = (
        Node,
        Argument,
        Result,
        Entry,
        Context,
        Clock,
        Source,
        Step,
        DirectCalls,
        BoundSite,
    )
    return {
        **{kind.name: int(kind) for kind in (*Kind, *Number, *Opcode)},
        **{f"{t.__name__.upper()}_BYTES": ctypes.sizeof(t) for t in tables},
        "MOST_THREADS": MOST_THREADS,
        "MOST_WORDS": MOST_WORDS,
        "WRONG_PROCESSOR": WRONG_PROCESSOR,
    }


def _clang() -> list[str]:
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise UnsupportedError("clang is missing: pip install 'tfc[test]' installs it")
    command = [str(Path(found.origin).parent / "zig"), "clang"]
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    if f"clang version {CLANG}\n" not in said.stdout:
        raise UnsupportedError(
            f"clang {CLANG} makes the LLVM IR, but this is {said.stdout.splitlines()[0]}: "
            "pip install 'tfc[test]' installs the right one"
        )
    return command


def _made(clang: list[str], file: str, target: str) -> str:
    numbers = [f"-D{name}={value}" for name, value in shared_numbers().items()]
    command = [*clang, f"--target={target}", *_OPTIONS.split(), *numbers, file]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnsupportedError(f"clang does not accept {file}:\n{done.stderr}")
    text = _WORDS.sub("", _LINES.sub("", done.stdout))
    return _HEAD.format(file=file, clang=CLANG) + re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> None:
    """Write the files."""
    for name, text in regenerated().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
