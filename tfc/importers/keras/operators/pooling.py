"""Pooling over windows, over everything, and into a given number of places."""

from typing import Any

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.keras.operators.convolutions import (
    channels_back,
    channels_last,
    is_first,
    numbers,
)
from tfc.importers.keras.table import Use, layer


def _pooled(function: Any, x: Any, pool_size: Any, strides: Any, padding: str, order: Any) -> Any:
    array = channels_last(x, order)
    rank = array.ndim - 2
    window = numbers(pool_size, rank)
    steps = window if strides is None else numbers(strides, rank)
    return channels_back(function(array, window, steps, padding.upper()), order)


@layer("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D")
def max_pooling(use: Use, x: Any, *, pool_size: Any = 2, strides: Any = None,
                padding: str = "valid", data_format: Any = None) -> Any:  # fmt: skip
    """The largest element of each window."""
    return _pooled(nn.max_pool, x, pool_size, strides, padding, data_format)


@layer("AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "AvgPool1D", "AvgPool2D",
       "AvgPool3D")  # fmt: skip
def average_pooling(use: Use, x: Any, *, pool_size: Any = 2, strides: Any = None,
                    padding: str = "valid", data_format: Any = None) -> Any:  # fmt: skip
    """The mean of each window, without what is padded."""
    return _pooled(nn.avg_pool, x, pool_size, strides, padding, data_format)


def _spatial(x: Any, data_format: Any) -> tuple[int, ...]:
    return tuple(range(2, x.ndim)) if is_first(data_format) else tuple(range(1, x.ndim - 1))


@layer("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "GlobalMaxPool1D",
       "GlobalMaxPool2D", "GlobalMaxPool3D")  # fmt: skip
def global_max(use: Use, x: Any, *, data_format: Any = None, keepdims: bool = False) -> Any:
    """The largest element of each channel."""
    return tnp.max(x, axis=_spatial(x, data_format), keepdims=bool(keepdims))


@layer("GlobalAveragePooling2D", "GlobalAveragePooling3D", "GlobalAvgPool2D", "GlobalAvgPool3D")
def global_average(use: Use, x: Any, *, data_format: Any = None, keepdims: bool = False) -> Any:
    """The mean of each channel."""
    return tnp.mean(x, axis=_spatial(x, data_format), keepdims=bool(keepdims))


@layer("GlobalAveragePooling1D", "GlobalAvgPool1D")
def global_average_steps(
    use: Use, x: Any, *, data_format: Any = None, keepdims: bool = False
) -> Any:
    """The mean over the steps, or over those that the mask shows."""
    if use.mask is None:
        return global_average(use, x, data_format=data_format, keepdims=keepdims)
    axis = 2 if is_first(data_format) else 1
    shown = tnp.expand_dims(use.mask.astype(x.dtype), 1 if is_first(data_format) else 2)
    total = tnp.sum(x * shown, axis=axis, keepdims=bool(keepdims))
    return total / tnp.sum(shown, axis=axis, keepdims=bool(keepdims))


@layer("AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D")
def adaptive_average(use: Use, x: Any, *, output_size: Any, data_format: Any = None) -> Any:
    """The means of so many parts of each dimension."""
    array = channels_last(x, data_format)
    made = nn.adaptive_avg_pool(array, numbers(output_size, array.ndim - 2))
    return channels_back(made, data_format)


@layer("AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D")
def adaptive_max(use: Use, x: Any, *, output_size: Any, data_format: Any = None) -> Any:
    """The largest elements of so many parts of each dimension."""
    array = channels_last(x, data_format)
    made = nn.adaptive_max_pool(array, numbers(output_size, array.ndim - 2))
    return channels_back(made, data_format)
