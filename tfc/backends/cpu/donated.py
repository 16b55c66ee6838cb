"""Donated arguments of a call: arrays whose memory the code may write."""

from collections.abc import Collection

import numpy as np

from tfc.runtime.overlaps import overlapping


def make_writable(passed: list[np.ndarray], donated: Collection[int]) -> None:
    """Replace donated arrays by copies if they are read-only, or share memory with others.

    Args:
        passed: the arguments, each one contiguous.
    """
    shared = overlapping((address(a), a.nbytes) for a in passed)
    for number in donated:
        if number in shared or not passed[number].flags.writeable:
            passed[number] = passed[number].copy()


def address(array: np.ndarray) -> int:
    """Where the array's memory begins; a third of the time of `array.ctypes.data`."""
    return array.__array_interface__["data"][0]
