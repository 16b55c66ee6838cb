"""Operators that move blocks of space into channels or the batch, and back."""

from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.registry import known, known_numbers, operator


def _channels_last(x: Any, data_format: str) -> Any:
    return tnp.transpose(x, (0, 2, 3, 1)) if data_format == "NCHW" else x


def _as_given(x: Any, data_format: str) -> Any:
    return tnp.transpose(x, (0, 3, 1, 2)) if data_format == "NCHW" else x


@operator("SpaceToDepth")
def space_to_depth(input: Any, *, block_size: int, data_format: str = "NHWC") -> Any:
    """The blocks of images as channels."""
    x = _channels_last(input, data_format)
    batch, height, width, channels = x.shape
    if height % block_size or width % block_size:
        raise ShapeError(f"an image of {height} x {width} has no blocks of {block_size}")
    rows, columns = height // block_size, width // block_size
    parts = tnp.reshape(x, (batch, rows, block_size, columns, block_size, channels))
    moved = tnp.transpose(parts, (0, 1, 3, 2, 4, 5))
    return _as_given(tnp.reshape(moved, (batch, rows, columns, -1)), data_format)


@operator("DepthToSpace")
def depth_to_space(input: Any, *, block_size: int, data_format: str = "NHWC") -> Any:
    """Channels as the blocks of images."""
    x = _channels_last(input, data_format)
    batch, rows, columns, channels = x.shape
    if channels % block_size**2:
        raise ShapeError(f"{channels} channels are no blocks of {block_size} x {block_size}")
    rest = channels // block_size**2
    parts = tnp.reshape(x, (batch, rows, columns, block_size, block_size, rest))
    moved = tnp.transpose(parts, (0, 1, 3, 2, 4, 5))
    return _as_given(
        tnp.reshape(moved, (batch, rows * block_size, columns * block_size, rest)), data_format
    )


@operator("SpaceToBatchND", types="T Tblock_shape Tpaddings", known=(1, 2))
def space_to_batch(input: Any, block_shape: Any, paddings: Any) -> Any:
    """The places within blocks as more of the batch."""
    blocks = known_numbers(block_shape, "the shape of blocks")
    pairs = known(paddings, "the padding of blocks").reshape(-1, 2)
    widths = [(0, 0), *[(int(a), int(b)) for a, b in pairs]]
    widths += [(0, 0)] * (input.ndim - len(widths))
    x = tnp.pad(input, widths)
    count, rest = len(blocks), x.shape[1 + len(blocks) :]
    if any(size % block for size, block in zip(x.shape[1:], blocks)):
        raise ShapeError(f"blocks of {list(blocks)} do not fill an array of {tuple(x.shape)}")
    dims = [x.shape[0]]
    for size, block in zip(x.shape[1:], blocks):
        dims += [size // block, block]
    parts = tnp.reshape(x, (*dims, *rest))
    inner = [2 * n + 2 for n in range(count)]
    outer = [2 * n + 1 for n in range(count)]
    moved = tnp.transpose(parts, (*inner, 0, *outer, *range(2 * count + 1, parts.ndim)))
    sizes = [size // block for size, block in zip(x.shape[1:], blocks)]
    return tnp.reshape(moved, (x.shape[0] * int(np.prod(blocks)), *sizes, *rest))


@operator("BatchToSpaceND", types="T Tblock_shape Tcrops", known=(1, 2))
def batch_to_space(input: Any, block_shape: Any, crops: Any) -> Any:
    """Parts of the batch as the places within blocks; the borders are cut off."""
    blocks = known_numbers(block_shape, "the shape of blocks")
    pairs = known(crops, "what is cut off").reshape(-1, 2)
    count, rest = len(blocks), input.shape[1 + len(blocks) :]
    batch, left = divmod(input.shape[0], int(np.prod(blocks)))
    if left:
        raise ShapeError(f"a batch of {input.shape[0]} does not make blocks of {list(blocks)}")
    parts = tnp.reshape(input, (*blocks, batch, *input.shape[1:]))
    order = [count]
    for n in range(count):
        order += [count + 1 + n, n]
    moved = tnp.transpose(parts, (*order, *range(2 * count + 1, parts.ndim)))
    sizes = [size * block for size, block in zip(input.shape[1:], blocks)]
    whole = tnp.reshape(moved, (batch, *sizes, *rest))
    key = [slice(None), *[slice(int(a), n - int(b)) for n, (a, b) in zip(sizes, pairs)]]
    return whole[tuple(key)]


@operator("SpaceToBatch", types="T Tpaddings", known=(1,))
def space_to_batch_of_images(input: Any, paddings: Any, *, block_size: int) -> Any:
    """`SpaceToBatchND` of square blocks of images."""
    return space_to_batch(input, np.asarray([block_size] * 2), paddings)


@operator("BatchToSpace", types="T Tidx", known=(1,))
def batch_to_space_of_images(input: Any, crops: Any, *, block_size: int) -> Any:
    """`BatchToSpaceND` of square blocks of images."""
    return batch_to_space(input, np.asarray([block_size] * 2), crops)
