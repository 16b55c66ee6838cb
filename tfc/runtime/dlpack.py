"""DLPack: memory that libraries pass to each other without a copy, as capsules.

A capsule holds the address of a structure of C (DLPack's version 0, which all libraries take) that
says where an array lies and how it is to be let go.
"""

import ctypes
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import UnsupportedError

CPU, CUDA = 1, 2  # kinds of devices
CUDA_MANAGED = 13  # of memory that a GPU and the host share, of the same GPU numbers

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_KINDS = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX}
# Types that NumPy itself does not have, by their numbers in DLPack.
_NARROW = {
    np.dtype(ml_dtypes.bfloat16): (_BFLOAT, 16),
    np.dtype(ml_dtypes.float8_e4m3): (8, 8),
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): (9, 8),
    np.dtype(ml_dtypes.float8_e4m3fn): (10, 8),
    np.dtype(ml_dtypes.float8_e4m3fnuz): (11, 8),
    np.dtype(ml_dtypes.float8_e5m2): (12, 8),
    np.dtype(ml_dtypes.float8_e5m2fnuz): (13, 8),
    np.dtype(np.bool_): (_BOOL, 8),
}


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_NAME, _USED = b"dltensor", b"used_dltensor"
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]

# What is exported, by the address of its structure, until the library that took it lets it go.
_exported: dict[int, Any] = {}


@_DELETER
def _let_go(address: int) -> None:
    _exported.pop(address, None)


@_DELETER
def _destroy(capsule: int) -> None:
    # Nobody took it: a capsule that was taken has another name.
    if _is_valid(capsule, _NAME):
        _let_go(_pointer(capsule, _NAME))


def export(
    address: int, dtype: np.dtype, dims: tuple[int, ...], device: tuple[int, int], owner: Any
) -> Any:
    """A capsule of a row-major array in memory that `owner` keeps.

    Args:
        device: the kind of device, and its number.

    Raises:
        UnsupportedError: DLPack has no such element type.
    """
    found = _NARROW.get(dtype) or (_KINDS.get(dtype.kind), 8 * dtype.itemsize)
    if found[0] is None:
        raise UnsupportedError(f"DLPack has no element type for {dtype}: convert the array before")
    shape = (ctypes.c_int64 * len(dims))(*dims)
    tensor = _Tensor(
        address, _Device(*device), len(dims), _Type(*found, 1),
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), None, 0,
    )  # fmt: skip
    managed = _Managed(tensor, None, ctypes.cast(_let_go, ctypes.c_void_p).value)
    place = ctypes.addressof(managed)
    _exported[place] = managed, shape, owner
    return _new(place, _NAME, ctypes.cast(_destroy, ctypes.c_void_p))


@dataclass(frozen=True)
class Imported:
    """An array of another library: where it lies, and what lets it go."""

    address: int
    dtype: np.dtype
    dims: tuple[int, ...]
    device: tuple[int, int]
    let_go: Callable[[], None]


def take(capsule: Any) -> Imported:
    """The array in a capsule, which is used up.

    Raises:
        UnsupportedError: it is no capsule of an array, or one that was taken already, is not
            row-major, or of an element type without a counterpart.
    """
    held = ctypes.c_void_p(id(capsule))
    if type(capsule).__name__ != "PyCapsule" or not _is_valid(held, _NAME):
        raise UnsupportedError("expected a DLPack capsule that nobody has taken yet")
    managed = _Managed.from_address(_pointer(held, _NAME))
    tensor = managed.tensor
    dims = tuple(tensor.shape[n] for n in range(tensor.rank))
    if tensor.strides and not is_row_major(dims, [tensor.strides[n] for n in range(tensor.rank)]):
        raise UnsupportedError("a DLPack array must be row-major: make it contiguous before")
    dtype = _dtype(tensor.type)
    _rename(held, _USED)

    def let_go() -> None:
        if managed.deleter:
            _DELETER(managed.deleter)(ctypes.addressof(managed))

    address = (tensor.data or 0) + tensor.offset
    return Imported(address, dtype, dims, (tensor.device.kind, tensor.device.number), let_go)


def is_row_major(dims: Sequence[int], strides: Sequence[int], step: int = 1) -> bool:
    """Whether elements with such strides lie one after the other, `step` apart."""
    if 0 in dims:
        return True  # whatever strides a library gives an array of no elements
    for size, stride in zip(reversed(dims), reversed(strides)):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _dtype(kind: _Type) -> np.dtype:
    for dtype, (code, bits) in _NARROW.items():
        if (kind.code, kind.bits, kind.lanes) == (code, bits, 1):
            return dtype
    letters = {code: letter for letter, code in _KINDS.items()}
    if kind.lanes == 1 and kind.code in letters and kind.bits % 8 == 0:
        with suppress(TypeError):  # complex numbers of two halves, say, are not NumPy's
            return np.dtype(f"{letters[kind.code]}{kind.bits // 8}")
    raise UnsupportedError(
        f"a DLPack array of type {kind.code} with {kind.bits} bits and {kind.lanes} lanes has "
        "no counterpart: convert it before"
    )
