"""`tf.losses`: weighted means of losses, which are kept in a collection."""

from collections.abc import Callable
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.functions.arithmetic import (
    abs as absolute,
)
from tfc.graph.functions.arithmetic import (
    add,
    add_n,
    cast,
    div_no_nan,
    log,
    multiply,
    negative,
    squared_difference,
    subtract,
)
from tfc.graph.functions.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from tfc.graph.functions.reductions import reduce_sum
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.variables.keys import GraphKeys


class Reduction:
    """What becomes of the losses of single elements."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The losses times weights, summed or averaged, as one more of the collection.

    Args:
        weights: one, or what broadcasts to the losses.
        reduction: what the sum is divided by: see `Reduction`.
    """
    with get_default_graph().name_scope(scope or "weighted_loss"):
        given = convert_to_tensor(losses)
        weight = cast(convert_to_tensor(weights), given.dtype)
        weighted = multiply(given, weight)
        if reduction == Reduction.NONE:
            made = weighted
        else:
            made = reduce_sum(weighted)
            spread = multiply(result("OnesLike", given), weight)
            if reduction == Reduction.MEAN:
                made = div_no_nan(made, reduce_sum(spread))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                made = div_no_nan(made, reduce_sum(result("OnesLike", given)))
            elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                present = cast(result("NotEqual", spread, constant(0, given.dtype)), given.dtype)
                made = div_no_nan(made, reduce_sum(present))
            elif reduction != Reduction.SUM:
                raise ShapeError(f"a reduction is one of tf.losses.Reduction, got {reduction!r}")
        if loss_collection:
            get_default_graph().add_to_collection(loss_collection, made)
        return made


def _pairs(
    called: str, each: Callable[[Tensor, Tensor], Tensor], what: str
) -> Callable[..., Tensor]:
    """A loss of labels and predictions of one shape."""

    def function(
        labels: Any,
        predictions: Any,
        weights: Any = 1.0,
        scope: str | None = None,
        loss_collection: Any = GraphKeys.LOSSES,
        reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    ) -> Tensor:
        with get_default_graph().name_scope(scope or called):
            made = convert_to_tensor(predictions)
            made = made if made.dtype.is_floating else cast(made, "float32")
            wanted = cast(labels, made.dtype)
            made.shape.assert_is_compatible_with(wanted.shape)
            return compute_weighted_loss(
                each(wanted, made), weights, None, loss_collection, reduction
            )

    function.__name__ = called
    function.__doc__ = what
    return function


def _log_loss(labels: Tensor, made: Tensor) -> Tensor:
    small = 1e-7
    of_ones = multiply(labels, log(add(made, small)))
    of_zeros = multiply(subtract(1.0, labels), log(add(subtract(1.0, made), small)))
    return negative(add(of_ones, of_zeros))


def _hinge(labels: Tensor, made: Tensor) -> Tensor:
    signs = subtract(multiply(2.0, labels), 1.0)
    return result("Relu", subtract(1.0, multiply(signs, made)))


def _huber(labels: Tensor, made: Tensor) -> Tensor:
    size = absolute(subtract(made, labels))
    near = result("Minimum", size, constant(1.0, size.dtype))
    return add(multiply(0.5, multiply(near, near)), subtract(size, near))


mean_squared_error = _pairs("mean_squared_error", squared_difference, "Means of squares.")
absolute_difference = _pairs(
    "absolute_difference", lambda x, y: absolute(subtract(y, x)), "Means of absolute differences."
)
log_loss = _pairs("log_loss", _log_loss, "Cross entropies of probabilities.")
hinge_loss = _pairs("hinge_loss", _hinge, "What is left to a margin of 1; labels are 0 or 1.")
huber_loss = _pairs("huber_loss", _huber, "Squares of small differences, sizes of large ones.")


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Cross entropies of the softmax of logits; the labels are constants to gradients."""
    with get_default_graph().name_scope(scope or "softmax_cross_entropy_loss"):
        x = convert_to_tensor(logits)
        labels = cast(onehot_labels, x.dtype)
        if label_smoothing > 0:
            classes = x.shape[-1].value
            if classes is None:
                raise ShapeError("label_smoothing needs a known number of classes")
            labels = add(multiply(labels, 1.0 - label_smoothing), label_smoothing / classes)
        labels = result("StopGradient", labels)
        each = softmax_cross_entropy_with_logits_v2(labels=labels, logits=x)
        return compute_weighted_loss(each, weights, None, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Cross entropies of the softmax of logits; the labels are classes, a number each."""
    with get_default_graph().name_scope(scope or "sparse_softmax_cross_entropy_loss"):
        x, given = convert_to_tensor(logits), convert_to_tensor(labels)
        rank = x.shape.ndims
        if rank is not None and given.shape.ndims == rank and given.shape[-1] == 1:
            given = result("Squeeze", given, squeeze_dims=[-1])
        each = sparse_softmax_cross_entropy_with_logits(labels=given, logits=x)
        return compute_weighted_loss(each, weights, None, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Cross entropies of the sigmoids of logits."""
    with get_default_graph().name_scope(scope or "sigmoid_cross_entropy_loss"):
        x = convert_to_tensor(logits)
        labels = cast(multi_class_labels, x.dtype)
        if label_smoothing > 0:
            labels = add(multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing)
        each = sigmoid_cross_entropy_with_logits(labels=labels, logits=x)
        return compute_weighted_loss(each, weights, None, loss_collection, reduction)


def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Add a loss to the collection."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """The losses of the collection."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """What regularizers of variables add."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_loss") -> Tensor:
    """The sum of what regularizers of variables add."""
    found = get_regularization_losses(scope)
    return add_n(found, name) if found else constant(0.0)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """The sum of all losses, and of what regularizers add."""
    found = get_losses()
    if add_regularization_losses:
        found += get_regularization_losses()
    return add_n(found, name)
