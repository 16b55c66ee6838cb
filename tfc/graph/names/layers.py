"""`tf.layers`: layers with variables of their own."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.functions.layers import (
    BatchNormalization, Conv2D, Dense, Layer, average_pooling2d, batch_normalization, conv2d, dense,
    dropout, flatten, max_pooling2d,
)
# fmt: on
# isort: on
