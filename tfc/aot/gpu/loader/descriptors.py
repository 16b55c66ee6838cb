"""Descriptors of arrays of which kernels copy boxes, as NVIDIA's driver makes them.

`cuTensorMapEncodeTiled` is called by its C interface, as PyCUDA has no name for it. It only writes
128 bytes: neither a context nor a stream is at work.
"""

import ctypes
import sys
from functools import cache
from typing import Any

from tfc.aot.gpu.loader.drivers import DriverError

_DESCRIPTOR_BYTES, _DESCRIPTOR_ALIGNMENT = 128, 64
_UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}  # of CUtensorMapDataType, by bytes
_SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}
_FETCHED_BYTES = 2  # 128 bytes of the level-2 cache at once


@cache
def _encode_tiled() -> Any:
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(library).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise DriverError(
            f"NVIDIA's driver has no descriptors of tensors ({error}): install a newer driver"
        ) from None


def described(boxes: dict, address: int) -> bytes:
    """The descriptor of boxes of the array at an address, as a manifest states them.

    Raises:
        DriverError: the driver is too old for it, or says that there is no such descriptor.
    """
    rank = len(boxes["dims"])
    memory = ctypes.create_string_buffer(_DESCRIPTOR_BYTES + _DESCRIPTOR_ALIGNMENT)
    start = -(-ctypes.addressof(memory) // _DESCRIPTOR_ALIGNMENT) * _DESCRIPTOR_ALIGNMENT
    status = _encode_tiled()(
        ctypes.c_void_p(start),
        ctypes.c_int(_UNSIGNED[boxes["itemsize"]]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*boxes["dims"]),
        (ctypes.c_uint64 * max(rank - 1, 1))(*boxes["strides"]),
        (ctypes.c_uint32 * rank)(*boxes["box"]),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),  # not interleaved
        ctypes.c_int(_SWIZZLE[boxes["swizzle"]]),
        ctypes.c_int(_FETCHED_BYTES),
        ctypes.c_int(0),  # zeros beyond the array
    )
    if status:
        raise DriverError(f"cuTensorMapEncodeTiled of the CUDA driver failed: error {status}")
    return ctypes.string_at(start, _DESCRIPTOR_BYTES)
