"""The driver through NVIDIA's cuda-bindings: functions that return a status and their results."""

import atexit
import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any
from weakref import WeakSet

import numpy as np

from tfc.backends.gpu.driver import tensor_maps
from tfc.backends.gpu.driver.architectures import OLDEST, architecture_of
from tfc.backends.gpu.driver.blocks import Blocks, rounded
from tfc.backends.gpu.driver.code import Function, Module, Prepared
from tfc.backends.gpu.driver.events import Event, Word
from tfc.backends.gpu.driver.failures import failure, no_driver, no_memory, too_old
from tfc.backends.gpu.driver.graphs import Recorder, decides
from tfc.backends.gpu.driver.interface import (
    Boxes,
    Decides,
    Dimensions,
    MemoryUse,
    Multiprocessor,
    Recording,
    Resources,
)
from tfc.backends.gpu.driver.loops import Loops
from tfc.backends.gpu.driver.numbers import chosen_gpu
from tfc.backends.gpu.driver.staging import SMALL, Staging
from tfc.errors import OutOfMemoryError

_opened: "WeakSet[BindingsDriver]" = WeakSet()


class _Binding:
    """The module whose functions are the driver's."""

    def __init__(self) -> None:
        self.cuda: Any = import_module("cuda.bindings.driver")

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver, and return what it gives.

        Raises:
            DriverError: it says that it failed; OutOfMemoryError if for lack of memory.
        """
        status, *results = getattr(self.cuda, name)(*arguments)
        if status != self.cuda.CUresult.CUDA_SUCCESS:
            _, text = self.cuda.cuGetErrorString(status)
            said = text.decode() if isinstance(text, bytes) else str(status)
            raise failure(name, int(status), said)
        return results[0] if len(results) == 1 else tuple(results)


def open_driver(number: int | None = None) -> "BindingsDriver":
    """The GPU of this number; without one, that of the process's number on its host.

    Each process of a job has its own, as far as there are so many.

    Raises:
        DriverError: there is no driver, or no such GPU.
    """
    binding = _Binding()
    try:
        binding.ask("cuInit", 0)
    except RuntimeError as error:  # the binding finds no library of the driver
        raise no_driver(error) from None
    count = binding.ask("cuDeviceGetCount")
    return BindingsDriver(binding, chosen_gpu(number, count), count)


@atexit.register
def _stop_all_loops() -> None:
    """A process that ends waits for no loop, as the driver may."""
    for driver in list(_opened):
        if driver.loops.are_under_way:
            driver.loops.stop_in_this_thread()


class BindingsDriver:
    """A GPU in its primary context, which PyTorch, CuPy and JAX use too.

    Args:
        count: how many GPUs there are.
    """

    reports = None  # nothing is counted

    def __init__(self, binding: _Binding, number: int, count: int = 1):
        self.binding, self._ask, self._cuda = binding, binding.ask, binding.cuda
        self.number = number
        self._device = self._ask("cuDeviceGet", number)
        if self._capability < OLDEST:
            raise too_old(self.name, self._capability)
        self.context = self._ask("cuDevicePrimaryCtxRetain", self._device)
        # With several GPUs other libraries may change which one a thread uses.
        self._is_alone = count == 1
        self._entered = threading.local()
        # The functions themselves: finding them takes as long as they do.
        self._launches = {n: getattr(self._cuda, n) for n in ("cuGraphLaunch", "cuLaunchKernel")}
        # One stream: what is asked for while it records would be recorded.
        self.turn = threading.RLock()
        self._recording = False
        self._later: list[Callable[[], object]] = []
        self.enter()
        self.stream = self._ask("cuStreamCreate", self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
        # Memory that is given back stays with the process, so that asking again takes no time.
        self._pool = self._ask("cuDeviceGetDefaultMemPool", self._device)
        kind = self._cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._ask("cuMemPoolSetAttribute", self._pool, kind, self._cuda.cuuint64_t(2**64 - 1))
        self._blocks = Blocks()
        self._staging = Staging(self._pinned, self.mark)
        self._word = Word(self, self._pinned)
        self.loops = Loops(self._stop_loops)
        _opened.add(self)

    def enter(self) -> None:
        """Make the context this thread's."""
        if not (self._is_alone and getattr(self._entered, "is_so", False)):
            self._ask("cuCtxSetCurrent", self.context)
            self._entered.is_so = True

    def submit(self, name: str, arguments: tuple[Any, ...], has_loops: bool = False) -> None:
        """Ask for a launch: as `do`, in as few steps as there can be."""
        with self.turn:
            if has_loops:
                self.loops.asked += 1
            if not (self._is_alone and getattr(self._entered, "is_so", False)):
                self.enter()
            if self._launches[name](*arguments)[0]:
                self._ask(name, *arguments)  # fails again, and says why

    def do(self, name: str, *arguments: Any) -> Any:
        """Ask for something in the stream, which nobody else does meanwhile."""
        with self.turn:
            self.enter()
            return self._ask(name, *arguments)

    @cached_property
    def name(self) -> str:
        """What the GPU is called."""
        return self._ask("cuDeviceGetName", 256, self._device).split(b"\0")[0].decode()

    @property
    def architecture(self) -> str:
        """What its code is made for."""
        return architecture_of(*self._capability)

    @cached_property
    def _capability(self) -> tuple[int, int]:
        return self._about("COMPUTE_CAPABILITY_MAJOR"), self._about("COMPUTE_CAPABILITY_MINOR")

    def _about(self, attribute: str) -> int:
        kind = getattr(self._cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{attribute}")
        return int(self._ask("cuDeviceGetAttribute", kind, self._device))

    @cached_property
    def multiprocessor(self) -> Multiprocessor:
        """What the GPU's multiprocessors have."""
        return Multiprocessor(
            self._about("MULTIPROCESSOR_COUNT"),
            self._about("MAX_THREADS_PER_MULTIPROCESSOR"),
            self._about("MAX_BLOCKS_PER_MULTIPROCESSOR"),
            self._about("MAX_REGISTERS_PER_MULTIPROCESSOR"),
            self._about("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        )

    @property
    def stream_address(self) -> int:
        """The address of the stream."""
        return int(self.stream)

    # --- Code -----------------------------------------------------------------------------------

    def load(self, code: bytes) -> Module:
        """Load PTX or a cubin."""
        self.enter()
        return Module(self, code)

    def function(self, module: Module, name: str) -> Function:
        """A kernel of loaded code."""
        self.enter()
        return Function(module, name)

    def resources(self, function: Function) -> Resources:
        """What a kernel takes."""
        self.enter()
        kinds = self._cuda.CUfunction_attribute
        asked = (
            kinds.CU_FUNC_ATTRIBUTE_NUM_REGS,
            kinds.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        )
        return Resources(*(int(self._ask("cuFuncGetAttribute", k, function.handle)) for k in asked))

    def version(self) -> str:
        """Which driver makes machine code of PTX."""
        return f"CUDA driver {self._ask('cuDriverGetVersion')}"

    def assemble(self, ptx: bytes) -> bytes:
        """The machine code that the driver makes of PTX."""
        self.enter()
        linking = self._ask("cuLinkCreate", 0, [], [])
        try:
            kind = self._cuda.CUjitInputType.CU_JIT_INPUT_PTX
            data = ptx + b"\0"
            self._ask("cuLinkAddData", linking, kind, data, len(data), b"program", 0, [], [])
            address, size = self._ask("cuLinkComplete", linking)
            return ctypes.string_at(int(address), int(size))
        finally:
            self._cuda.cuLinkDestroy(linking)

    # --- Memory ---------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """Memory that was given back, or of the device's pool."""
        size = rounded(size)
        address = self._blocks.take(size)
        if address is None:
            try:
                address = int(self.do("cuMemAllocAsync", size, self.stream))
            except OutOfMemoryError:
                address = self._allocate_at_last(size)
            self._blocks.add(address, size)
        return address

    def _allocate_at_last(self, size: int) -> int:
        """Memory once all that nobody uses is given back, which lies in pieces otherwise."""
        for address in self._blocks.drain():
            self.do("cuMemFreeAsync", address, self.stream)
        self.synchronize()  # without the turn, which stopping a loop takes
        with self.turn:
            self._ask("cuMemPoolTrimTo", self._pool, 0)
            try:
                return int(self._ask("cuMemAllocAsync", size, self.stream))
            except OutOfMemoryError:
                raise no_memory(size, self.memory()) from None

    def free(self, address: int) -> None:
        """Give memory back, once what was asked before is done."""
        if self._blocks.put(address):
            return
        self.after_recording(lambda: self.do("cuMemFreeAsync", address, self.stream))

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there."""

        def copy(start: int, piece: np.ndarray) -> None:
            where = address + start, piece.ctypes.data, piece.nbytes
            self.do("cuMemcpyHtoDAsync", *where, self.stream)

        if source.nbytes > SMALL:
            self._staging.send(source, copy)
        elif source.nbytes:
            copy(0, source)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""

        def copy(start: int, piece: np.ndarray) -> None:
            where = piece.ctypes.data, address + start, piece.nbytes
            self.do("cuMemcpyDtoHAsync", *where, self.stream)

        if target.nbytes > SMALL:
            self._staging.receive(target, copy)
        elif target.nbytes > self._word.size:
            if self.loops.are_under_way:
                self.synchronize()  # the copy itself would wait, and see no signal
            copy(0, target)
            self.synchronize()
        elif target.nbytes:
            self._word.read(target, address)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""
        if size:
            self.do("cuMemcpyDtoDAsync", target, source, size, self.stream)

    def gpu_of(self, address: int) -> int:
        """The number of the GPU in whose memory an address lies."""
        if self._is_alone:
            return self.number
        self.enter()
        kind = self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._ask("cuPointerGetAttribute", kind, address))

    def memory(self) -> MemoryUse:
        """How much memory there is, and how much of it is free."""
        self.enter()
        return MemoryUse(*self._ask("cuMemGetInfo"))

    # --- The stream -----------------------------------------------------------------------------

    def launch(
        self,
        function: Function,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> None:
        """Run a kernel."""
        self.prepare(function, blocks, threads, arguments, shared).launch()

    def prepare(
        self,
        function: Function,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> Prepared:
        """A launch that is made again and again."""
        self.enter()
        function.allow(shared)
        return Prepared(self, function, arguments, (*blocks, *threads), shared)

    def describe(self, boxes: Boxes, address: int) -> bytes:
        """What a kernel takes to copy boxes of an array."""
        return tensor_maps.describe(boxes, address)

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Record what is launched and copied inside."""
        recorder = Recorder(self)
        try:
            with self.turn:
                self.enter()
                self._recording = True
                try:
                    recorder.begin()
                    yield recorder
                except BaseException:
                    recorder.give_up()
                    raise
                finally:
                    self._recording = False
                recorder.end()
        finally:
            while self._later:
                self._later.pop(0)()

    def after_recording(self, action: Callable[[], object]) -> None:
        """Do something at once, or after what this thread records."""
        with self.turn:
            if self._recording:  # by this thread, whose turn it is
                self._later.append(action)
                return
            self.enter()
        action()

    def mark(self) -> Event:
        """This place in the order."""
        self.enter()
        return Event(self, self.stream)

    def wait_for(self, stream: int) -> None:
        """Do what is asked from now on after what another stream was asked for."""
        self.enter()
        self.do("cuStreamWaitEvent", self.stream, Event(self, stream).handle, 0)

    def hold(self, stream: int) -> None:
        """Make that stream do what it is asked from now on after what was asked here."""
        self.do("cuStreamWaitEvent", stream, self.mark().handle, 0)

    @cached_property
    def decides(self) -> Decides:
        """What its graphs decide by themselves."""
        self.enter()
        return decides(self.binding, self.context)

    @cached_property
    def stop_address(self) -> int:
        """Where the number lies that ends loops; a stream of its own changes it meanwhile."""
        address = self.allocate(4)
        self.do("cuMemsetD32Async", address, 0, 1, self.stream)
        self._beside = self._ask("cuStreamCreate", self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
        return address

    def _stop_loops(self) -> None:
        with self.turn:
            try:
                self.do("cuMemsetD32Async", self.stop_address, 1, 1, self._beside)
                self._ask("cuStreamSynchronize", self._beside)
            finally:  # once all that was asked for before has ended
                self.do("cuMemsetD32Async", self.stop_address, 0, 1, self.stream)

    def ask(self, work: Callable[[int], None]) -> None:
        """Let another library ask for work in the stream."""
        with self.turn:
            self.enter()
            work(int(self.stream))

    def aside(self, work: Callable[[int], None]) -> Callable[[], None]:
        """Let it ask for work in a second stream; the function returned waits for it here."""
        with self.turn:
            self.hold(self._second)
            work(int(self._second))
            # An event of its own: more may be asked for there before this one is waited for.
            end = Event(self, self._second)
        return lambda: self.do("cuStreamWaitEvent", self.stream, end.handle, 0)

    @cached_property
    def _second(self) -> Any:
        return self._ask("cuStreamCreate", self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)

    @cached_property
    def identity(self) -> str:
        """Where the GPU is on the host's bus."""
        return self._ask("cuDeviceGetPCIBusId", 16, self._device).split(b"\0")[0].decode()

    def synchronize(self) -> None:
        """Wait until all that was asked is done."""
        # For an event, since another thread may begin to record, and waiting is not recorded.
        self.mark().wait()

    def _pinned(self, size: int) -> np.ndarray:
        """An array in pinned memory, which stays."""
        address = int(self._ask("cuMemHostAlloc", size, 0))
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
