"""Losses, of each element or example by itself: the mean over a batch is the caller's.

They are computed from logits, so that none overflows or loses what is small. Names are Optax's.
"""

from math import log as log_of

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import absolute, square, where
from tfc.frontend.numpy.comparisons import maximum, minimum
from tfc.frontend.numpy.functions import as_float, log, logaddexp
from tfc.frontend.numpy.manipulation import normalize_axis
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import S64
from tfc.nn.activations import softplus
from tfc.nn.softmax import log_softmax, logsumexp


@evaluable
def softmax_cross_entropy(logits: ArrayLike, labels: ArrayLike, axis: int = -1) -> Tensor:
    """-sum(labels * log(softmax(logits))) along an axis; a label of 0 counts nothing.

    Args:
        labels: probabilities, in the shape of the logits.
    """
    scores = log_softmax(logits, axis)
    shares = cast(as_tensor(labels), scores.dtype)
    is_nothing = (shares == 0) & (scores == -np.inf)
    return -sum(shares * where(is_nothing, ops.full_like(0, scores), scores), axis)


@evaluable
def softmax_cross_entropy_with_integer_labels(
    logits: ArrayLike, labels: ArrayLike, axis: int = -1
) -> Tensor:
    """-log(softmax(logits)) of the class that each label names.

    Args:
        labels: integers, in the shape of the logits less the axis; NaN follows from others than
            those of a class.

    Raises:
        ShapeError: the labels are no integers, or of another shape.
    """
    scores, classes = as_float(logits), as_tensor(labels)
    place = normalize_axis(axis, scores.ndim)
    rest = tuple(n for d, n in enumerate(scores.shape) if d != place)
    if not classes.array_shape.element_type.is_integer or classes.shape != rest:
        raise ShapeError(
            f"softmax_cross_entropy_with_integer_labels requires integers {list(rest)} for logits "
            f"{list(scores.shape)}, got {classes.array_shape.without_layout()}"
        )
    wide = ops.convert(classes, S64)
    outside = (wide < 0) | (wide >= scores.shape[place])
    kept = [d for d in range(scores.ndim) if d != place]
    is_label = ops.compare(
        "EQ", ops.iota(S64, scores.shape, place), ops.broadcast(wide, scores.shape, kept)
    )
    chosen = sum(where(is_label, scores, ops.full_like(0, scores)), place)
    loss = logsumexp(scores, place) - chosen
    return where(outside, ops.full_like(np.nan, loss), loss)


@evaluable
def sigmoid_binary_cross_entropy(logits: ArrayLike, labels: ArrayLike) -> Tensor:
    """-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)).

    Args:
        labels: probabilities, in the shape of the logits.
    """
    x = as_float(logits)
    shares = cast(as_tensor(labels), x.dtype)
    return shares * softplus(-x) + (1 - shares) * softplus(x)


@evaluable
def squared_error(predictions: ArrayLike, targets: ArrayLike | None = None) -> Tensor:
    """(predictions - targets)²; targets of 0 if they are left out."""
    return square(_errors(predictions, targets))


@evaluable
def l2_loss(predictions: ArrayLike, targets: ArrayLike | None = None) -> Tensor:
    """Half of the squared error."""
    return 0.5 * square(_errors(predictions, targets))


@evaluable
def absolute_error(predictions: ArrayLike, targets: ArrayLike | None = None) -> Tensor:
    """|predictions - targets|."""
    return absolute(_errors(predictions, targets))


def _errors(predictions: ArrayLike, targets: ArrayLike | None) -> Tensor:
    found = as_float(predictions)
    return found if targets is None else found - targets


@evaluable
def huber_loss(
    predictions: ArrayLike, targets: ArrayLike | None = None, delta: float = 1.0
) -> Tensor:
    """Half of the squared error up to a distance of delta, and a straight line beyond."""
    size = absolute(_errors(predictions, targets))
    near = minimum(size, ops.full_like(delta, size))
    return 0.5 * square(near) + delta * (size - near)


@evaluable
def log_cosh(predictions: ArrayLike, targets: ArrayLike | None = None) -> Tensor:
    """log(cosh(predictions - targets)) without overflow."""
    error = _errors(predictions, targets)
    return logaddexp(error, -error) - log_of(2)


@evaluable
def hinge_loss(predictor_outputs: ArrayLike, targets: ArrayLike) -> Tensor:
    """max(0, 1 - outputs * targets), for targets of -1 and 1."""
    margin = 1 - as_float(predictor_outputs) * targets
    return maximum(margin, ops.full_like(0, margin))


@evaluable
def kl_divergence(log_predictions: ArrayLike, targets: ArrayLike, axis: int = -1) -> Tensor:
    """sum(targets * (log(targets) - log_predictions)) along an axis; a target of 0 counts nothing.

    Args:
        log_predictions: logarithms of probabilities.
        targets: probabilities.
    """
    scores, shares = as_float(log_predictions), as_float(targets)
    is_zero = shares == 0
    logarithm = log(where(is_zero, ops.full_like(1, shares), shares))
    return sum(where(is_zero, ops.full_like(0, scores), shares * (logarithm - scores)), axis)
