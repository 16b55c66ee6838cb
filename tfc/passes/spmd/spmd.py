"""One program for every partition, of one over whole arrays with shardings.

    HloModule m, num_partitions=2
    x = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}        x = f32[4,4] parameter(0)
    ROOT y = f32[4] reduce(x, zero), dimensions={0}          -->    y = f32[4] reduce(x, zero) …
                                                                    ROOT z = f32[4] all-reduce(y)

Does nothing to a module for one partition, and to one that is partitioned: it was made here, its
entry has the name that XLA's partitioner gives, it is scheduled, or its devices meet and none of
its custom calls divides arrays for them. A module for several partitions that says nothing of
shardings is taken as it is.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.replica_groups import is_collective
from tfc.hlo.attributes.sharding import MANUAL, Sharding, sharding_of, with_sharding
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves
from tfc.passes.expand.inline import Inline
from tfc.passes.rewriting.decisions import Decision, Decisions
from tfc.passes.spmd.logical_mesh import LogicalMesh, Spec, logical_mesh, whole
from tfc.passes.spmd.partitioner import Partitioner
from tfc.passes.spmd.parts import Nest, Part, pack, parts_of
from tfc.passes.spmd.propagation import (
    TO_PARTS,
    TO_WHOLE,
    Propagation,
    leaf_count,
    manual_in,
    stated_spec,
)

_MARK = ("frontend_attributes", '{tfc_partitioned="true"}')
# What is said of the whole arrays of a module's entry is not so of their parts.
_OF_WHOLE = frozenset({"entry_computation_layout", "input_output_alias", "buffer_donor",
                       "allow_spmd_sharding_propagation_to_parameters",
                       "allow_spmd_sharding_propagation_to_output"})  # fmt: skip


def is_partitionable(module: Module) -> bool:
    """Whether a module is over whole arrays that several partitions are to share."""
    if device_counts(module)[1] == 1 or _MARK in module.attributes:
        return False
    if ("is_scheduled", "true") in module.attributes or module.entry.name.endswith("_spmd"):
        return False
    every = [x for c in module.computations for x in c.instructions]
    if any(x.attributes.get("custom_call_target") in (TO_PARTS, TO_WHOLE) for x in every):
        return True
    meets = any(is_collective(x) or x.opcode == "partition-id" for x in every)
    return not meets and any(sharding_of(x) is not None for x in every)


@dataclass(frozen=True)
class Spmd:
    """Partition a module by its shardings, propagated to all values.

    poisoned: fill parts of sizes that do not divide with NaNs, and integers unlike zero, which are
        to get into no result.
    """

    poisoned: bool = False

    name: ClassVar[str] = "spmd"
    idempotent: ClassVar[bool] = True
    takes_parts: ClassVar[bool] = True

    def __call__(self, module: Module) -> Module:
        """The program of every partition; its entry states what parts it takes and gives."""
        return _partitioned(module, [], self.poisoned)

    def explain(self, module: Module) -> Decisions:
        """What is moved between devices, and what is computed whole."""
        decisions: list[Decision] = []
        _partitioned(module, decisions, self.poisoned)
        return tuple(decisions)


def _partitioned(module: Module, decisions: list[Decision], poisoned: bool) -> Module:
    if not is_partitionable(module):
        return module
    module = Inline()(module)
    count = device_counts(module)[1]
    mesh = logical_mesh(count, _shardings(module))
    partitioner = Partitioner(mesh, decisions, poisoned)
    entry = module.entry
    specs = _parameter_specs(mesh, entry)
    parameters: list[Instruction] = []
    arguments: list[Nest] = []
    for x in entry.parameters:
        made, argument = _parameter(mesh, x, [specs[x, k] for k in range(leaf_count(x.shape))])
        parameters.append(made)
        arguments.append(argument)
    result = partitioner.run(entry, arguments, _stated_results(mesh, entry.root))
    root = pack(result)
    given = [mesh.sharding(p.spec) if p.spec is not None else MANUAL for p in parts_of(result)]
    if isinstance(root.shape, TupleShape):
        root = with_sharding(root, tuple(given))
    else:
        # A copy, as what the value is may be used elsewhere, or have an effect.
        root = with_sharding(builder.unary("copy", root), given[0])
    made = Computation.make(entry.name, parameters, root, partitioner.emitter.effects)
    kept = tuple(a for a in module.attributes if a[0] not in _OF_WHOLE)
    return replace(module, entry=made, attributes=(*kept, _MARK))


def _shardings(module: Module) -> list[tuple[Sharding, int]]:
    """All shardings that the module states of arrays, with the arrays' ranks."""
    found = []
    for computation in module.computations:
        for x in computation.instructions:
            stated = sharding_of(x)
            each = stated if isinstance(stated, tuple) else (stated,)
            for s, shape in zip(each, leaves(x.shape)):
                if isinstance(s, Sharding) and s.kind == "tiled":
                    found.append((s, shape.rank))
    return found


