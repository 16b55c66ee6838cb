"""Keras's layers by family; importing this fills the table.

May import the table around it and what importers may.
"""

from tfc.importers.keras.operators import (
    activations,
    attention,
    convolutions,
    core,
    merging,
    normalization,
    operations,
    pooling,
    preprocessing,
    recurrent,
    reshaping,
    sequences,
    signals,
    tensorflow,
    wrappers,
)
from tfc.importers.keras.table import KERAS

__all__ = [
    "KERAS", "activations", "attention", "convolutions", "core", "merging", "normalization",
    "operations", "pooling", "preprocessing", "recurrent", "reshaping", "sequences", "signals",
    "tensorflow", "wrappers",
]  # fmt: skip
