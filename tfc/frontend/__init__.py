"""Tracing Python functions into HLO: Tensors, the NumPy namespace, control flow, gradients."""

# Importing a family's file enters its functions in tensor.FUNCTIONS, or its rules in reverse.RULES.
from tfc.frontend import (  # noqa: F401
    arithmetic,
    creation,
    functions,
    indexing,
    manipulation,
    products,
    reductions,
    sorting,
    vjp,
    vjp_complex,
    vjp_convolution,
    vjp_fft,
    vjp_indexed,
    vjp_normalization,
    vjp_ragged,
    vjp_runtime,
    vjp_sorting,
    vjp_triangular,
    vjp_windows,
    windows,
)
