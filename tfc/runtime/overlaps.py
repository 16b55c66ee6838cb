"""Which arrays lie in memory where others do, too."""

from collections.abc import Iterable


def overlapping(spans: Iterable[tuple[int, int]]) -> set[int]:
    """The numbers of those that have a byte in common with another one, as an array that is passed
    twice has, or one that is a part of another.

    Args:
        spans: the address of each, and its size in bytes.
    """
    found: set[int] = set()
    reached, widest = 0, -1  # the end of those so far, and which of them reaches it
    for start, number, size in sorted((at, n, size) for n, (at, size) in enumerate(spans) if size):
        if start < reached:
            found |= {number, widest}
        if start + size > reached:
            reached, widest = start + size, number
    return found
