"""Where NVIDIA's programs are, and running them."""

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tfc.errors import UnsupportedError

# The wheel that has each program.
_WHEELS = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}


@cache
def find_program(name: str) -> Path:
    """The path of a program: that of its wheel, else the one on the PATH.

    Raises:
        UnsupportedError: there is none.
    """
    packages = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = sorted(packages.glob(f"*/bin/{name}"))
    if found:
        return found[-1]
    on_path = shutil.which(name)
    if on_path is None:
        raise UnsupportedError(f"there is no {name}: pip install {_WHEELS[name]}")
    return Path(on_path)


def has_program(name: str) -> bool:
    """Whether a program is there."""
    try:
        find_program(name)
    except UnsupportedError:
        return False
    return True


def run_program(name: str, arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever its status.

    Raises:
        UnsupportedError: there is none, or the system cannot run it.
    """
    try:
        return subprocess.run(
            [find_program(name), *arguments], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise UnsupportedError(f"cannot run {find_program(name)}: {error.strerror}") from None
