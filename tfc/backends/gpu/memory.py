"""Memory on a GPU, given back when nothing refers to it; arrays to it and from it."""

import weakref
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import Driver
from tfc.hlo.shape import Shape, from_memory, to_memory
from tfc.runtime.device_arrays import DeviceArray
from tfc.runtime.dlpack import take


class GpuMemory:
    """Bytes on the GPU of a driver, which `let_go` gives back."""

    number = 0

    def __init__(self, device: Driver, size: int, address: int, let_go: Callable[[], None]):
        self.device, self.size, self.address = device, size, address
        weakref.finalize(self, let_go).atexit = False

    def read(self, dtype: np.dtype, dims: tuple[int, ...]) -> np.ndarray:
        """A copy on the host."""
        host = np.empty(dims, dtype)
        self.device.read(host, self.address)
        return host

    def wait(self) -> None:
        """Wait until all that was asked of the GPU is done."""
        self.device.synchronize()


def new_memory(device: Driver, size: int) -> GpuMemory:
    """Memory of its own, uninitialised.

    Raises:
        OutOfMemoryError: there is not as much.
    """
    address = device.allocate(size)
    return GpuMemory(device, size, address, lambda: device.free(address))


def borrowed(device: Driver, x: Any) -> DeviceArray:
    """The array of another library that lies on the GPU, in the same memory.

    Raises:
        UnsupportedError: it is not row-major, or of an element type without a counterpart.
    """
    taken = take(x.__dlpack__())
    size = prod(taken.dims) * taken.dtype.itemsize
    memory = GpuMemory(device, size, taken.address, taken.let_go)
    return DeviceArray(memory, taken.dtype, taken.dims)


def to_gpu(array: np.ndarray, shape: Shape, device: Driver) -> GpuMemory:
    """The array on the GPU, laid out as `shape` says."""
    held = np.ascontiguousarray(array) if shape.has_default_layout else to_memory(array, shape)
    memory = new_memory(device, shape.byte_size)
    device.write(memory.address, held)
    return memory


class GpuTransferManager:
    """Transfers between the host and the GPU of the current driver."""

    def __init__(self, device: Driver):
        self._device = device

    def to_device(self, array: np.ndarray, shape: Shape) -> GpuMemory:
        """The array on the GPU, laid out as `shape` says; one that is there already stays."""
        if isinstance(array, DeviceArray) and array.device is self._device:
            if shape.has_default_layout and isinstance(array.memory, GpuMemory):
                return array.memory
            array = np.asarray(array)
        return to_gpu(np.asarray(array), shape, self._device)

    def from_device(self, buffer: GpuMemory, shape: Shape) -> np.ndarray:
        """The host array that lies in `buffer`."""
        if shape.has_default_layout:
            return buffer.read(shape.element_type.dtype, shape.dims)
        return from_memory(buffer.read(shape.element_type.dtype, (shape.storage_size,)), shape)
