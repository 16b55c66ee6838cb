"""Normalizations, with the statistics that were learned, or with those of each example."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.keras.table import Use, is_float, layer


def wide(x: Any) -> Any:
    """An array in at least f32, which normalizations compute in."""
    return x if is_float(x) and x.dtype.itemsize >= 4 else x.astype(np.float32)


def axes_of(axis: Any, ndim: int) -> list[int]:
    """Axes in order, none of them negative."""
    listed = axis if isinstance(axis, (list, tuple)) else [axis]
    return sorted(int(a) % ndim for a in listed)


def along(vector: Any, x: Any, axes: Sequence[int]) -> Any:
    """A weight for some axes of an array, with the array's dimensions."""
    dims = [x.shape[d] if d in axes else 1 for d in range(x.ndim)]
    return tnp.reshape(vector.astype(x.dtype), tuple(dims))


def _scaled(*names: str) -> Any:
    """Variables gamma and beta where the config has them, and others that are not trained."""

    def found(layer: Layer) -> list[Variable]:
        config = layer.config
        rms = bool(config.get("rms_scaling"))
        own = [Variable("gamma")] if config.get("scale", True) or rms else []
        own += [Variable("beta")] if config.get("center", True) and not rms else []
        return own + [Variable(name, False) for name in names]

    return found


def _affine(use: Use, x: Any, axes: Sequence[int]) -> Any:
    """gamma · x + beta, as far as there are such weights."""
    gamma, beta = use.exact("gamma"), use.exact("beta")
    made = x if gamma is None else x * along(gamma, x, axes)
    return made if beta is None else made + along(beta, x, axes)


@layer("BatchNormalization", variables=_scaled("moving_mean", "moving_variance"), mask="passes",
       casts=False, remark="with the moving statistics; renorm is refused")  # fmt: skip
def batch_normalization(
    use: Use, x: Any, training: bool = False, *, axis: Any = -1, momentum: Any = None,
    epsilon: float = 1e-3, center: bool = True, scale: bool = True, renorm: bool = False,
    renorm_clipping: Any = None, renorm_momentum: Any = None, virtual_batch_size: Any = None,
    fused: Any = None, mode: Any = 0,
) -> Any:  # fmt: skip
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta.

    Raises:
        UnsupportedError: it renormalizes, or is called as while training.
    """
    if training or renorm or mode:
        raise UnsupportedError(f"'{use.layer.name}' normalizes with statistics of the batch")
    array = wide(x)
    axes = axes_of(axis, x.ndim)
    mean, variance = (along(use.exact(n), array, axes) for n in ("moving_mean", "moving_variance"))
    factor = 1 / tnp.sqrt(variance + epsilon)
    gamma, beta = use.exact("gamma"), use.exact("beta")
    factor = factor if gamma is None else factor * along(gamma, array, axes)
    shift = -mean * factor if beta is None else along(beta, array, axes) - mean * factor
    return (array * factor + shift).astype(use.dtype)


@layer("LayerNormalization", variables=_scaled(), mask="passes", casts=False)
def layer_normalization(
    use: Use, x: Any, *, axis: Any = -1, epsilon: float = 1e-3, center: bool = True,
    scale: bool = True, rms_scaling: bool = False,
) -> Any:  # fmt: skip
    """Each example with mean 0 and variance 1 along axes."""
    array = wide(x.astype(use.dtype))
    axes = axes_of(axis, x.ndim)
    variance = tnp.var(array, axis=tuple(axes), keepdims=True)
    if not rms_scaling:
        array = array - tnp.mean(array, axis=tuple(axes), keepdims=True)
    return _affine(use, array / tnp.sqrt(variance + epsilon), axes).astype(use.dtype)


@layer("GroupNormalization", variables=_scaled(), mask="passes", casts=False)
def group_normalization(
    use: Use, x: Any, *, groups: int = 32, axis: Any = -1, epsilon: float = 1e-3,
    center: bool = True, scale: bool = True,
) -> Any:  # fmt: skip
    """Each group of channels of each example with mean 0 and variance 1."""
    array = wide(x)
    (place,) = axes_of(axis, x.ndim)
    moved = tnp.moveaxis(array, place, -1)
    count = moved.shape[-1] if groups == -1 else groups
    parts = tnp.reshape(moved, (*moved.shape[:-1], count, moved.shape[-1] // count))
    over = (*range(1, parts.ndim - 2), parts.ndim - 1)
    parts = parts - tnp.mean(parts, axis=over, keepdims=True)
    parts = parts / tnp.sqrt(tnp.var(parts, axis=over, keepdims=True) + epsilon)
    made = tnp.moveaxis(tnp.reshape(parts, moved.shape), -1, place)
    return _affine(use, made, [place]).astype(use.dtype)


def _rms_variables(layer: Layer) -> list[Variable]:
    return [Variable("scale")]


@layer("RMSNormalization", variables=_rms_variables)
def rms_normalization(use: Use, x: Any, *, axis: Any = -1, epsilon: float = 1e-6) -> Any:
    """Each example over the root of its mean square along axes."""
    array = wide(x)
    axes = axes_of(axis, x.ndim)
    mean = tnp.mean(array * array, axis=tuple(axes), keepdims=True)
    made = array / tnp.sqrt(mean + epsilon)
    return (made * along(use.exact("scale"), made, axes)).astype(use.dtype)


@layer("UnitNormalization", mask="passes")
def unit_normalization(use: Use, x: Any, *, axis: Any = -1) -> Any:
    """Each example over its length along axes."""
    axes = tuple(axes_of(axis, x.ndim))
    return x / tnp.sqrt(tnp.maximum(tnp.sum(x * x, axis=axes, keepdims=True), 1e-12))


def _normalization_variables(layer: Layer) -> list[Variable]:
    if layer.config.get("mean") is not None or layer.config.get("input_mean") is not None:
        return []
    return [Variable(n, False) for n in ("mean", "variance", "count")]


@layer("Normalization", variables=_normalization_variables, mask="passes")
def feature_normalization(
    use: Use, x: Any, *, axis: Any = -1, mean: Any = None, variance: Any = None,
    invert: bool = False, input_mean: Any = None, input_variance: Any = None,
) -> Any:  # fmt: skip
    """Features with the mean and the variance that were found in the data."""
    listed = axis if isinstance(axis, (list, tuple)) else [] if axis is None else [axis]
    axes = sorted(int(a) % x.ndim for a in listed)
    stated = [mean if mean is not None else input_mean,
              variance if variance is not None else input_variance]  # fmt: skip
    if stated[0] is None:
        both = [use["mean"], use["variance"]]
    else:
        both = [tnp.asarray(np.asarray(v, np.float32).astype(use.dtype)) for v in stated]
    middle, spread = (_over(v, x, axes) for v in both)
    array = x.astype(use.dtype)
    deviation = tnp.maximum(tnp.sqrt(spread), 1e-7)
    return middle + array * deviation if invert else (array - middle) / deviation


def _over(vector: Any, x: Any, axes: Sequence[int]) -> Any:
    """Statistics for axes of an array, or one for all, with its dimensions."""
    if vector.size == 1:
        return tnp.reshape(vector, ())
    return along(vector, x, axes) if axes else vector
