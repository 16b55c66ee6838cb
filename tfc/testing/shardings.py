"""Random shardings for programs, and running what the compiler makes of them for partitions."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tfc.backends.whole_arrays import WholeArrays
from tfc.compiler import compile
from tfc.hlo import builder
from tfc.hlo.attributes.sharding import with_sharding
from tfc.hlo.ir import Instruction, Module, rebuild
from tfc.hlo.shape import Shape
from tfc.passes.spmd.logical_mesh import LogicalMesh, Spec
from tfc.passes.spmd.spmd import Spmd


def random_spec(mesh: LogicalMesh, dims: Sequence[int], random: Random) -> Spec:
    """A spec that cuts some of the dimensions whose sizes divide."""
    axes = list(range(len(mesh.sizes)))
    random.shuffle(axes)
    found: list[tuple[int, ...]] = [()] * len(dims)
    for axis in axes:
        places = [d for d, n in enumerate(dims) if n % mesh.count((*found[d], axis)) == 0 and n]
        if places and random.random() < 0.8:
            place = random.choice(places)
            found[place] = (*found[place], axis)
    return tuple(found)


def sharded(module: Module, mesh: LogicalMesh, random: Random, share: float = 0.2) -> Module:
    """The module for the devices of a mesh, with random shardings.

    Args:
        share: of the values in the middle that are constrained.
    """

    def constrain(x: Instruction) -> Instruction:
        if not isinstance(x.shape, Shape) or x.opcode == "constant":
            return x
        sharding = mesh.sharding(random_spec(mesh, x.shape.dims, random))
        if x.opcode == "parameter":
            return with_sharding(x, sharding)
        if random.random() > share:
            return x
        made = builder.instruction("custom-call", [x], shape=x.shape, custom_call_target="Sharding")
        return with_sharding(made, sharding)

    stated = (*module.attributes, ("num_partitions", str(mesh.devices)))
    return replace(module, entry=rebuild(module.entry, constrain), attributes=stated)


def run_partitioned(
    module: Module, arguments: Sequence[Any], backend: str = "interpreter"
) -> list[np.ndarray]:
    """The results of a module with shardings, computed by its partitions on parts."""
    parts = Spmd()(module)
    return WholeArrays(module, parts, compile(parts, backend))(*arguments)
