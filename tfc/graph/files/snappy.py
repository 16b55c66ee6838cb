"""Snappy's format, in which tables may have blocks: their length, then literals and copies.

A copy is of bytes that were written before, and may overlap what it writes.
"""

from tfc.graph import errors

_LARGEST = 1 << 28  # bytes of a block


def decompressed(content: bytes) -> bytes:
    """The bytes that a block of Snappy's is.

    Raises:
        DataLossError: it is damaged.
    """
    length, place = _number(content)
    # A copy of 64 bytes takes 3: no block is longer than that makes it.
    if length > min(_LARGEST, 32 * len(content) + 64):
        raise _damaged(f"a block says that it has {length} bytes, which it cannot")
    made = bytearray()
    while place < len(content):
        tag = content[place]
        kind, place = tag & 3, place + 1
        if kind == 0:
            size = tag >> 2
            if size >= 60:
                more = size - 59
                size = int.from_bytes(content[place : place + more], "little")
                place += more
            made += content[place : place + size + 1]
            place += size + 1
        else:
            width = (0, 1, 2, 4)[kind]
            size = (tag >> 2 & 7) + 4 if kind == 1 else (tag >> 2) + 1
            offset = int.from_bytes(content[place : place + width], "little")
            offset += (tag >> 5) << 8 if kind == 1 else 0
            place += width
            _copy(made, offset, size)
        if len(made) > length or place > len(content):
            break
    if len(made) != length or place != len(content):
        raise _damaged("a compressed block is damaged")
    return bytes(made)


def _copy(made: bytearray, offset: int, size: int) -> None:
    if not 0 < offset <= len(made):
        raise _damaged("a compressed block copies what is before its beginning")
    start = len(made) - offset
    pattern = bytes(made[start : start + size])
    while len(pattern) < size:
        pattern += pattern[: size - len(pattern)]
    made += pattern


def _number(content: bytes) -> tuple[int, int]:
    """The number of seven bits a byte at the beginning, and the place behind it."""
    found = 0
    for place, byte in enumerate(content[:5]):
        found |= (byte & 127) << 7 * place
        if byte < 128:
            return found, place + 1
    raise _damaged("a compressed block has no length")


def _damaged(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, why)
