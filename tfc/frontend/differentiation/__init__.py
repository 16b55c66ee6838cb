"""Gradients in reverse mode: the walk, the functions for users, and a rule for each op.

Importing a family's file (`vjp*`) enters its rules in `reverse.RULES`. May import the rest of
`tfc.frontend`.
"""

from tfc.frontend.differentiation import (  # noqa: F401
    jvp,
    jvp_loops,
    vjp,
    vjp_branches,
    vjp_complex,
    vjp_convolution,
    vjp_indexed,
    vjp_loops,
    vjp_normalization,
    vjp_outside,
    vjp_sorting,
    vjp_triangular,
    vjp_windows,
)
