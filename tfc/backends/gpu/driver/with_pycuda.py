"""The driver through PyCUDA: objects that raise what goes wrong."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from tfc.backends.gpu.driver import tensor_maps
from tfc.backends.gpu.driver.architectures import OLDEST, architecture_of
from tfc.backends.gpu.driver.contexts import ThreadsContext
from tfc.backends.gpu.driver.descriptors import layout_of
from tfc.backends.gpu.driver.failures import no_driver, no_memory, too_old
from tfc.backends.gpu.driver.interface import (
    Boxes,
    Decides,
    Dimensions,
    MemoryUse,
    Multiprocessor,
    Recording,
    Resources,
    Undecided,
)
from tfc.backends.gpu.driver.loops import never_loops
from tfc.backends.gpu.driver.numbers import chosen_gpu
from tfc.backends.gpu.driver.staging import SMALL, Staging
from tfc.errors import DriverError, OutOfMemoryError
from tfc.runtime.later import later

cuda: Any = later("pycuda.driver")
tools: Any = later("pycuda.tools")

_SHARED = 48 << 10  # bytes that a launch may give without asking; the code states none
# Blocks of a multiprocessor, by compute capability; PyCUDA does not ask for them.
_BLOCKS = {(8, 6): 16, (8, 7): 16, (8, 9): 24, (12, 0): 24}
T = TypeVar("T")


def open_driver(number: int | None = None) -> "PycudaDriver":
    """The GPU of this number; without one, that of the process's number on its host.

    Each process of a job has its own, as far as there are so many.

    Raises:
        DriverError: there is no driver, or no such GPU.
    """
    try:
        cuda.init()
    except Exception as error:  # an ImportError where the driver's library is not there
        raise no_driver(error) from None
    return PycudaDriver(chosen_gpu(number, cuda.Device.count()))


def _ask(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function of PyCUDA.

    Raises:
        DriverError: it failed; OutOfMemoryError if for lack of memory.
    """
    try:
        return function(*arguments)
    except cuda.MemoryError:
        raise OutOfMemoryError("there is no memory left on the GPU: make arrays smaller") from None
    except cuda.Error as error:
        raise DriverError(f"the CUDA driver failed: {error}") from None


class _Function:
    """A kernel, and the bytes of shared memory that it may have."""

    def __init__(self, module: Any, name: str):
        self._module = module
        self._kernel = _ask(module.get_function, name)
        self._prepared, self._allowed = "-", _SHARED

    def ready(self, arguments: Sequence[int | bytes], shared: int) -> Any:
        """The kernel, that takes such arguments and has this much shared memory."""
        layout = layout_of(arguments)
        if layout != self._prepared:
            self._kernel.prepare(layout)
            self._prepared = layout
        if shared > self._allowed:
            kind = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            _ask(self._kernel.set_attribute, kind, shared)
            self._allowed = shared
        return self._kernel

    def resources(self) -> Resources:
        """What it takes."""
        kernel = self._kernel
        return Resources(kernel.num_regs, kernel.shared_size_bytes, kernel.local_size_bytes)


class _Event:
    """A place in the order of the stream."""

    def __init__(self, stream: Any):
        self._event = _ask(cuda.Event)
        _ask(self._event.record, stream)

    def wait(self) -> None:
        """Wait until all that was asked before is done."""
        _ask(self._event.synchronize)

    def seconds_since(self, earlier: "_Event") -> float:
        """How long after an earlier mark the GPU came to this one."""
        self.wait()
        return _ask(self._event.time_since, earlier._event) / 1e3

    def is_passed(self) -> bool:
        """Whether all that was asked before is done."""
        return bool(_ask(self._event.query))

    def hold(self, stream: Any) -> None:
        """Make a stream go on after this place."""
        _ask(stream.wait_for_event, self._event)


