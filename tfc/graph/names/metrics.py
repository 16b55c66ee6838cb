"""`tf.metrics`: how good predictions are, over several runs."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.functions.metrics import (
    accuracy, false_negatives, false_positives, mean, mean_absolute_error, mean_squared_error,
    precision, recall, root_mean_squared_error, true_negatives, true_positives,
)
# fmt: on
# isort: on
