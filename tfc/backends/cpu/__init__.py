"""The CPU backend: kernels emitted through MLIR, compiled by LLVM, loaded into this process."""

from tfc.backends.cpu.compiler import CpuCompiler
from tfc.backends.interfaces import Backend, HostTransferManager

backend = Backend("cpu", CpuCompiler(), HostTransferManager())
