"""Losses, whose elements are summed or averaged."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn, special
from tfc.errors import UnsupportedError
from tfc.importers.torch.table import cast, composite

_NONE, _MEAN, _SUM = 0, 1, 2  # torch's numbers for what is done with the elements


def _reduced(elements: Any, reduction: int) -> Any:
    if reduction == _NONE:
        return elements
    return tnp.mean(elements) if reduction == _MEAN else tnp.sum(elements)


@composite("mse_loss.default")
def mse_loss(x: Any, target: Any, reduction: int = _MEAN) -> Any:
    """The squares of the differences."""
    return _reduced(tnp.square(x - target), reduction)


@composite("l1_loss.default")
def l1_loss(x: Any, target: Any, reduction: int = _MEAN) -> Any:
    """The sizes of the differences."""
    return _reduced(tnp.absolute(x - target), reduction)


@composite("smooth_l1_loss.default")
def smooth_l1_loss(x: Any, target: Any, reduction: int = _MEAN, beta: float = 1.0) -> Any:
    """The sizes of the differences, squares where they are small."""
    d = tnp.absolute(x - target)
    small = d * d * 0.5 / beta if beta else d
    return _reduced(tnp.where(d < beta, small, d - 0.5 * beta), reduction)


@composite("huber_loss.default")
def huber_loss(x: Any, target: Any, reduction: int = _MEAN, delta: float = 1.0) -> Any:
    """The squares of the differences, lines where they are large."""
    d = tnp.absolute(x - target)
    return _reduced(tnp.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


@composite("binary_cross_entropy.default")
def binary_cross_entropy(x: Any, target: Any, weight: Any = None, reduction: int = _MEAN) -> Any:
    """The cross entropies of probabilities, of which logarithms are -100 at least."""
    logs = [tnp.maximum(tnp.log(p), -100) for p in (x, 1 - x)]
    found = -(target * logs[0] + (1 - target) * logs[1])
    return _reduced(found if weight is None else found * weight, reduction)


@composite("binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, positive: Any = None, reduction: int = _MEAN
) -> Any:
    """The cross entropies of the sigmoids."""
    scale = 1 if positive is None else 1 + (positive - 1) * target
    found = (1 - target) * x + scale * nn.softplus(-x)
    return _reduced(found if weight is None else found * weight, reduction)


@composite("kl_div.default")
def kl_div(x: Any, target: Any, reduction: int = _MEAN, *, log_target: bool = False) -> Any:
    """The divergences from logarithms of probabilities."""
    if log_target:
        return _reduced(tnp.exp(target) * (target - x), reduction)
    return _reduced(special.xlogy(target, target) - target * x, reduction)


@composite("soft_margin_loss.default")
def soft_margin_loss(x: Any, target: Any, reduction: int = _MEAN) -> Any:
    """log(1 + exp(-target x))."""
    return _reduced(nn.softplus(-target * x), reduction)


@composite("nll_loss_nd.default", "nll_loss.default", "nll_loss2d.default")
def nll_loss(
    x: Any, target: Any, weight: Any = None, reduction: int = _MEAN, ignored: int = -100
) -> Any:
    """The negative elements of classes, whose dimension is the second."""
    axis = 1 if x.ndim > 1 else 0
    classes = x.shape[axis]
    is_seen = target != ignored
    place = tnp.expand_dims(tnp.where(is_seen, target, 0), axis)
    chosen = tnp.squeeze(tnp.take_along_axis(x, place, axis), axis)
    weights = tnp.ones((classes,), x.dtype) if weight is None else weight
    own = tnp.take(weights, tnp.where(is_seen, target, 0)) * cast(is_seen, x.dtype)
    found = -chosen * own
    return tnp.sum(found) / tnp.sum(own) if reduction == _MEAN else _reduced(found, reduction)


@composite("cross_entropy_loss.default")
def cross_entropy(
    x: Any, target: Any, weight: Any = None, reduction: int = _MEAN, ignored: int = -100,
    smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropies of softmaxes over classes, whose dimension is the second."""
    axis = 1 if x.ndim > 1 else 0
    logs = nn.log_softmax(x, axis)
    if np.dtype(target.dtype).kind not in "iu":
        if weight is not None or smoothing:
            raise UnsupportedError("cross_entropy of probabilities has no weights here: scale it")
        found = -tnp.sum(logs * target, axis=axis)
        return tnp.sum(found) / (x.size // x.shape[axis]) if reduction == _MEAN else (
            _reduced(found, reduction))  # fmt: skip
    if smoothing:
        raise UnsupportedError("cross_entropy smooths labels, which is not supported")
    return nll_loss(logs, target, weight, reduction, ignored)
