"""What each operation of a graph computes: one row an operator, by family. Knows no graph.

`registry` is the table, `inference` and `partial_values` what is known of results beforehand; the
other files are families of rows. Importing this package enters them all.
"""

from tfc.graph.operators import (
    basics,
    checks,
    differentiation,
    elementwise,
    joining,
    matrices,
    networks,
    python,
    random,
    reductions,
    refused,
    searching,
    segments,
    shaping,
    slicing,
    state,
    training,
    xla,
)

__all__ = [
    "basics",
    "checks",
    "differentiation",
    "elementwise",
    "joining",
    "matrices",
    "networks",
    "python",
    "random",
    "reductions",
    "refused",
    "searching",
    "segments",
    "shaping",
    "slicing",
    "state",
    "training",
    "xla",
]
