"""The GPU backend: the shared emitters around a grid, compiled to PTX for NVIDIA GPUs."""

from tfc.backends.gpu.compiler import GpuCompiler
from tfc.backends.interfaces import Backend, HostTransferManager

backend = Backend("gpu", GpuCompiler(), HostTransferManager())
