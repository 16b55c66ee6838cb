"""`tf.losses`: weighted means of losses, which are kept in a collection."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.functions.losses import (
    Reduction, absolute_difference, add_loss, compute_weighted_loss, get_losses,
    get_regularization_loss, get_regularization_losses, get_total_loss, hinge_loss, huber_loss,
    log_loss, mean_squared_error, sigmoid_cross_entropy, softmax_cross_entropy,
    sparse_softmax_cross_entropy,
)
# fmt: on
# isort: on
