"""What a contender makes of a program: files, a program that links them, and the time of compiling.

Each compilation is a process of its own, as a build system would start it.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.protocol import BenchmarkError

ROOT = Path(__file__).resolve().parents[2]
LOOP = Path(__file__).parent / "loop.h"
SECONDS = 400  # the most that a command may take
_LONG = 6.0


@dataclass(frozen=True)
class Built:
    """A program that can be measured.

    command: serves as loop.h says, given the argument and the result as files.
    raw: whether these files hold bytes alone, or are NumPy's.
    seconds: of compiling.
    artefact_bytes: of all files that the compiler wrote.
    program_bytes: of the measuring program, stripped; None if the libraries are a runtime.
    libraries: that it is linked with, beside the C library, libm and C++'s.
    """

    command: tuple[str, ...]
    raw: bool
    seconds: float
    artefact_bytes: int
    program_bytes: int | None
    libraries: tuple[str, ...]


def run(command: Sequence[str], folder: Path, **variables: str) -> float:
    """The seconds that a command takes.

    Raises:
        BenchmarkError: it fails, with its last line.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2", **variables}
    started = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=SECONDS, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchmarkError(f"{Path(command[0]).name}: {error}") from None
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no message"]
        said = next((line for line in lines if re.search(r"\berror\b", line, re.I)), lines[-1])
        raise BenchmarkError(f"{Path(command[0]).name} ended with {done.returncode}: {said[:200]}")
    return seconds


def compiling_seconds(command: Sequence[str], folder: Path) -> float:
    """The seconds of a command: the better of two runs if one does not take long."""
    first = run(command, folder)
    return first if first > _LONG else min(first, run(command, folder))


def link(
    folder: Path,
    header: str,
    cpp_class: str,
    sizes: tuple[int, int],
    objects: Sequence[str],
    flags: Sequence[str] = (),
) -> Path:
    """The measuring program of a class, stripped; `sizes` are the bytes of argument and result."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise BenchmarkError("there is no C++ compiler")
    (folder / "main.cc").write_text(f'#include "{header}"\n#include "loop.h"\n')
    shutil.copy(LOOP, folder)
    defines: Mapping[str, object] = {
        "CLASS": cpp_class, "BYTES_IN": sizes[0], "BYTES_OUT": sizes[1]
    }  # fmt: skip
    command = [compiler, "-O2", "-w", "-s", "-ffunction-sections", "-fdata-sections", "-I.",
               *(f"-D{name}={value}" for name, value in defines.items()), "main.cc", *objects,
               "-Wl,--gc-sections", *flags, "-lm", "-o", "program"]  # fmt: skip
    run(command, folder)
    return folder / "program"


def libraries(program: Path) -> tuple[str, ...]:
    """What a program asks the loader for beside libraries that every C++ program has."""
    shown = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True)
    usual = ("libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux")
    needed = re.findall(r"NEEDED\s+(\S+)", shown.stdout)
    return tuple(name for name in needed if not name.startswith(usual))


def sizes_of(folder: Path, names: Sequence[str]) -> int:
    """The bytes of files."""
    return sum((folder / name).stat().st_size for name in names)
