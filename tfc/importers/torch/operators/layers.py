"""Normalization, softmax, pooling and convolution in the forms that files have them in."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.torch.operators.composites import (
    batch_norm,
    channels,
    conv,
    layer_norm,
    normalized,
    scaled,
)
from tfc.importers.torch.operators.pooling import adaptive_avg_pool, max_pool
from tfc.importers.torch.operators.writes import batch_norm_training
from tfc.importers.torch.table import COMPOSITE, Call, axis_of, cast, composite, wide

COMPOSITE["adaptive_avg_pool3d.default"] = adaptive_avg_pool


@composite("instance_norm.default")
def instance_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, uses_input: bool, momentum: float,
    eps: float, *_: Any,
) -> Any:  # fmt: skip
    """The elements normalized over each channel of each example."""
    if not uses_input:
        return batch_norm(x, weight, bias, mean, variance, False, momentum, eps)
    if mean is not None:
        raise UnsupportedError("it keeps running statistics: call .eval() before the export")
    made = normalized(x, tuple(range(2, x.ndim)), eps)
    return scaled(made, channels(weight, x.ndim), channels(bias, x.ndim))


@composite("rms_norm.default", "_fused_rms_norm.default")
def rms_norm(x: Any, sizes: Sequence[int], weight: Any = None, eps: Any = None) -> Any:
    """The elements by the root of the mean of their squares over the last dimensions."""
    eps = float(np.finfo(np.float32).eps if eps is None else eps)
    axes = tuple(range(x.ndim - len(sizes), x.ndim))
    full = wide(x)
    made = full / tnp.sqrt(tnp.mean(full * full, axis=axes, keepdims=True) + cast(eps, full.dtype))
    return scaled(made, weight, None)


@composite("native_layer_norm.default")
def native_layer_norm(
    x: Any, sizes: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """The elements normalized over the last dimensions, the means and what they were scaled by."""
    axes = tuple(range(x.ndim - len(sizes), x.ndim))
    mean, scale = _statistics(x, axes, eps)
    return layer_norm(x, sizes, weight, bias, eps), mean, scale


@composite("native_group_norm.default")
def native_group_norm(
    x: Any, weight: Any, bias: Any, count: int, channel: int, inner: int, groups: int, eps: float
) -> tuple[Any, Any, Any]:
    """The elements normalized over groups of channels, the means and what they were scaled by."""
    parts = tnp.reshape(x, (x.shape[0], groups, -1))
    mean, scale = _statistics(parts, (2,), eps)
    made = tnp.reshape(normalized(parts, (2,), eps), x.shape)
    made = scaled(made, channels(weight, x.ndim), channels(bias, x.ndim))
    return made, mean[..., 0], scale[..., 0]


def _statistics(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """The means over dimensions, and one by the root of the variances."""
    x = wide(x)
    mean = tnp.mean(x, axis=axes, keepdims=True)
    squares = tnp.mean(tnp.square(x - mean), axis=axes, keepdims=True)
    return mean, 1 / tnp.sqrt(squares + cast(eps, x.dtype))


@composite("_native_batch_norm_legit_no_training.default")
def batch_norm_inference(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """Batch normalization by means and variances that are given; no others are made."""
    made = batch_norm(x, weight, bias, mean, variance, False, momentum, eps)
    nothing = np.zeros((0,), np.float32)
    return made, nothing, nothing


@composite("_native_batch_norm_legit_functional.default")
def batch_norm_functional(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float, *, node: Call,
) -> Any:  # fmt: skip
    """Batch normalization, and the new running means and variances."""
    if not training:
        made = batch_norm(x, weight, bias, mean, variance, False, momentum, eps)
        return made, mean, variance, mean, variance
    found = batch_norm_training(x, weight, bias, mean, variance, True, momentum, eps, node=node)
    axes = (0, *range(2, x.ndim))
    own, scale = (tnp.reshape(v, (-1,)) for v in _statistics(x, axes, eps))
    return found[0], own, scale, found[1], found[2]


@composite("_softmax.default")
def softmax(x: Any, dim: int, half_to_float: Any = None, *, dtype: Any = None, node: Call) -> Any:
    """The softmax along a dimension."""
    return nn.softmax(wide(cast(x, node.dtype)), axis_of(dim, x.ndim)) if x.ndim else x * 0 + 1


@composite("_safe_softmax.default")
def safe_softmax(x: Any, dim: int, dtype: Any = None, *, node: Call) -> Any:
    """The softmax along a dimension; zeros where all elements are minus infinity."""
    is_empty = tnp.all(x == -np.inf, axis=axis_of(dim, x.ndim), keepdims=True)
    return tnp.where(is_empty, 0, softmax(tnp.where(is_empty, 0, x), dim, node=node))


@composite("_log_softmax.default")
def log_softmax(x: Any, dim: int, half_to_float: Any = None, *, node: Call) -> Any:
    """The logarithms of the softmax along a dimension."""
    return nn.log_softmax(wide(cast(x, node.dtype)), axis_of(dim, x.ndim)) if x.ndim else x * 0


@composite("softmin.default")
def softmin(x: Any, dim: int, *, node: Call) -> Any:
    """The softmax of the negative elements."""
    return softmax(-x, dim, node=node)


def _enter_pools() -> None:
    for rank in (1, 3):

        def row(
            x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
            ceil_mode: bool = False, rank: int = rank,
        ) -> Any:  # fmt: skip
            return max_pool(x, rank, kernel, stride, padding, dilation, ceil_mode)[0]

        composite(f"max_pool{rank}d.default")(row)

    @composite("max_pool1d_with_indices.default")
    def places(
        x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        return max_pool(x, 1, kernel, stride, padding, dilation, ceil_mode)


_enter_pools()


@composite("adaptive_max_pool1d.default", "adaptive_max_pool2d.default",
           "adaptive_max_pool3d.default")  # fmt: skip
def adaptive_max_pool(x: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """The largest elements of as many parts of the last dimensions, and their places."""
    rank = len(sizes)
    outer, inner = x.shape[:-rank], x.shape[-rank:]
    values, places = [], []
    numbers = np.arange(int(np.prod(inner))).reshape(inner)
    for step in np.ndindex(*sizes):
        part = tuple(slice(k * n // size, -(-(k + 1) * n // size))
                     for k, n, size in zip(step, inner, sizes))  # fmt: skip
        flat = tnp.reshape(x[(..., *part)], (*outer, -1))
        values.append(tnp.max(flat, axis=-1))
        places.append(tnp.take(numbers[part].reshape(-1), tnp.argmax(flat, axis=-1)))
    shape = (*outer, *sizes)
    return tnp.reshape(tnp.stack(values, -1), shape), tnp.reshape(tnp.stack(places, -1), shape)


@composite("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_by_name(
    x: Any, w: Any, bias: Any = None, stride: Any = (1,), padding: str = "valid",
    dilation: Any = (1,), groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution that keeps sizes, or one without padding."""
    rank = w.ndim - 2
    if padding == "valid":
        return conv(x, w, bias, stride, (0,), dilation, groups)
    apart = list(dilation) * (rank if len(dilation) == 1 else 1)
    total = [(k - 1) * d for k, d in zip(w.shape[2:], apart)]
    around = [(0, 0)] * (x.ndim - rank) + [(n // 2, n - n // 2) for n in total]
    return conv(tnp.pad(x, around), w, bias, stride, (0,), dilation, groups)


@composite("feature_dropout.default", "alpha_dropout.default", "feature_alpha_dropout.default")
def dropout_of_features(x: Any, p: float, train: bool) -> Any:
    """The array itself, as nothing is dropped when a module is used."""
    if train and p:
        raise UnsupportedError("it drops elements: call .eval() before the export")
    return x
