"""How ONNX says where windows lie: padding by name or number, sizes rounded up."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ModelFileError
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.importers.values import few

Numbers = Sequence[int]


def spatial(given: Numbers | None, rank: int) -> list[int]:
    """One number for each of the last dimensions; ones when left out.

    Raises:
        ModelFileError: there are more or fewer, or one is below 1.
    """
    found = [1] * rank if given is None else list(given)
    if len(found) != rank or min(found, default=1) < 1:
        raise ModelFileError(f"{rank} numbers above 0 are needed, got {found}")
    return found


def pairs(pads: Numbers | None, rank: int) -> list[tuple[int, int]]:
    """The padding of each dimension, given as all first ends and then all last ones."""
    found = [0] * (2 * rank) if pads is None else list(pads)
    if len(found) != 2 * rank:
        raise ModelFileError(f"{2 * rank} amounts of padding are needed, got {len(found)}")
    return list(zip(found[:rank], found[rank:]))


def windows(
    sizes: Numbers,
    kernel: Numbers,
    strides: Numbers | None,
    dilations: Numbers | None,
    pads: Numbers | None,
    auto_pad: str,
    ceil_mode: int = 0,
) -> list[WindowDimension]:
    """The window along each spatial dimension of an array of some sizes.

    With `ceil_mode` the high padding includes what the last window needs beyond the array.
    """
    rank = len(sizes)
    around = pairs(pads, rank)
    found = []
    for n, k, s, d, (low, high) in zip(
        sizes, spatial(kernel, rank), spatial(strides, rank), spatial(dilations, rank), around
    ):
        extent = (k - 1) * d + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            total = max(0, (-(-n // s) - 1) * s + extent - n)
            low = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            high = total - low
        elif auto_pad == "VALID":
            low = high = 0
        elif ceil_mode:
            count = -(-(n + low + high - extent) // s) + 1
            if (count - 1) * s >= n + low:  # a window in the padding alone is left out
                count -= 1
            high += max(0, (count - 1) * s + extent - n - low - high)
        found.append(WindowDimension(k, s, low, high, 1, d))
    return found


def over_all(dimensions: Sequence[WindowDimension]) -> Window:
    """The window over an array with a batch and channels before the dimensions."""
    return Window((WindowDimension(1), WindowDimension(1), *dimensions))


def counts(d: WindowDimension, size: int, padding: tuple[int, int]) -> Any:
    """How many elements of each window along a dimension lie in an array with some padding."""
    number = (size + d.low + d.high - d.extent) // d.stride + 1
    few(number * d.size)
    places = np.arange(number)[:, None] * d.stride + np.arange(d.size) * d.window_dilation - d.low
    return ((places >= -padding[0]) & (places < size + padding[1])).sum(1)
