"""From HLO to StableHLO: one row of a table for each opcode, in files by family.

What StableHLO has no operation for is CHLO's (erf, asin …) or a call of a function (fusion); tuples
are taken apart, since operations have several results.
"""

from tfc.stablehlo.exporter import (
    contractions,
    control,
    distributed,
    elementwise,
    movement,
    reductions,
)
from tfc.stablehlo.exporter.module import export_text

__all__ = [
    "contractions",
    "control",
    "distributed",
    "elementwise",
    "export_text",
    "movement",
    "reductions",
]
