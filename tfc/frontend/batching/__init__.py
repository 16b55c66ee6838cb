"""vmap: the walk that batches a computation, the function for users, and a rule for each op.

Importing a family's file enters its rules in `walk.RULES`. May import the files of `tfc.frontend`
itself, and knows nothing of the NumPy namespace and of differentiation.
"""

from tfc.frontend.batching import (  # noqa: F401
    compounds,
    control,
    indexed,
    movement,
    outside,
    products,
    reductions,
)
