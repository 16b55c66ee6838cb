"""Running a compiled module on a GPU: arguments there, results that stay there."""

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import Driver, current_driver
from tfc.backends.gpu.memory import GpuMemory, GpuTransferManager, new_memory, to_gpu
from tfc.backends.gpu.program import GpuProgram
from tfc.backends.gpu.runner import Runner
from tfc.backends.interfaces import Executable, MemoryAnalysis
from tfc.backends.llvm.compilation import compile_ir, compile_ptx
from tfc.backends.target import Target
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape
from tfc.passes.analysis.donation import donation_of
from tfc.passes.memory.buffers import BufferAssignment
from tfc.runtime.device_arrays import DeviceArray
from tfc.runtime.replicas import running_one_of
from tfc.tracebacks import api_boundary

DEFAULT_TARGET = "nvptx64-nvidia-cuda,sm_80"


class GpuExecutable(Executable):
    """A module as PTX and steps; it is loaded by the driver when it is first called."""

    def __init__(
        self,
        source: Module,
        optimized: Module,
        target: Target | None,
        program: GpuProgram,
        mlir: str,
        llvm: str,
        assignment: BufferAssignment,
    ):
        super().__init__(source, optimized)
        self.program, self._assignment = program, assignment
        self._target, self._mlir, self._llvm = target, mlir, llvm
        self._donation = donation_of(optimized)
        self._loading = threading.Lock()
        self._loaded: dict[int, _Loaded] = {}

    @api_boundary
    def __call__(self, *arguments: Any) -> list[Any]:
        """Run with one array for each parameter leaf, on the host or on the GPU.

        Returns:
            The result's leaves, on the GPU, as DeviceArrays; the program may still be running.

        Raises:
            ShapeError: the arguments do not fit the parameters.
            DriverError: there is no GPU, or the driver says that something failed.
        """
        self.check_arguments(arguments)
        driver = current_driver()
        with self._loading:
            if id(driver) not in self._loaded:
                self._loaded[id(driver)] = _Loaded(self, driver)
        return self._loaded[id(driver)].run(arguments)

    def code(self, architecture: str) -> str:
        """The PTX for an architecture."""
        return compile_ptx(self._llvm, Target.parse(f"nvptx64-nvidia-cuda,{architecture}"))

    @cached_property
    def _ptx(self) -> str:
        return compile_ptx(self._llvm, self.target)

    @property
    def target(self) -> Target:
        """What the PTX that `as_text` shows is for."""
        return self._target or Target.parse(DEFAULT_TARGET)

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

    @property
    def assignment(self) -> BufferAssignment:
        """Where every value lies."""
        return self._assignment

    @property
    def donated(self) -> dict[int, int]:
        """The argument in whose memory a result lies, by numbers."""
        return dict(self._donation.aliases)

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments, results, the arena and the constants, on the GPU."""
        plan = self._assignment
        aliased = sum(self.result_shapes[n].byte_size for n in self._donation.aliases)
        return MemoryAnalysis(
            sum(s.byte_size for s in self.parameter_shapes),
            sum(s.byte_size for s in self.result_shapes),
            plan.arena_size,
            plan.constant_size,
            aliased,
            plan.lower_bound,
            name=self.hlo.name,
        )


class _Loaded:
    """A program on one GPU: its code, its constants and its arena are there.

    Calls take turns with arenas as they do on the GPU, where all runs in the order of the calls: an
    arena may go to the next call while the one before is still running.
    """

    def __init__(self, executable: GpuExecutable, driver: Driver):
        self._executable, self._driver = executable, driver
        plan = executable.assignment
        self._transfers = GpuTransferManager(driver)
        self._arenas: list[GpuMemory] = []
        pool = np.zeros(plan.constant_size, np.uint8)
        for offset, literal in plan.constants:
            pool[offset : offset + literal.bytes.size] = literal.bytes
        self._constants = new_memory(driver, plan.constant_size)
        driver.write(self._constants.address, pool)
        code = driver.load(executable.code(driver.architecture).encode())
        functions: dict[str, Any] = {}

        def function(name: str) -> Any:
            if name not in functions:
                functions[name] = driver.function(code, name)
            return functions[name]

        self._runner = Runner(driver, function, executable.program.steps)
        self._has_host_calls = executable.program.has_host_calls

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        executable = self._executable
        passed = [
            self._transfers.to_device(a, s) for a, s in zip(arguments, executable.parameter_shapes)
        ]
        aliases = executable.donated
        for number in set(aliases.values()):
            passed[number] = self._given(arguments[number], passed, number)
        results = [
            passed[aliases[n]] if n in aliases else new_memory(self._driver, s.byte_size)
            for n, s in enumerate(executable.result_shapes)
        ]
        plan = executable.assignment
        arena = self._arenas.pop() if self._arenas else new_memory(self._driver, plan.arena_size)
        bases = {("arena", 0): arena.address, ("constant", 0): self._constants.address}
        bases |= {("parameter", n): m.address for n, m in enumerate(passed)}
        bases |= {("result", n): m.address for n, m in enumerate(results)}
        with running_one_of(*executable.device_counts) if self._has_host_calls else nullcontext():
            self._runner.run(bases)
        self._arenas.append(arena)
        return [self._array(m, s) for m, s in zip(results, executable.result_shapes)]

    def _given(self, argument: Any, passed: Sequence[GpuMemory], number: int) -> GpuMemory:
        """The memory of a donated argument, or a copy where another argument lies there too."""
        memory = passed[number]
        if isinstance(argument, DeviceArray):
            argument.delete()
        if all(m is not memory for n, m in enumerate(passed) if n != number):
            return memory
        copy = new_memory(self._driver, memory.size)
        self._driver.copy(copy.address, memory.address, memory.size)
        return copy

    def _array(self, memory: GpuMemory, shape: Shape) -> DeviceArray:
        dtype = shape.element_type.dtype
        if shape.has_default_layout:
            return DeviceArray(memory, dtype, shape.dims)
        laid_out = self._transfers.from_device(memory, shape)
        plain = Shape(shape.element_type, shape.dims)
        return DeviceArray(to_gpu(laid_out, plain, self._driver), dtype, shape.dims)
