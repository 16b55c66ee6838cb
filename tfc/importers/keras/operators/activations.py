"""Activations: as options of other layers, and as layers."""

from collections.abc import Callable, Mapping
from typing import Any

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import serialized
from tfc.importers.keras.table import Use, always, layer


def old_hard_sigmoid(x: Any) -> Any:
    """What hard_sigmoid was before Keras 3."""
    return tnp.clip(0.2 * x + 0.5, 0, 1)


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return tnp.clip(x / 6 + 0.5, 0, 1)


def sparsemax(x: Any, axis: int = -1) -> Any:
    """The nearest point of the simplex of probabilities, with the threshold that Keras has.

    That is of the sum of all leading sums, where the last of them is meant.
    """
    moved = tnp.moveaxis(x, axis, -1)
    ordered = tnp.flip(tnp.sort(moved, axis=-1), axis=-1)
    places = tnp.arange(1, ordered.shape[-1] + 1).astype(x.dtype)
    sums = tnp.cumsum(ordered, axis=-1)
    inside = (ordered - (sums - 1) / places > 0).astype(x.dtype)
    count = tnp.sum(inside, axis=-1, keepdims=True)
    threshold = (tnp.sum(sums * inside, axis=-1, keepdims=True) - 1) / count
    return tnp.moveaxis(tnp.maximum(moved - threshold, 0), -1, axis)


def relu(x: Any, negative_slope: float = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    """x above a threshold and up to the greatest value; below, a slope that is 0 there."""
    kept = tnp.where(x > threshold, x, tnp.zeros_like(x)) if threshold else nn.relu(x)
    if max_value is not None:
        kept = tnp.clip(kept, 0, max_value)
    if negative_slope:
        kept = kept - negative_slope * nn.relu(threshold - x)
    return kept


def shrunk(x: Any, threshold: float = 0.5) -> Any:
    """x where its size is beyond a threshold, else 0."""
    return tnp.where(tnp.absolute(x) > threshold, x, tnp.zeros_like(x))


def soft_shrunk(x: Any, threshold: float = 0.5) -> Any:
    """x moved towards 0 by a threshold."""
    return nn.relu(x - threshold) - nn.relu(-x - threshold)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linear": lambda x: x, "relu": relu, "relu6": nn.relu6, "sigmoid": nn.sigmoid,
    "tanh": tnp.tanh, "softmax": nn.softmax, "log_softmax": nn.log_softmax, "elu": nn.elu,
    "selu": nn.selu, "celu": nn.celu, "softplus": nn.softplus, "softsign": nn.soft_sign,
    "silu": nn.silu, "swish": nn.silu, "exponential": tnp.exp, "mish": nn.mish,
    "gelu": lambda x, approximate=False: nn.gelu(x, approximate), "glu": nn.glu,
    "leaky_relu": lambda x, negative_slope=0.2: nn.leaky_relu(x, negative_slope),
    "hard_sigmoid": hard_sigmoid, "log_sigmoid": nn.log_sigmoid,
    "hard_silu": lambda x: x * hard_sigmoid(x), "hard_swish": lambda x: x * hard_sigmoid(x),
    "hard_tanh": nn.hard_tanh, "tanh_shrink": lambda x: x - tnp.tanh(x), "hard_shrink": shrunk,
    "soft_shrink": soft_shrunk, "squareplus": nn.squareplus, "sparse_plus": nn.sparse_plus,
    "sparse_sigmoid": nn.sparse_sigmoid, "sparsemax": sparsemax,
}  # fmt: skip


def activated(use: Use, activation: Any, x: Any) -> Any:
    """An activation, as a config states it, of an array.

    Raises:
        UnsupportedError: it is a function of the user's, or another that is not known.
    """
    if activation is None:
        return x
    if isinstance(activation, Mapping):
        class_name, config = serialized(activation)
        if class_name in LAYERS:
            options = {k: v for k, v in dict(config or {}).items() if k not in _COMMON}
            return LAYERS[class_name](use, x, **options)
        activation = config.get("name") if isinstance(config, Mapping) else config
    if activation == "softmax" and x.ndim < 2:
        raise UnsupportedError("softmax of an array of one dimension is not supported")
    if use.is_old and activation == "hard_sigmoid":
        return old_hard_sigmoid(x)
    function = FUNCTIONS.get(activation) if isinstance(activation, str) else None
    if function is None:
        raise UnsupportedError(
            f"the activation {str(activation)[:60]!r} of the layer '{use.layer.name}' is not "
            "supported: its code is not in the file"
        )
    return function(x)


_COMMON = ("name", "trainable", "dtype", "batch_input_shape")


@layer("Activation", mask="passes")
def activation(use: Use, x: Any, *, activation: Any) -> Any:
    """A function by its name."""
    return activated(use, activation, x)


@layer("ReLU", mask="passes")
def relu_layer(
    use: Use, x: Any, *, max_value: Any = None, negative_slope: float = 0.0, threshold: float = 0.0
) -> Any:
    """relu, with its options."""
    most = None if max_value is None else _number(max_value)
    return relu(x, _number(negative_slope or 0.0), most, _number(threshold or 0.0))


@layer("LeakyReLU", mask="passes")
def leaky_relu(use: Use, x: Any, *, negative_slope: Any = None, alpha: Any = None) -> Any:
    """x above 0, and a slope of it below."""
    slope = alpha if negative_slope is None else negative_slope
    return nn.leaky_relu(x, 0.3 if slope is None else _number(slope))


@layer("ELU", mask="passes")
def elu(use: Use, x: Any, *, alpha: Any = 1.0) -> Any:
    """x above 0, and alpha · (exp(x) - 1) below."""
    return nn.elu(x, _number(alpha))


@layer("ThresholdedReLU", mask="passes")
def thresholded(use: Use, x: Any, *, theta: Any = 1.0) -> Any:
    """x above a threshold, else 0."""
    return tnp.where(x > _number(theta), x, tnp.zeros_like(x))


@layer("PReLU", variables=always("alpha"), mask="passes")
def prelu(use: Use, x: Any, *, shared_axes: Any = None) -> Any:
    """x above 0, and slopes that were learned of it below."""
    return nn.relu(x) - use["alpha"] * nn.relu(-x)


@layer("Softmax", mask="passes")
def softmax(use: Use, x: Any, *, axis: Any = -1) -> Any:
    """softmax along axes, over what the mask shows."""
    return masked_softmax(x, use.mask, axis)


def masked_softmax(x: Any, mask: Any, axis: Any = -1) -> Any:
    """softmax over what a mask shows, and 0 elsewhere; a mask is broadcast from the last axis."""
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    if mask is None:
        return nn.softmax(x, axes)
    low = -3e4 if x.dtype.name == "float16" else -1e9
    shown = mask.astype(bool)
    made = nn.softmax(tnp.where(shown, x, tnp.full_like(x, low)), axes)
    return tnp.where(shown, made, tnp.zeros_like(made))


def _number(value: Any) -> float:
    """A number, also as old files have it: an array that is written out."""
    return float(value["value"]) if isinstance(value, Mapping) else float(value)


LAYERS: dict[str, Callable[..., Any]] = {
    "ReLU": relu_layer, "LeakyReLU": leaky_relu, "ELU": elu, "Softmax": softmax,
    "ThresholdedReLU": thresholded,
}  # fmt: skip
