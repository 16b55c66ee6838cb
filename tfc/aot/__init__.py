"""Ahead-of-time compilation: an object file that needs no runtime, and a C++ header to call it."""

from typing import TYPE_CHECKING, Any

from tfc.aot.export import AotResult, compile
from tfc.aot.graphs import read_graph, read_saved_model
from tfc.aot.interface import Interface
from tfc.aot.signature import CppClass, Signature
from tfc.aot.source import ArgumentSpec
from tfc.runtime.later import load

if TYPE_CHECKING:
    from tfc.aot.gpu.compiling import GpuResult, compile_gpu

__all__ = [
    "AotResult",
    "ArgumentSpec",
    "CppClass",
    "GpuResult",
    "Interface",
    "Signature",
    "compile",
    "compile_gpu",
    "read_graph",
    "read_saved_model",
]


def __getattr__(name: str) -> Any:
    """What compiles for GPUs is loaded when it is asked for: it brings the GPU's compiler."""
    if name in ("GpuResult", "compile_gpu"):
        return getattr(load("tfc.aot.gpu.compiling"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name, obj=None)
