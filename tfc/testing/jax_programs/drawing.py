"""Drawing whole programs: their arguments, their calls and what they return."""

import random
from dataclasses import dataclass

import jax
import numpy as np

from tfc.hlo.shape import Shape, element_type_of
from tfc.testing.generators.values import random_array
from tfc.testing.jax_programs import control, elementwise, movement, reductions
from tfc.testing.jax_programs.program import Function, Type, operands
from tfc.testing.jax_programs.writer import FUNCTIONS, NAMES, Writer, listed

FAMILIES = (elementwise, movement, reductions, control)
# The dtypes of one program: few, so that values of one dtype meet. With 64 bits if one has them.
DTYPE_SETS = (
    ("float32", "int32", "bool"),
    ("float32", "int32", "uint32", "bool", "bfloat16"),
    ("float32", "int32"),
    ("float64", "int64", "float32", "int32", "bool"),
    ("float32", "complex64", "int32", "bool"),
    ("int8", "uint8", "int16", "int32", "float16", "float32"),
)
# What reads its operands in an order of its own, where those that are transposed matter most.
ORDERED = frozenset(
    listed("""jnp.argsort lax.sort lax.top_k jnp.lexsort jax.random.permutation jnp.median
    jnp.take_along_axis helpers.at helpers.at_last lax.cond lax.scan lax.fori_loop jax.vmap jax.grad
    jnp.argmax jnp.argmin""")
)
# Elementwise functions are many, and each is drawn less often than the others.
NAMES += [n for n, make in FUNCTIONS.items()
          for _ in range(1 if make.__module__ == elementwise.__name__
                         else 8 if n in ORDERED else 2)]  # fmt: skip


@dataclass(frozen=True)
class JaxProgram:
    """A program, and what its arguments are drawn from."""

    function: Function
    number: int
    kind: str = "normal"
    wide: bool = False  # whether it has 64-bit types
    backend: str = "cpu"

    @property
    def arguments(self) -> list[np.ndarray]:
        """The arrays to run it on."""
        rng = np.random.default_rng(self.number)
        shapes = [Shape(element_type_of(t.spec.dtype), t.dims) for t in self.function.parameters]
        return [random_array(s, rng, self.kind) for s in shapes]


def draw(rng: random.Random, size: int = 8) -> JaxProgram:
    """A program of about `size` calls at most."""
    dtypes = rng.choice(DTYPE_SETS)
    wide = any("64" in d and "complex" not in d for d in dtypes)
    with jax.enable_x64(wide):
        sizes = rng.choice(((3, 2), (3,), (2, 4, 3), (4, 1), (5, 3, 2)))
        writer = Writer(rng, dtypes, sizes, _parameters(rng, dtypes, sizes))
        for _ in range(rng.randint(2, size)):
            writer.add()
    used = {n for s in writer.steps for n in operands(s)}
    count = len(writer.parameters)
    ends = [n for n in range(count, len(writer.types)) if n not in used]
    ends = ends or [len(writer.types) - 1]
    function = Function(tuple(writer.parameters), tuple(writer.steps), tuple(ends), True)
    kind = rng.choice(("normal", "normal", "whole"))
    return JaxProgram(function, rng.randrange(1000), kind, wide)


def _parameters(rng: random.Random, dtypes: tuple[str, ...], sizes: tuple[int, ...]) -> list[Type]:
    """A square matrix, whole numbers, and something else."""
    side = rng.choice(sizes)
    dims = [rng.choice(sizes) for _ in range(rng.randint(0, 3))]
    inexact = [d for d in dtypes if "float" in d or "complex" in d]
    whole = [d for d in dtypes if d in ("int32", "int64")]
    return [
        Type((side, side if rng.random() < 0.5 else rng.choice(sizes)), rng.choice(inexact)),
        Type(tuple(rng.choice(sizes) for _ in range(rng.randint(0, 2))), rng.choice(whole)),
        Type(tuple(dims), rng.choice(dtypes)),
    ]
