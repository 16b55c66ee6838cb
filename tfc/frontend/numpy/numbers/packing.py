"""Bits in bytes: packbits and unpackbits."""

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import as_bool
from tfc.frontend.numpy.manipulation import normalize_axis, ravel
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import U8


def _along(name: str, a: ArrayLike, axis: int | None, bitorder: str) -> tuple[Tensor, int]:
    """The array with the axis as its last dimension, and the axis."""
    if bitorder not in ("big", "little"):
        raise ShapeError(f"{name} requires the bitorder 'big' or 'little', got {bitorder!r}")
    tensor = as_tensor(a) if axis is not None else ravel(a)
    dimension = normalize_axis(0 if axis is None else axis, tensor.ndim)
    order = [d for d in range(tensor.ndim) if d != dimension]
    return ops.transpose(tensor, [*order, dimension]), dimension


def _back(moved: Tensor, dimension: int) -> Tensor:
    """The last dimension where it was."""
    order = list(range(moved.ndim - 1))
    order.insert(dimension, moved.ndim - 1)
    return ops.transpose(moved, order)


def _weights(tensor: Tensor, bitorder: str) -> Tensor:
    """How far each bit of a byte, along the last dimension, is shifted."""
    places = ops.iota(U8, tensor.shape, tensor.ndim - 1)
    return ops.full_like(7, places) - places if bitorder == "big" else places


@traceable
def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """The truth values along an axis, or of the flattened array, as the bits of uint8.

    Args:
        bitorder: "big" if the first one is the highest bit.

    Raises:
        TraceError: floats or complex numbers.
    """
    tensor, dimension = _along("packbits", a, axis, bitorder)
    if tensor.array_shape.element_type.kind not in ("pred", "signed", "unsigned"):
        raise TraceError(f"packbits requires booleans or integers, got {tensor.dtype}")
    bits = ops.convert(as_bool(tensor), U8)
    missing = -bits.shape[-1] % 8
    padding = [(0, 0, 0)] * (bits.ndim - 1) + [(0, missing, 0)]
    padded = ops.pad(bits, ops.constant(0, U8), padding)
    groups = ops.reshape(padded, [*padded.shape[:-1], padded.shape[-1] // 8, 8])
    placed = operation("shift-left", groups, _weights(groups, bitorder))
    return _back(ops.reduce(placed, "or", 0, [placed.ndim - 1]), dimension)


@traceable
def unpackbits(
    a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tensor:
    """The bits of uint8 along an axis, or of the flattened array, as uint8 of 0 and 1.

    Args:
        count: how many bits to give, zeros if there are less; below 0, how many to leave out.

    Raises:
        TraceError: another dtype than uint8.
        ShapeError: a count that leaves out more than there are.
    """
    tensor, dimension = _along("unpackbits", a, axis, bitorder)
    if tensor.dtype != np.uint8:
        raise TraceError(f"unpackbits requires uint8, got {tensor.dtype}")
    spread = ops.broadcast(tensor, [*tensor.shape, 8], range(tensor.ndim))
    shifted = operation("shift-right-logical", spread, _weights(spread, bitorder))
    bits = operation("and", shifted, ops.full_like(1, shifted))
    bits = ops.reshape(bits, [*tensor.shape[:-1], tensor.shape[-1] * 8])
    if count is not None:
        bits = _counted(bits, whole(count, "the count of bits"))
    return _back(bits, dimension)


def _counted(bits: Tensor, count: int) -> Tensor:
    size = bits.shape[-1]
    wanted = count if count >= 0 else size + count
    if wanted < 0:
        raise ShapeError(f"unpackbits cannot leave out {-count} of {size} bits")
    padding = [(0, 0, 0)] * (bits.ndim - 1) + [(0, wanted - size, 0)]
    return ops.pad(bits, ops.constant(0, U8), padding)
