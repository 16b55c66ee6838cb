"""NVIDIA's assembler, `ptxas`: whether it takes a text of PTX.

It comes with CUDA, or alone in the wheel nvidia-cuda-nvcc.
"""

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tfc.errors import UnsupportedError

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100")


@cache
def find_assembler() -> Path:
    """The path of ptxas: that of the wheel, else the one on the PATH.

    Raises:
        UnsupportedError: there is none.
    """
    packages = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = sorted(packages.glob("*/bin/ptxas"))
    if found:
        return found[-1]
    on_path = shutil.which("ptxas")
    if on_path is None:
        raise UnsupportedError("there is no ptxas: pip install nvidia-cuda-nvcc")
    return Path(on_path)


def complaints(ptx: str, architecture: str, options: Sequence[str] = ()) -> str:
    """What ptxas says against a text; empty if it makes code of it.

    Raises:
        UnsupportedError: there is no ptxas.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source.ptx"
        source.write_text(ptx)
        done = subprocess.run(
            [find_assembler(), f"-arch={architecture}", *options, "-o", f"{folder}/code", source],
            capture_output=True,
            text=True,
            check=False,
        )
    return "" if done.returncode == 0 else done.stderr or f"status {done.returncode}"
