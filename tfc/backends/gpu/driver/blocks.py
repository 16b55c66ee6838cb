"""Memory that was given back, kept by size for whoever asks for as much next.

Asking the driver takes microseconds. What is done on one stream is done in order, so a block may go
to its next user while the last one's kernels still run; and as programs get the same addresses
again, their graphs fit. All of this is done without a lock, by operations of lists that are atomic,
since memory is given back whenever Python finds that nothing refers to it.
"""

_GRAIN = 512  # bytes, of which sizes are multiples
_LARGEST = 64 << 20  # bytes: beyond, asking takes no time beside the work
_MOST = 64  # blocks of a size


class Blocks:
    """The blocks of a driver: which sizes they have, and those that nobody uses."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._free: dict[int, list[int]] = {}

    def take(self, size: int) -> int | None:
        """The address of a block of a rounded size, or None where one must be asked for."""
        try:
            return self._free[size].pop()
        except (KeyError, IndexError):
            return None

    def add(self, address: int, size: int) -> None:
        """Remember a block of a rounded size."""
        self._sizes[address] = size

    def put(self, address: int) -> bool:
        """Keep a block for later; False if the driver is to have it back."""
        size = self._sizes[address]
        kept = self._free.setdefault(size, [])
        if size > _LARGEST or len(kept) >= _MOST:
            del self._sizes[address]
            return False
        kept.append(address)
        return True

    def drain(self) -> list[int]:
        """All that is kept, to be given back to the driver."""
        found: list[int] = []
        for kept in list(self._free.values()):
            while kept:
                found.append(kept.pop())
                del self._sizes[found[-1]]
        return found


def rounded(size: int) -> int:
    """The size of the block for so many bytes; also for none there is one."""
    return max(-(-size // _GRAIN), 1) * _GRAIN
