"""Address spaces: bytes with a shadow that says of each whether it may be read.

A space has rows: one for global memory and parameters, one for each block (shared) or thread
(local). An access names for each lane an address within the lane's row. Addresses of all spaces
fit into one generic address space, in windows of their own.
"""

from bisect import bisect_right
from typing import Any

import numpy as np

from tfc.errors import KindError, OutOfMemoryError
from tfc.testing.ptx.state.faults import Fault, Violation

# What a byte's shadow says.
NOTHING, NEW, WRITTEN, FREED = 0, 1, 2, 3
WINDOWS = {"global": 1 << 44, "shared": 1 << 40, "local": 1 << 41, "param": 1 << 42}
WINDOW_SIZE = 1 << 40
ALIGNMENT, RED_ZONE = 256, 1024
QUARANTINE = 64 << 20  # bytes of freed memory that are not used again
_WORD = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _all_bytes(state: int, width: int) -> Any:
    return _WORD[width](int.from_bytes(bytes([state]) * width, "little"))


def _taken(byte_count: int) -> int:
    """Bytes that an allocation takes, with the red zone after it."""
    return -(-max(byte_count, 1) // ALIGNMENT) * ALIGNMENT + RED_ZONE


class Space:
    """The bytes of one address space, `rows` rows of `size` each.

    Args:
        base: the address of each row's first byte.
        state: what the shadow says at first.
    """

    def __init__(self, name: str, rows: int, size: int, base: int = 0, state: int = NEW):
        self.name, self.base, self.size = name, base, size
        self.stride = -(-size // 16) * 16
        self.data = np.zeros(rows * self.stride, np.uint8)
        self.shadow = np.full(rows * self.stride, state, np.uint8) if state else np.zeros_like(
            self.data)  # fmt: skip

    def places(self, addresses: np.ndarray, rows: Any, width: int) -> np.ndarray:
        """The index of each access's first byte in `data`, once alignment and bounds hold.

        Raises:
            Violation: an address is no multiple of the width, or lies outside of the space.
        """
        offsets = (addresses - self.base).astype(np.int64) if self.base else addresses.astype(
            np.int64)  # fmt: skip
        if width > 1:
            odd = (offsets & (width - 1)) != 0
            if odd.any():
                self._refuse("misaligned", f"an access of {width} bytes", odd, offsets)
        outside = offsets.view(np.uint64) > np.uint64(max(self.size - width, 0))
        if self.size < width or outside.any():
            outside = outside | (self.size < width)
            self._refuse("out-of-bounds", f"an access of {width} bytes", outside, offsets)
        return offsets + rows * self.stride if rows is not None else offsets

    def read(self, places: np.ndarray, dtype: Any) -> np.ndarray:
        """The values at these places.

        Raises:
            Violation: some byte was never written, or is in no allocation.
        """
        width = np.dtype(dtype).itemsize
        at = places >> (width.bit_length() - 1) if width > 1 else places
        states = self.shadow.view(_WORD[width])[at]
        wrong = states != _all_bytes(WRITTEN, width)
        if wrong.any():
            self._explain(wrong, places, width, "a read")
        return self.data.view(dtype)[at]

    def write(self, places: np.ndarray, values: np.ndarray) -> None:
        """Store values, of which the last lane's stays where several have one place.

        Raises:
            Violation: some byte is in no allocation.
        """
        width = values.dtype.itemsize
        at = places >> (width.bit_length() - 1) if width > 1 else places
        if self.name == "global":
            states = self.shadow.view(_WORD[width])[at]
            one = _all_bytes(1, width)
            wrong = ((states ^ (states >> 1)) & one) != one  # neither NEW nor WRITTEN
            if wrong.any():
                self._explain(wrong, places, width, "a write")
        self.data.view(values.dtype)[at] = values
        self.shadow.view(_WORD[width])[at] = _all_bytes(WRITTEN, width)

    def set_state(self, places: np.ndarray, width: int, state: int) -> None:
        """Set what the shadow says of each access's bytes."""
        for byte in range(width):
            self.shadow[places + byte] = state

    def _explain(self, wrong: np.ndarray, places: np.ndarray, width: int, what: str) -> None:
        lane = int(np.flatnonzero(wrong)[0])
        place = int(places[lane])
        states = self.shadow[place : place + width]
        address = place % self.stride + self.base if self.stride else place
        access = f"{what} of {width} bytes of {self.name} memory"
        if (states == FREED).any():
            raise Violation("use-after-free", f"{access} that is freed", lane, address)
        if (states == NOTHING).any():
            raise Violation("out-of-bounds", f"{access} outside of allocations", lane, address)
        raise Violation("uninitialized", f"{access} that was never written", lane, address)

    def _refuse(self, kind: str, what: str, wrong: np.ndarray, offsets: np.ndarray) -> None:
        lane = int(np.flatnonzero(wrong)[0])
        address = int(offsets[lane]) + self.base
        raise Violation(kind, f"{what} of {self.name} memory", lane, address % (1 << 64))


class GlobalMemory(Space):
    """Global memory, from which the host allocates; what is freed is not used again soon."""

    def __init__(self, limit: int):
        super().__init__("global", 1, limit, WINDOWS["global"], NOTHING)
        self.allocations: dict[int, int] = {}
        self.allocated = 0
        self._end = RED_ZONE
        self._freed: list[tuple[int, int]] = []  # (offset, size), oldest first
        self._free: list[tuple[int, int]] = []

    def allocate(self, byte_count: int) -> int:
        """The address of new memory, a multiple of 256.

        Raises:
            OutOfMemoryError: the limit is reached.
        """
        space = _taken(byte_count)
        offset = self._used_again(space)
        if offset is None and self._end + space <= self.size:
            offset, self._end = self._end, self._end + space
        if offset is None:
            self._let_go(0)
            offset = self._used_again(space)
        if offset is None:
            raise OutOfMemoryError(
                f"the PTX interpreter's memory of {self.size} bytes has no {space} bytes left: "
                f"make Machine(memory_limit=…) larger"
            )
        self.shadow[offset : offset + byte_count] = NEW
        self.allocations[offset + self.base] = byte_count
        self.allocated += byte_count
        return offset + self.base

    def _used_again(self, space: int) -> int | None:
        for index, (offset, size) in enumerate(self._free):
            if size >= space:
                self._free[index] = (offset + space, size - space)
                if size == space:
                    del self._free[index]
                self.shadow[offset : offset + space] = NOTHING
                return offset
        return None

    def free(self, address: int) -> None:
        """Give memory back; accesses to it are faults from now on.

        Raises:
            Fault: no allocation begins at the address.
        """
        byte_count = self.allocations.pop(address, None)
        if byte_count is None:
            raise Fault("out-of-bounds", "free of what is not allocated", address=address)
        self.allocated -= byte_count
        offset = address - self.base
        self.shadow[offset : offset + byte_count] = FREED
        self._freed.append((offset, _taken(byte_count)))
        self._let_go(QUARANTINE)

    def _let_go(self, most: int) -> None:
        """Let all freed memory but the last `most` bytes be used again, neighbours as one."""
        while sum(size for _, size in self._freed) > most:
            self._free.append(self._freed.pop(0))
            joined: list[tuple[int, int]] = []
            for offset, size in sorted(self._free):
                if joined and sum(joined[-1]) == offset:
                    offset, size = joined[-1][0], joined.pop()[1] + size
                joined.append((offset, size))
            self._free = joined

    def bounds(self, address: int, byte_count: int) -> slice:
        """Where the host's access lies in `data`.

        Raises:
            Fault: it does not lie within one allocation.
        """
        starts = sorted(self.allocations)
        index = bisect_right(starts, address) - 1
        start = starts[index] if index >= 0 else 0
        if index < 0 or address + byte_count > start + self.allocations[start]:
            raise Fault(
                "out-of-bounds", f"the host's access of {byte_count} bytes", address=address
            )
        return slice(address - self.base, address - self.base + byte_count)

    def host_write(self, address: int, values: Any) -> None:
        """Copy the bytes of an array or of anything with a buffer to an address."""
        if isinstance(values, np.ndarray):
            flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        else:
            flat = np.frombuffer(values, np.uint8)
        where = self.bounds(address, flat.size)
        self.data[where] = flat
        self.shadow[where] = WRITTEN

    def host_read(self, address: int, byte_count: int) -> np.ndarray:
        """A copy of the bytes at an address, which must have been written."""
        where = self.bounds(address, byte_count)
        new = np.flatnonzero(self.shadow[where] != WRITTEN)
        if new.size:
            raise Fault("uninitialized", "the host reads what was never written",
                        address=address + int(new[0]))  # fmt: skip
        return self.data[where].copy()

    def host_fill(self, address: int, value: Any, count: int) -> None:
        """Store `value`, a NumPy scalar (an int is a byte), `count` times."""
        if isinstance(value, int):
            value = np.uint8(value)
        if not isinstance(value, np.generic):
            raise KindError(f"fill takes an int or a NumPy scalar, got {type(value).__name__}")
        self.host_write(address, np.full(count, value))
