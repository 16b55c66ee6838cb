"""The instructions that move parts of values between devices, and fill and mask parts.

A device's part of a dimension whose size does not divide is filled up at its end. What is there is
no value of the program: it is cut off when parts are gathered, and masked where an op would see it.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tfc.hlo import builder
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import S32, Shape
from tfc.passes.spmd.logical_mesh import Axes, LogicalMesh, Spec
from tfc.passes.spmd.resharding import Step


def filler(dtype: np.dtype, poisoned: bool) -> np.ndarray:
    """What fills parts up: a zero, or by request what shows in every result that it gets into."""
    if not poisoned:
        return np.zeros((), dtype)
    try:
        return np.array(np.nan, dtype)
    except ValueError:
        return np.array(-77).astype(dtype)


class Emitter:
    """Makes the instructions that move parts of values between devices."""

    def __init__(self, mesh: LogicalMesh, poisoned: bool = False):
        """Make instructions for the devices of a mesh; `poisoned` is what `filler` takes."""
        self.mesh, self.poisoned = mesh, poisoned
        self.effects: list[Instruction] = []
        self._device: Instruction | None = None

    def made(self, instruction: Instruction) -> Instruction:
        """The instruction, known to have an effect: it is kept in this order."""
        self.effects.append(instruction)
        return instruction

    def step(self, x: Instruction, dims: Sequence[int], step: Step, before: Spec) -> Instruction:
        """A part, of an array of these dims, after a step."""
        sizes = self.mesh.local(dims, step.spec)
        match step.kind:
            case "slice":
                return self.slice(x, step.dimension, step.axes)
            case "permute":
                return self._permuted(x, before, step.spec)
            case "exchange":
                made = self._exchanged(x, step.source, step.dimension, step.axes)
                return self.prefix(made, step.source, sizes[step.source])
            case _:
                made = self._gathered(x, step.dimension, step.axes)
                return self.prefix(made, step.dimension, sizes[step.dimension])

    def prefix(self, x: Instruction, dimension: int, size: int) -> Instruction:
        """The first elements along a dimension: without what fills the last parts up."""
        dims = x.array_shape.dims
        if dims[dimension] == size:
            return x
        bounds = tuple((0, size if d == dimension else n, 1) for d, n in enumerate(dims))
        return builder.instruction("slice", [x], slice=bounds)

    def filled(self, x: Instruction, dimension: int, count: int) -> Instruction:
        """A value with as many elements more along a dimension as make equal parts."""
        dims = x.array_shape.dims
        more = -dims[dimension] % count
        if not more:
            return x
        padding = tuple((0, more if d == dimension else 0, 0) for d in range(len(dims)))
        value = builder.constant(filler(x.array_shape.element_type.dtype, self.poisoned))
        return builder.instruction("pad", [x, value], padding=padding)

    def masked(
        self, x: Instruction, dimension: int, axes: Axes, size: int, value: Instruction
    ) -> Instruction:
        """A part with a scalar for what fills the last parts up of `size` elements in all."""
        shape = x.array_shape
        length = shape.dims[dimension]
        if length * self.mesh.count(axes) == size:
            return x
        left = builder.binary("subtract", builder.constant(size, S32), self.offset(axes, length))
        places = Shape(S32, shape.dims)
        is_inside = builder.compare(
            "LT", builder.iota(places, dimension), builder.broadcast(left, shape.dims, ())
        )
        others = builder.broadcast(value, shape.dims, ())
        return builder.instruction("select", [is_inside, x, others])

    def offset(self, axes: Axes, size: int) -> Instruction:
        """Where a device's part begins along a dimension cut along axes, in parts of a size."""
        return self.by_place(axes, np.arange(self.mesh.count(axes)) * size)

    def by_place(self, axes: Axes, numbers: np.ndarray) -> Instruction:
        """The number, s32[], that belongs to a device's place along axes."""
        if self._device is None:
            self._device = builder.instruction("partition-id", [])
        table = builder.constant(numbers[self.mesh.places(axes)].astype(np.int32))
        found = builder.instruction(
            "dynamic-slice", [table, self._device], dynamic_slice_sizes=(1,)
        )
        return builder.instruction("reshape", [found], shape=Shape(S32))

    def slice(self, x: Instruction, dimension: int, axes: Axes) -> Instruction:
        """The part of a value that a device keeps."""
        x = self.filled(x, dimension, self.mesh.count(axes))
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
        x = self.filled(x, dimension, self.mesh.count(axes))
        return self._grown("reduce-scatter", x, dimension, axes, to_apply=reducer)

    def _exchanged(self, x: Instruction, source: int, target: int, axes: Axes) -> Instruction:
        """A part that is cut along another dimension instead, by an all-to-all."""
        count = self.mesh.count(axes)
        x = self.filled(x, target, count)
        dims = list(x.array_shape.dims)
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
