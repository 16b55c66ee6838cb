"""What this machine and installation offer, and whether compiled code runs on it."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from rich.console import Console
from rich.table import Table

from tfc import __version__
from tfc.backends.gpu.driver.choice import current_driver
from tfc.backends.gpu.driver.interface import Decides, Driver
from tfc.backends.registry import backend_names, get_backend
from tfc.backends.target import Target
from tfc.compiler import compile
from tfc.errors import DriverError, UnsupportedError
from tfc.hlo.text.parser import parse
from tfc.options import Options
from tfc.runtime.engines.nccl.library import Library, version_text
from tfc.runtime.threads import available_cores

Rows = Iterator[tuple[str, str]]

# Those that decide how fast tensor code is: width, fused multiply-add, narrow types, tiles.
_FEATURES = (
    "sse4.2", "avx", "avx2", "fma", "f16c", "avxvnni", "avx512f", "avx512vl", "avx512bw",
    "avx512vnni", "avx512bf16", "avx512fp16", "amx-tile", "amx-int8", "amx-bf16",
    "neon", "fullfp16", "dotprod", "bf16", "i8mm", "sve", "sve2", "sme", "v", "zvfh",
)  # fmt: skip

_DECIDE = {
    Decides.NOTHING: "the host decides, after each turn: graphs do from CUDA 12.4 on",
    Decides.IF_AND_WHILE: "decided on the GPU, in one graph",
    Decides.SWITCH: "decided on the GPU, in one graph",
}

_SELF_TEST = """
HloModule self_test
ENTRY main {
  x = f32[1000] parameter(0)
  y = f32[1000] parameter(1)
  ROOT sum = f32[1000] add(x, y)
}
"""


def examine(console: Console, cxx: str = "") -> bool:
    """Print what there is, and whether adding two arrays gives the right sum.

    On the CPU, and on a GPU if there is one that programs can use.

    Args:
        cxx: a C++ compiler to look at before the usual ones.
    """
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    sections: list[tuple[str, Callable[[], Rows]]] = [
        ("Software", _software),
        ("CPU", _cpu),
        ("GPU", _gpu),
        ("Tools", lambda: _tools(cxx)),
        ("Backends", _backends),
    ]
    for title, rows in sections:
        table.add_row(f"[cyan]{title}[/cyan]", "")
        for name, value in rows():
            table.add_row(f"  {name}", value, style=None)
    console.print(table)
    gpu = () if isinstance(_driver(), DriverError) else ("gpu",)
    problems = {backend: _self_test(backend) for backend in ("cpu", *gpu)}
    for backend, problem in problems.items():
        name = "JIT self-test" if backend == "cpu" else f"the same by backend='{backend}'"
        console.print(f"{name}: {problem or 'passed'}", style="red" if problem else "green")
    return not any(problems.values())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _software() -> Rows:
    yield "tfc", __version__
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "NumPy", _version("numpy")
    yield "LLVM", f"{'.'.join(map(str, llvm.llvm_version_info))} (llvmlite {_version('llvmlite')})"
    yield "MLIR", _mlir()
    yield "JAX", _version("jax")
    yield "code kept in", Options.from_environment().parts_dir or "no folder"


def _mlir() -> str:
    for package, distribution in (("mlir", "mlir-python-bindings"), ("torch_mlir", "torch-mlir")):
        try:
            if find_spec(f"{package}.ir"):
                return f"{package} {_version(distribution)}"
        except ModuleNotFoundError:
            continue
    return "no Python bindings: run `pip install torch-mlir`"


def _cpu() -> Rows:
    target = Target.host()
    features = llvm.get_host_cpu_features()
    yield "processor", f"{_processor()} (LLVM: {target.cpu})"
    yield "features", " ".join(f for f in _FEATURES if features.get(f)) or "none that matter"
    yield "vectors", f"{target.vector_bits} bits × {target.vector_registers} registers"
    sizes = (target.l1_bytes, target.l2_bytes, target.l3_bytes)
    yield "caches", ", ".join(f"L{n} {_size(size)}" for n, size in enumerate(sizes, start=1))
    yield "cores", f"{available_cores()} usable of {os.cpu_count()}"
    yield "memory", _memory()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _memory() -> str:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return "unknown"
    return _size(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _size(count: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024  # type: ignore[assignment]
    return f"{count:.1f} GiB"


def _gpu() -> Rows:
    found = _first_line(
        ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    )
    yield "device", found or "none: nvidia-smi finds no NVIDIA GPU"
    bindings = [(name, _version(name)) for name in ("cuda-bindings", "pycuda")]
    found = ", ".join(f"{name} {version}" for name, version in bindings if version[0].isdigit())
    yield "driver access", found or "none: pip install 'tfc[cuda]'"
    yield "NCCL", _nccl()
    driver = _driver()
    if isinstance(driver, DriverError):
        yield "GPU programs", f"do not run: {driver}"
    else:
        yield "GPU programs", f"run on {driver.name} as {driver.architecture}"
        yield "loops and branches", _DECIDE[driver.decides]


def _driver() -> Driver | DriverError:
    """What programs for GPUs run with, or why they do not."""
    try:
        return current_driver()
    except DriverError as error:
        return error


def _nccl() -> str:
    """The library by which GPUs of several processes meet, as far as it can be used."""
    try:
        return f"{version_text(Library().version)} (nccl4py {_version('nccl4py')})"
    except UnsupportedError:
        return "not installed: needed only by GPU programs on several processes (tfc[nccl])"


def _tools(cxx: str) -> Rows:
    for tool in ("ptxas", "nvcc"):
        lines = _output([tool, "--version"])
        yield tool, next((line for line in lines if "release" in line), "not found")
    compilers = cxx_compilers(cxx)
    for compiler in compilers:
        yield compiler, _first_line([compiler, "--version"]) or "does not run"
    if not compilers:
        yield "C++ compiler", "none found: needed only to build programs that use compiled models"


def cxx_compilers(preferred: str = "") -> list[str]:
    """The C++ compilers that can be run, `preferred` first."""
    names = dict.fromkeys(filter(None, (preferred, "c++", "g++", "clang++")))
    return [name for name in names if shutil.which(name)]


def _output(command: list[str]) -> list[str]:
    """The lines that a program prints; none if it is not there or fails."""
    if shutil.which(command[0]) is None:
        return []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in done.stdout.splitlines() if line] if done.returncode == 0 else []


def _first_line(command: list[str]) -> str:
    return next(iter(_output(command)), "")


def _backends() -> Rows:
    for name in backend_names():
        try:
            kind = type(get_backend(name).compiler)
            yield name, f"{kind.__module__}.{kind.__qualname__}"
        except Exception as error:  # whatever is wrong with the installation, to be shown
            yield name, f"cannot be used: {error!r}"


def _self_test(backend: str) -> str:
    """What is wrong with compiled code on this machine; nothing if all is well."""
    x, y = np.arange(1000, dtype=np.float32), np.linspace(-1, 1, 1000, dtype=np.float32)
    try:
        (total,) = compile(parse(_SELF_TEST, "self-test"), backend)(x, y)
    except Exception as error:
        return f"failed: {error!r}"
    return "" if np.array_equal(total, x + y) else "failed: the sums are wrong"
