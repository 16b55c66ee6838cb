"""Parts of partitioned variables in checkpoints: under which keys they lie, and where they belong.

A key is a number, the variable's name, the rank, and of each dimension begin and length (-1 twice
for all of it), written so that keys order as what they mean does.
"""

from collections.abc import Iterable
from typing import Any

_ALL = -1


def extents(made: Any) -> list[tuple[int, int]]:
    """Begin and length of each dimension of a part; (0, -1) for all of one."""
    return [
        (extent.start, extent.length if extent.WhichOneof("has_length") else _ALL)
        for extent in made.extent
    ]


def key_of(name: str, part: Iterable[tuple[int, int]]) -> bytes:
    """The key of a part of a variable."""
    bounds = list(part)
    text = name.encode().replace(b"\xff", b"\xff\x00").replace(b"\x00", b"\x00\xff")
    made = bytearray(b"\x00" + text + b"\x00\x01" + _unsigned(len(bounds)))
    for start, length in bounds:
        made += _signed(_ALL if length == _ALL else start) + _signed(length)
    return bytes(made)


def _unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _signed(value: int) -> bytes:
    """As many leading ones as there are bytes, a zero, and the number, in two's complement.

    For numbers below 0 all of it is the other way round.
    """
    magnitude = ~value if value < 0 else value
    size = 1
    while magnitude >= 1 << (7 * size - 1):
        size += 1
    bits = 8 * size
    header = ((1 << size) - 1) << (bits - size)
    return ((value & ((1 << bits) - 1)) ^ header).to_bytes(size, "big")


def place_of(part: Iterable[tuple[int, int]]) -> tuple[slice, ...]:
    """Where a part lies in the whole array."""
    return tuple(slice(None) if n == _ALL else slice(start, start + n) for start, n in part)
