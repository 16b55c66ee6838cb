"""Layers as functions: dense, embedding, dropout; convolutions by channel; adaptive pooling."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.convolutions import conv
from tfc.frontend.numpy.functions import as_float
from tfc.frontend.numpy.indexing.taking import take
from tfc.frontend.numpy.products import matmul
from tfc.frontend.numpy.reductions import max, mean
from tfc.frontend.numpy.window_arguments import Numbers, Padding, data_format_of, spatial_numbers
from tfc.frontend.numpy.windows import avg_pool, max_pool
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import real_number
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.random import bernoulli


@evaluable
def dense(x: ArrayLike, kernel: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
    """x @ kernel + bias, for a kernel of [inputs, outputs]."""
    product = matmul(x, kernel)
    return product if bias is None else product + bias


@evaluable
def embedding(table: ArrayLike, indices: ArrayLike) -> Tensor:
    """The rows of a table at integer indices, which the nearest row is taken for beyond it."""
    return take(table, indices, axis=0)


@evaluable
def dropout(key: ArrayLike, x: ArrayLike, rate: float, deterministic: bool = False) -> Tensor:
    """x with a share of its elements made 0, and the others made as much larger.

    Args:
        rate: the probability of an element to become 0, below 1.
        deterministic: leave all as they are, as after training.

    Raises:
        ShapeError: the rate is not within 0 … 1, or it is 1.
    """
    tensor, chance = as_float(x), real_number(rate, "the rate of dropout")
    if not 0 <= chance < 1:
        raise ShapeError(f"dropout requires a rate of 0 or more, below 1, got {chance}")
    if deterministic or not chance:
        return tensor
    stays = bernoulli(key, np.float32(1 - chance), tensor.shape)
    larger = tensor / ops.full_like(1 - chance, tensor)
    return where(stays, larger, ops.full_like(0, tensor))


@evaluable
def depthwise_conv(
    x: ArrayLike,
    kernel: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = "SAME",
    rhs_dilation: Numbers = 1,
    data_format: str | None = None,
) -> Tensor:
    """A convolution of each channel by itself, into as many channels as the kernel has for each.

    Args:
        kernel: [*window, channels, multiplier]; output channel c * multiplier + m is made of
            channel c.
        strides, padding, rhs_dilation, data_format: as in `conv`.

    Raises:
        ShapeError: the kernel is not for so many channels, or the numbers do not fit.
    """
    array, weights = as_tensor(x), as_tensor(kernel)
    _, (_, feature, *_) = data_format_of("depthwise_conv", data_format, array)
    channels = array.shape[feature]
    if weights.ndim != array.ndim or weights.shape[-2] != channels:
        raise ShapeError(
            f"depthwise_conv requires a kernel of [*window, {channels}, multiplier] for "
            f"{array.array_shape.without_layout()}, got {list(weights.shape)}"
        )
    joined = ops.reshape(weights, (*weights.shape[:-2], 1, channels * weights.shape[-1]))
    return conv(
        array, joined, strides, padding, rhs_dilation=rhs_dilation, data_format=data_format,
        feature_group_count=channels,
    )  # fmt: skip


@evaluable
def separable_conv(
    x: ArrayLike,
    depthwise_kernel: ArrayLike,
    pointwise_kernel: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = "SAME",
    rhs_dilation: Numbers = 1,
    data_format: str | None = None,
) -> Tensor:
    """A `depthwise_conv`, and a convolution that mixes its channels at each place.

    Args:
        pointwise_kernel: [1, …, channels * multiplier, outputs].

    Raises:
        ShapeError: a kernel does not fit.
    """
    between = depthwise_conv(x, depthwise_kernel, strides, padding, rhs_dilation, data_format)
    return conv(between, pointwise_kernel, data_format=data_format)


def _pieces(size: int, count: int) -> list[tuple[int, int]]:
    """`count` intervals as even as can be, which cover 0 … size and may share elements."""
    return [(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]


def _adaptive(
    name: str,
    pool: Callable[..., Tensor],
    reduce: Callable[..., Tensor],
    x: Tensor,
    output_size: Numbers,
    data_format: str | None,
) -> Tensor:
    """Pooling by `pool` if the windows are equal, else by `reduce` of slices, axis after axis."""
    _, (_, _, *spatial) = data_format_of(name, data_format, x, least=3)
    counts = spatial_numbers(name, output_size, len(spatial))
    sizes = [x.shape[d] for d in spatial]
    if min(counts) < 1 or any(n > size for n, size in zip(counts, sizes)):
        raise ShapeError(f"{name} requires 1 … {sizes} places, got {counts}")
    if not any(size % n for n, size in zip(counts, sizes)):
        window = [size // n for n, size in zip(counts, sizes)]
        return pool(x, window, data_format=data_format)
    for d, count in zip(spatial, counts):
        parts = [ops.slice_along(x, d, *piece) for piece in _pieces(x.shape[d], count)]
        x = ops.concatenate([reduce(part, d, keepdims=True) for part in parts], d)
    return x


@evaluable
def adaptive_avg_pool(x: ArrayLike, output_size: Numbers, data_format: str | None = None) -> Tensor:
    """The means of windows as even as can be, of which there are as many as asked for.

    Args:
        output_size: one number for all dimensions between batch and channels, or one for each.
        data_format: as in `max_pool`.

    Raises:
        ShapeError: a number is not between 1 and the dimension's size.
    """
    return _adaptive("adaptive_avg_pool", avg_pool, _mean, as_float(x), output_size, data_format)


def _mean(x: Tensor, axis: int, keepdims: bool) -> Any:
    return mean(x, axis, keepdims=keepdims)


@evaluable
def adaptive_max_pool(x: ArrayLike, output_size: Numbers, data_format: str | None = None) -> Tensor:
    """The largest elements of windows as even as can be; see `adaptive_avg_pool`."""
    return _adaptive("adaptive_max_pool", max_pool, max, as_tensor(x), output_size, data_format)
