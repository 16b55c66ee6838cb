"""Generators of random programs: each family adds its operations to the table of the grower.

May import the IR alone.
"""

# Importing a family adds its generators to the table.
from tfc.testing.generators import (  # noqa: F401
    contraction,
    control,
    convolution,
    elementwise,
    fourier,
    indexed,
    movement,
    normalization,
    random,
    runtime,
    sorting,
    triangular,
    windows,
)
