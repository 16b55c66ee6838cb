"""The GPU compiler: HLO passes, MLIR kernels, PTX. It makes code; it does not run it."""

import numpy as np

from tfc.backends.gpu.program import GpuProgram, emit_gpu_program
from tfc.backends.interfaces import Compiler, Executable, MemoryAnalysis
from tfc.backends.llvm.compilation import compile_ir, compile_ptx, lower_gpu_to_llvm
from tfc.backends.target import Target
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Module
from tfc.hlo.shape import leaves
from tfc.options import Options
from tfc.passes import KernelKinds, PipelineReport, default_pipeline
from tfc.passes.analysis.aliases import Sources, own_leaves
from tfc.tracebacks import api_boundary

KERNEL_KINDS = KernelKinds(several_results=True, launch_overhead=True)
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

    @api_boundary
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
        sources = Sources()
        for instruction in self.hlo.entry.instructions:
            sources.visit(instruction)
        results = set(sources.of[self.hlo.entry.root])
        launched = [leaf for launch in self.program.launches
                    for leaf in zip(own_leaves(launch.instruction),
                                    leaves(launch.instruction.shape))]  # fmt: skip
        return MemoryAnalysis(
            sum(s.byte_size for s in self.parameter_shapes),
            sum(s.byte_size for s in self.result_shapes),
            sum(shape.byte_size for leaf, shape in launched if leaf not in results),
            0,
        )


class GpuCompiler(Compiler):
    """Compiles for NVIDIA GPUs from sm_80 on."""

    def optimize(
        self, module: Module, options: Options, report: PipelineReport | None = None
    ) -> Module:
        """The HLO passes that every backend that makes code shares."""
        return default_pipeline(kinds=KERNEL_KINDS, memory_limit=options.memory_limit).run(
            module, options, report
        )

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
