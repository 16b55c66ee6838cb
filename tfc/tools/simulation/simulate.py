"""A program, a mesh and a table of speeds: what running it would take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from tfc.backends.registry import get_backend
from tfc.errors import TfcError
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.ir import Module
from tfc.hlo.verification.verifier import verify
from tfc.options import Options
from tfc.passes.spmd.spmd import Spmd
from tfc.tools.simulation.memory import peak_memory
from tfc.tools.simulation.mesh import DeviceMesh
from tfc.tools.simulation.network import Network, total_traffic
from tfc.tools.simulation.results import Simulation, Step
from tfc.tools.simulation.speeds import Speeds
from tfc.tools.simulation.timeline import Timeline
from tfc.tracebacks import api_boundary


@dataclass(frozen=True)
class Assumptions:
    """What is not in the program.

    backend: whose passes make kernels of it; "none" takes every instruction as a kernel, in the
        order of the text. A program that is scheduled, or has asynchronous pairs, is taken so.
    trips: how often loops run of which that is not known, by name; "" is for all others.
    overlaps: collectives are waited for where their results are read first, as if they were pairs.
    """

    backend: str = "cpu"
    trips: Mapping[str, int] = field(default_factory=dict)
    overlaps: bool = False


@api_boundary
def simulate(
    module: Module,
    mesh: DeviceMesh,
    speeds: Speeds,
    assumptions: Assumptions | None = None,
) -> Simulation:
    """What running a module on all devices of a mesh would take; nothing is run.

    Args:
        module: for as many replicas times partitions as the mesh has devices. One over whole arrays
            with shardings is divided first.

    Raises:
        TfcError: it is for another number of devices; a loop's count is not known and not assumed;
            the table lacks a rate, a link or an algorithm.
        VerificationError: the module breaks an invariant.
    """
    assumed = assumptions or Assumptions()
    counts = device_counts(module)
    if prod(counts) != mesh.size:
        raise TfcError(
            f"{module.name} is for {prod(counts)} devices, and the mesh {mesh} has {mesh.size}"
        )
    verify(module)
    module = Spmd()(module)
    as_it_is = assumed.backend == "none" or is_in_order(module)
    if not as_it_is:
        options = Options.from_environment()
        module = get_backend(assumed.backend).compiler.optimize(module, options)
    network = Network(mesh, speeds)
    line = Timeline(module, counts, network, speeds, assumed.trips, assumed.overlaps)
    lanes = line.lanes
    runs = {key[1:]: count for key, count in lanes.runs.items() if isinstance(key, tuple)}
    kinds = [key for key in lanes.runs if isinstance(key, tuple) and len(key) == 3]
    steps = tuple(
        Step(name, kind, opcode, runs[name, opcode], lanes.runs[f"{kind} seconds", name])
        for kind, name, opcode in kinds
    )
    traffic = total_traffic([
        (lanes.traffic[s.name].keys, lanes.traffic[s.name].sizes, s.runs)
        for s in steps if s.name in lanes.traffic
    ])  # fmt: skip
    return Simulation(
        name=module.name,
        mesh=mesh,
        speeds=speeds,
        passes="none" if as_it_is else assumed.backend,
        lanes=lanes,
        steps=steps,
        traffic=traffic,
        memory=peak_memory(module),
        noted=line.noted,
        network=network,
    )


def is_in_order(module: Module) -> bool:
    """Whether a module says when its steps run: it is scheduled, or has asynchronous pairs."""
    if ("is_scheduled", "true") in module.attributes:
        return True
    every = (x for c in module.computations for x in c.instructions)
    return any(x.opcode.endswith("-start") for x in every)
