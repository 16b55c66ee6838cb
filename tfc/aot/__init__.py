"""Ahead-of-time compilation: an object file that needs no runtime, and a C++ header to call it."""

from tfc.aot.export import AotResult, compile
from tfc.aot.gpu.compiling import GpuResult, compile_gpu
from tfc.aot.graphs import read_graph, read_saved_model
from tfc.aot.interface import Interface
from tfc.aot.signature import CppClass, Signature
from tfc.aot.source import ArgumentSpec

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
