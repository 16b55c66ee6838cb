"""The options of `tfc compile` for GPUs: --backend gpu -o NAME --gpu-arch sm_80,sm_90a."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from tfc.aot.gpu.compiling import compile_gpu
from tfc.hlo.ir import Module


@dataclass(frozen=True)
class GpuAsked:
    """That code is for GPUs: what the files' names begin with, and which architectures."""

    out: str
    architectures: tuple[str, ...] = ()

    def write(self, module: Module, cpp_class: str | None) -> str:
        """Write the files, and say which.

        Raises:
            TfcError: there is no such architecture, or a file cannot be written.
            UnsupportedError: the module cannot be compiled for GPUs.
        """
        made = compile_gpu(
            module, out=self.out, architectures=self.architectures, cpp_class=cpp_class
        )
        kind = "machine code" if made.has_cubins else "PTX (pip install nvidia-cuda-nvcc: cubins)"
        others = [str(p) for p in (made.loader, made.header, made.cpp_source) if p is not None]
        first = f"{made.bundle} ({made.size} bytes: {kind} for {', '.join(made.architectures)})"
        return "\n".join([first, *others])


def gpu_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that become the argument `gpu` of a command: a GpuAsked, or None."""

    @click.option(
        "--backend",
        type=click.Choice(["cpu", "gpu"]),
        default="cpu",
        show_default=True,
        help="gpu: write a bundle NAME.gpu and its loader NAME_gpu.py; with --cpp-class NAME.h "
        "and NAME.cc, too.",
    )
    @click.option("-o", "--output", metavar="NAME", help="With --backend gpu: where to write.")
    @click.option(
        "--gpu-arch",
        metavar="sm_80,sm_90a,…",
        help="The GPUs to have code for; those of A100, H100 and B200 when left out.",
    )
    @wraps(command)
    def asked(
        *args: Any, backend: str, output: str | None, gpu_arch: str | None, **named: Any
    ) -> Any:
        if backend == "cpu":
            if output is not None or gpu_arch is not None:
                raise click.UsageError("--output and --gpu-arch go with --backend gpu")
            return command(*args, gpu=None, **named)
        if output is None:
            raise click.UsageError("missing option '-o', what the names of the files begin with")
        names = tuple(a.strip() for a in gpu_arch.split(",") if a.strip()) if gpu_arch else ()
        return command(*args, gpu=GpuAsked(output, names), **named)

    return asked
