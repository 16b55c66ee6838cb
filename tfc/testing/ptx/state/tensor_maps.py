"""Descriptors of tensors in global memory, of which copies take boxes (`CUtensorMap`).

The 128 bytes are this machine's own, as those of a GPU are known to its driver alone:

    magic, bytes of an element, rank, swizzle   |   address   |   sizes   |   strides   |   box
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfc.errors import KindError

_FORMAT = "<IBBBxQ5Q4Q5H"
_MAGIC = 0x50414D54
SIZE = 128
RANKS = range(1, 6)
_MOST_BOX = 256


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory, and the box that one copy moves. Innermost dimensions are first.

    strides: bytes between neighbours along each dimension but the first, whose elements lie side by
        side.
    swizzle: 0, 32, 64 or 128: so many bytes of shared memory have their 16-byte pieces exchanged.
    """

    address: int
    itemsize: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0

    @property
    def box_bytes(self) -> int:
        """Bytes of shared memory that a box takes."""
        size = self.itemsize
        for extent in self.box:
            size *= extent
        return size


def encode(tensor: TensorMap) -> bytes:
    """The descriptor's bytes.

    Raises:
        KindError: there is no such descriptor.
    """
    _check(tensor)
    rank = len(tensor.dims)
    return struct.pack(
        _FORMAT, _MAGIC, tensor.itemsize, rank, tensor.swizzle, tensor.address,
        *_padded(tensor.dims, 5), *_padded(tensor.strides, 4), *_padded(tensor.box, 5),
    ).ljust(SIZE, b"\0")  # fmt: skip


def decode(data: bytes) -> TensorMap | None:
    """What a descriptor says; None for bytes that are none."""
    magic, itemsize, rank, swizzle, address, *rest = struct.unpack_from(_FORMAT, data)
    if magic != _MAGIC:
        return None
    dims, strides, box = rest[:rank], rest[5 : 5 + rank - 1], rest[9 : 9 + rank]
    return TensorMap(address, itemsize, tuple(dims), tuple(strides), tuple(box), swizzle)


def _padded(values: Sequence[int], count: int) -> list[int]:
    return [*values, *([0] * (count - len(values)))]


def _check(tensor: TensorMap) -> None:
    rank = len(tensor.dims)
    inner = tensor.box[0] * tensor.itemsize
    rules = [
        (rank in RANKS and len(tensor.box) == rank and len(tensor.strides) == rank - 1,
         "it has one to five dimensions, and a stride for each but the first"),
        (tensor.itemsize in (1, 2, 4, 8), "elements have 1, 2, 4 or 8 bytes"),
        (tensor.address % 16 == 0, "the tensor begins at a multiple of 16 bytes"),
        (all(0 < d <= 1 << 32 for d in tensor.dims), "sizes are 1 ... 2**32"),
        (all(s % 16 == 0 and 0 < s < 1 << 40 for s in tensor.strides),
         "strides are multiples of 16 bytes below 2**40"),
        (all(0 < b <= _MOST_BOX for b in tensor.box), "a box has 1 ... 256 elements each way"),
        (inner % 16 == 0, "rows of the box have a multiple of 16 bytes"),
        (tensor.swizzle in (0, 32, 64, 128), "a swizzle spans 32, 64 or 128 bytes"),
        (not tensor.swizzle or inner == tensor.swizzle,
         "rows of the box are as long as the swizzle (shorter ones are not known here)"),
    ]  # fmt: skip
    for holds, rule in rules:
        if not holds:
            raise KindError(f"there is no such tensor map: {rule}, got {tensor}")


def swizzled(addresses: np.ndarray, span: int) -> np.ndarray:
    """Where the bytes at these addresses of shared memory lie, whose 16-byte pieces are exchanged.

    The number of a piece within its 128 bytes is combined with the number of those 128 bytes.
    """
    if not span:
        return addresses
    return addresses ^ ((addresses >> 7 & (span // 16 - 1)) << 4)
