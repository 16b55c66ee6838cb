"""Shardings by the names of axes, as Shardy writes them, in XLA's notation.

sdy.mesh @mesh = <["x"=2, "y"=2]>
#sdy.sharding<@mesh, [{"x"}, {}]>     {devices=[2,1,2]<=[4] last_tile_dim_replicate}
"""

import re
from math import prod

from tfc.hlo.attributes.sharding import Sharding, along_axes

_MESH = re.compile(
    r'sdy\.mesh\s+@([\w$.-]+|"[^"\n]*")\s*=\s*<\[([^\]]*)\]'
    r"(?:\s*,\s*device_ids\s*=\s*\[([^\]]*)\])?>"
)
_AXIS = re.compile(r'"([^"]*)"\s*=\s*(\d{1,7})')
_PARTITIONS = re.compile(r"mhlo\.num_partitions\s*=\s*(\d{1,7})")
SHARDING = re.compile(r"<\s*@([\w$.-]+|\"[^\"\n]*\")\s*,\s*\[((?:[^\[\]<>])*)\]([^<>]*)>")


class Meshes:
    """The meshes of a text for several partitions; none of a text for one."""

    def __init__(self, text: str):
        found = _PARTITIONS.search(text)
        self.partitions = int(found[1]) if found else 1
        self._known: dict[str, tuple[dict[str, int], tuple[int, ...]]] = {}
        if self.partitions > 1:
            for name, axes, devices in _MESH.findall(text):
                sizes = {a: int(n) for a, n in _AXIS.findall(axes)}
                listed = tuple(int(d) for d in re.findall(r"\d+", devices))
                self._known[name] = sizes, listed or tuple(range(prod(sizes.values())))

    def sharding(self, text: str) -> Sharding | None:
        """The sharding that `<@mesh, [{"x"}, {}]>` says.

        None where a mesh is not known or of other devices, and for parts of axes.
        """
        found = SHARDING.search(text)
        if found is None or found[1] not in self._known:
            return None
        sizes, devices = self._known[found[1]]
        cut = [re.findall(r'"([^"]*)"(:?)', each) for each in re.findall(r"\{([^}]*)\}", found[2])]
        axes = [[name for name, _ in each] for each in cut]
        named = [name for each in axes for name in each]
        is_part = any(colon for each in cut for _, colon in each)
        if is_part or not set(named) <= set(sizes) or len(devices) != self.partitions:
            return None
        return along_axes(sizes, devices, axes)
