"""From one sharding of a value to another: the steps, what they move, and their instructions.

slice           a dimension is cut further: each device keeps a part of what it has; moves nothing
permute         as many parts of each dimension, on other devices: one collective-permute
exchange        a cut goes from one dimension to another: one all-to-all
gather          a dimension is cut less: one all-gather

A cut along axes that nothing uses comes first, since what is gathered is less then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tfc.hlo import builder
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import S32, Shape
from tfc.passes.spmd.logical_mesh import Axes, LogicalMesh, Spec


@dataclass(frozen=True)
class Step:
    """One step on the way to another sharding.

    kind: "slice", "permute", "exchange" or "gather".
    spec: that after it.
    dimension: what is cut further or less; where the cut of an exchange goes to.
    axes: along which.
    source: the dimension that the cut of an exchange comes from.
    """

    kind: str
    spec: Spec
    dimension: int = 0
    axes: Axes = ()
    source: int = 0


def steps(mesh: LogicalMesh, before: Spec, after: Spec) -> Iterator[Step]:
    """The steps from one spec to another, of an array whose sizes divide in both."""
    spec = before
    while spec != after:
        step = _next(mesh, spec, after)
        spec = step.spec
        yield step


def _next(mesh: LogicalMesh, now: Spec, after: Spec) -> Step:
    used = {a for axes in now for a in axes}
    for d, axes in enumerate(after):
        more = axes[len(now[d]) :]
        if more and axes[: len(now[d])] == now[d] and not used & set(more):
            return Step("slice", _with(now, d, axes), d, more)
    if mesh.parts(now) == mesh.parts(after):
        return Step("permute", after)
    return _exchange(now, after) or _gather(now, after)


def _exchange(now: Spec, after: Spec) -> Step | None:
    for i, have in enumerate(now):
        if after[i][: len(have)] == have:
            continue
        for length in range(len(have), 0, -1):
            moved = have[-length:]
            for j, axes in enumerate(now):
                wanted = (*axes, *moved)
                if j != i and after[j][: len(wanted)] == wanted:
                    spec = _with(_with(now, i, have[:-length]), j, wanted)
                    return Step("exchange", spec, j, moved, i)
    return None


def _gather(now: Spec, after: Spec) -> Step:
    for d, have in enumerate(now):
        shared = 0
        while shared < len(have) and after[d][shared : shared + 1] == have[shared : shared + 1]:
            shared += 1
        if shared < len(have):
            return Step("gather", _with(now, d, have[:shared]), d, have[shared:])
    raise AssertionError("specs that differ can be sliced or gathered")


def _with(spec: Spec, dimension: int, axes: Axes) -> Spec:
    return (*spec[:dimension], axes, *spec[dimension + 1 :])


def cost(mesh: LogicalMesh, shape: Shape, before: Spec, after: Spec) -> int:
    """The bytes that a device gets on the way from one spec to another."""
    total = 0
    for step in steps(mesh, before, after):
        held = prod(mesh.local(shape.dims, step.spec)) * shape.element_type.bytes
        count = mesh.count(step.axes)
        if step.kind == "permute":
            total += held
        elif step.kind != "slice":
            total += held * (count - 1) // count
    return total


def reduction_cost(mesh: LogicalMesh, size: int, axes: Axes) -> int:
    """The bytes that a device gets in an all-reduce of so many."""
    count = mesh.count(axes)
    return 2 * size * (count - 1) // count


class Emitter:
    """Makes the instructions that move parts of values between devices."""

    def __init__(self, mesh: LogicalMesh):
        self.mesh = mesh
        self.effects: list[Instruction] = []
        self._device: Instruction | None = None

    def made(self, instruction: Instruction) -> Instruction:
        """The instruction, known to have an effect: it is kept in this order."""
        self.effects.append(instruction)
        return instruction

    def step(self, x: Instruction, step: Step, before: Spec) -> Instruction:
        """A part after a step."""
        match step.kind:
            case "slice":
                return self.slice(x, step.dimension, step.axes)
            case "permute":
                return self._permuted(x, before, step.spec)
            case "exchange":
                return self._exchanged(x, step.source, step.dimension, step.axes)
            case _:
                return self._gathered(x, step.dimension, step.axes)

    def offset(self, axes: Axes, size: int) -> Instruction:
        """Where a device's part begins along a dimension cut along axes, in parts of a size."""
        if self._device is None:
            self._device = builder.instruction("partition-id", [])
        table = builder.constant((self.mesh.places(axes) * size).astype(np.int32))
        found = builder.instruction(
            "dynamic-slice", [table, self._device], dynamic_slice_sizes=(1,)
        )
        return builder.instruction("reshape", [found], shape=Shape(S32))

    def slice(self, x: Instruction, dimension: int, axes: Axes) -> Instruction:
        """The part of a value that a device keeps."""
        dims = list(x.array_shape.dims)
        dims[dimension] //= self.mesh.count(axes)
        zero = builder.constant(0, S32)
        starts = [zero] * len(dims)
        starts[dimension] = self.offset(axes, dims[dimension])
        return builder.instruction("dynamic-slice", [x, *starts], dynamic_slice_sizes=tuple(dims))

    def _attributes(self, axes: Axes) -> dict[str, Any]:
        return {
            "channel_id": 1, "use_global_device_ids": True,
            "replica_groups": ReplicaGroups(self.mesh.groups(axes)),
        }  # fmt: skip

    def _grown(
        self, opcode: str, x: Instruction, dimension: int, axes: Axes, **more: Any
    ) -> Instruction:
        dims, count = list(x.array_shape.dims), self.mesh.count(axes)
        dims[dimension] = (
            dims[dimension] * count if opcode == "all-gather" else dims[dimension] // count
        )
        shape = Shape(x.array_shape.element_type, tuple(dims))
        attributes: dict[str, Any] = {
            **self._attributes(axes), "dimensions": (dimension,), **more
        }  # fmt: skip
        return self.made(builder.instruction(opcode, [x], shape=shape, **attributes))

    def _gathered(self, x: Instruction, dimension: int, axes: Axes) -> Instruction:
        return self._grown("all-gather", x, dimension, axes)

    def reduced(self, x: Instruction, axes: Axes, reducer: Computation) -> Instruction:
        """The combination of what the devices along axes have."""
        return self.made(
            builder.instruction("all-reduce", [x], to_apply=reducer, **self._attributes(axes))
        )

    def scattered(
        self, x: Instruction, dimension: int, axes: Axes, reducer: Computation
    ) -> Instruction:
        """The part, along a dimension, of the combination of what the devices along axes have."""
        return self._grown("reduce-scatter", x, dimension, axes, to_apply=reducer)

    def _exchanged(self, x: Instruction, source: int, target: int, axes: Axes) -> Instruction:
        """A part that is cut along another dimension instead, by an all-to-all."""
        dims, count = list(x.array_shape.dims), self.mesh.count(axes)
        element_type = x.array_shape.element_type
        parts = [*dims[:target], count, dims[target] // count, *dims[target + 1 :]]
        made = builder.instruction("reshape", [x], shape=Shape(element_type, tuple(parts)))
        made = self.made(
            builder.instruction(
                "all-to-all", [made], channel_id=1, dimensions=(target,),
                replica_groups=ReplicaGroups(self.mesh.groups(axes)),
            )
        )  # fmt: skip
        rest = [d for d in range(len(parts)) if d != target]
        order = (*rest[:source], target, *rest[source:])
        made = builder.instruction("transpose", [made], dimensions=order)
        dims[target] //= count
        dims[source] *= count
        return builder.instruction("reshape", [made], shape=Shape(element_type, tuple(dims)))

    def _permuted(self, x: Instruction, before: Spec, after: Spec) -> Instruction:
        """A part that lies on another device."""
        sources = _by_part(self.mesh, before)
        targets = _by_part(self.mesh, after)
        pairs = tuple(
            pair for have, want in zip(sources, targets) for pair in zip(sorted(have), sorted(want))
        )
        return self.made(
            builder.instruction("collective-permute", [x], channel_id=1, source_target_pairs=pairs)
        )


def _by_part(mesh: LogicalMesh, spec: Spec) -> Sequence[Sequence[int]]:
    """The devices that hold each part."""
    devices = np.array(mesh.sharding(spec).devices)
    return devices.reshape(prod(mesh.parts(spec)), -1).tolist()
