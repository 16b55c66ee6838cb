"""Meshes of devices, and which part of an array each of them holds.

mesh = Mesh((2, 4), ("x", "y"))                    8 devices, numbered row by row
NamedSharding(mesh, PartitionSpec("x", None))      the rows in two parts, each on four devices
NamedSharding(mesh, PartitionSpec(("x", "y")))     the first dimension in eight parts
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.hlo.attributes.replica_groups import MOST_DEVICES
from tfc.hlo.attributes.sharding import Sharding, tiled
from tfc.tracebacks import api_boundary


class Mesh:
    """Devices in rows and columns, with names for the axes.

    Device numbers are row-major: the last axis is the fastest.
    """

    @api_boundary
    def __init__(self, shape: int | Sequence[int], axis_names: str | Sequence[str]):
        """A mesh of so many devices along each axis.

        Raises:
            TraceError: a size is no positive number, or there is not one distinct name for each.
        """
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        try:
            sizes = tuple(map(index, shape if isinstance(shape, Sequence) else (shape,)))
        except TypeError:
            raise TraceError(f"a Mesh takes the size of each axis, got {shape!r}") from None
        if not sizes or min(sizes) < 1 or prod(sizes) > MOST_DEVICES:
            raise TraceError(f"a Mesh has from 1 to {MOST_DEVICES} devices, got the sizes {sizes}")
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise TraceError(f"the axes of a Mesh have distinct names, got {names}")
        if len(names) != len(sizes):
            raise TraceError(f"a Mesh of shape {sizes} has {len(sizes)} axes, got names {names}")
        self.axis_names, self.sizes = names, sizes

    @property
    def shape(self) -> dict[str, int]:
        """The number of devices along each axis, by name."""
        return dict(zip(self.axis_names, self.sizes))

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.sizes)

    def groups(self, axes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The devices that differ along the axes only, in the order of their places along them."""
        along = [self.axis_names.index(a) for a in axes]
        order = [k for k in range(len(self.sizes)) if k not in along] + along
        numbers = np.arange(self.size).reshape(self.sizes).transpose(order)
        rows = numbers.reshape(-1, prod(self.sizes[k] for k in along))
        return tuple(tuple(row) for row in rows.tolist())

    def strides(self) -> dict[str, int]:
        """How far apart, by number, neighbours along each axis are."""
        return {a: prod(self.sizes[k + 1 :]) for k, a in enumerate(self.axis_names)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.sizes, self.axis_names

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{a}={n}' for a, n in self.shape.items())})"


class PartitionSpec:
    """For each dimension of an array the axis, or axes, of a mesh along which it is cut.

    None, and what is left out at the end, is not cut.
    """

    @api_boundary
    def __init__(self, *entries: str | Sequence[str] | None):
        """Give each dimension its axes.

        Raises:
            TraceError: an entry is no axis, or one axis is named twice.
        """
        self.entries = tuple(self._axes(entry) for entry in entries)
        named = self.axes
        if len(set(named)) != len(named):
            raise TraceError(f"{self!r} names an axis twice: each may cut one dimension, once")

    @staticmethod
    def _axes(entry: Any) -> tuple[str, ...]:
        axes = (entry,) if isinstance(entry, str) else () if entry is None else entry
        if not isinstance(axes, (tuple, list)) or not all(isinstance(a, str) for a in axes):
            raise TraceError(
                f"an entry of a PartitionSpec is the name of an axis, a tuple of names or None, "
                f"got {entry!r}"
            )
        return tuple(axes)

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes that it names."""
        return tuple(a for entry in self.entries for a in entry)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[tuple[str, ...], ...]:
        entries = self.entries
        while entries and not entries[-1]:
            entries = entries[:-1]
        return entries

    def __repr__(self) -> str:
        shown = [repr(e[0]) if len(e) == 1 else repr(e) if e else "None" for e in self.entries]
        return f"PartitionSpec({', '.join(shown)})"


@dataclass(frozen=True)
class NamedSharding:
    """A mesh, and how an array is cut along its axes."""

    mesh: Mesh
    spec: PartitionSpec

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, Mesh) or not isinstance(self.spec, PartitionSpec):
            raise TraceError(
                f"a NamedSharding takes a Mesh and a PartitionSpec, got {self.mesh!r} and "
                f"{self.spec!r}"
            )
        check_axes(self.mesh, self.spec)

    def tiles(self, dims: Sequence[int], what: str, is_even: bool = True) -> tuple[int, ...]:
        """In how many parts each dimension of an array is cut.

        Args:
            is_even: whether the parts must be equal; otherwise the last ones are filled up.

        Raises:
            TraceError: the array has fewer dimensions, or its sizes do not divide where they must.
        """
        entries = self.spec.entries
        if len(entries) > len(dims):
            raise TraceError(
                f"{self.spec!r} has {len(entries)} entries, but {what} has {len(dims)} dimensions"
            )
        sizes = self.mesh.shape
        parts = [prod(sizes[a] for a in entry) for entry in entries]
        parts += [1] * (len(dims) - len(parts))
        for number, (size, count) in enumerate(zip(dims, parts)):
            if is_even and size % count:
                raise TraceError(
                    f"dimension {number} of {what}, of size {size}, is not divisible by the "
                    f"{count} parts of {self.spec!r} on {self.mesh!r}"
                )
        return tuple(parts)

    def sharding(self, dims: Sequence[int], what: str, is_even: bool = True) -> Sharding:
        """The sharding of an array; `is_even` as for `tiles`.

        Raises:
            TraceError: the array has fewer dimensions, or its sizes do not divide where they must.
        """
        parts = self.tiles(dims, what, is_even)
        mesh, named = self.mesh, self.spec.axes
        order = [mesh.axis_names.index(a) for a in named]
        order += [k for k in range(len(mesh.sizes)) if k not in order]
        devices = np.arange(mesh.size).reshape(mesh.sizes).transpose(order).ravel()
        return tiled(parts, tuple(devices.tolist()))


def check_axes(mesh: Mesh, spec: PartitionSpec) -> None:
    """Check that a mesh has the axes of a spec.

    Raises:
        TraceError: it lacks one.
    """
    for axis in spec.axes:
        if axis not in mesh.axis_names:
            raise TraceError(
                f"{spec!r} names the axis '{axis}', but the axes of {mesh!r} are "
                f"{', '.join(mesh.axis_names)}"
            )
