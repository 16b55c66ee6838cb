"""What the array API standard asks of a namespace as a whole: devices, capabilities, exchange.

The arrays of the namespace are NumPy's, so they are on the CPU, as Tensors say that they are: where
a compiled program runs is what `tfc.jit` is told.
"""

import sys
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError, UnsupportedError
from tfc.frontend.numpy.dtypes import isdtype
from tfc.frontend.tensor import Tensor, untraced
from tfc.hlo.shape import element_type_of

ARRAY_API_VERSION = "2024.12"
_STANDARD_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
_DEFAULTS = {
    "real floating": "float64",
    "complex floating": "complex128",
    "integral": "int64",
    "indexing": "int64",
}


def require_device(device: Any) -> None:
    """Check that a function is asked for an array on a device that there is: "cpu", or None.

    Raises:
        ShapeError: it is another one.
    """
    if device is not None and device != "cpu":
        raise ShapeError(
            f"arrays of tfc.numpy are on the device 'cpu', got {device!r}; programs run where "
            "tfc.jit is told"
        )


class ArrayNamespaceInfo:
    """What the namespace can do, by the array API standard."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks index arrays, shapes never depend on data in traces, ranks are up to 64."""
        return {"boolean indexing": True, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices that arrays can be on."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of arrays for which none is given, by kind."""
        require_device(device)
        return {kind: np.dtype(name) for kind, name in _DEFAULTS.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The standard's dtypes of a kind, of one of several kinds, or all, by their names.

        Raises:
            ShapeError: there is no such kind.
        """
        require_device(device)
        known = {name: np.dtype(name) for name in _STANDARD_DTYPES}
        return {n: dtype for n, dtype in known.items() if kind is None or isdtype(dtype, kind)}


@untraced
def to_device(x: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The Tensor itself, which is on the only device."""
    require_device(device)
    if stream is not None:
        raise ShapeError(f"the device 'cpu' has no streams, got {stream!r}")
    return x


@untraced
def __array_namespace__(api_version: str | None = None) -> Any:
    """The module tfc.numpy.

    Raises:
        ShapeError: a version of the array API standard that is not this one, or one before it.
    """
    known = ("2021.12", "2022.12", "2023.12", ARRAY_API_VERSION)
    if api_version is not None and api_version not in known:
        raise ShapeError(f"tfc.numpy has the versions {', '.join(known)}, got {api_version!r}")
    return sys.modules["tfc.numpy"]  # which is above this file, and imports it


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What the namespace can do, by the array API standard."""
    return ArrayNamespaceInfo()


@untraced
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> np.ndarray:
    """The array of another library that has `__dlpack__`, as NumPy's, in the same memory.

    Args:
        copy: True for memory of its own, False for a refusal where a copy is needed.

    Raises:
        TraceError: a Tensor, which has no memory yet, or an object without `__dlpack__`.
        ShapeError: another device.
        UnsupportedError: what NumPy cannot take: another device's memory, other dtypes.
    """
    require_device(device)
    if isinstance(x, Tensor) or not hasattr(x, "__dlpack__"):
        raise TraceError(f"from_dlpack requires an array with __dlpack__, got {type(x).__name__}")
    try:
        array = np.from_dlpack(x, device=device, copy=copy)
    except (BufferError, ValueError, RuntimeError, TypeError) as error:
        raise UnsupportedError(f"from_dlpack: NumPy does not take this array: {error}") from error
    element_type_of(array.dtype)
    return array
