"""ATen's operators as rows of the table, by family. May import what importers may."""

from tfc.importers.torch.operators import (
    composites,
    control,
    creation,
    distances,
    elementwise,
    indexing,
    ordering,
    pooling,
    primitives,
    products,
    reductions,
    shapes,
    transforms,
)
from tfc.importers.torch.table import ATEN

__all__ = [
    "ATEN", "composites", "control", "creation", "distances", "elementwise", "indexing", "ordering",
    "pooling", "primitives", "products", "reductions", "shapes", "transforms",
]  # fmt: skip
