"""Arrays on their way between the host and a GPU, through pinned memory.

    array ─memory copy─► pinned block ─asynchronous copy─► GPU          the next block meanwhile

What is copied from an array itself makes the driver wait for all that was asked before; from pinned
memory it does not, and the array may change as soon as it is in there.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

BLOCK = 4 << 20  # bytes
_BLOCKS = 4
SMALL = 64 << 10  # bytes, which the driver itself takes at once


class Waits(Protocol):
    """Something that can be waited for."""

    def wait(self) -> None:
        """Wait until it is done."""
        ...


class Staging:
    """A ring of pinned blocks.

    Args:
        pinned: makes an array of so many bytes in pinned memory.
        mark: a place in the stream, which can be waited for.
    """

    def __init__(self, pinned: Callable[[int], np.ndarray], mark: Callable[[], Waits]):
        self._pinned, self._mark = pinned, mark
        self._lock = threading.Lock()
        self._made = 0
        # Those that are made, with what was asked of each last; the oldest first.
        self._ring: deque[tuple[np.ndarray, Waits | None]] = deque()

    def send(self, source: np.ndarray, copy: Callable[[int, np.ndarray], None]) -> None:
        """Copy a contiguous array piece by piece.

        Args:
            copy: asks for the copy of a piece, which begins at an offset, from pinned memory.
        """
        data = source.reshape(-1).view(np.uint8)
        with self._lock:
            for start in range(0, data.size, BLOCK):
                piece = data[start : start + BLOCK]
                with self._block() as block:
                    block[: piece.size] = piece
                    copy(start, block[: piece.size])
                    self._ring.append((block, self._mark()))

    def receive(self, target: np.ndarray, copy: Callable[[int, np.ndarray], None]) -> None:
        """Fill a contiguous array piece by piece, and wait until that is done.

        Args:
            copy: asks for the copy of a piece, which begins at an offset, to pinned memory.
        """
        data = target.reshape(-1).view(np.uint8)
        waiting: deque[tuple[int, np.ndarray, Waits]] = deque()

        def finish() -> None:
            start, block, mark = waiting[0]
            mark.wait()
            piece = data[start : start + BLOCK]
            piece[:] = block[: piece.size]
            waiting.popleft()
            self._ring.append((block, None))

        with self._lock:
            try:
                for start in range(0, data.size, BLOCK):
                    if len(waiting) == _BLOCKS:
                        finish()
                    with self._block() as block:
                        copy(start, block[: min(BLOCK, data.size - start)])
                        waiting.append((start, block, self._mark()))
                while waiting:
                    finish()
            finally:  # a signal may end a wait
                self._ring += [(block, mark) for _, block, mark in waiting]

    @contextmanager
    def _block(self) -> Iterator[np.ndarray]:
        """A block that nothing is done with any more.

        If its copy fails nobody knows whether it was begun, so that another block takes its place.
        """
        block = self._next()
        try:
            yield block
        except BaseException:
            self._made -= 1
            raise

    def _next(self) -> np.ndarray:
        if self._made < _BLOCKS and not (self._ring and self._ring[0][1] is None):
            made = self._pinned(BLOCK)
            self._made += 1
            return made
        block, mark = self._ring[0]
        if mark is not None:
            mark.wait()
        self._ring.popleft()
        return block
