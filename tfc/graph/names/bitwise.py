"""`tf.bitwise`: functions of the bits of integers."""

# ruff: noqa: F401

from tfc.graph.functions.blocks import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    right_shift,
)
