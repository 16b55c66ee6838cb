"""A program of a pack before it is compiled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.backends.gpu.products.persistent import BY_WARPGROUPS
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES, Shape
from tfc.testing.conformance.runner.packs import drawn_bytes

_FEW = 61  # values of which an array is drawn


@dataclass(frozen=True)
class Drawn:
    """An array each of whose elements is one of a few values, the same on every machine."""

    shape: Shape
    seed: int
    choices: np.ndarray

    def array(self) -> np.ndarray:
        """Its values."""
        raw = drawn_bytes(self.seed, self.choices.tobytes(), self.choices.itemsize, self.shape.size)
        return np.frombuffer(raw, self.choices.dtype).reshape(self.shape.dims)


Argument = np.ndarray | Drawn


@dataclass(frozen=True)
class Case:
    """A program with its arguments.

    kind: by what reports count it, such as "sorts".
    module: what it means; the code is made of it.
    tolerance: how far an element may be off besides what rounding excuses, of the largest one.
    measured: under which name its distance to the reference is reported, as in "exponential f32";
        "" for none. has_sums: whether its units are those of the largest element.
    folded: whether only sums of rows and columns of the results are stored, which must be exact.
    wanted: the results, where the reference takes too long to say them.
    prefers: forms of kernels that are taken where there are such, as those for large arrays are to
        be tested with small ones.
    """

    name: str
    kind: str
    module: Module
    arguments: Sequence[Argument]
    tolerance: float = 0.0
    measured: str = ""
    has_sums: bool = False
    folded: bool = False
    wanted: Callable[..., Sequence[np.ndarray]] | None = None
    prefers: frozenset[str] = frozenset([BY_WARPGROUPS])

    def arrays(self) -> list[np.ndarray]:
        """The values of the arguments."""
        return [a.array() if isinstance(a, Drawn) else a for a in self.arguments]


@dataclass(frozen=True)
class Unit:
    """Cases that are made, compiled and stored together.

    weight: about how many they are.
    """

    name: str
    make: Callable[..., list[Case]]
    arguments: tuple[Any, ...] = field(default=())

    def cases(self) -> list[Case]:
        """Make them."""
        return self.make(*self.arguments)


def whole(dtype: str, *dims: int, seed: int = 0, most: int = 3) -> Drawn:
    """Whole numbers from -`most` on (0 of unsigned types), whose sums are exact."""
    element = ELEMENT_TYPES[dtype]
    low = 0 if element.kind in ("unsigned", "pred") else -most
    most = 1 if element.kind == "pred" else most
    values = np.arange(low, most + 1).astype(element.dtype)
    return Drawn(Shape(element, dims), seed + 1, values)


def normal(dtype: str, *dims: int, seed: int = 0, scale: float = 1.0) -> Drawn:
    """Numbers of a normal distribution, of which there are few."""
    element, rng = ELEMENT_TYPES[dtype], np.random.default_rng(seed + 1000)
    values = scale * rng.standard_normal(_FEW)
    if element.is_complex:
        values = values + 1j * scale * rng.standard_normal(_FEW)
    return Drawn(Shape(element, dims), seed + 1, values.astype(element.dtype))


def below(limit: int, *dims: int, seed: int = 0, dtype: str = "s32") -> Drawn:
    """Whole numbers from 0 to `limit` - 1."""
    element = ELEMENT_TYPES[dtype]
    return Drawn(Shape(element, dims), seed + 1, np.arange(limit).astype(element.dtype))


def floats(dtype: str, *dims: int, seed: int = 0) -> np.ndarray:
    """Numbers with NaN of both signs, infinities and both zeros among them."""
    rng = np.random.default_rng(seed)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5])
    numbers = np.where(rng.random(dims) < 0.1, rng.choice(special, dims), rng.normal(size=dims))
    return numbers.astype(ELEMENT_TYPES[dtype].dtype)
