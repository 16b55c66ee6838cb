"""The driver through NVIDIA's cuda-bindings: functions that return a status and their results."""

import ctypes
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from tfc.backends.gpu.driver.architectures import OLDEST, architecture_of
from tfc.backends.gpu.driver.interface import Dimensions, MemoryUse, Recording
from tfc.errors import DriverError, OutOfMemoryError
from tfc.runtime.later import later

cuda: Any = later("cuda.bindings.driver")

_SHARED = 48 << 10  # bytes that a kernel may have without asking


def open_driver(number: int = 0) -> "BindingsDriver":
    """The GPU of this number.

    Raises:
        DriverError: there is no driver, or no such GPU.
    """
    try:
        _ask("cuInit", 0)
    except RuntimeError as error:  # the binding finds no library of the driver
        raise DriverError(
            f"NVIDIA's driver cannot be loaded ({error}); use backend='cpu' or take as_text('ptx')"
        ) from None
    count = _ask("cuDeviceGetCount")
    if number >= count:
        raise DriverError(f"there is no GPU {number}: the driver finds {count}; use backend='cpu'")
    return BindingsDriver(number)


def _ask(name: str, *arguments: Any) -> Any:
    """Call a function of the driver, and return what it gives.

    Raises:
        DriverError: it says that it failed; OutOfMemoryError if for lack of memory.
    """
    status, *results = getattr(cuda, name)(*arguments)
    if status != cuda.CUresult.CUDA_SUCCESS:
        if status == cuda.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise OutOfMemoryError("there is no memory left on the GPU: make arrays smaller")
        _, text = cuda.cuGetErrorString(status)
        said = text.decode() if isinstance(text, bytes) else str(status)
        raise DriverError(f"{name} of the CUDA driver failed: {said}")
    return results[0] if len(results) == 1 else tuple(results)


class _Module:
    """Loaded code; it is unloaded with the last reference to it or to a function of it."""

    def __init__(self, driver: "BindingsDriver", code: bytes):
        self._driver, self.handle = driver, _ask("cuModuleLoadData", code + b"\0")

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            cuda.cuModuleUnload(self.handle)


class _Function:
    """A kernel, and the bytes of shared memory that it may have."""

    def __init__(self, module: _Module, name: str):
        self.handle = _ask("cuModuleGetFunction", module.handle, name.encode())
        self._module, self._allowed = module, _SHARED

    def allow(self, shared: int) -> None:
        """Let its blocks have this much shared memory."""
        if shared > self._allowed:
            kind = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _ask("cuFuncSetAttribute", self.handle, kind, shared)
            self._allowed = shared


class _Graph:
    """A recorded graph, made ready to be launched."""

    def __init__(self, driver: "BindingsDriver", recorded: Any):
        self._driver = driver
        self._executable = _ask("cuGraphInstantiate", recorded, 0)
        _ask("cuGraphDestroy", recorded)

    def launch(self) -> None:
        """Run it."""
        self._driver.launch_graph(self._executable)

    def __del__(self) -> None:
        if hasattr(self, "_executable"):
            cuda.cuGraphExecDestroy(self._executable)


class BindingsDriver:
    """A GPU in its primary context, which PyTorch, CuPy and JAX use too."""

    def __init__(self, number: int):
        self._device = _ask("cuDeviceGet", number)
        if self._capability < OLDEST:
            raise DriverError(
                f"{self.name} is too old: code is made for compute capability 8.0 and later, and "
                f"it has {'.'.join(map(str, self._capability))}; use backend='cpu'"
            )
        self._context = _ask("cuDevicePrimaryCtxRetain", self._device)
        self._entered = threading.local()
        # One stream: what is asked for while it records would be recorded.
        self._turn = threading.RLock()
        self._recording = False
        self._to_free: list[int] = []
        self.enter()
        self.stream = _ask("cuStreamCreate", cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
        # Memory that is given back stays with the process, so that asking again takes no time.
        pool = _ask("cuDeviceGetDefaultMemPool", self._device)
        kind = cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        _ask("cuMemPoolSetAttribute", pool, kind, cuda.cuuint64_t(2**64 - 1))

    def enter(self) -> None:
        """Make the context this thread's."""
        if not getattr(self._entered, "is_so", False):
            _ask("cuCtxSetCurrent", self._context)
            self._entered.is_so = True

    @cached_property
    def name(self) -> str:
        """What the GPU is called."""
        return _ask("cuDeviceGetName", 256, self._device).split(b"\0")[0].decode()

    @property
    def architecture(self) -> str:
        """What its code is made for."""
        return architecture_of(*self._capability)

    @cached_property
    def _capability(self) -> tuple[int, int]:
        kinds = cuda.CUdevice_attribute
        return (
            _ask("cuDeviceGetAttribute", kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                 self._device),
            _ask("cuDeviceGetAttribute", kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                 self._device),
        )  # fmt: skip

    def load(self, code: bytes) -> _Module:
        """Load PTX or a cubin."""
        self.enter()
        return _Module(self, code)

    def function(self, module: _Module, name: str) -> _Function:
        """A kernel of loaded code."""
        self.enter()
        return _Function(module, name)

    def allocate(self, size: int) -> int:
        """Memory of the device's pool."""
        with self._turn:
            self.enter()
            return int(_ask("cuMemAllocAsync", max(size, 1), self.stream))

    def free(self, address: int) -> None:
        """Give memory back to the pool, once what was asked before is done."""
        with self._turn:
            self.enter()
            self._to_free.append(address)
            while self._to_free and not self._recording:
                _ask("cuMemFreeAsync", self._to_free.pop(), self.stream)

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there: the driver has taken it when this returns."""
        if source.nbytes:
            with self._turn:
                self.enter()
                _ask("cuMemcpyHtoDAsync", address, source.ctypes.data, source.nbytes, self.stream)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""
        if target.nbytes:
            with self._turn:
                self.enter()
                _ask("cuMemcpyDtoHAsync", target.ctypes.data, address, target.nbytes, self.stream)
        self.synchronize()

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another."""
        if size:
            with self._turn:
                self.enter()
                _ask("cuMemcpyDtoDAsync", target, source, size, self.stream)

    def launch(
        self,
        function: _Function,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int],
        shared: int = 0,
    ) -> None:
        """Run a kernel."""
        count = len(arguments)
        values = (ctypes.c_uint64 * count)(*arguments)
        first = ctypes.addressof(values)
        places = (ctypes.c_void_p * count)(*range(first, first + 8 * count, 8))
        with self._turn:
            self.enter()
            function.allow(shared)
            _ask("cuLaunchKernel", function.handle, *blocks, *threads, shared, self.stream,
                 ctypes.addressof(places), 0)  # fmt: skip

    def launch_graph(self, executable: Any) -> None:
        """Run a recorded graph."""
        with self._turn:
            self.enter()
            _ask("cuGraphLaunch", executable, self.stream)

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Record what is launched and copied inside."""
        recording = Recording()
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        with self._turn:
            self.enter()
            _ask("cuStreamBeginCapture", self.stream, mode)
            self._recording = True
            try:
                yield recording
            finally:
                self._recording = False
                recorded = _ask("cuStreamEndCapture", self.stream)
            recording.graph = _Graph(self, recorded)

    def synchronize(self) -> None:
        """Wait until all that was asked is done."""
        self.enter()
        _ask("cuStreamSynchronize", self.stream)

    def memory(self) -> MemoryUse:
        """How much memory there is, and how much of it is free."""
        self.enter()
        return MemoryUse(*_ask("cuMemGetInfo"))
