"""A stand-in for PyCUDA's driver and tools, whose device is the interpreter of PTX."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from cuda_bindings import in_place

from tfc.testing.ptx.machine import Machine


class Error(Exception):
    """What PyCUDA raises."""


class MemoryError(Error):  # its name in PyCUDA
    """There is no memory left."""


class Context:
    """The primary context, and which threads have pushed it: it ends the process where one of them
    ends before it has popped it."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def push(self) -> None:
        """Make it this thread's."""
        self.threads.append(get_ident())

    def pop(self) -> None:
        """Give it back."""
        self.threads.remove(get_ident())


class FakePycuda(ModuleType):
    """The module pycuda.driver, and of pycuda.tools the pool; one device of capability 8.0."""

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.machine, self.is_full = Machine(memory_limit=64 << 20), False
        self.context = Context()
        self.Error, self.MemoryError = Error, MemoryError
        self.Context = SimpleNamespace(synchronize=lambda: None)
        self.device_attribute = SimpleNamespace(
            MULTIPROCESSOR_COUNT=108,
            MAX_THREADS_PER_MULTIPROCESSOR=2048,
            MAX_REGISTERS_PER_MULTIPROCESSOR=65536,
            MAX_SHARED_MEMORY_PER_MULTIPROCESSOR=164 << 10,
        )
        self.Event = lambda: SimpleNamespace(
            record=lambda stream: None, synchronize=lambda: None, time_since=lambda other: 0.5
        )
        self.Stream = lambda: SimpleNamespace(handle=0x5EA, synchronize=lambda: None)

    def init(self) -> None:
        """Nothing to do."""

    @property
    def Device(self) -> Any:
        """The class of devices, which counts them."""

        def device(number: int) -> Any:
            return SimpleNamespace(
                compute_capability=lambda: (8, 0),
                name=lambda: "stand-in",
                retain_primary_context=lambda: self.context,
                get_attribute=lambda value: value,
            )

        device.count = lambda: 1  # type: ignore[attr-defined]
        return device

    def module_from_buffer(self, code: bytes) -> Any:
        """Loaded code."""
        module = self.machine.load(code.rstrip(b"\0"))
        return SimpleNamespace(get_function=lambda name: self._function(module[name]))

    def _function(self, kernel: Any) -> Any:
        def call(grid: Any, block: Any, stream: Any, *values: int, shared_size: int) -> None:
            self.machine.launch(
                kernel, grid=grid, block=block, arguments=[np.uint64(v) for v in values],
                shared_bytes=shared_size,
            )  # fmt: skip

        return SimpleNamespace(
            prepare=lambda kinds: None, prepared_async_call=call, num_regs=32,
            shared_size_bytes=kernel.shared_bytes, local_size_bytes=0,
        )  # fmt: skip

    def memcpy_htod_async(self, target: int, source: np.ndarray, stream: Any) -> None:
        """Copy at once."""
        self.machine.write(target, source.reshape(-1).view(np.uint8))

    def memcpy_dtoh_async(self, target: np.ndarray, source: int, stream: Any) -> None:
        """Copy at once."""
        target.reshape(-1).view(np.uint8)[:] = self.machine.read(source, target.nbytes)

    def memcpy_dtod_async(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copy at once."""
        self.machine.write(target, self.machine.read(source, size))

    def pagelocked_empty(self, size: int, dtype: type) -> np.ndarray:
        """An array of the host."""
        return np.empty(size, dtype)

    def mem_get_info(self) -> tuple[int, int]:
        """What is free, and what there is."""
        return self.machine.memory_limit - self.machine.allocated, self.machine.memory_limit

    def pool(self) -> Any:
        """pycuda.tools.DeviceMemoryPool: a block is given back with the last reference to it."""
        cuda = self

        class Block:
            def __init__(self, size: int):
                if cuda.is_full:
                    raise MemoryError("cuMemAlloc failed: out of memory")
                self.address = cuda.machine.allocate(size)

            def __int__(self) -> int:
                return self.address

            def __del__(self) -> None:
                if hasattr(self, "address"):
                    cuda.machine.free(self.address)

        return SimpleNamespace(allocate=Block)


@contextmanager
def installed_pycuda() -> Iterator[FakePycuda]:
    """The stand-in in the place of PyCUDA."""
    made, package, tools = FakePycuda(), ModuleType("pycuda"), ModuleType("pycuda.tools")
    tools.DeviceMemoryPool = made.pool  # type: ignore[attr-defined]
    modules = {"pycuda": package, "pycuda.driver": made, "pycuda.tools": tools}
    with in_place(modules):
        yield made
