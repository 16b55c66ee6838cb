"""The driver through PyCUDA: objects that raise what goes wrong."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tfc.backends.gpu.driver.architectures import OLDEST, architecture_of
from tfc.backends.gpu.driver.interface import Dimensions, MemoryUse, Recording
from tfc.errors import DriverError, OutOfMemoryError
from tfc.runtime.later import later

cuda: Any = later("pycuda.driver")
tools: Any = later("pycuda.tools")

_SHARED = 48 << 10  # bytes that a kernel may have without asking
T = TypeVar("T")


def open_driver(number: int = 0) -> "PycudaDriver":
    """The GPU of this number.

    Raises:
        DriverError: there is no driver, or no such GPU.
    """
    try:
        cuda.init()
    except Exception as error:  # an ImportError where the driver's library is not there
        raise DriverError(
            f"NVIDIA's driver cannot be loaded ({error}); use backend='cpu' or take as_text('ptx')"
        ) from None
    count = cuda.Device.count()
    if number >= count:
        raise DriverError(f"there is no GPU {number}: the driver finds {count}; use backend='cpu'")
    return PycudaDriver(number)


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
        self._prepared, self._allowed = -1, _SHARED

    def ready(self, count: int, shared: int) -> Any:
        """The kernel, that takes `count` 64-bit numbers and has this much shared memory."""
        if count != self._prepared:
            self._kernel.prepare("P" * count)
            self._prepared = count
        if shared > self._allowed:
            kind = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            _ask(self._kernel.set_attribute, kind, shared)
            self._allowed = shared
        return self._kernel


class _Steps:
    """What was recorded, as a list: PyCUDA offers no graphs."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []

    def launch(self) -> None:
        """Run all in order."""
        for step in self.steps:
            step()


class PycudaDriver:
    """A GPU in its primary context, which PyTorch, CuPy and JAX use too."""

    def __init__(self, number: int):
        self._device = cuda.Device(number)
        if self._device.compute_capability() < OLDEST:
            raise DriverError(
                f"{self.name} is too old: code is made for compute capability 8.0 and later, and "
                f"it has {'.'.join(map(str, self._device.compute_capability()))}; use backend='cpu'"
            )
        self._context = _ask(self._device.retain_primary_context)
        self._entered = threading.local()
        self._held: dict[int, Any] = {}
        self._enter()
        self._pool = tools.DeviceMemoryPool()
        self.stream = _ask(cuda.Stream)

    def _enter(self) -> None:
        if not getattr(self._entered, "is_so", False):
            _ask(self._context.push)
            self._entered.is_so = True

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
        block = _ask(self._pool.allocate, max(size, 1))
        self._held[int(block)] = block
        return int(block)

    def free(self, address: int) -> None:
        """Give memory back to the pool."""
        self._enter()
        del self._held[address]

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there."""
        if source.nbytes:
            self._enter()
            _ask(cuda.memcpy_htod_async, address, source, self.stream)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait."""
        if target.nbytes:
            self._enter()
            _ask(cuda.memcpy_dtoh_async, target, address, self.stream)
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
        arguments: Sequence[int],
        shared: int = 0,
    ) -> None:
        """Run a kernel."""
        kernel, values = function.ready(len(arguments), shared), tuple(arguments)

        def call() -> None:
            kernel.prepared_async_call(blocks, threads, self.stream, *values, shared_size=shared)

        self._do(lambda: _ask(call))

    def _do(self, step: Callable[[], None]) -> None:
        """Do a step, or add it to what this thread records."""
        recorded = getattr(self._entered, "recorded", None)
        if recorded is not None:
            recorded.steps.append(step)
        else:
            self._enter()
            step()

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Record what is launched and copied inside."""
        recording = Recording()
        self._entered.recorded = steps = _Steps()
        try:
            yield recording
        finally:
            self._entered.recorded = None
        recording.graph = steps

    def synchronize(self) -> None:
        """Wait until all that was asked is done."""
        self._enter()
        _ask(self.stream.synchronize)

    def memory(self) -> MemoryUse:
        """How much memory there is, and how much of it is free."""
        self._enter()
        return MemoryUse(*_ask(cuda.mem_get_info))
