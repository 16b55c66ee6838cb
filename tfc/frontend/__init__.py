"""Tracing Python functions into HLO: Tensors, nested structures, promotion.

Rooms: `control` (branches, loops, scans), `numpy` (the functions of NumPy's namespace),
`differentiation` (gradients, which are written in those functions), `linalg` (linear algebra).
Knows the IR, and no pass, backend or compiler.
"""

# Importing a room enters its functions in tensor.FUNCTIONS, and its rules in reverse.RULES.
from tfc.frontend import differentiation, linalg, numpy  # noqa: F401
