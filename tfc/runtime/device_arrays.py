"""Arrays in the memory of a device, which stay there from one program to the next.

    y = f(x)                  y is on the GPU; the program may still be running
    np.asarray(y)             waits, and copies it to the host
    g(y)                      no copy: another program reads it where it lies

The memory is given back when nothing refers to it any more.
"""

from typing import Any, Protocol

import numpy as np

from tfc.errors import TfcError
from tfc.runtime import dlpack


class DeviceMemory(Protocol):
    """Bytes on a device, that live as long as this object does.

    address: where they begin.
    device: which device: the same object for all memory of one device; `number` is its number.
    """

    @property
    def address(self) -> int:
        """Where the bytes begin."""
        ...

    @property
    def device(self) -> Any:
        """The device: the same object for all of its memory."""
        ...

    @property
    def number(self) -> int:
        """The number of the device among those of its kind."""
        ...

    def read(self, dtype: np.dtype, dims: tuple[int, ...]) -> np.ndarray:
        """A copy on the host, once all that was asked of the device before is done."""
        ...

    def wait(self) -> None:
        """Wait until all that was asked of the device is done."""
        ...

    def lend(self, stream: int) -> None:
        """Let another library's stream read and write here, after what was asked before."""
        ...

    def copied(self) -> "DeviceMemory":
        """A copy, on the device."""
        ...


LEGACY_STREAM = 1
"""The stream that CUDA's programs use unless they name one."""
_UNORDERED = -1  # of DLPack: whoever asks for the array sees to the order himself


class DeviceArray:
    """An array on a device, row-major: what a program for a GPU returns, and takes.

    It has no arithmetic of its own: compiled functions have.

    Attributes:
        shape, dtype: as those of a NumPy array.
    """

    __slots__ = ("__weakref__", "_memory", "dtype", "shape")
    __array_priority__ = 100

    def __init__(self, memory: DeviceMemory, dtype: np.dtype, shape: tuple[int, ...]):
        self._memory: DeviceMemory | str = memory  # or why there is none
        self.dtype, self.shape = dtype, shape

    @property
    def memory(self) -> DeviceMemory:
        """Where it lies.

        Raises:
            TfcError: it was deleted, or donated to a program.
        """
        if isinstance(self._memory, str):
            raise TfcError(f"the array {self.dtype}{list(self.shape)} {self._memory}")
        return self._memory

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> Any:
        """The device that holds it."""
        return self.memory.device

    def delete(self, reason: str = "was donated or deleted") -> None:
        """Give the memory back now, if nothing else refers to it; the array is of no use then."""
        self._memory = reason

    def is_deleted(self) -> bool:
        """Whether it was deleted, or donated."""
        return isinstance(self._memory, str)

    def block_until_ready(self) -> "DeviceArray":
        """Wait until it is computed."""
        self.memory.wait()
        return self

    def __copy__(self) -> "DeviceArray":
        """Memory of its own, which stays as it is when this array is donated."""
        return DeviceArray(self.memory.copied(), self.dtype, self.shape)

    def __deepcopy__(self, memo: dict[int, Any]) -> "DeviceArray":
        return self.__copy__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a device cannot become one on the host without a copy")
        host = self.memory.read(self.dtype, self.shape)
        return host if dtype is None else host.astype(dtype, copy=False)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How PyTorch, CuPy and Numba read it without a copy; what was asked before is done."""
        self.memory.lend(LEGACY_STREAM)
        self.memory.wait()  # some do not look at the stream
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.memory.address, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of the device and its number, as DLPack counts them."""
        return (dlpack.CUDA, self.memory.number)

    def __dlpack__(
        self,
        stream: int | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
        **_: Any,
    ) -> Any:
        """A capsule for `from_dlpack` of another library, without a copy unless it wants one.

        Args:
            stream: the CUDA stream in which the array will be read, 1 for the legacy default one,
                which it is if left out: it waits there for what was asked before. With -1 nothing
                waits.
            dl_device: where it is to be read.
            copy: whether whoever asks may write there.

        Raises:
            BufferError: it is to be read where it is not.
        """
        held = self.memory
        here = self.__dlpack_device__()
        if dl_device not in (None, here):
            raise BufferError(
                f"the array is on the device {here} of DLPack, and is not brought to {dl_device}: "
                "take np.asarray of it"
            )
        if copy:
            held = held.copied()
        if stream != _UNORDERED:
            held.lend(LEGACY_STREAM if stream is None else stream)
        return dlpack.export(held.address, self.dtype, self.shape, here, held)

    def item(self) -> Any:
        """The one element as a Python number."""
        return np.asarray(self).item()

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return np.asarray(self).tolist()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __index__(self) -> int:
        return np.asarray(self).__index__()

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __repr__(self) -> str:
        if isinstance(self._memory, str):
            return f"DeviceArray(deleted, shape={self.shape}, dtype={self.dtype})"
        return f"DeviceArray({np.asarray(self)!r})"


def is_on_gpu(x: Any) -> bool:
    """Whether an object is another library's array on a GPU."""
    if isinstance(x, (np.ndarray, np.generic, DeviceArray, int, float, complex)):
        return False
    kind: Any = getattr(x, "__dlpack_device__", None)
    if callable(kind):
        found: Any = kind()
        return found[0] in (dlpack.CUDA, dlpack.CUDA_MANAGED)
    return getattr(x, "__cuda_array_interface__", None) is not None
