"""NumPy's functions on traced Tensors, by family, and those of neural networks that need windows.

Importing a family's file enters its functions in `tensor.FUNCTIONS`. May import the files of
`tfc.frontend` itself, never `differentiation`.
"""

from tfc.frontend.numpy import (  # noqa: F401
    arithmetic,
    conversions,
    creation,
    dtypes,
    functions,
    indexing,
    manipulation,
    mapped,
    namespace,
    numbers,
    products,
    rearranging,
    reductions,
    sorting,
    spacings,
    statistics,
    windows,
)
