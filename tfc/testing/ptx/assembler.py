"""NVIDIA's assembler, `ptxas`: whether it takes a text of PTX.

It comes with CUDA, or alone in the wheel nvidia-cuda-nvcc.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tfc.backends.gpu.assembler.programs import find_program, run_program

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100")


def find_assembler() -> Path:
    """The path of ptxas.

    Raises:
        UnsupportedError: there is none.
    """
    return find_program("ptxas")


def complaints(ptx: str, architecture: str, options: Sequence[str] = ()) -> str:
    """What ptxas says against a text; empty if it makes code of it and has nothing to remark, such
    as that it makes products wait for each other.

    Raises:
        UnsupportedError: there is no ptxas.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source.ptx"
        source.write_text(ptx)
        arguments = [f"-arch={architecture}", *options, "-o", f"{folder}/code", source]
        done = run_program("ptxas", arguments)
    return done.stderr or (f"status {done.returncode}" if done.returncode else "")
