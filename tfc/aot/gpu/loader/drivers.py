"""NVIDIA's driver through one of two bindings."""

import ctypes
import importlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tfc.backends.gpu.driver.contexts import ThreadsContext
from tfc.backends.gpu.driver.descriptors import layout_of

Values = Sequence["int | bytes"]
_USUAL_SHARED = 48 << 10  # bytes that a launch may give without asking; the code states none


class DriverError(Exception):
    """There is no GPU, or its driver says that something failed."""


def open_driver(number: int = 0) -> "Driver":
    """The GPU of a number, by cuda-bindings or else by PyCUDA."""
    for module, made in (("cuda.bindings.driver", Bindings), ("pycuda.driver", Pycuda)):
        try:
            binding = importlib.import_module(module)
        except ImportError:
            continue
        return made(binding, number)
    raise DriverError("running needs a binding to NVIDIA's driver: pip install cuda-bindings")


class Driver(Protocol):
    """What a program asks of a GPU. Addresses are numbers; all happens in the order asked for.

    capability: the GPU's compute capability.
    """

    capability: "tuple[int, int]"

    def enter(self) -> None:
        """Make this thread use the GPU."""

    def load(self, code: bytes) -> Any:
        """Load PTX or a cubin."""

    def unload(self, module: Any) -> None:
        """Give the memory of loaded code back."""

    def function(self, module: Any, name: str, shared: int) -> Any:
        """A kernel of loaded code, whose blocks share so many bytes at most."""

    def allocate(self, size: int) -> int:
        """The address of new memory, also of no bytes."""
        ...

    def free(self, address: int) -> None:
        """Give memory back."""

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there; it may change when this returns."""

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""

    def launch(
        self, function: Any, blocks: Any, threads: Any, values: "Values", shared: int
    ) -> None:
        """Run a kernel, whose arguments are addresses, numbers, and descriptors as bytes."""

    def record(self, action: Callable[[], None]) -> Callable[[], None]:
        """What launches and copies of an action are asked for, to be asked for again as one."""
        ...

    def wait(self, stream: "int | None") -> None:
        """Wait until what another library's stream was asked for is done; None is its own."""


