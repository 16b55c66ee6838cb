"""Activation functions."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn, special
from tfc.importers.onnx.table import operator

_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


@operator("Relu")
def relu(x: Any) -> Any:
    """x where it is positive, else 0."""
    return tnp.maximum(x, np.zeros((), x.dtype))


@operator("LeakyRelu")
def leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    """x, times alpha where it is negative."""
    return tnp.where(x < 0, x * alpha, x)


@operator("PRelu", since=7)
def parametric_relu(x: Any, slope: Any) -> Any:
    """x, times a slope of its own where it is negative."""
    if slope.ndim == 1 and x.ndim > 1 and slope.shape[0] == x.shape[1] != x.shape[-1]:
        slope = tnp.reshape(slope, (-1, *[1] * (x.ndim - 2)))
    return tnp.where(x < 0, x * slope, x)


@operator("ThresholdedRelu")
def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    """x where it is above alpha, else 0."""
    return tnp.where(x > alpha, x, np.zeros((), x.dtype))


@operator("Elu")
def elu(x: Any, *, alpha: float = 1.0) -> Any:
    """x, and alpha·(eˣ − 1) where it is negative."""
    return tnp.where(x < 0, alpha * tnp.expm1(tnp.minimum(x, 0)), x)


@operator("Celu", since=12)
def celu(x: Any, *, alpha: float = 1.0) -> Any:
    """max(0, x) + min(0, alpha·(e^(x/alpha) − 1))."""
    return tnp.where(x < 0, alpha * tnp.expm1(tnp.minimum(x, 0) / alpha), x)


@operator("Selu")
def selu(x: Any, *, alpha: float = _SELU_ALPHA, gamma: float = _SELU_GAMMA) -> Any:
    """The scaled exponential linear unit."""
    return gamma * tnp.where(x <= 0, alpha * tnp.expm1(tnp.minimum(x, 0)), x)


@operator("Sigmoid")
def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ)."""
    return nn.sigmoid(x)


@operator("Tanh")
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return tnp.tanh(x)


@operator("HardSigmoid")
def hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    """alpha·x + beta between 0 and 1."""
    return tnp.clip(x * alpha + beta, 0, 1)


@operator("HardSwish", since=14)
def hard_swish(x: Any) -> Any:
    """x · hard_sigmoid(x) with a slope of 1/6."""
    return x * tnp.clip(x * (1 / 6) + 0.5, 0, 1)


@operator("Swish", since=24)
def swish(x: Any, *, alpha: float = 1.0) -> Any:
    """x · sigmoid(alpha·x)."""
    return x * nn.sigmoid(x * alpha)


@operator("Mish", since=18)
def mish(x: Any) -> Any:
    """x · tanh(softplus(x))."""
    return x * tnp.tanh(nn.softplus(x))


@operator("Softplus")
def softplus(x: Any) -> Any:
    """log(1 + eˣ)."""
    return nn.softplus(x)


@operator("Softsign")
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (1 + tnp.absolute(x))


@operator("Gelu", since=20)
def gelu(x: Any, *, approximate: str = "none") -> Any:
    """x times the normal distribution at x, or its approximation by tanh."""
    if approximate == "tanh":
        return 0.5 * x * (1 + tnp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + special.erf(x * 0.7071067811865476))


@operator("Shrink", since=9)
def shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    """x nearer to 0 by a bias where it is further than lambd from it, else 0."""
    zero = np.zeros((), x.dtype)
    moved = tnp.where(x > lambd, x - bias, zero)
    return tnp.astype(tnp.where(x < -lambd, x + bias, moved), x.dtype)


def _flattened(function: Any, x: Any, axis: int) -> Any:
    """A function of rows, on an array seen as a matrix that is split at an axis."""
    axis = axis % x.ndim if x.ndim else 0
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    made = function(tnp.reshape(x, (rows, int(np.prod(x.shape[axis:], dtype=np.int64)))), -1)
    return tnp.reshape(made, x.shape)


@operator("Softmax", since=13)
def softmax(x: Any, *, axis: int = -1) -> Any:
    """The softmax along an axis."""
    return nn.softmax(x, axis)


@operator("Softmax", until=12)
def softmax_of_rows(x: Any, *, axis: int = 1) -> Any:
    """The softmax over all dimensions from an axis on."""
    return _flattened(nn.softmax, x, axis)


@operator("LogSoftmax", since=13)
def log_softmax(x: Any, *, axis: int = -1) -> Any:
    """The logarithm of the softmax along an axis."""
    return nn.log_softmax(x, axis)


@operator("LogSoftmax", until=12)
def log_softmax_of_rows(x: Any, *, axis: int = 1) -> Any:
    """The logarithm of the softmax over all dimensions from an axis on."""
    return _flattened(nn.log_softmax, x, axis)


def hardmax(x: Any, axis: int) -> Any:
    """1 at the first largest element along an axis, 0 elsewhere."""
    return tnp.astype(nn.one_hot(tnp.argmax(x, axis), x.shape[axis], axis=axis), x.dtype)


@operator("Hardmax", since=13)
def hardmax_along(x: Any, *, axis: int = -1) -> Any:
    """1 at the first largest element along an axis, 0 elsewhere."""
    return hardmax(x, axis % x.ndim)


@operator("Hardmax", until=12)
def hardmax_of_rows(x: Any, *, axis: int = 1) -> Any:
    """1 at the first largest element of all dimensions from an axis on, 0 elsewhere."""
    return _flattened(lambda rows, along: hardmax(rows, along % rows.ndim), x, axis)
