"""CRC-32C of bytes, as checkpoints have it: many pieces at once, which are then put together."""

from functools import cache

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, its bits reversed
_LANES = 4096
_SMALL = 1 << 14
_MASK = 0xA282EAD8


@cache
def _table() -> np.ndarray:
    """What a byte does to a remainder."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table.astype(np.uint32)


def crc32c(content: bytes) -> int:
    """The CRC-32C of bytes."""
    data = np.frombuffer(content, np.uint8)
    if data.size < _SMALL:
        return _plain(data, 0xFFFFFFFF) ^ 0xFFFFFFFF
    length = data.size // _LANES
    lanes = data[: length * _LANES].reshape(_LANES, length).T.copy()
    table = _table()
    state = np.zeros(_LANES, np.uint32)
    state[0] = 0xFFFFFFFF
    for row in lanes:
        state = table[(state ^ row) & 0xFF] ^ (state >> np.uint32(8))
    found, moved = 0, _moved(length)
    for lane in state.tolist():
        found = _applied(moved, found) ^ lane
    return _plain(data[length * _LANES :], found) ^ 0xFFFFFFFF


def _plain(data: np.ndarray, state: int) -> int:
    table = _table().tolist()
    for byte in data.tolist():
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


def _moved(length: int) -> list[int]:
    """What `length` zero bytes do to a remainder: linear, so each bit's image says it."""
    table = _table().tolist()
    step = [table[(1 << bit) & 0xFF] ^ ((1 << bit) >> 8) for bit in range(32)]
    found = [1 << bit for bit in range(32)]
    while length:
        if length & 1:
            found = [_applied(step, image) for image in found]
        step = [_applied(step, image) for image in step]
        length >>= 1
    return found


def _applied(images: list[int], state: int) -> int:
    found = 0
    for image in images:
        if state & 1:
            found ^= image
        state >>= 1
    return found


def masked(content: bytes) -> int:
    """The CRC-32C of bytes as files hold it, so that sums of sums are not plain either."""
    found = crc32c(content)
    return (((found >> 15) | (found << 17)) + _MASK) & 0xFFFFFFFF