class _Steps:
    """What was recorded, as a list: PyCUDA offers no graphs."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []

    def launch(self) -> None:
        """Run all in order."""
        for step in self.steps:
            step()


class _Prepared:
    """A launch with its arguments."""

    def __init__(self, driver: "PycudaDriver", kernel: Any, sizes: Any, values: Any, shared: int):
        call = partial(kernel.prepared_async_call, *sizes, driver.stream, *values)
        self.launch = partial(_ask, partial(call, shared_size=shared))


class PycudaDriver:
    """A GPU in its primary context, which PyTorch, CuPy and JAX use too."""

    reports = None  # nothing is counted
    decides, stop_address = Decides.NOTHING, 0

    def __init__(self, number: int):
        self.number = number
        self._device = cuda.Device(number)
        if self._device.compute_capability() < OLDEST:
            raise too_old(self.name, self._device.compute_capability())
        self._context = ThreadsContext(_ask(self._device.retain_primary_context))
        self._recording = threading.local()
        self._held: dict[int, Any] = {}
        self._enter()
        self._pool = tools.DeviceMemoryPool()
        self.stream = _ask(cuda.Stream)
        self._staging, self.loops = Staging(_pinned, self.mark), never_loops()

    def _enter(self) -> None:
        _ask(self._context.enter)

    @cached_property
    def name(self) -> str:
        """What the GPU is called."""
        return self._device.name()

    @cached_property
    def architecture(self) -> str:
        """What its code is made for."""
        return architecture_of(*self._device.compute_capability())

    def load(self, code: bytes) -> Any:
        """Load PTX or a cubin."""
        self._enter()
        return _ask(cuda.module_from_buffer, code + b"\0")

    def function(self, module: Any, name: str) -> _Function:
        """A kernel of loaded code."""
        self._enter()
        return _Function(module, name)

    def allocate(self, size: int) -> int:
        """Memory of a pool, whose blocks are used again in the order of the stream."""
        self._enter()
        try:
            block = _ask(self._pool.allocate, max(size, 1))
        except OutOfMemoryError:  # the pool has given back before what nobody uses
            raise no_memory(size, self.memory()) from None
        self._held[int(block)] = block
        return int(block)

    def free(self, address: int) -> None:
        """Give memory back to the pool."""
        self._enter()
        del self._held[address]

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there."""

        def copy(start: int, piece: np.ndarray) -> None:
            _ask(cuda.memcpy_htod_async, address + start, piece, self.stream)

        self._enter()
        if source.nbytes > SMALL:
            self._staging.send(source, copy)
        elif source.nbytes:
            copy(0, source)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""

        def copy(start: int, piece: np.ndarray) -> None:
            _ask(cuda.memcpy_dtoh_async, piece, address + start, self.stream)

        self._enter()
        if target.nbytes > SMALL:
            self._staging.receive(target, copy)
        elif target.nbytes:
            copy(0, target)
            self.synchronize()

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""
        if size:
            self._do(lambda: _ask(cuda.memcpy_dtod_async, target, source, size, self.stream))

    def launch(
        self,
        function: _Function,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> None:
        """Run a kernel."""
        self._do(self.prepare(function, blocks, threads, arguments, shared).launch)

    def prepare(
        self,
        function: _Function,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> "_Prepared":
        """A launch that is made again and again."""
        self._enter()
        kernel = function.ready(arguments, shared)
        sizes = tuple(blocks), tuple(threads)
        return _Prepared(self, kernel, sizes, tuple(arguments), shared)

    def describe(self, boxes: Boxes, address: int) -> bytes:
        """What a kernel takes to copy boxes of an array."""
        return tensor_maps.describe(boxes, address)

    def _do(self, step: Callable[[], None]) -> None:
        """Do a step, or add it to what this thread records."""
        recorded = getattr(self._recording, "steps", None)
        if recorded is not None:
            recorded.steps.append(step)
        else:
            self._enter()
            step()

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Record what is launched and copied inside."""
        recording = Undecided()
        self._recording.steps = steps = _Steps()
        try:
            yield recording
        finally:
            self._recording.steps = None
        recording.graph = steps

    def after_recording(self, action: Callable[[], object]) -> None:
        """Do something at once, as what is recorded is a list."""
        self._enter()
        action()

    def mark(self) -> _Event:
        """This place in the order."""
        self._enter()
        return _Event(self.stream)

    def wait_for(self, stream: int) -> None:
        """Do what is asked from now on after what another stream was asked for: all are waited for,
        since PyCUDA knows its own streams alone."""
        self._enter()
        _ask(cuda.Context.synchronize)

    def hold(self, stream: int) -> None:
        """Make that stream do what it is asked from now on after what was asked here: it is done
        when this returns."""
        self.synchronize()

    def ask(self, work: Callable[[int], None]) -> None:
        """Let another library ask for work in the stream."""
        self._enter()
        self._do(lambda: work(self.stream_address))

    def aside(self, work: Callable[[int], None]) -> Callable[[], None]:
        """Let it ask for work in a second stream; the function returned waits for it here."""
        self._enter()
        ends: list[_Event] = []

        def begin() -> None:
            self.mark().hold(self._second)
            work(int(self._second.handle))
            ends.append(_Event(self._second))

        self._do(begin)
        return lambda: self._do(lambda: ends.pop().hold(self.stream))

    @cached_property
    def _second(self) -> Any:
        return _ask(cuda.Stream)

    @cached_property
    def identity(self) -> str:
        """Where the GPU is on the host's bus."""
        return str(self._device.pci_bus_id())

    @property
    def stream_address(self) -> int:
        """The address of the stream."""
        return int(self.stream.handle)

    @cached_property
    def multiprocessor(self) -> Multiprocessor:
        """What the GPU's multiprocessors have."""
        kinds, about = cuda.device_attribute, self._device.get_attribute
        return Multiprocessor(
            about(kinds.MULTIPROCESSOR_COUNT),
            about(kinds.MAX_THREADS_PER_MULTIPROCESSOR),
            _BLOCKS.get(self._device.compute_capability(), 32),
            about(kinds.MAX_REGISTERS_PER_MULTIPROCESSOR),
            about(kinds.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        )

    def resources(self, function: _Function) -> Resources:
        """What a kernel takes."""
        self._enter()
        return function.resources()

    def version(self) -> str:
        """Nothing: PyCUDA does not give the machine code that the driver makes."""
        return ""

    def assemble(self, ptx: bytes) -> bytes:
        """PTX as it is: the driver keeps its own machine code of it."""
        return ptx

    def synchronize(self) -> None:
        """Wait until all that was asked is done."""
        self._enter()
        _ask(self.stream.synchronize)

    def gpu_of(self, address: int) -> int:
        """Its own: PyCUDA does not tell."""
        return self.number

    def memory(self) -> MemoryUse:
        """How much memory there is, and how much of it is free."""
        self._enter()
        return MemoryUse(*_ask(cuda.mem_get_info))


def _pinned(size: int) -> np.ndarray:
    """An array in pinned memory, which stays."""
    return _ask(cuda.pagelocked_empty, size, np.uint8)
