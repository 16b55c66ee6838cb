"""The GPU compiler: HLO passes, buffer plan, MLIR kernels, LLVM, PTX."""

from tfc.backends.cache.kept_choices import KeptChoices, kept_choices
from tfc.backends.choices import asking
from tfc.backends.gpu.attention.gradient_spec import takes_scores
from tfc.backends.gpu.attention.spec import takes_attention
from tfc.backends.gpu.convolutions.kernels import takes_layouts, takes_sums_together
from tfc.backends.gpu.driver import current_driver
from tfc.backends.gpu.executable import GpuCode, GpuExecutable, default_target
from tfc.backends.gpu.kernels import scratch_bytes
from tfc.backends.gpu.memory import ALIGNMENT
from tfc.backends.gpu.program import emit_gpu_program
from tfc.backends.gpu.rows.row_kernels import LONGEST, takes_longer
from tfc.backends.gpu.transforms import takes_transform
from tfc.backends.interfaces import Compiler
from tfc.backends.llvm.compilation import lower_gpu_to_llvm
from tfc.backends.target import Target
from tfc.errors import DriverError, UnsupportedError
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.passes import KernelKinds, PipelineReport, default_pipeline
from tfc.passes.attention.forward import Attention
from tfc.passes.attention.scores import Scores
from tfc.passes.memory.buffers import assign_buffers
from tfc.runtime.engines.nccl.reductions import is_native


def _takes_attention(found: Attention | Scores) -> bool:
    return takes_scores(found) if isinstance(found, Scores) else takes_attention(found)


KERNEL_KINDS = KernelKinds(
    rows=True,
    longest_row=LONGEST,
    takes_longer_row=takes_longer,
    several_results=True,
    launch_overhead=True,
    element_loops=True,
    epilogues=True,
    epilogue_results=True,
    narrow_products=True,
    splits_products=True,
    instructions_a_byte=8,  # of an H100 and an A100 by their stated rates
    selections=True,
    begins_collectives=True,
    reduces_in_transit=is_native,
    takes_attention=_takes_attention,
    takes_transform=takes_transform,
    takes_layouts=takes_layouts,
    takes_sums_together=takes_sums_together,
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

    def choices(self, options: Options) -> KeptChoices | None:
        """What was measured on GPUs of this name; None where there is none."""
        try:
            driver = current_driver() if options.cache_dir else None
        except DriverError:
            return None
        return kept_choices(options, f"{driver.name} {driver.architecture}") if driver else None

    def compile(self, module: Module, options: Options, target: Target | None) -> GpuExecutable:
        """Compile to PTX; no GPU is needed until the executable is called.

        Raises:
            UnsupportedError: some op has no GPU code, or the target is no NVIDIA GPU.
        """
        if target is not None and not target.is_gpu:
            raise UnsupportedError(f"the GPU backend makes code for nvptx64 targets, got {target}")
        optimized = self.optimize(module, options)
        choices = self.source_for(options)
        with asking(choices):
            assignment = assign_buffers(optimized, scratch_bytes, ALIGNMENT)

        def make(architecture: str) -> GpuCode:
            with asking(choices):  # the same as said how much memory shares of sums take
                program = emit_gpu_program(optimized, assignment, architecture)
            mlir = str(program.module)
            return GpuCode(program, mlir, lower_gpu_to_llvm(program.module))

        made_for = target or default_target()
        return GpuExecutable(module, optimized, made_for, make, assignment, options.cache_dir)
