"""Descriptors of arrays of which kernels copy boxes or pixels: `cuTensorMapEncodeTiled` and
`cuTensorMapEncodeIm2col` of NVIDIA's driver.

They are called by their C interface, as PyCUDA has no name for them. They only write 128 bytes:
neither a context nor a stream is at work. The loader of bundles has this file inside, which so
imports nothing of tfc.
"""

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

_DESCRIPTOR_BYTES, _DESCRIPTOR_ALIGNMENT = 128, 64
_UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}  # of CUtensorMapDataType, by bytes
_SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}
_FETCHED_BYTES = 2  # 128 bytes of the level-2 cache at once


class DescriptorError(Exception):
    """The driver is too old for descriptors, or says that there is no such one."""


@cache
def _encoder(name: str) -> Any:
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return getattr(ctypes.CDLL(library), name)
    except (OSError, AttributeError) as error:
        raise DescriptorError(
            f"NVIDIA's driver has no descriptors of tensors ({error}): install a newer driver"
        ) from None


def encoded(
    itemsize: int, dims: Sequence[int], strides: Sequence[int], box: Sequence[int], swizzle: int,
    pixels: "Sequence[Sequence[int]] | None", address: int,
) -> bytes:  # fmt: skip
    """The descriptor of boxes, or of pixels, of the array at an address.

    Args:
        itemsize: bytes of an element.
        dims, box: sizes of the array and of a box, innermost first.
        strides: bytes between neighbours along each dimension but the first.
        swizzle: bytes of a row whose pieces are exchanged; 0 for none.
        pixels: the window's lower and upper corner and steps, if pixels are copied.

    Raises:
        DescriptorError: the driver is too old for it, or says that there is no such descriptor.
    """
    rank = len(dims)
    memory = ctypes.create_string_buffer(_DESCRIPTOR_BYTES + _DESCRIPTOR_ALIGNMENT)
    start = -(-ctypes.addressof(memory) // _DESCRIPTOR_ALIGNMENT) * _DESCRIPTOR_ALIGNMENT
    steps, copied = [1] * rank, [(ctypes.c_uint32 * rank)(*box)]
    if pixels is not None:
        lower, upper, between = pixels
        steps[1:-1] = between
        copied = [(ctypes.c_int * len(corner))(*corner) for corner in (lower, upper)]
        copied += [ctypes.c_uint32(n) for n in box]
    name = "cuTensorMapEncodeTiled" if pixels is None else "cuTensorMapEncodeIm2col"
    status = _encoder(name)(
        ctypes.c_void_p(start),
        ctypes.c_int(_UNSIGNED[itemsize]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*dims),
        (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
        *copied,
        (ctypes.c_uint32 * rank)(*steps),
        ctypes.c_int(0),  # not interleaved
        ctypes.c_int(_SWIZZLE[swizzle]),
        ctypes.c_int(_FETCHED_BYTES),
        ctypes.c_int(0),  # zeros beyond the array
    )
    if status:
        raise DescriptorError(f"{name} of the CUDA driver failed: error {status}")
    return ctypes.string_at(start, _DESCRIPTOR_BYTES)


def layout_of(arguments: Sequence[int | bytes]) -> str:
    """How a kernel's arguments lie, in the letters of `struct`: descriptors are aligned."""
    letters, end = "", 0
    for argument in arguments:
        if isinstance(argument, int):
            letters, end = letters + "P", end + 8
        else:
            gap = -end % _DESCRIPTOR_ALIGNMENT
            letters += (f"{gap}x" if gap else "") + f"{len(argument)}s"
            end += gap + len(argument)
    return letters