def _parameter_specs(mesh: LogicalMesh, entry: Computation) -> dict[tuple[Instruction, int], Spec]:
    """The specs of the entry's parameters: those stated, else what follows for them."""
    found = Propagation(mesh, entry, manual_in(entry))
    for number, spec in enumerate(_stated_results(mesh, entry.root)):
        if spec is not None:
            found.specs[entry.root, number] = spec
    for x in entry.parameters:
        stated = sharding_of(x)
        if isinstance(stated, tuple) and isinstance(x.shape, TupleShape):
            for number, (s, shape) in enumerate(zip(stated, leaves(x.shape))):
                if (spec := mesh.spec(s, shape.rank)) is not None:
                    found.state(x, number, spec)
        users = entry.users[x]
        constraint = len(users) == 1 and x is not entry.root and users[0].opcode == "custom-call"
        if constraint and (spec := stated_spec(mesh, users[0])) is not None:
            found.state(x, 0, spec)
    found.run()
    return {
        (x, k): found.specs.get((x, k), whole(rank))
        for x in entry.parameters
        for k, rank in enumerate(_ranks(x))
    }


def _ranks(x: Instruction) -> list[int]:
    return [shape.rank for shape in leaves(x.shape)]


def _parameter(mesh: LogicalMesh, x: Instruction, specs: list[Spec]) -> tuple[Instruction, Nest]:
    """A parameter that takes parts, and the parts that it gives."""
    remaining = iter(specs)

    def local(shape: AnyShape) -> AnyShape:
        if isinstance(shape, TupleShape):
            return TupleShape(tuple(local(element) for element in shape.elements))
        if not isinstance(shape, Shape):
            return shape
        dims = mesh.local(shape.dims, next(remaining))
        return Shape(shape.element_type, dims, shape.layout)

    shardings = tuple(map(mesh.sharding, specs))
    single = isinstance(x.shape, Shape)
    made = with_sharding(x.with_(shape=local(x.shape)), shardings[0] if single else shardings)
    found = iter(specs)

    def parts(value: Instruction, shape: AnyShape) -> Nest:
        if isinstance(shape, TupleShape):
            return tuple(
                parts(builder.instruction("get-tuple-element", [value], index=k), element)
                for k, element in enumerate(shape.elements)
            )
        if not isinstance(shape, Shape):
            return Part(value, None)
        return Part(value, next(found), shape.dims)

    return made, parts(made, x.shape)


def _stated_results(mesh: LogicalMesh, root: Instruction) -> list[Spec | None]:
    """The spec that the root's annotation gives each of its arrays."""
    stated = sharding_of(root)
    if isinstance(root.shape, Shape):
        return [stated_spec(mesh, root)]
    shapes = list(leaves(root.shape))
    if not isinstance(stated, tuple) or len(stated) != len(shapes):
        return [None] * len(shapes)
    return [mesh.spec(s, shape.rank) if s.kind in ("tiled", "replicated") else None
            for s, shape in zip(stated, shapes)]  # fmt: skip
