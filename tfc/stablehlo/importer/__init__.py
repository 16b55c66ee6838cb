"""From StableHLO to HLO: one row of a table for each operation, in files by family.

The operations and attributes of the two are nearly the same; functions become computations that are
called, and a region becomes a computation, which gets what it uses from outside as parameters.
"""

from tfc.stablehlo.importer import (
    composites,
    contractions,
    control,
    distributed,
    elementwise,
    movement,
    reductions,
    shardings,
)
from tfc.stablehlo.importer.module import import_module

__all__ = [
    "composites",
    "contractions",
    "control",
    "distributed",
    "elementwise",
    "import_module",
    "movement",
    "reductions",
    "shardings",
]
