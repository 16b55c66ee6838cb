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
    Decides,
    Decision,
    Dimensions,
    Graph,
    MemoryUse,
    Multiprocessor,
    Recording,
    Resources,
)
from tfc.backends.gpu.driver.loops import never_loops
from tfc.errors import DriverError
from tfc.testing.ptx import graphs
from tfc.testing.ptx.machine import Machine
from tfc.testing.ptx.state.tensor_maps import Pixels, TensorMap, encode

_MEMORY = 256 << 20  # bytes that programs may have
# Bytes that blocks may share; code for sm_80 runs on later GPUs, too, some of which have less.
_SHARED = {"sm_80": 99 << 10}
_MOST_SHARED = 227 << 10


class InterpretedDriver:
    """The interpreter as a GPU. What it reports of each launch is in `reports`, by kernel."""

    name = "interpreter of PTX"
    number = 0

    def __init__(self, architecture: str = "sm_80", decides: Decides = Decides.SWITCH):
        self.architecture, self.decides = architecture, decides
        self._machine = Machine(memory_limit=_MEMORY)
        self._recorded: _Recording | None = None
        self._stop_address = 0
        self.reports: list[tuple[str, Any]] = []
        self.loops = never_loops()  # all is done, and can be interrupted, when it is asked for

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
            self._do("copy", lambda: self._machine.write(target, self._machine.read(source, size)))

    def launch(
        self,
        function: Any,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> None:
        """Run a kernel, thread by thread at once."""
        self._do("kernel", self.prepare(function, blocks, threads, arguments, shared).launch)

    def prepare(
        self,
        function: Any,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> "_Prepared":
        """A launch that is made again and again."""
        passed = [np.uint64(a) if isinstance(a, int) else a for a in arguments]
        wanted, most = function.shared_bytes + shared, _SHARED.get(self.architecture, _MOST_SHARED)
        if wanted > most:
            raise DriverError(
                f"a block of '{function.name}' shares {wanted} bytes, for which not all GPUs of "
                f"{self.architecture} and later have the memory, which is {most}"
            )

        def run() -> None:
            report = self._machine.launch(
                function, grid=blocks, block=threads, arguments=passed, shared_bytes=shared
            )
            self.reports.append((function.name, report))

        return _Prepared(run)

    def describe(self, boxes: Boxes, address: int) -> bytes:
        """What a kernel takes to copy boxes of an array."""
        sizes = boxes.itemsize, boxes.dims, boxes.strides, boxes.box, boxes.swizzle
        pixels = None if boxes.pixels is None else Pixels(*boxes.pixels.numbers)
        return encode(TensorMap(address, *sizes, pixels))

    def _do(self, kind: str, step: Callable[[], None]) -> None:
        if self._recorded is not None:
            self._recorded.add(kind, step)
        else:
            step()

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Record what is launched and copied inside."""
        self._recorded = recording = _Recording(self._machine)
        try:
            yield recording
        finally:
            self._recorded = None
        recording.graph = recording.whole.ready()

    def after_recording(self, action: Callable[[], object]) -> None:
        """Do something at once: a recording minds nothing else."""
        action()

    @property
    def stop_address(self) -> int:
        """Where a number lies that is always 0."""
        if not self._stop_address:
            self._stop_address = self.allocate(4)
            self.write(self._stop_address, np.zeros(1, np.uint32))
        return self._stop_address

    def mark(self) -> "_Mark":
        """This place in the order: all that was asked for is done."""
        return _Mark()

    def wait_for(self, stream: int) -> None:
        """There are no other streams."""

    def hold(self, stream: int) -> None:
        """There are no other streams."""

    def ask(self, work: Callable[[int], None]) -> None:
        """Let another library do work, at once."""
        self._do("library", lambda: work(0))

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

    def gpu_of(self, address: int) -> int:
        """There is one."""
        return self.number

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


class _Prepared:
    def __init__(self, launch: Callable[[], None]):
        self.launch = launch


class _Recording:
    """What is recorded: a graph, and the part of it that is recorded now."""

    def __init__(self, machine: Machine):
        self.whole = self._part = graphs.Graph(machine.conditions)
        self.graph: Graph | None = None

    def add(self, kind: str, step: Callable[[], None]) -> None:
        """Add a node."""
        self._part.add(kind, step, self._part.nodes[-1:])

    def condition(self) -> int:
        """A condition of the part."""
        return self._part.condition()

    def decide(
        self, decision: Decision, condition: int, parts: Sequence[Callable[[], None]]
    ) -> None:
        """Add a conditional node, and record its parts."""
        before = self._part
        node = before.decide(decision.name, condition, len(parts), before.nodes[-1:])
        for self._part, part in zip(node.parts, parts, strict=True):
            part()
        self._part = before


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
