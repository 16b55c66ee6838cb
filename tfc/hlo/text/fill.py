"""Elements for constants that a text leaves out as {...}.

XLA elides large constants unless it is asked not to; a program's speed and memory can be studied
without them, with elements made up here.
"""

from collections.abc import Callable

import numpy as np

from tfc.errors import TfcError
from tfc.hlo.literal import Literal
from tfc.hlo.shape import ElementType, Shape

Fill = Callable[[Shape], Literal]


def random_array(shape: Shape, generator: "np.random.Generator") -> np.ndarray:
    """Random elements: integers of which a few can be summed exactly, normally distributed floats.

    Args:
        shape: of any element type; pred gives truth values.
    """
    kind, dtype = shape.element_type.kind, shape.element_type.dtype
    if kind == "pred":
        return generator.random(shape.dims) < 0.5
    if kind in ("signed", "unsigned"):
        low, high = _small_range(shape.element_type)
        return generator.integers(low, high, shape.dims, endpoint=True).astype(dtype)
    values = generator.standard_normal(shape.dims)
    if kind == "complex":
        values = values + 1j * generator.standard_normal(shape.dims)
    return np.asarray(values).astype(dtype)


def _small_range(element_type: ElementType) -> tuple[int, int]:
    """Integers that stay exact in sums and products of a few."""
    return (-8, 7) if element_type.kind == "signed" else (0, 15)


def _zeros(shape: Shape, _: "np.random.Generator") -> np.ndarray:
    return np.zeros(shape.dims, shape.element_type.dtype)


def _iota(shape: Shape, _: "np.random.Generator") -> np.ndarray:
    """0, 1, 2 … 7 and again: numbers that every type but pred has."""
    values = np.arange(shape.size) % (2 if shape.element_type.kind == "pred" else 8)
    return values.reshape(shape.dims).astype(shape.element_type.dtype)


FILLS = {"random": random_array, "zeros": _zeros, "iota": _iota}


def filler(kind: str) -> Fill:
    """What makes up the elements of one constant after another.

    Args:
        kind: "zeros", "iota", "random", or "random:SEED" for other random numbers.

    Raises:
        TfcError: there is no such kind.
    """
    name, _, seed = kind.partition(":")
    if name not in FILLS or (seed and (name != "random" or not seed.isdecimal())):
        raise TfcError(
            f"constants can be filled with {', '.join(FILLS)} or random:SEED, not with '{kind}'"
        )
    generator = np.random.default_rng(int(seed or 0))
    return lambda shape: Literal(FILLS[name](shape, generator))
