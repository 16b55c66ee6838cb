"""Losses, dropout, and steps of optimizers."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.onnx.table import operator


def _reduced(losses: Any, weights: Any, reduction: str) -> Any:
    """Losses of single elements, their sum, or their weighted mean."""
    if reduction == "none":
        return losses
    total = tnp.sum(losses)
    return total if reduction == "sum" else total / tnp.sum(weights)


def _likelihood(
    scores: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str
) -> Any:
    """The negated score of each target class along axis 1, weighted by class."""
    counted = tnp.ones(target.shape, np.bool_) if ignore_index is None else target != ignore_index
    places = tnp.where(counted, target, 0)
    found = tnp.take_along_axis(scores, tnp.expand_dims(places, 1), 1)
    weights = tnp.astype(counted, scores.dtype)
    if weight is not None:
        weights = weights * tnp.take(weight, places, 0, mode="clip")
    losses = tnp.where(counted, -tnp.squeeze(found, 1), 0) * weights
    return _reduced(losses, weights, reduction)


@operator("NegativeLogLikelihoodLoss", since=12)
def likelihood_loss(
    scores: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The loss of log probabilities along axis 1 for classes."""
    return _likelihood(scores, target, weight, ignore_index, reduction)


@operator("SoftmaxCrossEntropyLoss", since=12)
def cross_entropy_loss(
    scores: Any, labels: Any, weights: Any = None, *, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The loss of scores along axis 1 for classes; and the log probabilities."""
    logarithms = nn.log_softmax(scores, 1)
    return _likelihood(logarithms, labels, weights, ignore_index, reduction), logarithms


_PREVIEW = "ai.onnx.preview.training"


def _per_array(inputs: tuple[Any, ...], kinds: int) -> list[tuple[Any, ...]]:
    """Of each array that is optimized what belongs to it: itself, its gradient, its state."""
    count = len(inputs) // kinds
    return [tuple(inputs[k * count + i] for k in range(kinds)) for i in range(count)]


def _transposed(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(v for column in zip(*rows) for v in column)


@operator("Adagrad", domain=_PREVIEW)
def adagrad(
    r: Any, t: Any, *inputs: Any, decay_factor: float = 0.0, epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
) -> Any:  # fmt: skip
    """A step by gradients over the root of the sum of their squares."""
    rate = r / (1 + tnp.astype(t, r.dtype) * decay_factor)
    rows = []
    for x, g, h in _per_array(inputs, 3):
        g = norm_coefficient * x + g
        h = h + g * g
        rows.append((x - rate * g / (tnp.sqrt(h) + epsilon), h))
    return _transposed(rows)


@operator("Momentum", domain=_PREVIEW)
def momentum(
    r: Any, t: Any, *inputs: Any, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> Any:
    """A step by a running total of gradients, Nesterov's or the plain one."""
    rows = []
    for x, g, v in _per_array(inputs, 3):
        g = norm_coefficient * x + g
        factor = tnp.where(t > 0, beta, 1.0)
        v = alpha * v + tnp.astype(factor, v.dtype) * g
        step = g + alpha * v if mode == "nesterov" else v
        rows.append((x - r * step, v))
    return _transposed(rows)


@operator("Adam", domain=_PREVIEW)
def adam(
    r: Any, t: Any, *inputs: Any, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 0.0,
    norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    """A step by running means of gradients and of their squares."""
    rows = []
    time = tnp.astype(t, r.dtype)
    corrected = r * tnp.sqrt(1 - beta**time) / (1 - alpha**time)
    rate = tnp.where(t > 0, corrected, r)
    for x, g, v, h in _per_array(inputs, 4):
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        x = x - rate * v / (tnp.sqrt(h) + epsilon)
        rows.append(((1 - norm_coefficient_post) * x, v, h))
    return _transposed(rows)
