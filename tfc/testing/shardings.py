"""Random shardings for programs, and running what the compiler makes of them for partitions."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from tfc.backends.whole_arrays import cut, joined, stated_shardings
from tfc.compiler import compile
from tfc.hlo import builder
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.sharding import with_sharding
from tfc.hlo.ir import Instruction, Module, rebuild
from tfc.hlo.shape import Shape, leaves
from tfc.passes.spmd.emitter import filler
from tfc.passes.spmd.logical_mesh import LogicalMesh, Spec
from tfc.passes.spmd.spmd import Spmd


def random_spec(mesh: LogicalMesh, dims: Sequence[int], random: Random) -> Spec:
    """A spec that cuts some of the dimensions, also into parts that are filled up."""
    axes = list(range(len(mesh.sizes)))
    random.shuffle(axes)
    found: list[tuple[int, ...]] = [()] * len(dims)
    for axis in axes:
        places = [d for d, n in enumerate(dims) if n >= mesh.count((*found[d], axis)) or n > 2]
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
    module: Module, arguments: Sequence[np.ndarray], backend: str = "interpreter"
) -> list[np.ndarray]:
    """The results of a module with shardings, computed by its partitions on parts.

    Parts are filled up with what shows in results that it gets into.
    """
    parts = Spmd(poisoned=True)(module)
    shardings = [s for p in parts.entry.parameters for s in stated_shardings(p)]
    given = [
        [cut(a, s, device, filler(a.dtype, True)) for a, s in zip(arguments, shardings)]
        for device in range(device_counts(parts)[1])
    ]
    made = compile(parts, backend).run_replicas(given)
    results = zip(stated_shardings(parts.entry.root), leaves(module.entry.root.shape))
    return [joined([r[n] for r in made], s, shape.dims) for n, (s, shape) in enumerate(results)]
