"""Further elementwise functions of the NumPy namespace: parts of floats, whole numbers, tests.

Made of the functions of `frontend.numpy`, which is all that it may import beside `frontend`.
"""

from tfc.frontend.numpy.numbers import (  # noqa: F401
    bessel,
    elementary,
    float_parts,
    integers,
    packing,
    predicates,
)
