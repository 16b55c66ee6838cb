"""What callers say of windows: numbers for each spatial dimension, and padding by name."""

from collections.abc import Sequence
from typing import TypeAlias

from tfc.errors import ShapeError
from tfc.hlo.window import WindowDimension

Numbers: TypeAlias = int | Sequence[int]
Padding: TypeAlias = str | Sequence[tuple[int, int]]


def spatial_numbers(function: str, value: Numbers, count: int) -> list[int]:
    """One number for each of `count` spatial dimensions.

    Raises:
        ShapeError: there are more or fewer.
    """
    given = [value] * count if isinstance(value, int) else list(value)
    if len(given) != count:
        raise ShapeError(f"{function} requires {count} numbers for spatial dimensions, got {given}")
    return given


def same_padding(d: WindowDimension, size: int) -> tuple[int, int]:
    """The (low, high) that gives ceil(size / stride) places, high the larger by one if odd."""
    dilated = d.padded(size)
    places = -(-dilated // d.stride)
    total = max((places - 1) * d.stride + d.extent - dilated, 0)
    return total // 2, total - total // 2


def padding_pairs(
    function: str, padding: Padding, window: Sequence[WindowDimension], sizes: Sequence[int]
) -> list[tuple[int, int]]:
    """(low, high) for each spatial dimension of an array of these sizes.

    Raises:
        ShapeError: the padding is another word, or of more or fewer pairs than dimensions.
    """
    if not isinstance(padding, str):
        pairs = [(int(low), int(high)) for low, high in padding]
        if len(pairs) != len(window):
            raise ShapeError(f"{function} requires {len(window)} pairs of padding, got {pairs}")
        return pairs
    match padding:
        case "VALID":
            return [(0, 0)] * len(window)
        case "SAME" | "SAME_LOWER":
            if any(d.stride < 1 for d in window):
                raise ShapeError(f"{function} requires strides of 1 or more for padding SAME")
            pairs = [same_padding(d, n) for d, n in zip(window, sizes)]
            return pairs if padding == "SAME" else [(high, low) for low, high in pairs]
        case _:
            raise ShapeError(
                f"{function} requires padding SAME, SAME_LOWER, VALID or pairs, got '{padding}'"
            )
