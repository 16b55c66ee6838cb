"""`cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` with descriptors of the interpreter of
PTX."""

import ctypes
from typing import Any

from tfc.testing.ptx.state.tensor_maps import Pixels, TensorMap, encode

_POINTER, _INT, _UINT = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32
ENCODER = ctypes.CFUNCTYPE(
    _INT, _POINTER, _INT, _UINT, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER,
    _INT, _INT, _INT, _INT,
)  # fmt: skip
"""The type of `cuTensorMapEncodeTiled`."""
PIXEL_ENCODER = ctypes.CFUNCTYPE(
    _INT, _POINTER, _INT, _UINT, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER,
    _UINT, _UINT, _POINTER, _INT, _INT, _INT, _INT,
)  # fmt: skip
"""The type of `cuTensorMapEncodeIm2col`."""
_ITEMSIZES, _SWIZZLES = {0: 1, 1: 2, 2: 4, 4: 8}, {0: 0, 3: 128}


def encode_tiled(
    place: int, kind: int, rank: int, address: int, dims: int, strides: int, box: int, steps: int,
    interleaved: int, swizzle: int, fetched: int, beyond: int,
) -> int:  # fmt: skip
    """What `cuTensorMapEncodeTiled` does, with descriptors of the interpreter; addresses are the
    host's but for that of the array."""
    assert place % 64 == 0
    assert _listed(_UINT, steps, rank) == (1,) * rank
    assert (interleaved, fetched, beyond) == (0, 2, 0)
    array = TensorMap(
        address or 0, _ITEMSIZES[kind], _listed(ctypes.c_uint64, dims, rank),
        _listed(ctypes.c_uint64, strides, rank - 1), _listed(_UINT, box, rank), _SWIZZLES[swizzle],
    )  # fmt: skip
    ctypes.memmove(place, encode(array), 128)
    return 0


def encode_pixels(
    place: int, kind: int, rank: int, address: int, dims: int, strides: int, lower: int,
    upper: int, features: int, count: int, steps: int,
    interleaved: int, swizzle: int, fetched: int, beyond: int,
) -> int:  # fmt: skip
    """The same of `cuTensorMapEncodeIm2col`."""
    assert place % 64 == 0
    assert (interleaved, fetched, beyond) == (0, 2, 0)
    first, *between, last = _listed(_UINT, steps, rank)
    assert first == last == 1
    low, high = (_listed(_INT, corner, rank - 2) for corner in (lower, upper))
    array = TensorMap(
        address or 0, _ITEMSIZES[kind], _listed(ctypes.c_uint64, dims, rank),
        _listed(ctypes.c_uint64, strides, rank - 1), (features, count), _SWIZZLES[swizzle],
        Pixels(low, high, tuple(between)),
    )  # fmt: skip
    ctypes.memmove(place, encode(array), 128)
    return 0


def _listed(element: Any, start: int, count: int) -> tuple[int, ...]:
    return tuple((element * count).from_address(start)) if count else ()
