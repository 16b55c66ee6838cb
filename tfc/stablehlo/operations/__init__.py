"""The table of operations that HLO and StableHLO both have: a row for each, in files by family.

The operations and attributes of the two are nearly the same. Most rows say so with fields, which
are read and written. What goes one way only is in importer/ and exporter/.
"""

from tfc.stablehlo.operations import (
    chlo,
    contractions,
    control,
    distributed,
    elementwise,
    movement,
    reductions,
)

ROWS = (
    *elementwise.ROWS,
    *chlo.ROWS,
    *movement.ROWS,
    *reductions.ROWS,
    *contractions.ROWS,
    *control.ROWS,
    *distributed.ROWS,
)
