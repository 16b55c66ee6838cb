"""Machine code for GPUs: PTX ─ptxas─► cubin ─nvdisasm─► SASS, and what each kernel takes."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tfc.backends.gpu.assembler.programs import run_program
from tfc.errors import InternalError, UnsupportedError

_MOST_KEPT = 32  # cubins


@dataclass(frozen=True)
class KernelResources:
    """What a kernel takes of a multiprocessor.

    registers: of a thread.
    shared: bytes of a block that the code states.
    spilled: bytes of a thread's registers that lie in memory.
    """

    registers: int
    shared: int = 0
    spilled: int = 0


@dataclass(frozen=True)
class Cubin:
    """The machine code for one architecture, and its kernels by name."""

    architecture: str
    code: bytes
    kernels: dict[str, KernelResources]


@lru_cache(_MOST_KEPT)
def assemble(ptx: str, architecture: str) -> Cubin:
    """The cubin of a text of PTX.

    Raises:
        UnsupportedError: there is no ptxas, or it does not know the architecture.
        InternalError: it does not take the text.
    """
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.ptx", Path(folder) / "code.cubin"
        source.write_text(ptx)
        done = run_program("ptxas", [f"-arch={architecture}", "-v", "-o", target, source])
        if done.returncode != 0:
            if "gpu-name" in done.stderr:
                raise UnsupportedError(f"this ptxas does not know the architecture {architecture}")
            raise InternalError(f"ptxas does not take the code for {architecture}: {done.stderr}")
        return Cubin(architecture, target.read_bytes(), _resources(done.stderr + done.stdout))


_ENTRY = re.compile(r"Compiling entry function '([\w.$-]+)' for")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(.*)")
_SHARED = re.compile(r"(\d+) bytes smem")


def _resources(said: str) -> dict[str, KernelResources]:
    """The kernels in what `ptxas -v` says."""
    found: dict[str, KernelResources] = {}
    name, spilled = "", 0
    for line in said.split("\n"):
        if entry := _ENTRY.search(line):
            name, spilled = entry[1], 0
        elif spills := _SPILLS.search(line):
            spilled = int(spills[1])
        elif (used := _USED.search(line)) and name:
            shared = _SHARED.search(used[2])
            found[name] = KernelResources(int(used[1]), int(shared[1]) if shared else 0, spilled)
    return found


def disassemble(cubin: bytes) -> str:
    """The instructions of a cubin as text: SASS.

    Raises:
        UnsupportedError: there is no nvdisasm.
        InternalError: it does not take the cubin.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder) / "code.cubin"
        source.write_bytes(cubin)
        done = run_program("nvdisasm", ["--print-code", source])
    if done.returncode != 0:
        raise InternalError(f"nvdisasm does not take the cubin: {done.stderr}")
    return done.stdout
