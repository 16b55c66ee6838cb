"""Running a compiled module on a GPU: arguments there, results that stay there."""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tfc.backends.cache.code_cache import CodeCache, text_key, versions
from tfc.backends.choices import Question, questions_about
from tfc.backends.gpu.assembler.cubins import assemble, disassemble
from tfc.backends.gpu.assembler.programs import has_program
from tfc.backends.gpu.driver import Driver, current_driver, opened_driver
from tfc.backends.gpu.driver.architectures import has_warpgroups
from tfc.backends.gpu.driver.interface import Resources
from tfc.backends.gpu.kernels import parts_of, scratch_array
from tfc.backends.gpu.loaded import LoadedProgram, quick_entry
from tfc.backends.gpu.measuring.observing import ObservedProgram
from tfc.backends.gpu.memory import borrowed
from tfc.backends.gpu.program import GpuProgram
from tfc.backends.interfaces import Executable, KernelTimes, MemoryAnalysis, Signature
from tfc.backends.llvm.compilation import compile_ir, compile_ptx
from tfc.backends.mlir.kernels import kernel_of
from tfc.backends.target import Target
from tfc.errors import DriverError
from tfc.hlo.ir import Instruction, Module
from tfc.passes.analysis.donation import donation_of
from tfc.passes.live_buffers import live_buffers
from tfc.passes.memory.buffers import BufferAssignment
from tfc.runtime.device_arrays import is_on_gpu
from tfc.tracebacks import api_boundary

_OLDEST = "sm_80"


@dataclass(frozen=True)
class GpuCode:
    """What a module becomes: its program, and that program's texts."""

    program: GpuProgram
    mlir: str
    llvm: str


def default_target() -> Target:
    """What code is made for unless told: the GPU of the open driver, else the oldest one."""
    driver = opened_driver()
    return target_of(driver.architecture if driver is not None else _OLDEST)


def target_of(architecture: str) -> Target:
    """The target of an architecture such as "sm_90a"."""
    return Target.parse(f"nvptx64-nvidia-cuda,{architecture}")


