"""A program on one GPU: its code, its constants and its memory are there; running it."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Protocol

import numpy as np

from tfc.backends.gpu.driver import Driver, Graph, opened_driver
from tfc.backends.gpu.memory import GpuMemory, GpuTransferManager, new_memory, to_gpu
from tfc.backends.gpu.program import GpuProgram
from tfc.backends.gpu.running.runner import Runner
from tfc.backends.gpu.running.stretches import make_room
from tfc.backends.gpu.steps import Steps
from tfc.backends.interfaces import Fixed, Signature
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape
from tfc.passes.memory.buffers import BufferAssignment
from tfc.runtime.collectives import GpuEngine
from tfc.runtime.device_arrays import DeviceArray
from tfc.runtime.overlaps import overlapping
from tfc.runtime.replicas import current, running_one_of


class Loadable(Protocol):
    """What is loaded: an executable."""

    parameter_shapes: list[Shape]
    result_shapes: list[Shape]
    device_counts: tuple[int, int]
    source: Module

    @property
    def has_host_calls(self) -> bool:
        """Whether the host runs some of its instructions."""
        ...

    def program_for(self, driver: Driver) -> GpuProgram:
        """The program for a GPU."""
        ...

    @property
    def assignment(self) -> BufferAssignment:
        """Where every value lies."""
        ...

    @property
    def donated(self) -> dict[int, int]:
        """The argument in whose memory a result lies, by numbers."""
        ...

    def load(self, driver: Driver) -> Any:
        """The code on a GPU."""
        ...


class LoadedProgram:
    """A program on one GPU: its code, its constants and its arena are there.

    Calls take turns with arenas as they do on the GPU, where all runs in the order of the calls: an
    arena may go to the next call while the one before is still running.
    """

    def __init__(
        self,
        executable: Loadable,
        driver: Driver,
        runner: Callable[[Driver, Callable[[str], Any], Steps, GpuEngine | None], Runner] = Runner,
    ):
        self._executable, self._driver = executable, driver
        plan = executable.assignment
        self._transfers = GpuTransferManager(driver)
        self._arenas: list[GpuMemory] = []
        pool = np.zeros(plan.constant_size, np.uint8)
        for offset, literal in plan.constants:
            pool[offset : offset + literal.bytes.size] = literal.bytes
        self._constants = new_memory(driver, plan.constant_size)
        driver.write(self._constants.address, pool)
        self._code = executable.load(driver)
        self._functions: dict[str, Any] = {}
        program = executable.program_for(driver)
        self._new_runner = partial(runner, driver, self.function, program.steps)
        self._runner = self._new_runner(None)
        self._joined: tuple[GpuEngine | None, Runner] = (None, self._runner)
        self._has_host_calls = program.has_host_calls
        self._ready: dict[tuple[int, ...], Graph] = {}  # by all addresses
        self._result_kinds = [
            (s.byte_size, s.element_type.dtype, s.dims) for s in executable.result_shapes
        ]

    def function(self, name: str) -> Any:
        """A kernel of the code."""
        if name not in self._functions:
            self._functions[name] = self._driver.function(self._code, name)
        return self._functions[name]

    def run(self, arguments: Sequence[Any]) -> list[DeviceArray]:
        """Run with arguments of the host or of a GPU; results stay, and may not be done yet."""
        executable = self._executable
        passed = [
            self._transfers.to_device(a, s) for a, s in zip(arguments, executable.parameter_shapes)
        ]
        aliases = executable.donated
        shared = overlapping((m.address, m.size) for m in passed) if aliases else set[int]()
        for number in set(aliases.values()):
            passed[number] = _given(arguments[number], passed[number], number in shared)
        results = [
            passed[aliases[n]] if n in aliases else new_memory(self._driver, s.byte_size)
            for n, s in enumerate(executable.result_shapes)
        ]
        arena = self._arena()
        bases = self._bases(arena, passed, results)
        counts, program = executable.device_counts, executable.source
        stopped = self._driver.loops.stopped
        with running_one_of(*counts, program) if self._has_host_calls else nullcontext():
            self._runner_now().run(bases)
        self._arenas.append(arena)
        arrays = [self._array(m, s) for m, s in zip(results, executable.result_shapes)]
        self._driver.loops.note(arrays, stopped)
        return arrays

    def _runner_now(self) -> Runner:
        """What runs the steps where this thread runs a device: GPUs meet each other, or hosts."""
        gpus = current().gpus
        if gpus is None:
            return self._runner
        if self._joined[0] is not gpus:
            self._joined = (gpus, self._new_runner(gpus))
        return self._joined[1]

    def run_again(self, passed: Sequence[GpuMemory]) -> list[DeviceArray]:
        """Run with arguments that lie on the GPU, row-major, of which none is donated.

        What was asked with the same addresses before is one launch.
        """
        driver = self._driver
        arena = self._arena()
        results = [
            GpuMemory(driver, size, driver.allocate(size), driver.free)
            for size, _, _ in self._result_kinds
        ]
        loops = driver.loops
        stopped = loops.stopped
        key = (arena.address, *[m.address for m in passed], *[m.address for m in results])
        graph = self._ready.get(key)
        if graph is not None:
            graph.launch()
        else:
            bases = self._bases(arena, passed, results)
            self._runner.run(bases)
            graph = self._runner.graph(bases)
            if graph is not None:
                make_room(self._ready)
                self._ready[key] = graph
        self._arenas.append(arena)
        arrays = [
            DeviceArray(m, dtype, dims) for m, (_, dtype, dims) in zip(results, self._result_kinds)
        ]
        if loops.asked != loops.ended or loops.stopped != stopped:
            loops.note(arrays, stopped)
        return arrays

    def _arena(self) -> GpuMemory:
        """An arena that no call is about to use: another thread may take the last one."""
        try:
            return self._arenas.pop()
        except IndexError:
            return new_memory(self._driver, self._executable.assignment.arena_size)

    def _bases(
        self, arena: GpuMemory, passed: Sequence[GpuMemory], results: Sequence[GpuMemory]
    ) -> dict[tuple[str, int], int]:
        """Where each space of memory begins."""
        bases = {("arena", 0): arena.address, ("constant", 0): self._constants.address}
        bases |= {("parameter", n): m.address for n, m in enumerate(passed)}
        return bases | {("result", n): m.address for n, m in enumerate(results)}

    def _array(self, memory: GpuMemory, shape: Shape) -> DeviceArray:
        dtype = shape.element_type.dtype
        if shape.has_default_layout:
            return DeviceArray(memory, dtype, shape.dims)
        laid_out = self._transfers.from_device(memory, shape)
        plain = Shape(shape.element_type, shape.dims)
        return DeviceArray(to_gpu(laid_out, plain, self._driver), dtype, shape.dims)


def _given(argument: Any, memory: GpuMemory, is_shared: bool) -> GpuMemory:
    """The memory of a donated argument, or a copy where it is read-only, or another argument lies
    there too."""
    if isinstance(argument, DeviceArray):
        argument.delete()
    if memory.is_read_only or is_shared:
        return memory.copied()
    memory.take_back()
    return memory


def quick_entry(
    code: Loadable, signature: Signature, loaded_on: Callable[[Driver], LoadedProgram]
) -> Callable[..., Any] | None:
    """A function of arrays on the GPU for calls without names, containers and donated arguments.

    It gives NotImplemented, and does nothing, for other arguments. None where calls are not so.
    """
    result = signature.result.kind
    shapes = [*code.parameter_shapes, *code.result_shapes]
    children = signature.result.children
    is_flat = all(not isinstance(child, Fixed) and child.kind is None for child in children)
    if (
        any(isinstance(a, Fixed) or a.kind is not None for a in signature.arguments)
        or not (result is None or (result in (tuple, list) and is_flat))
        or not all(s.has_default_layout for s in shapes)
        or signature.names or code.donated or code.has_host_calls
    ):  # fmt: skip
        return None
    wanted = [(s.element_type.dtype, s.dims) for s in code.parameter_shapes]
    count = len(wanted)

    def entry(*arguments: Any) -> Any:
        driver = opened_driver()
        if len(arguments) != count or driver is None:
            return NotImplemented
        passed: list[GpuMemory] = []
        for argument, (dtype, dims) in zip(arguments, wanted):
            if type(argument) is not DeviceArray or argument.shape != dims:
                return NotImplemented
            memory: Any = argument.memory
            if argument.dtype != dtype or memory.device is not driver:
                return NotImplemented
            passed.append(memory)
        results = loaded_on(driver).run_again(passed)
        return results[0] if result is None else result(results)

    return entry
