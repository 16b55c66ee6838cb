"""Descriptors of arrays of which kernels copy boxes: `cuTensorMapEncodeTiled` of NVIDIA's driver.

It is called by its C interface, as PyCUDA has no name for it. It only writes 128 bytes: neither a
context nor a stream is at work.
"""

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from tfc.backends.gpu.driver.interface import Boxes
from tfc.errors import DriverError

_SIZE, _ALIGNMENT = 128, 64
_UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}  # of CUtensorMapDataType, by bytes
_SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}
_FETCHED_BYTES = 2  # 128 bytes of the level-2 cache at once
_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@cache
def _function() -> Any:
    try:
        return ctypes.CDLL(_LIBRARY).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise DriverError(
            f"NVIDIA's driver has no descriptors of tensors ({error}): install a newer driver, or "
            "compile for sm_80"
        ) from None


def describe(boxes: Boxes, address: int) -> bytes:
    """The descriptor of boxes of the array at an address.

    Raises:
        DriverError: the driver is too old for it, or says that there is no such descriptor.
    """
    rank = len(boxes.dims)
    memory = ctypes.create_string_buffer(_SIZE + _ALIGNMENT)
    start = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
    status = _function()(
        ctypes.c_void_p(start),
        ctypes.c_int(_UNSIGNED[boxes.itemsize]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*boxes.dims),
        (ctypes.c_uint64 * max(rank - 1, 1))(*boxes.strides),
        (ctypes.c_uint32 * rank)(*boxes.box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),  # not interleaved
        ctypes.c_int(_SWIZZLE[boxes.swizzle]),
        ctypes.c_int(_FETCHED_BYTES),
        ctypes.c_int(0),  # zeros beyond the array
    )
    if status:
        raise DriverError(f"cuTensorMapEncodeTiled of the CUDA driver failed: error {status}")
    return ctypes.string_at(start, _SIZE)


def layout_of(arguments: Sequence[int | bytes]) -> str:
    """How a kernel's arguments lie, in the letters of `struct`: descriptors are aligned."""
    letters, end = "", 0
    for argument in arguments:
        if isinstance(argument, int):
            letters, end = letters + "P", end + 8
        else:
            gap = -end % _ALIGNMENT
            letters += (f"{gap}x" if gap else "") + f"{_SIZE}s"
            end += gap + _SIZE
    return letters
