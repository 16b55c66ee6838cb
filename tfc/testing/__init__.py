"""Random programs and what to run them on: the generators behind the tests.

Needs hypothesis, which the extra `test` brings.
"""

# Importing a family adds its generators to the table.
import tfc.testing.contraction
import tfc.testing.control
import tfc.testing.convolution
import tfc.testing.elementwise
import tfc.testing.fourier
import tfc.testing.indexed
import tfc.testing.movement
import tfc.testing.normalization
import tfc.testing.random
import tfc.testing.runtime
import tfc.testing.sorting
import tfc.testing.triangular
import tfc.testing.windows  # noqa: F401
from tfc.testing.grower import GENERATORS, Grower, generates
from tfc.testing.modules import ELEMENT_TYPES, ELEMENTWISE, OPCODES, instructions_of, modules
from tfc.testing.values import arguments_for, random_array, shapes, sizes

__all__ = [
    "ELEMENTWISE",
    "ELEMENT_TYPES",
    "GENERATORS",
    "OPCODES",
    "Grower",
    "arguments_for",
    "generates",
    "instructions_of",
    "modules",
    "random_array",
    "shapes",
    "sizes",
]
