"""ATen's operators as rows of the table, by family. May import what importers may."""

from tfc.importers.torch.operators import (
    arranging,
    composites,
    control,
    creation,
    derived,
    distances,
    elementwise,
    indexing,
    layers,
    losses,
    ordering,
    pooling,
    primitives,
    products,
    recurrent,
    reductions,
    sampling,
    shapes,
    transforms,
    writes,
)
from tfc.importers.torch.table import ATEN

derived.enter_aliases()

__all__ = [
    "ATEN", "arranging", "composites", "control", "creation", "derived", "distances", "elementwise",
    "indexing", "layers", "losses", "ordering", "pooling", "primitives", "products", "recurrent",
    "reductions", "sampling", "shapes", "transforms", "writes",
]  # fmt: skip