class Bindings:
    """By cuda-bindings, whose functions return a status and their results."""

    def __init__(self, cuda: Any, number: int):
        self._cuda = cuda
        try:
            self._ask("cuInit", 0)
        except RuntimeError as error:  # the binding finds no library of the driver
            raise DriverError(f"NVIDIA's driver cannot be loaded: {error}") from None
        count = self._ask("cuDeviceGetCount")
        if not 0 <= number < count:
            raise DriverError(f"there is no GPU {number}: the driver finds {count}")
        device = self._ask("cuDeviceGet", number)
        kinds, name = cuda.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_"
        self.capability = (
            self._ask("cuDeviceGetAttribute", getattr(kinds, name + "MAJOR"), device),
            self._ask("cuDeviceGetAttribute", getattr(kinds, name + "MINOR"), device),
        )
        self._context = self._ask("cuDevicePrimaryCtxRetain", device)
        self.enter()
        self._stream = self._ask("cuStreamCreate", cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)

    def _ask(self, name: str, *arguments: Any) -> Any:
        status, *results = getattr(self._cuda, name)(*arguments)
        if status != self._cuda.CUresult.CUDA_SUCCESS:
            text = self._cuda.cuGetErrorString(status)[1]
            said = text.decode() if isinstance(text, bytes) else str(status)
            raise DriverError(f"{name} of the CUDA driver failed: {said}")
        return results[0] if len(results) == 1 else tuple(results)

    def enter(self) -> None:
        """Make this thread use the GPU."""
        self._ask("cuCtxSetCurrent", self._context)

    def allocate(self, size: int) -> int:
        """The address of new memory, also of no bytes."""
        return int(self._ask("cuMemAlloc", max(size, 1)))

    def free(self, address: int) -> None:
        """Give memory back."""
        self._ask("cuMemFree", address)

    def load(self, code: bytes) -> Any:
        """Load PTX or a cubin."""
        return self._ask("cuModuleLoadData", code + b"\0")

    def record(self, action: Callable[[], None]) -> Callable[[], None]:
        """What launches and copies of an action are asked for, to be asked for again as one."""
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._ask("cuStreamBeginCapture", self._stream, mode)
        try:
            action()
        finally:
            recorded = self._ask("cuStreamEndCapture", self._stream)
        try:
            graph = self._ask("cuGraphInstantiate", recorded, 0)
        finally:
            self._ask("cuGraphDestroy", recorded)

        def launch() -> None:
            self._ask("cuGraphLaunch", graph, self._stream)

        # A graph that still runs is destroyed when it has.
        weakref.finalize(launch, self._cuda.cuGraphExecDestroy, graph).atexit = False
        return launch

    def unload(self, module: Any) -> None:
        """Give the memory of loaded code back."""
        self._ask("cuModuleUnload", module)

    def wait(self, stream: "int | None") -> None:
        """Wait until what another library's stream was asked for is done; None is its own."""
        self._ask("cuStreamSynchronize", self._stream if stream is None else stream)

    def function(self, module: Any, name: str, shared: int) -> Any:
        """A kernel of loaded code, whose blocks share so many bytes at most."""
        found = self._ask("cuModuleGetFunction", module, name.encode())
        if shared > _USUAL_SHARED:
            kind = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._ask("cuFuncSetAttribute", found, kind, shared)
        return found

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there; it may change when this returns."""
        self._ask("cuMemcpyHtoDAsync", address, source.ctypes.data, source.nbytes, self._stream)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""
        self._ask("cuMemcpyDtoHAsync", target.ctypes.data, address, target.nbytes, self._stream)
        self._ask("cuStreamSynchronize", self._stream)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""
        self._ask("cuMemcpyDtoDAsync", target, source, size, self._stream)

    def launch(
        self, function: Any, blocks: Any, threads: Any, values: "Values", shared: int
    ) -> None:
        """Run a kernel."""
        held = [ctypes.c_uint64(v) if isinstance(v, int) else ctypes.create_string_buffer(v)
                for v in values]  # fmt: skip
        places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, held))
        self._ask("cuLaunchKernel", function, *blocks, *threads, shared, self._stream,
                  ctypes.addressof(places), 0)  # fmt: skip


class Pycuda:
    """By PyCUDA, which raises what goes wrong."""

    def __init__(self, cuda: Any, number: int):
        self._cuda = cuda
        try:
            cuda.init()
        except Exception as error:
            raise DriverError(f"NVIDIA's driver cannot be loaded: {error}") from None
        count = cuda.Device.count()
        if not 0 <= number < count:
            raise DriverError(f"there is no GPU {number}: the driver finds {count}")
        device = cuda.Device(number)
        self.capability = tuple(device.compute_capability())
        self._context = ThreadsContext(device.retain_primary_context())
        self._blocks = {}
        self.enter()
        self._stream = cuda.Stream()

    def enter(self) -> None:
        """Make this thread use the GPU."""
        self._ask(self._context.enter)

    def free(self, address: int) -> None:
        """Give memory back."""
        self._ask(self._blocks.pop(address).free)

    def load(self, code: bytes) -> Any:
        """Load PTX or a cubin."""
        return self._ask(self._cuda.module_from_buffer, code + b"\0")

    def unload(self, module: Any) -> None:
        """PyCUDA does, when nothing refers to it any more."""

    def record(self, action: Callable[[], None]) -> Callable[[], None]:
        """The action itself: PyCUDA has no graphs."""
        return action

    def wait(self, stream: "int | None") -> None:
        """Wait until what all streams were asked for is done."""
        self._ask(self._cuda.Context.synchronize)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except self._cuda.Error as error:
            raise DriverError(f"the CUDA driver failed: {error}") from None

    def allocate(self, size: int) -> int:
        """The address of new memory, also of no bytes."""
        block = self._ask(self._cuda.mem_alloc, max(size, 1))
        self._blocks[int(block)] = block
        return int(block)

    def function(self, module: Any, name: str, shared: int) -> Any:
        """A kernel of loaded code, whose blocks share so many bytes at most."""
        found = self._ask(module.get_function, name)
        if shared > _USUAL_SHARED:
            kind = self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._ask(found.set_attribute, kind, shared)
        return found

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there; it may change when this returns."""
        self._ask(self._cuda.memcpy_htod_async, address, source, self._stream)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""
        self._ask(self._cuda.memcpy_dtoh_async, target, address, self._stream)
        self._ask(self._stream.synchronize)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""
        self._ask(self._cuda.memcpy_dtod_async, target, source, size, self._stream)

    def launch(
        self, function: Any, blocks: Any, threads: Any, values: "Values", shared: int
    ) -> None:
        """Run a kernel."""
        function.prepare(layout_of(values))
        self._ask(
            lambda: function.prepared_async_call(
                tuple(blocks), tuple(threads), self._stream, *values, shared_size=shared
            )
        )