class GpuExecutable(Executable):
    """A module as PTX and steps; it is loaded by the driver when it is first called."""

    def __init__(
        self,
        source: Module,
        optimized: Module,
        target: Target,
        make: Callable[[str], GpuCode],
        assignment: BufferAssignment,
        cache_dir: str = "",
    ):
        super().__init__(source, optimized)
        self._target, self._make, self._assignment = target, make, assignment
        self._cache_dir = cache_dir
        self._made: dict[bool, GpuCode] = {}
        self._own = self.made_for(target.cpu)  # what cannot be compiled is told here
        self._donation = donation_of(optimized)
        self._loading = threading.Lock()
        self._loaded: dict[int, LoadedProgram] = {}
        self._cache = CodeCache(Path(cache_dir)) if cache_dir else None

    @api_boundary
    def __call__(self, *arguments: Any) -> list[Any]:
        """Run with one array for each parameter leaf, on the host or on the GPU, where other
        libraries' are read in the same memory.

        Returns:
            The result's leaves, on the GPU, as DeviceArrays; the program may still be running.

        Raises:
            ShapeError: the arguments do not fit the parameters.
            UnsupportedError: an array of another library is not row-major, or on another GPU.
            DriverError: there is no GPU, or the driver says that something failed.
        """
        given: list[Any] = [borrowed(current_driver(), a) if is_on_gpu(a) else a for a in arguments]
        self.check_arguments(given)
        return self._loaded_on(current_driver()).run(given)

    def python_entry(self, signature: Signature) -> Callable[..., Any] | None:
        """A way for arrays on the GPU, passed by place: an unchanged call is one launch."""
        return quick_entry(self, signature, self._loaded_on)

    def _loaded_on(self, driver: Driver) -> "LoadedProgram":
        """The program as it is loaded by a driver, which it is when it is first wanted."""
        found = self._loaded.get(id(driver))
        if found is None:
            with self._loading:
                if id(driver) not in self._loaded:
                    self._loaded[id(driver)] = LoadedProgram(self, driver)
                found = self._loaded[id(driver)]
        return found

    def made_for(self, architecture: str) -> GpuCode:
        """The code for an architecture: one for those with warpgroups, and one for the others."""
        kind = has_warpgroups(architecture)
        if kind not in self._made:
            self._made[kind] = self._make(architecture)
        return self._made[kind]

    @property
    def program(self) -> GpuProgram:
        """The program for the target."""
        return self._own.program

    @property
    def has_host_calls(self) -> bool:
        """Whether the host runs some of its instructions."""
        return self.program.has_host_calls

    def program_for(self, driver: Driver) -> GpuProgram:
        """The program for a GPU."""
        return self.made_for(driver.architecture).program

    def code(self, architecture: str) -> str:
        """The PTX for an architecture, of the cache if it is there."""
        target, llvm = target_of(architecture), self.made_for(architecture).llvm
        if self._cache is None:
            return compile_ptx(llvm, target)
        key = text_key(llvm, target, versions())
        found = self._cache.get(key)
        if found is None:
            found = [compile_ptx(llvm, target).encode()]
            self._cache.put(key, found)
        return found[0].decode()

    def load(self, driver: Driver) -> Any:
        """The code on a GPU: the driver's own of an earlier process if there is one, or of PTX."""
        ptx = self.code(driver.architecture)
        if self._cache is None or not driver.version():
            return driver.load(ptx.encode())
        key = text_key(ptx, driver.architecture, driver.version())
        found = self._cache.get(key)
        if found is not None:
            with suppress(DriverError):  # which may have been updated without another number
                return driver.load(found[0])
        made = driver.assemble(ptx.encode())
        self._cache.put(key, [made])
        return driver.load(made)

    @cached_property
    def _ptx(self) -> str:
        return compile_ptx(self._own.llvm, self.target)

    @property
    def target(self) -> Target:
        """What the PTX that `as_text` shows is for."""
        return self._target

    @property
    def stages(self) -> tuple[str, ...]:
        """The names that `as_text` knows."""
        return ("hlo", "optimized", "mlir", "llvm", "ptx", "sass")

    def _text(self, stage: str) -> str:
        match stage:
            case "mlir":
                return self._own.mlir
            case "llvm":
                return compile_ir(self._own.llvm, self.target).llvm_ir
            case "ptx":
                return self._ptx
            case "sass":
                return disassemble(assemble(self._ptx, self.target.cpu).code)
            case _:
                return str(self.hlo)

    def questions(
        self, kernels: Iterable[Instruction]
    ) -> Mapping[Instruction, tuple[Question, ...]]:
        """Which of some kernels have alternatives of schedule, and which ones."""
        architecture = self.target.cpu

        def ask(instruction: Instruction) -> None:
            scratch_array(kernel_of(instruction))
            parts_of(kernel_of(instruction), architecture)

        return questions_about(kernels, ask)

    def timed(self) -> Callable[..., KernelTimes]:
        """The same program with marks around its steps, which are launched one by one.

        Raises:
            DriverError: there is no GPU.
        """
        driver = current_driver()
        return ObservedProgram(self, self.hlo.entry.root, driver, self._resources(driver))

    def _resources(self, driver: Driver) -> dict[str, Resources]:
        """What kernels take as the assembler says, for an interpreter, which cannot tell."""
        if driver.reports is None or not has_program("ptxas"):
            return {}
        found = assemble(self.code(driver.architecture), driver.architecture).kernels
        return {n: Resources(k.registers, k.shared, k.spilled) for n, k in found.items()}

    @property
    def assignment(self) -> BufferAssignment:
        """Where every value lies."""
        return self._assignment

    @property
    def donated(self) -> dict[int, int]:
        """The argument in whose memory a result lies, by numbers."""
        return dict(self._donation.aliases)

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments, results, the arena with its buffers and the constants, on the GPU."""
        plan = self._assignment
        aliased = sum(self.result_shapes[n].byte_size for n in self._donation.aliases)
        return MemoryAnalysis(
            sum(s.byte_size for s in self.parameter_shapes),
            sum(s.byte_size for s in self.result_shapes),
            plan.arena_size,
            plan.constant_size,
            aliased,
            plan.lower_bound,
            live_buffers(self.hlo, plan),
            self.hlo.name,
        )
