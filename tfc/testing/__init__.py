"""Random testing: programs grown, mutated or drawn, what runs them, and comparing.

The generators live in `generators`; random JAX programs in `jax_programs`. Needs hypothesis, which
the extra `test` brings.
"""

from tfc.testing.generators.grower import GENERATORS, Grower, generates
from tfc.testing.generators.modules import (
    ELEMENT_TYPES,
    ELEMENTWISE,
    OPCODES,
    instructions_of,
    modules,
)
from tfc.testing.generators.values import arguments_for, random_array, shapes, sizes

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
