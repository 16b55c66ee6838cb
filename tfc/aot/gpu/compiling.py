"""Compiling for GPUs ahead of time: a bundle, its loader, and C++ if it is asked for.

tfc.aot.compile_gpu(f, "f32[2,3]", out="build/model")

build/model.gpu         code for each architecture, steps, constants
build/model_gpu.py      from model_gpu import load; y = load()(x)
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tfc.aot.gpu.header import gpu_header_text
from tfc.aot.signature import CppClass, Signature, signature_of
from tfc.aot.source import module_of, with_row_major_entry
from tfc.backends.target import Target
from tfc.compiler import compile as compile_module
from tfc.compiler import require_undivided
from tfc.errors import TfcError
from tfc.files import write_files
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.runtime.later import later
from tfc.tracebacks import api_boundary

if TYPE_CHECKING:
    from tfc.aot.gpu import bundles
    from tfc.aot.gpu import source as cpp_source
    from tfc.aot.gpu.bundles import GpuProgramCode
    from tfc.backends.gpu.executable import GpuExecutable
else:
    bundles = later("tfc.aot.gpu.bundles")
    cpp_source = later("tfc.aot.gpu.source")

USUAL_ARCHITECTURES = ("sm_80", "sm_90a", "sm_100")
_UNNAMED = CppClass((), "Program")


@dataclass(frozen=True)
class GpuResult:
    """The files that a compilation for GPUs has written.

    bundle, loader, header, cpp_source: their paths.
    architectures: of which there is code, the oldest first.
    has_cubins: whether that is machine code, or PTX alone.
    """

    bundle: Path
    loader: Path
    signature: Signature
    architectures: tuple[str, ...]
    has_cubins: bool
    size: int
    header: Path | None = None
    cpp_source: Path | None = None


@api_boundary
def compile_gpu(
    source: Any,
    *args: Any,
    out: str | os.PathLike[str],
    architectures: Sequence[str] = (),
    cpp_class: str | None = None,
    options: Options | None = None,
) -> GpuResult:
    """Compile a function or module for GPUs into `out`.gpu and `out`_gpu.py, its loader.

    There is machine code for each architecture where NVIDIA's ptxas is found (pip install
    nvidia-cuda-nvcc), and PTX for the oldest, which drivers compile for other GPUs; where it is
    not, there is PTX for each.

    Args:
        source: a function, plain or made by tfc.jit, or a tfc.hlo.Module.
        args: the arguments, of which shape and dtype count: arrays, ArgumentSpecs, or "f32[2,3]".
        out: where to write, without the ends of the names.
        architectures: such as "sm_80", "sm_90a"; those of A100, H100 and B200 when left out.
        cpp_class: the C++ class to generate, such as "foo::bar::MatMulComp", in `out`.h and
            `out`.cc, which need NVIDIA's driver alone; none when left out.
        options: how to compile; taken from the environment when left out.

    Raises:
        TfcError: the arguments do not fit, or a file cannot be written.
        UnsupportedError: some op has no GPU code or is run by Python, or there is no such
            architecture.
    """
    is_whole = isinstance(source, Module) and not args
    module = with_row_major_entry(source) if is_whole else module_of(source, args)
    stem = Path(os.fspath(out).removesuffix(".gpu"))
    if not stem.name:
        raise TfcError(f"the files need a name to begin with, got '{os.fspath(out)}'")
    signature = signature_of(module, CppClass.parse(cpp_class) if cpp_class else _UNNAMED)
    programs = gpu_programs(module, architectures, options)
    names = tuple(p.architecture for p in programs)
    archive = bundles.bundle(signature, programs)
    files = {"{}.gpu": archive, "{}_gpu.py": bundles.loader_text(stem.name).encode()}
    if cpp_class is not None:
        sized = replace(
            signature,
            arena_size=max(p.arena for p in programs),
            constant_size=max(len(p.constants) for p in programs),
        )
        files["{}.h"] = gpu_header_text(sized, ", ".join(names)).encode()
        files["{}.cc"] = cpp_source.gpu_source_text(sized, programs).encode()
    paths = {end: stem.with_name(end.format(stem.name)) for end in files}
    write_files(*((paths[end], content) for end, content in files.items()))
    return GpuResult(
        paths["{}.gpu"],
        paths["{}_gpu.py"],
        signature,
        names,
        bool(programs[0].cubin),
        len(archive),
        paths.get("{}.h"),
        paths.get("{}.cc"),
    )


def gpu_programs(
    module: Module, architectures: Sequence[str], options: Options | None = None
) -> "list[GpuProgramCode]":
    """The programs of a module for some architectures, the oldest first.

    Raises:
        UnsupportedError: there is no such architecture, or some op cannot be compiled for it.
    """
    chosen = sorted(set(architectures or USUAL_ARCHITECTURES), key=_age)
    executables: list[tuple[str, GpuExecutable]] = []
    # What was measured on this machine is no matter of those that the code is for.
    asked = replace(options or Options.from_environment(), tuned=False)
    for architecture in chosen:
        target = Target.parse(f"nvptx64-nvidia-cuda,{architecture}")
        require_undivided(module)
        made = compile_module(module, "gpu", asked, target)
        executables.append((architecture, cast("GpuExecutable", made)))
    return bundles.program_codes(executables)


def _age(architecture: str) -> tuple[int, str]:
    """By which architectures are put in order: their number, then their suffix.

    Raises:
        TfcError: it is none.
    """
    found = re.fullmatch(r"sm_(\d{2,3})([a-z]?)", architecture)
    if found is None or int(found[1]) < 80:
        raise TfcError(
            f"an architecture is written as sm_80 or later, such as sm_90a, got '{architecture}'"
        )
    return int(found[1]), found[2]
