"""Donated arguments of a call: arrays whose memory the code may write."""

from collections.abc import Collection

import numpy as np


def make_writable(passed: list[np.ndarray], donated: Collection[int]) -> None:
    """Replace donated arrays by copies if they are read-only, or share memory with others.

    Args:
        passed: the arguments, each one contiguous.
    """
    shared: set[int] = set()
    reached, widest = 0, -1  # the end of the arrays so far, and which of them reaches it
    for start, number in sorted((address(a), n) for n, a in enumerate(passed) if a.size):
        if start < reached:
            shared |= {number, widest}  # not one alone: a third array may lie in the other, too
        if start + passed[number].nbytes > reached:
            reached, widest = start + passed[number].nbytes, number
    for number in donated:
        if number in shared or not passed[number].flags.writeable:
            passed[number] = passed[number].copy()


def address(array: np.ndarray) -> int:
    """Where the array's memory begins; a third of the time of `array.ctypes.data`."""
    return array.__array_interface__["data"][0]
