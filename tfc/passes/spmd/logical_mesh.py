"""The axes along which a module's shardings cut: the digits of the device number.

    8 devices, {devices=[2,4]<=[8]} and {devices=[4,1,2]<=[8] last_tile_dim_replicate}
    have the axes 0, 1, 2 of 2 devices each, 4, 2 and 1 apart: ((0,), (1, 2)) and ((0, 1), ())

A Spec has for each dimension of an array the axes along which it is cut, the major one first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

import numpy as np

from tfc.errors import UnsupportedError
from tfc.hlo.attributes.sharding import Sharding

Axes = tuple[int, ...]
Spec = tuple[Axes, ...]


def whole(rank: int) -> Spec:
    """The spec of an array that every device holds all of."""
    return ((),) * rank


@dataclass(frozen=True)
class LogicalMesh:
    """The axes of the devices: `sizes` of them, the last the fastest in the device number."""

    sizes: tuple[int, ...]

    @property
    def devices(self) -> int:
        """How many there are."""
        return prod(self.sizes)

    def count(self, axes: Axes) -> int:
        """The devices along some axes together."""
        return prod(self.sizes[a] for a in axes)

    def weight(self, axis: int) -> int:
        """How far apart, by number, neighbours along an axis are."""
        return prod(self.sizes[axis + 1 :])

    def parts(self, spec: Spec) -> tuple[int, ...]:
        """In how many parts each dimension is cut."""
        return tuple(self.count(axes) for axes in spec)

    def part(self, size: int, axes: Axes) -> int:
        """How long a part of a dimension is: the last ones are filled up to it."""
        return -(-size // self.count(axes))

    def local(self, dims: Sequence[int], spec: Spec) -> tuple[int, ...]:
        """The dimensions of a part."""
        return tuple(self.part(n, axes) for n, axes in zip(dims, spec, strict=True))

    def divides(self, dims: Sequence[int], spec: Spec) -> bool:
        """Whether all sizes divide, so that no part is filled up."""
        return all(n % self.count(axes) == 0 for n, axes in zip(dims, spec, strict=True))

    def places(self, axes: Axes) -> np.ndarray:
        """The place of each device along some axes together, the major first."""
        numbers, found = np.arange(self.devices), np.zeros(self.devices, np.int64)
        for axis in axes:
            found = found * self.sizes[axis] + numbers // self.weight(axis) % self.sizes[axis]
        return found

    def groups(self, axes: Axes) -> tuple[tuple[int, ...], ...]:
        """The devices that differ along some axes only, in the order of their places."""
        rest = tuple(a for a in range(len(self.sizes)) if a not in axes)
        grid = np.empty((self.count(rest), self.count(axes)), np.int64)
        grid[self.places(rest), self.places(axes)] = np.arange(self.devices)
        return tuple(tuple(row) for row in grid.tolist())

    def sharding(self, spec: Spec) -> Sharding:
        """The sharding that a spec says."""
        named = tuple(a for axes in spec for a in axes)
        order = (*named, *(a for a in range(len(self.sizes)) if a not in named))
        devices = np.empty(self.devices, np.int64)
        devices[self.places(order)] = np.arange(self.devices)
        return Sharding("tiled", self.parts(spec), tuple(devices.tolist()))

    def spec(self, sharding: Sharding, rank: int) -> Spec | None:
        """The spec of a sharding; None for one that goes along no axes of this mesh."""
        if sharding.kind != "tiled":
            return whole(rank)
        if len(sharding.tiles) != rank or len(sharding.devices) != self.devices:
            return None
        grid = np.array(sharding.devices).reshape(*sharding.tiles, sharding.copies)[..., 0]
        found = tuple(self._axes_of(grid, d) for d in range(rank))
        axes = [a for each in found for a in each or (-1,)]
        if None in found or len(set(axes) - {-1}) != len([a for a in axes if a >= 0]):
            return None
        spec = tuple(each or () for each in found)
        # The copies of a part may be in any order, its number may not.
        made = np.array(self.sharding(spec).devices).reshape(prod(sharding.tiles), -1)
        given = np.array(sharding.devices).reshape(prod(sharding.tiles), -1)
        return spec if (np.sort(made) == np.sort(given)).all() else None

    def _axes_of(self, grid: np.ndarray, dimension: int) -> Axes | None:
        """The axes along which the device numbers go on along a dimension, the major first."""
        line = np.moveaxis(grid, dimension, 0).reshape(grid.shape[dimension], -1)[:, 0]
        step, axes = 1, []
        while step < len(line):
            apart = int(line[step] - line[0])
            axis = next((a for a, n in enumerate(self.sizes)
                         if n > 1 and self.weight(a) == apart), None)  # fmt: skip
            if axis is None or len(line) % (step * self.sizes[axis]):
                return None
            axes.insert(0, axis)
            step *= self.sizes[axis]
        return tuple(axes)


def logical_mesh(devices: int, shardings: Iterable[tuple[Sharding, int]]) -> LogicalMesh:
    """The mesh along whose axes all shardings, given with the ranks of their arrays, cut.

    Raises:
        UnsupportedError: there is none.
    """
    stated = [(s, rank) for s, rank in dict.fromkeys(shardings) if s.kind == "tiled"]
    factors = _prime_factors(devices)
    for sizes in dict.fromkeys(permutations(factors)) if len(factors) < 9 else [tuple(factors)]:
        mesh = LogicalMesh(sizes)
        if all(mesh.spec(s, rank) is not None for s, rank in stated):
            return mesh
    raise UnsupportedError(
        f"the shardings of a module must go along the axes of one mesh of its {devices} "
        f"partitions, got {' and '.join(str(s) for s, _ in stated)}"
    )


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while number > 1:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return found
