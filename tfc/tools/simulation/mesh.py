"""Devices in rows and columns with names for the axes: `data=8,model=4`.

Devices are numbered along the last axis first, as `tfc.sharding.Mesh` and XLA do.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from tfc.errors import TfcError

MOST_DEVICES = 1 << 16


@dataclass(frozen=True)
class DeviceMesh:
    """The names of the axes and how many devices lie along each."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many devices there are."""
        return prod(self.sizes)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """s64[devices, axes]: where each device lies along each axis."""
        return np.stack(np.unravel_index(np.arange(self.size), self.sizes), axis=1)

    def __str__(self) -> str:
        return ",".join(f"{name}={size}" for name, size in zip(self.names, self.sizes))


def parse_mesh(text: str) -> DeviceMesh:
    """The mesh that `data=8,model=4` describes.

    Raises:
        TfcError: it is malformed, names an axis twice, or has no device or more than 65536.
    """
    parts = [part.strip() for part in text.split(",")]
    found = [re.fullmatch(r"([A-Za-z_]\w*)=(\d{1,9})", part, re.ASCII) for part in parts]
    wrong = next((part for part, match in zip(parts, found) if match is None), None)
    if wrong is not None:
        raise TfcError(f"a mesh is written data=8,model=4, got '{wrong}'")
    names = tuple(match[1] for match in found if match)
    sizes = tuple(int(match[2]) for match in found if match)
    if len(set(names)) < len(names):
        raise TfcError(f"the mesh '{text}' names an axis twice")
    if not 1 <= prod(sizes) <= MOST_DEVICES:
        raise TfcError(f"a mesh has from 1 to {MOST_DEVICES} devices, '{text}' has {prod(sizes)}")
    return DeviceMesh(names, sizes)
