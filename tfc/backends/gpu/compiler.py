"""The GPU compiler: HLO passes, MLIR kernels, PTX. It makes code; it does not run it."""

import numpy as np

from tfc.backends.gpu.program import GpuProgram, emit_gpu_program
from tfc.backends.interfaces import Compiler, Executable, MemoryAnalysis
from tfc.backends.llvm import compile_ir, compile_ptx, lower_gpu_to_llvm
from tfc.backends.target import Target
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.passes import PipelineReport, default_pipeline

DEFAULT_TARGET = "nvptx64-nvidia-cuda,sm_80"


class GpuExecutable(Executable):
    """A module as PTX, which `as_text("ptx")` gives; running it needs a CUDA driver elsewhere."""

    def __init__(self, source: Module, optimized: Module, target: Target):
        super().__init__(source, optimized)
        self.target = target
        self.program: GpuProgram = emit_gpu_program(optimized)
        self._mlir = str(self.program.module)
        self._llvm = lower_gpu_to_llvm(self.program.module)
        if " frem " in self._llvm:
            # NVPTX computes x - y*trunc(x/y), which is wrong for large quotients.
            raise UnsupportedError(
                "the GPU backend does not support 'remainder' of floats; use backend='cpu'"
            )
        self._ptx = compile_ptx(self._llvm, target)

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        raise UnsupportedError(
            "the GPU backend compiles to PTX but does not run it in this version: "
            "take as_text('ptx'), or compile with backend='cpu'"
        )

    @property
    def stages(self) -> tuple[str, ...]:
        """The names that `as_text` knows."""
        return ("hlo", "optimized", "mlir", "llvm", "ptx")

    def _text(self, stage: str) -> str:
        match stage:
            case "mlir":
                return self._mlir
            case "llvm":
                return compile_ir(self._llvm, self.target).llvm_ir
            case "ptx":
                return self._ptx
            case _:
                return str(self.hlo)

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments and results; each value between has a buffer of its own."""
        launched = [launch.instruction for launch in self.program.launches]
        results = {self.hlo.entry.root, *self.hlo.entry.root.operands}
        return MemoryAnalysis(
            sum(s.byte_size for s in self.parameter_shapes),
            sum(s.byte_size for s in self.result_shapes),
            sum(i.array_shape.byte_size for i in launched if i not in results),
            0,
        )


class GpuCompiler(Compiler):
    """Compiles for NVIDIA GPUs from sm_80 on."""

    def optimize(
        self, module: Module, options: Options, report: PipelineReport | None = None
    ) -> Module:
        """The HLO passes that every backend that makes code shares."""
        return default_pipeline().run(module, options, report)

    def compile(self, module: Module, options: Options, target: Target | None) -> GpuExecutable:
        """Compile to PTX.

        Raises:
            UnsupportedError: some op has no GPU code, or the target is no NVIDIA GPU.
        """
        target = target or Target.parse(DEFAULT_TARGET)
        if not target.is_gpu:
            raise UnsupportedError(f"the GPU backend makes code for nvptx64 targets, got {target}")
        optimized = self.optimize(module, options)
        return GpuExecutable(module, optimized, target)
