"""Tracing Python functions into HLO: Tensors, nested structures, promotion.

Rooms: `control` (branches, loops, scans), `numpy` (the functions of NumPy's namespace), `linalg`
(linear algebra), `differentiation` (gradients, which are written in those functions), `batching`
(vmap), `callbacks` (Python functions that programs call). Knows the IR, and no pass, backend or
compiler.
"""

# Importing a room enters its functions in tensor.FUNCTIONS, and its rules in reverse.RULES and
# walk.RULES.
from tfc.frontend import batching, differentiation, linalg, numpy  # noqa: F401
