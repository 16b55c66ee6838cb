"""CRC-32C of bytes, as checkpoints have it: many pieces at once, which are then put together."""

from functools import cache

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, its bits reversed
_SMALL = 1 << 12
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
    power = data.size.bit_length() // 2 - 1
    count = data.size >> power
    lanes = data[: count << power].reshape(count, 1 << power).T.copy()
    table = _table()
    state = np.zeros(count, np.uint32)
    state[0] = 0xFFFFFFFF
    for row in lanes:
        state = table[(state ^ row) & 0xFF] ^ (state >> np.uint32(8))
    # Two neighbours at a time become one remainder, of pieces that are twice as long; a remainder
    # of 0 before them all changes nothing.
    while state.size > 1:
        state = np.concatenate([np.zeros(state.size % 2, np.uint32), state])
        state = _moved(_moves(power), state[0::2]) ^ state[1::2]
        power += 1
    return _plain(data[lanes.size :], int(state[0])) ^ 0xFFFFFFFF


def _plain(data: np.ndarray, state: int) -> int:
    table = _table().tolist()
    for byte in data.tolist():
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


@cache
def _moves(power: int) -> np.ndarray:
    """What 2**power zero bytes do to a remainder, by its bytes: the map is linear."""
    if power:
        half = _moves(power - 1)
        return _moved(half, half)
    made = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    return _table()[made & np.uint32(0xFF)] ^ (made >> np.uint32(8))


def _moved(moves: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Remainders after zero bytes."""
    parts = (moves[n][states >> np.uint32(8 * n) & np.uint32(0xFF)] for n in range(4))
    return np.bitwise_xor.reduce(list(parts))


def masked(content: bytes) -> int:
    """The CRC-32C of bytes as files hold it, so that sums of sums are not plain either."""
    found = crc32c(content)
    return (((found >> 15) | (found << 17)) + _MASK) & 0xFFFFFFFF
