"""Shardings: which part of an array each device holds.

    {replicated}                   each device holds all of it
    {maximal device=3}             one device holds all of it
    {manual}                       the program says itself what its part is
    {devices=[2,1]<=[2]}           the first dimension in two parts, on the devices 0 and 1
    {devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}   two parts, each on two devices
    {devices=[2,2]<=[2,2]T(1,0)}   device numbers as those of a transposed array
    {mesh['x'=2,'y'=2], [{'y'}, {}]}   the first dimension along the axis y of a mesh

Semantics: XLA's HloSharding. The part of a dimension of n elements in t parts has ceil(n / t).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from tfc.errors import ShapeError
from tfc.hlo.attributes.annotations import ANNOTATIONS
from tfc.hlo.attributes.replica_groups import MOST_DEVICES
from tfc.hlo.ir import Instruction, Module


@dataclass(frozen=True)
class Sharding:
    """Which part of an array each device holds.

    kind: "replicated", "manual", "maximal" (on the one device of `devices`), "tiled", or what
        tfc gives no meaning: "unknown".
    tiles: of a tiled one, in how many parts each dimension is cut.
    devices: the devices part by part, row-major over the parts; each part's copies in turn.
    """

    kind: str
    tiles: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()

    @property
    def copies(self) -> int:
        """How many devices hold each part of a tiled array."""
        return len(self.devices) // prod(self.tiles)

    def place(self, device: int) -> tuple[int, ...]:
        """Which part along each dimension a device holds of a tiled array."""
        part = self.devices.index(device) // self.copies
        return tuple(int(n) for n in np.unravel_index(part, self.tiles))

    def __str__(self) -> str:
        if self.kind == "maximal":
            return f"{{maximal device={self.devices[0]}}}"
        if self.kind != "tiled":
            return f"{{{self.kind}}}"
        dims = [*self.tiles, *([self.copies] if self.copies > 1 else [])]
        count = len(self.devices)
        listed = ",".join(map(str, self.devices))
        listed = f"<=[{count}]" if self.devices == tuple(range(count)) else listed
        last = " last_tile_dim_replicate" if self.copies > 1 else ""
        return f"{{devices=[{','.join(map(str, dims))}]{listed}{last}}}"


REPLICATED = Sharding("replicated")
MANUAL = Sharding("manual")
_BRACES = r"\{([^{}]*)\}"
# A mesh whose devices are in their order, and whole axes of it.
_NAMED = re.compile(r"mesh\[([^\]]*)\]\s*,\s*\[((?:\s*\{[^{}:?]*\}\s*,?)*)\s*\]")
_TILED = re.compile(
    r"devices=\[([\d,\s]+)\]\s*(?:<=\[([\d,\s]+)\](?:T\(([\d,\s]+)\))?|([\d,\s]+))\s*(.*)",
    re.DOTALL,
)


def tiled(tiles: tuple[int, ...], devices: tuple[int, ...]) -> Sharding:
    """The sharding in so many parts of each dimension.

    One part in all is what {replicated} says, and names the devices, too.

    Raises:
        ShapeError: the devices are not each named once, or do not fill the parts.
    """
    parts = prod(tiles)
    if parts < 1 or len(devices) % parts or sorted(devices) != list(range(len(devices))):
        raise ShapeError(
            f"a sharding in {list(tiles)} parts must name each of its devices once, and as many "
            f"for each part, got {list(devices)}"
        )
    return Sharding("tiled", tiles, devices)


def along_axes(
    sizes: Mapping[str, int], devices: Sequence[int], cut: Sequence[Sequence[str]]
) -> Sharding:
    """The sharding of an array each of whose dimensions is cut along named axes of a mesh.

    Args:
        sizes: of the mesh, the devices along each axis.
        devices: the mesh's, row-major.

    Raises:
        ShapeError: an axis is named twice or not there, or the devices do not make a mesh.
    """
    named = [name for axes in cut for name in axes]
    if len(set(named)) != len(named) or not set(named) <= set(sizes):
        raise ShapeError(f"a sharding must name axes of its mesh once, got {', '.join(named)}")
    if len(devices) != prod(sizes.values()):
        raise ShapeError(f"a mesh of {dict(sizes)} must have as many devices, got {len(devices)}")
    order = [list(sizes).index(a) for a in named]
    order += [k for k in range(len(sizes)) if k not in order]
    numbers = np.array(devices).reshape(list(sizes.values())).transpose(order).ravel()
    return tiled(tuple(prod(sizes[a] for a in axes) for axes in cut), tuple(numbers.tolist()))


def is_sharding(text: str) -> bool:
    """Whether a text is the annotation of a sharding."""
    pattern = ANNOTATIONS["sharding"].pattern
    return re.fullmatch(pattern, text, re.VERBOSE | re.DOTALL) is not None


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(",") if n.strip())


@lru_cache(maxsize=4096)
def parse_sharding(text: str) -> Sharding | tuple[Sharding, ...]:
    """The sharding, or those of a tuple's elements, that an annotation's text says.

    Raises:
        ShapeError: its devices do not make a sharding.
    """
    inner = text.strip()[1:-1].strip()
    if inner.startswith("{") or not inner:
        found = re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}", inner)
        return tuple(one for item in found if isinstance(one := parse_sharding(item), Sharding))
    if match := _TILED.match(inner):
        return _tiled_of(inner, *match.groups())
    if match := _NAMED.fullmatch(inner):
        sizes = {
            name: int(size) for name, size in re.findall(r"['\"](\w+)['\"]\s*=\s*(\d+)", match[1])
        }
        if prod(sizes.values()) > MOST_DEVICES:
            raise ShapeError(f"a mesh must have at most {MOST_DEVICES} devices, got {{{inner}}}")
        cut = [re.findall(r"['\"](\w+)['\"]", each) for each in re.findall(_BRACES, match[2])]
        return along_axes(sizes, range(prod(sizes.values())), cut)
    word = re.split(r"[\s\[]", inner)[0]
    if word == "maximal":
        return Sharding("maximal", (), (int(inner.split("=")[1].split()[0]),))
    return Sharding(word if word in ("replicated", "manual") else "unknown")


def _tiled_of(
    text: str, dims_text: str, iota: str | None, order: str | None, listed: str | None, rest: str
) -> Sharding:
    dims = _ints(dims_text)
    if prod(dims) > MOST_DEVICES or (iota and prod(_ints(iota)) > MOST_DEVICES):
        raise ShapeError(f"a sharding must name at most {MOST_DEVICES} devices, got {{{text}}}")
    if iota is not None:
        shape = _ints(iota)
        turned = _ints(order) if order else tuple(range(len(shape)))
        if sorted(turned) != list(range(len(shape))):
            raise ShapeError(f"T({order}) must be a rearrangement of {list(shape)}")
        devices = tuple(np.arange(prod(shape)).reshape(shape).transpose(turned).ravel().tolist())
    else:
        devices = _ints(listed or "")
    if len(devices) != prod(dims):
        raise ShapeError(f"the sharding {{{text}}} must have a device for each of its parts")
    kinds = re.search(r"last_tile_dims=\{([^}]*)\}", rest)
    names = [n.strip() for n in kinds[1].split(",")] if kinds else []
    if any(name != "replicated" for name in names):
        return Sharding("unknown")
    trailing = len(names) or int("last_tile_dim_replicate" in rest)
    return tiled(dims[: len(dims) - trailing], devices)


def sharding_of(x: Instruction) -> Sharding | tuple[Sharding, ...] | None:
    """What an instruction's annotation says; None if it has none.

    Raises:
        ShapeError: its devices do not make a sharding.
    """
    for name, text in x.annotations:
        if name == "sharding":
            return parse_sharding(text)
    return None


def with_partitions(module: Module) -> Module:
    """The module for as many partitions as its shardings name devices.

    Raises:
        ShapeError: they differ, or do not make shardings.
    """
    found = {1}
    for computation in module.computations:
        for x in computation.instructions:
            if x.annotations and x.opcode in ("custom-call", "parameter"):
                stated = sharding_of(x)
                if isinstance(stated, Sharding) and stated.kind == "tiled":
                    found.add(len(stated.devices))
    if len(found) > 2:
        sizes = " and ".join(map(str, sorted(found - {1})))
        raise ShapeError(f"the meshes of one program must have as many devices each, got {sizes}")
    if max(found) == 1:
        return module
    stated = (*module.attributes, ("num_partitions", str(max(found))))
    return replace(module, attributes=stated)


def with_sharding(x: Instruction, sharding: Sharding | tuple[Sharding, ...]) -> Instruction:
    """The instruction with another sharding in its annotations."""
    text = str(sharding)
    if isinstance(sharding, tuple):
        text = "{" + ", ".join(map(str, sharding)) + "}"
    others = tuple(pair for pair in x.annotations if pair[0] != "sharding")
    return x.with_(annotations=(("sharding", text), *others))
