"""A driver without a GPU: programs run on the interpreter of PTX, which checks what they do."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import Driver, current_driver, using
from tfc.backends.gpu.driver.interface import (
    Boxes,
    Dimensions,
    MemoryUse,
    Multiprocessor,
    Recording,
    Resources,
)
from tfc.errors import DriverError
from tfc.testing.ptx.machine import Machine
from tfc.testing.ptx.state.tensor_maps import TensorMap, encode

_MEMORY = 256 << 20  # bytes that programs may have


class InterpretedDriver:
    """The interpreter as a GPU. What it reports of each launch is in `reports`, by kernel."""

    name = "interpreter of PTX"
    number = 0

    def __init__(self, architecture: str = "sm_80"):
        self.architecture = architecture
        self._machine = Machine(memory_limit=_MEMORY)
        self._recorded: list[Callable[[], None]] | None = None
        self.reports: list[tuple[str, Any]] = []

    def load(self, code: bytes) -> Any:
        """Parse PTX."""
        return self._machine.load(code)

    def function(self, module: Any, name: str) -> Any:
        """A kernel of it."""
        return module[name]

    def allocate(self, size: int) -> int:
        """Memory with a guard around it."""
        return self._machine.allocate(max(size, 1))

    def free(self, address: int) -> None:
        """Give memory back: whoever reads it later is told so."""
        self._machine.free(address)

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy an array there."""
        if source.nbytes:
            self._machine.write(address, np.ascontiguousarray(source).reshape(-1).view(np.uint8))

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to an array."""
        if target.nbytes:
            target.reshape(-1).view(np.uint8)[:] = self._machine.read(address, target.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""
        if size:
            self._do(lambda: self._machine.write(target, self._machine.read(source, size)))

    def launch(
        self,
        function: Any,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> None:
        """Run a kernel, thread by thread at once."""
        self._do(self.prepare(function, blocks, threads, arguments, shared).launch)

    def prepare(
        self,
        function: Any,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> "_Steps":
        """A launch that is made again and again."""
        passed = [np.uint64(a) if isinstance(a, int) else a for a in arguments]

        def run() -> None:
            report = self._machine.launch(
                function, grid=blocks, block=threads, arguments=passed, shared_bytes=shared
            )
            self.reports.append((function.name, report))

        return _Steps([run])

    def describe(self, boxes: Boxes, address: int) -> bytes:
        """What a kernel takes to copy boxes of an array."""
        return encode(TensorMap(address, *vars(boxes).values()))

    def _do(self, step: Callable[[], None]) -> None:
        if self._recorded is not None:
            self._recorded.append(step)
        else:
            step()

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Record what is launched and copied inside."""
        recording, steps = Recording(), list[Callable[[], None]]()
        self._recorded = steps
        try:
            yield recording
        finally:
            self._recorded = None
        recording.graph = _Steps(steps)

    def mark(self) -> "_Mark":
        """This place in the order: all that was asked for is done."""
        return _Mark()

    def wait_for(self, stream: int) -> None:
        """There are no other streams."""

    def hold(self, stream: int) -> None:
        """There are no other streams."""

    def ask(self, work: Callable[[int], None]) -> None:
        """Let another library do work, at once."""
        self._do(lambda: work(0))

    def aside(self, work: Callable[[int], None]) -> Callable[[], None]:
        """Let it do work, at once: there is nothing to wait for."""
        self.ask(work)
        return lambda: None

    @property
    def identity(self) -> str:
        """Each process has an interpreter of its own."""
        return f"interpreter of process {os.getpid()}"

    stream_address = 0

    @property
    def multiprocessor(self) -> Multiprocessor:
        """Those of an A100 or an H100; the interpreter runs all blocks in order."""
        if self.architecture == "sm_90a":
            return Multiprocessor(132, 2048, 32, 65536, 228 << 10)
        return Multiprocessor(108, 2048, 32, 65536, 164 << 10)

    def resources(self, function: Any) -> Resources:
        """What a kernel takes: shared memory; registers are what an assembler makes of them."""
        return Resources(0, function.shared_bytes, 0)

    def version(self) -> str:
        """Nothing: there is no machine code."""
        return ""

    def assemble(self, ptx: bytes) -> bytes:
        """PTX as it is."""
        return ptx

    def synchronize(self) -> None:
        """Nothing is left to wait for: all is done when it is asked for."""

    def memory(self) -> MemoryUse:
        """What programs may have, and what is left of it."""
        return MemoryUse(self._machine.memory_limit - self._machine.allocated, _MEMORY)


class _Mark:
    def wait(self) -> None:
        """All is done."""

    def seconds_since(self, earlier: "_Mark") -> float:
        """Nothing is measured: the time of an interpreter says nothing of a GPU."""
        return 0.0

    def is_passed(self) -> bool:
        """All is done."""
        return True


class _Steps:
    def __init__(self, steps: Sequence[Callable[[], None]]):
        self._steps = steps

    def launch(self) -> None:
        """Do all of it."""
        for step in self._steps:
            step()


@cache
def _interpreted() -> InterpretedDriver:
    return InterpretedDriver()


def device_for_tests() -> AbstractContextManager[Driver]:
    """The GPU of this machine, or the interpreter where there is none."""
    try:
        return nullcontext(current_driver())
    except DriverError:
        return using(_interpreted())


def device_of(backend: str) -> AbstractContextManager[object]:
    """What a backend's programs run on in tests: for "gpu" as `device_for_tests` says."""
    return device_for_tests() if backend == "gpu" else nullcontext()
