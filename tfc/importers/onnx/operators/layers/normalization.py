"""Normalization over batches, layers, groups and channels."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.frontend.numpy.windows import reduce_window
from tfc.frontend.promotion import as_tensor
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.importers.onnx.operators.layers.convolutions import along_channels
from tfc.importers.onnx.table import operator
from tfc.importers.walk import Call


@operator("BatchNormalization")
def batch_normalization(
    x: Any, scale: Any, b: Any, mean: Any, var: Any, *, epsilon: float = 1e-5,
    momentum: float = 0.9, training_mode: int = 0, spatial: int = 1, is_test: int = 0,
) -> Any:  # fmt: skip
    """x less a mean over a deviation, scaled and shifted for each channel."""

    def spread(v: Any) -> Any:
        return along_channels(v, x.ndim) if x.ndim > 1 else v

    if not training_mode:
        factor = scale / tnp.sqrt(var + epsilon)
        if not spatial:
            return (x - mean) * factor + b
        made = (x - spread(mean)) * spread(factor) + spread(b)
        return tnp.astype(made, x.dtype)
    axes = tuple(d for d in range(x.ndim) if d != 1)
    wide = tnp.astype(x, np.float32) if x.dtype.itemsize < 4 else x
    here = tnp.mean(wide, axes)
    spread_here = tnp.var(wide, axes)
    made = (wide - spread(here)) / tnp.sqrt(spread(spread_here) + epsilon)
    made = made * spread(scale) + spread(b)
    later = [
        tnp.astype(old * momentum + tnp.astype(new, old.dtype) * (1 - momentum), old.dtype)
        for old, new in ((mean, here), (var, spread_here))
    ]
    return tnp.astype(made, x.dtype), *later


@operator("InstanceNormalization")
def instance_normalization(x: Any, scale: Any, b: Any, *, epsilon: float = 1e-5) -> Any:
    """x normalized over all places, for each example and channel, scaled and shifted."""
    made = standardized(x, tuple(range(2, x.ndim)), epsilon)
    return made * along_channels(scale, x.ndim) + along_channels(b, x.ndim)


def standardized(x: Any, axes: Any, epsilon: float) -> Any:
    """x less its mean along axes, over its deviation there."""
    middle = x - tnp.mean(x, axes, keepdims=True)
    return middle / tnp.sqrt(tnp.mean(middle * middle, axes, keepdims=True) + epsilon)


def layer_normalized(
    x: Any, scale: Any, b: Any, axis: int, epsilon: float, dtype: Any = np.float32
) -> tuple[Any, Any, Any]:
    """x normalized from an axis on, scaled and shifted; the mean, and one over the deviation."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = tnp.astype(x, dtype)
    mean = tnp.mean(wide, axes, keepdims=True)
    middle = wide - mean
    inverse = 1 / tnp.sqrt(tnp.mean(middle * middle, axes, keepdims=True) + epsilon)
    normal = tnp.astype(middle * inverse, x.dtype)
    made = normal if scale is None else normal * scale
    return made if b is None else made + b, mean, inverse


@operator("LayerNormalization", since=1)
def layer_normalization(
    x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """x normalized from an axis on, scaled and shifted; the mean, and one over the deviation."""
    wide = np.float32 if stash_type == 1 and x.dtype != np.float64 else x.dtype
    return layer_normalized(x, scale, b, axis, epsilon, wide)


@operator("RMSNormalization", since=23)
def rms_normalization(
    x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """x over the root of the mean of its squares from an axis on, scaled."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = tnp.astype(x, np.float32) if x.dtype != np.float64 else x
    root = tnp.sqrt(tnp.mean(wide * wide, axes, keepdims=True) + epsilon)
    return tnp.astype(wide / root, x.dtype) * scale


@operator("GroupNormalization", since=18)
def group_normalization(
    x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1,
    node: Call,
) -> Any:  # fmt: skip
    """x normalized over all places and a group of channels, scaled and shifted."""
    n, channels, *sizes = x.shape
    grouped = tnp.reshape(x, (n, num_groups, channels // num_groups, *sizes))
    wide = tnp.astype(grouped, np.float32) if x.dtype != np.float64 else grouped
    normal = standardized(wide, tuple(range(2, grouped.ndim)), epsilon)
    normal = tnp.astype(normal, x.dtype)
    if node.version < 21:  # one number for each group
        made = normal * along_channels(scale, grouped.ndim) + along_channels(bias, grouped.ndim)
        return tnp.reshape(made, x.shape)
    made = tnp.reshape(normal, x.shape)
    return made * along_channels(scale, x.ndim) + along_channels(bias, x.ndim)


@operator("LRN")
def local_response(
    x: Any, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int
) -> Any:
    """x over a power of the sum of squares of neighbouring channels."""
    dimensions = [WindowDimension(1)] * x.ndim
    dimensions[1] = WindowDimension(size, 1, (size - 1) // 2, size - 1 - (size - 1) // 2)
    total = reduce_window(as_tensor(x * x), "add", 0, Window(tuple(dimensions)))
    return x / (bias + total * (alpha / size)) ** beta


@operator("MeanVarianceNormalization", since=9)
def mean_variance(x: Any, *, axes: Any = (0, 2, 3)) -> Any:
    """x less its mean over its deviation along axes."""
    middle = x - tnp.mean(x, tuple(axes), keepdims=True)
    deviation = tnp.sqrt(tnp.mean(middle * middle, tuple(axes), keepdims=True))
    return middle / (deviation + 1e-9)
