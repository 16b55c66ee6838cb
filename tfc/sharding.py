"""Functions for several devices: meshes, shardings, shard_map and collectives.

from tfc.sharding import Mesh, NamedSharding, P, psum, shard_map
"""

from tfc.frontend.sharding.collectives import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
)
from tfc.frontend.sharding.mesh import Mesh, NamedSharding, PartitionSpec
from tfc.frontend.sharding.placement import with_sharding_constraint
from tfc.frontend.sharding.shard_map import shard_map

P = PartitionSpec

__all__ = [
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "shard_map",
    "with_sharding_constraint",
]
