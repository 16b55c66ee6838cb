"""`cuTensorMapEncodeTiled` with descriptors of the interpreter of PTX."""

import ctypes
from typing import Any

from tfc.testing.ptx.state.tensor_maps import TensorMap, encode

_POINTER, _INT, _UINT = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32
ENCODER = ctypes.CFUNCTYPE(
    _INT, _POINTER, _INT, _UINT, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER,
    _INT, _INT, _INT, _INT,
)  # fmt: skip
"""The type of `cuTensorMapEncodeTiled`."""


def encode_tiled(
    place: int, kind: int, rank: int, address: int, dims: int, strides: int, box: int, steps: int,
    interleaved: int, swizzle: int, fetched: int, beyond: int,
) -> int:  # fmt: skip
    """What `cuTensorMapEncodeTiled` does, with descriptors of the interpreter; addresses are the
    host's but for that of the array."""

    def listed(element: Any, start: int, count: int = rank) -> tuple[int, ...]:
        return tuple((element * count).from_address(start)) if count else ()

    assert place % 64 == 0
    assert listed(_UINT, steps) == (1,) * rank
    assert (interleaved, fetched, beyond) == (0, 2, 0)
    array = TensorMap(
        address or 0, {0: 1, 1: 2, 2: 4, 4: 8}[kind], listed(ctypes.c_uint64, dims),
        listed(ctypes.c_uint64, strides, rank - 1), listed(_UINT, box), {0: 0, 3: 128}[swizzle],
    )  # fmt: skip
    ctypes.memmove(place, encode(array), 128)
    return 0
