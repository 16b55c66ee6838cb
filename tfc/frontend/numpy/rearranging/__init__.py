"""Further functions of the NumPy namespace that rearrange: joining, splitting, turning, padding.

Made of the functions of `frontend.numpy`, which is all that it may import beside `frontend`.
"""

from tfc.frontend.numpy.rearranging import (  # noqa: F401
    joining,
    padding,
    splitting,
    turning,
)
