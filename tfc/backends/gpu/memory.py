"""Memory on a GPU, given back when nothing refers to it; arrays to it and from it."""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import Driver
from tfc.errors import ShapeError, UnsupportedError
from tfc.hlo.shape import Shape, element_type_of, from_memory, to_memory
from tfc.runtime.device_arrays import LEGACY_STREAM, DeviceArray
from tfc.runtime.dlpack import is_row_major, take

ALIGNMENT = 16
"""Bytes of which every array on a GPU begins at a multiple: kernels read as many at once."""


class GpuMemory:
    """Bytes on the GPU of a driver.

    Args:
        let_go: is given the address when nothing refers to the memory any more.
        is_read_only: another library does not want it to be written.
    """

    __slots__ = ("_lent", "_let_go", "address", "device", "is_read_only", "size")

    def __init__(
        self,
        device: Driver,
        size: int,
        address: int,
        let_go: Callable[[int], object],
        is_read_only: bool = False,
    ):
        self.device, self.size, self.address, self._let_go = device, size, address, let_go
        self.is_read_only = is_read_only
        self._lent: set[int] | None = None

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_finalizing() or not hasattr(self, "_lent"):
            return
        if self._lent is None:
            self._let_go(self.address)
        else:  # maybe in the middle of a recording, which must not wait for other streams
            parts = self.device, self._lent, self._let_go, self.address
            self.device.after_recording(partial(_let_go_after, *parts))

    @property
    def number(self) -> int:
        """The number of the GPU."""
        return self.device.number

    def read(self, dtype: np.dtype, dims: tuple[int, ...]) -> np.ndarray:
        """A copy on the host."""
        host = np.empty(dims, dtype)
        self.device.read(host, self.address)
        return host

    def wait(self) -> None:
        """Wait until all that was asked of the GPU is done."""
        self.device.synchronize()

    def lend(self, stream: int) -> None:
        """Let another library's stream read and write here, after what was asked before.

        The memory goes to its next user after what that stream is asked for while this object
        lives.
        """
        self.device.hold(stream)
        self._lent = {*(self._lent or ()), stream}

    def take_back(self) -> None:
        """Let what is asked from now on, which may write here, come after what was asked of the
        streams that it was lent to: they may still read here."""
        _wait_for_all(self.device, self._lent or ())

    def copied(self) -> "GpuMemory":
        """A copy of what was asked for here before."""
        copy = new_memory(self.device, self.size)
        self.device.copy(copy.address, self.address, self.size)
        return copy


def _wait_for_all(device: Driver, streams: Iterable[int]) -> None:
    for stream in streams:
        device.wait_for(stream)


def _let_go_after(
    device: Driver, streams: Iterable[int], let_go: Callable[[int], object], address: int
) -> None:
    _wait_for_all(device, streams)
    let_go(address)


def new_memory(device: Driver, size: int) -> GpuMemory:
    """Memory of its own, uninitialised.

    Raises:
        OutOfMemoryError: there is not as much.
    """
    return GpuMemory(device, size, device.allocate(size), device.free)


def borrowed(device: Driver, x: Any) -> DeviceArray:
    """The array of another library that lies on the GPU, in the same memory; a copy where it begins
    at no multiple of 16 bytes.

    What its library has asked for is done before what is asked for from now on, and it may have the
    memory back when all that was asked of it here is done.

    Raises:
        UnsupportedError: it is not row-major, on another GPU, or of an element type without a
            counterpart.
    """
    if not hasattr(x, "__dlpack__"):
        return _borrowed_by_interface(device, x)
    _require_gpu(device, x.__dlpack_device__()[1])
    taken = take(x.__dlpack__(stream=device.stream_address or None))
    size = prod(taken.dims) * taken.dtype.itemsize

    let_go = _giving_back(device, taken.let_go)
    memory = _aligned(GpuMemory(device, size, taken.address, let_go))
    return DeviceArray(memory, taken.dtype, taken.dims)


def _borrowed_by_interface(device: Driver, x: Any) -> DeviceArray:
    about, held = x.__cuda_array_interface__, [x]
    dims = tuple(about["shape"])
    try:
        dtype = element_type_of(about["typestr"]).dtype
    except ShapeError:
        dtype = None
    if dtype is None or about.get("mask") is not None:
        raise UnsupportedError(
            f"an array on a GPU of type {about['typestr']} has no counterpart: convert it before"
        )
    if about.get("strides") is not None and not is_row_major(
        dims, about["strides"], dtype.itemsize
    ):
        raise UnsupportedError("an array on a GPU must be row-major: make it contiguous before")
    address, is_read_only = about["data"]
    size = prod(dims) * dtype.itemsize
    if size:  # else the address may be 0
        _require_gpu(device, device.gpu_of(address))
    # PyCUDA names no stream though its kernels may still run, in the one that all use by default.
    device.wait_for(about.get("stream") or LEGACY_STREAM)

    let_go = _giving_back(device, held.clear)
    memory = GpuMemory(device, size, address, let_go, bool(is_read_only))
    return DeviceArray(_aligned(memory), dtype, dims)


def _require_gpu(device: Driver, number: int) -> None:
    if number != device.number:
        raise UnsupportedError(
            f"the array lies on GPU {number}, and programs run on GPU {device.number}: bring it "
            "there before"
        )


def _giving_back(device: Driver, give: Callable[[], object]) -> Callable[[int], None]:
    """What lets another library have memory back, once all that was asked of it here is done."""

    def give_when_done() -> None:
        device.synchronize()
        give()

    return lambda _: device.after_recording(give_when_done)


def _aligned(memory: GpuMemory) -> GpuMemory:
    """The memory, or a copy of it that begins as arrays must."""
    if memory.address % ALIGNMENT == 0:
        return memory
    return memory.copied()


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
