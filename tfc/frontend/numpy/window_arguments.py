"""What callers say of arrays of channels, and of windows over them: letters for the dimensions,
numbers for each spatial one, padding by name.

    NHWC: batch, height, width, channels; the default. NCHW: channels first.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.python_numbers import sizes, whole
from tfc.frontend.tensor import Tensor
from tfc.hlo.attributes.window import WindowDimension

Numbers: TypeAlias = int | Sequence[int]
Padding: TypeAlias = str | Sequence[tuple[int, int]]


def _spatial_letters(count: int) -> str:
    """W, HW, DHW; digits for more dimensions than have names."""
    return "DHW"[3 - count :] if count <= 3 else "".join(map(str, range(count)))


def data_format_of(
    function: str, data_format: str | None, tensor: Tensor, least: int = 2
) -> tuple[str, tuple[int, ...]]:
    """The format of an array of channels, and its (batch, feature, *spatial) dimensions.

    Args:
        data_format: channels last (NWC, NHWC, NDHWC), which None stands for, or first (NCHW …).
        least: the number of dimensions that the function requires.

    Raises:
        ShapeError: the array has fewer dimensions, or the format is not one for so many.
    """
    shape = tensor.array_shape.without_layout()
    letters = _spatial_letters(max(tensor.ndim, least) - 2)
    last, first = f"N{letters}C", f"NC{letters}"
    if tensor.ndim < least:
        raise ShapeError(f"{function} requires an array of {least} dimensions or more ({last}), "
                         f"got {shape}")  # fmt: skip
    if data_format is not None and data_format not in (last, first):
        raise ShapeError(
            f"{function} requires the data_format {last} or {first} for {shape}, got {data_format}"
        )
    if data_format == first:
        return first, tuple(range(tensor.ndim))
    return last, (0, tensor.ndim - 1, *range(1, tensor.ndim - 1))


def kernel_format_of(
    function: str, kernel_format: str | None, tensor: Tensor, rank: int
) -> tuple[str, tuple[int, ...]]:
    """The format of a kernel, and its (output feature, input feature, *spatial) dimensions.

    Args:
        kernel_format: features last (WIO, HWIO, DHWIO), which None stands for, or first (OIHW …).
        rank: the number of dimensions that it must have.

    Raises:
        ShapeError: it has another number of them, or the format is not one for so many.
    """
    shape, letters = tensor.array_shape.without_layout(), _spatial_letters(rank - 2)
    last, first = f"{letters}IO", f"OI{letters}"
    if tensor.ndim != rank:
        raise ShapeError(
            f"{function} requires a kernel of {rank} dimensions ({last}) for an array of {rank}, "
            f"got {shape} (CGP-1)"
        )
    if kernel_format is not None and kernel_format not in (last, first):
        raise ShapeError(
            f"{function} requires the kernel_format {last} or {first} for {shape}, "
            f"got {kernel_format}"
        )
    if kernel_format == first:
        return first, tuple(range(rank))
    return last, (rank - 1, rank - 2, *range(rank - 2))


def spatial_numbers(function: str, value: Numbers, count: int) -> list[int]:
    """One number for each of `count` spatial dimensions.

    Raises:
        ShapeError: there are more or fewer.
    """
    given = sizes(value, f"a number for spatial dimensions of {function}")
    given = given * count if not np.ndim(value) else given
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
        pairs = padding if isinstance(padding, (Sequence, np.ndarray)) else [padding]
        if len(pairs) != len(window) or any(np.ndim(p) != 1 or len(p) != 2 for p in pairs):
            raise ShapeError(f"{function} requires {len(window)} pairs of padding, got {padding}")
        return [(whole(low, "padding"), whole(high, "padding")) for low, high in pairs]
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
