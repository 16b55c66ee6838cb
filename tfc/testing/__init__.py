"""Random programs and what to run them on: the generators behind the tests.

Needs hypothesis, which the extra `test` brings.
"""

# Importing a family adds its generators to the table.
from tfc.testing import contraction, control, elementwise, indexed, movement, runtime  # noqa: F401
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
