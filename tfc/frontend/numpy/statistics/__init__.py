"""Statistics of the NumPy namespace: quantiles, what leaves NaNs out, averages, differences.

Made of the functions of `frontend.numpy`, which is all that it may import beside `frontend`.
"""

from tfc.frontend.numpy.statistics import (  # noqa: F401
    averages,
    differences,
    nan_functions,
    quantiles,
    tapers,
)
