"""Sorted tables of keys and values in LevelDB's format: the `.index` of a checkpoint.

file:  data blocks, a block of nothing, a block of the data blocks' places, a footer
block: entries, the places of those with whole keys, their number; a byte 0; a masked CRC
entry: bytes of its key that the one before has, further bytes, bytes of its value; key, value
"""

from collections.abc import Iterator, Mapping
from struct import pack, unpack_from

from tfc.graph import errors
from tfc.graph.files.crc import masked
from tfc.graph.files.snappy import decompressed

_MAGIC = 0xDB4775248B80FB57
_MOST_UNPACKED = 32  # bytes of blocks to one of the file
_FOOTER, _TRAILER = 48, 5
_BLOCK = 1 << 18
_SNAPPY = 1  # the way in which a block may be compressed
_WHOLE_KEYS = 16  # every so many entries the key is whole


def table_to_bytes(entries: Mapping[bytes, bytes]) -> bytes:
    """A table's file."""
    content, places = bytearray(), {}
    block: dict[bytes, bytes] = {}
    size = 0
    for key in sorted(entries):
        block[key] = entries[key]
        size += len(key) + len(entries[key]) + 3
        if size >= _BLOCK:
            places[key] = _placed(content, _block(block, _WHOLE_KEYS))
            block, size = {}, 0
    if block or not places:
        places[max(block, default=b"")] = _placed(content, _block(block, _WHOLE_KEYS))
    nothing = _placed(content, _block({}, _WHOLE_KEYS))
    index = _placed(content, _block(places, 1))
    content += (nothing + index).ljust(_FOOTER - 8, b"\0") + pack("<Q", _MAGIC)
    return bytes(content)


def _placed(content: bytearray, block: bytes) -> bytes:
    """Put a block at the end; where it lies is two numbers."""
    place = _number(len(content)) + _number(len(block))
    content += block + b"\0" + pack("<I", masked(block + b"\0"))
    return place


def _block(entries: Mapping[bytes, bytes], whole_keys: int) -> bytes:
    made, whole, before = bytearray(), [0], b""
    for count, (key, value) in enumerate(entries.items()):
        shared = 0
        if count and count % whole_keys == 0:
            whole.append(len(made))
        elif count:
            while shared < min(len(before), len(key)) and before[shared] == key[shared]:
                shared += 1
        made += _number(shared) + _number(len(key) - shared) + _number(len(value))
        made += key[shared:] + value
        before = key
    return bytes(made) + pack(f"<{len(whole) + 1}I", *whole, len(whole))


def _number(value: int) -> bytes:
    """A number of seven bits a byte, the last without the eighth."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def table_from_bytes(content: bytes, source: str) -> dict[bytes, bytes]:
    """The keys and values of a table's file, in their order.

    Raises:
        DataLossError: the file is damaged, or none of this kind.
    """
    if len(content) < _FOOTER or unpack_from("<Q", content, len(content) - 8)[0] != _MAGIC:
        raise _damaged(source, "it is no index of a checkpoint")
    place = len(content) - _FOOTER
    for _ in range(2):
        _, place = number_at(content, place, source)
    index, _ = _place(content, place, source)
    found: dict[bytes, bytes] = {}
    total = unpacked = 0
    for value in _entries(_read(content, index, source), source).values():
        block, _ = _place(value, 0, source)
        entries = _read(content, block, source)
        unpacked += len(entries)
        if unpacked > _MOST_UNPACKED * (len(content) + _BLOCK):
            raise _damaged(source, "its blocks are longer together than they can be")
        read = _entries(entries, source)
        found |= read
        total += sum(len(key) for key in read)
        if total > 4 * (len(content) + unpacked) + _BLOCK:
            raise _damaged(source, "its keys are longer together than they can be")
    return found


def _place(content: bytes, place: int, source: str) -> tuple[tuple[int, int], int]:
    start, place = number_at(content, place, source)
    size, place = number_at(content, place, source)
    return (start, size), place


def _read(content: bytes, place: tuple[int, int], source: str) -> bytes:
    """The content of a block, whose sum is as stated."""
    start, size = place
    if start + size + _TRAILER > len(content):
        raise _damaged(source, "a block is outside of the file")
    (stated,) = unpack_from("<I", content, start + size + 1)
    if masked(content[start : start + size + 1]) != stated:
        raise _damaged(source, "the checksum of a block is another")
    kind = content[start + size]
    if kind == _SNAPPY:
        return decompressed(content[start : start + size])
    if kind:
        raise errors.UnimplementedError(
            None, None, f"{source}: blocks that are compressed by way {kind} are not offered"
        )
    return content[start : start + size]


def _entries(block: bytes, source: str) -> dict[bytes, bytes]:
    """The keys and values of a block."""
    return dict(_walk(block, source))


def _walk(block: bytes, source: str) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise _damaged(source, "a block is too short")
    (whole,) = unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 * (whole + 1)
    if end < 0:
        raise _damaged(source, "a block is shorter than it says")
    place, key = 0, b""
    spent = 0
    while place < end:
        shared, place = number_at(block, place, source)
        rest, place = number_at(block, place, source)
        size, place = number_at(block, place, source)
        if shared > len(key) or place + rest + size > end:
            raise _damaged(source, "an entry is longer than its block")
        key = key[:shared] + block[place : place + rest]
        spent += len(key)
        if spent > 64 * len(block) + _BLOCK:
            raise _damaged(source, "its keys are longer together than they can be")
        place += rest
        yield key, block[place : place + size]
        place += size


def number_at(content: bytes, place: int, source: str) -> tuple[int, int]:
    """The number of seven bits a byte at a place, and the place behind it.

    Raises:
        DataLossError: there is none.
    """
    found = 0
    for shift in range(0, 64, 7):
        if place >= len(content):
            break
        byte = content[place]
        place += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, place
    raise _damaged(source, "a number ends nowhere")


def _damaged(source: str, why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{source} is damaged: {why}")
