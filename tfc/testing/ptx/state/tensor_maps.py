"""Descriptors of tensors in global memory, of which copies take boxes or pixels (`CUtensorMap`).

The 128 bytes are this machine's own, as those of a GPU are known to its driver alone:

    magic, bytes of an element, rank, swizzle   |   address   |   sizes   |   strides   |   box
    corners and steps of a window of images; steps of 0 if there is none
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tfc.errors import KindError

_FORMAT = "<IBBBxQ5Q4Q5H3h3h3B"
_MAGIC = 0x50414D54
SIZE = 128
RANKS = range(1, 6)
_MOST_BOX, _MOST_PIXELS, _MOST_STEP = 256, 1024, 8
_CORNERS = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}  # beyond the largest, by rank


class Pixels(NamedTuple):
    """A window of the images in a tensor: of the dimensions between features and images.

    lower: its first place. upper: of its last place from the last one of the image.
    steps: between pixels.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory, and the box that one copy moves. Innermost dimensions are first.

    strides: bytes between neighbours along each dimension but the first, whose elements lie side by
        side.
    swizzle: 0, 32, 64 or 128: so many bytes of shared memory have their 16-byte pieces exchanged.
    pixels: where those lie that a copy moves one after the other (`im2col`); `box` is then how many
        features and pixels.
    """

    address: int
    itemsize: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    pixels: Pixels | None = None

    @property
    def places(self) -> list[range]:
        """The places of pixels along each dimension of the window."""
        assert self.pixels is not None
        sizes = self.dims[1:-1]
        return [range(low, size + up, step) for size, low, up, step in zip(sizes, *self.pixels)]

    @property
    def most_offset(self) -> int:
        """By how much the window can be moved along each dimension."""
        return 2 * _CORNERS[len(self.dims)] - 1

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
        *(n for numbers in tensor.pixels or ((), (), ()) for n in _padded(numbers, 3)),
    ).ljust(SIZE, b"\0")  # fmt: skip


def decode(data: bytes) -> TensorMap | None:
    """What a descriptor says; None for bytes that are none."""
    magic, itemsize, rank, swizzle, address, *rest = struct.unpack_from(_FORMAT, data)
    if magic != _MAGIC:
        return None
    pixels = Pixels(*(tuple(rest[n : n + rank - 2]) for n in (14, 17, 20))) if rest[20] else None
    extents = rank if pixels is None else 2
    dims, strides, box = rest[:rank], rest[5 : 5 + rank - 1], rest[9 : 9 + extents]
    return TensorMap(address, itemsize, tuple(dims), tuple(strides), tuple(box), swizzle, pixels)


def pixel_addresses(
    tensor: TensorMap, corner: Sequence[int], moved: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """(which features of which pixels are of the tensor, the addresses of those).

    Pixels follow each other in the window as it is before it is moved, and then in that of the next
    image.

    Args:
        corner: the first feature, pixel and image.
        moved: how far the window is moved along each of its dimensions.
    """
    features, count = tensor.box
    number, places = corner[-1], tensor.places
    for at, along in zip(corner[-2:0:-1], places[::-1]):
        number = number * len(along) + along.index(at)
    numbers = number + np.arange(count)
    feature = corner[0] + np.arange(features)
    inside = ((feature >= 0) & (feature < tensor.dims[0]))[None, :]
    offsets = (feature * tensor.itemsize)[None, :]
    found = []
    for along, by in zip(places, moved):
        found.append(along.start + numbers % len(along) * along.step + by)
        numbers = numbers // len(along)
    for at, size, stride in zip([*found, numbers], tensor.dims[1:], tensor.strides):
        inside = inside & ((at >= 0) & (at < size))[:, None]
        offsets = offsets + (at * stride)[:, None]
    return inside, (offsets[inside] + tensor.address).astype(np.uint64)


def _padded(values: Sequence[int], count: int) -> list[int]:
    return [*values, *([0] * (count - len(values)))]


def _check(tensor: TensorMap) -> None:
    rank = len(tensor.dims)
    inner = tensor.box[0] * tensor.itemsize
    rules = [
        (rank in RANKS and len(tensor.strides) == rank - 1,
         "it has one to five dimensions, and a stride for each but the first"),
        (len(tensor.box) == rank if tensor.pixels is None else _are_pixels(tensor),
         "a box has all dimensions; pixels lie in one to three, their corners within 2 ** 15, 2 ** "
         "7 or 2 ** 4 of those of the image, 1 to 8 from each other"),
        (tensor.itemsize in (1, 2, 4, 8), "elements have 1, 2, 4 or 8 bytes"),
        (tensor.address % 16 == 0, "the tensor begins at a multiple of 16 bytes"),
        (all(0 < d <= 1 << 32 for d in tensor.dims), "sizes are 1 ... 2**32"),
        (all(s % 16 == 0 and 0 < s < 1 << 40 for s in tensor.strides),
         "strides are multiples of 16 bytes below 2**40"),
        (all(0 < b <= _MOST_BOX for b in tensor.box[: 1 if tensor.pixels else None])
         and 0 < tensor.box[-1] <= _MOST_PIXELS,
         "a box has 1 ... 256 elements each way, or 1 ... 1024 pixels"),
        (inner % 16 == 0, "rows of the box have a multiple of 16 bytes"),
        (tensor.swizzle in (0, 32, 64, 128), "a swizzle spans 32, 64 or 128 bytes"),
        (not tensor.swizzle or inner == tensor.swizzle,
         "rows of the box are as long as the swizzle (shorter ones are not known here)"),
    ]  # fmt: skip
    for holds, rule in rules:
        if not holds:
            raise KindError(f"there is no such tensor map: {rule}, got {tensor}")


def _are_pixels(tensor: TensorMap) -> bool:
    pixels, rank = tensor.pixels, len(tensor.dims)
    assert pixels is not None
    most = _CORNERS.get(rank, 0)
    return (
        len(tensor.box) == 2
        and all(len(numbers) == rank - 2 for numbers in pixels)
        and all(-most <= n < most for n in (*pixels.lower, *pixels.upper))
        and all(0 < n <= _MOST_STEP for n in pixels.steps)
        and all(tensor.places)
    )


def swizzled(addresses: np.ndarray, span: int) -> np.ndarray:
    """Where the bytes at these addresses of shared memory lie, whose 16-byte pieces are exchanged.

    The number of a piece within its 128 bytes is combined with the number of those 128 bytes.
    """
    if not span:
        return addresses
    return addresses ^ ((addresses >> 7 & (span // 16 - 1)) << 4)
