"""Collectives as engines of GPUs have them: of whole runs of memory, reduced only as they can.

    y = f32[4,6] all-gather(x), dimensions={1}      g = f32[2,4,3] all-gather(reshape(x))
                                               -->  y = f32[4,6] reshape(transpose(g))

    y = f32[8] all-reduce(x), to_apply=maximum      g = f32[2,8] all-gather(reshape(x))
                                               -->  y = f32[8] maximum(slice(g), slice(g))

What is gathered, scattered or split lies along the outermost dimension then, row-major. Elements
that the engine does not reduce to the values that are meant are gathered, or exchanged where each
device has a part of the result, and reduced in the order of the group. Groups of several sizes
are left as they are, and so is an exchange among both replicas and partitions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, ClassVar

import numpy as np

from tfc.hlo import builder
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.replica_groups import (
    REDUCING,
    ReplicaGroups,
    device_groups,
    is_collective,
)
from tfc.hlo.ir import Instruction, Module, laid_out, map_computations, rebuild
from tfc.hlo.ops.outside.collectives import reducer_of
from tfc.hlo.shape import Shape, TupleShape, row_major
from tfc.passes.expand.mapped import expand_map

Reduces = Callable[[str, np.dtype], bool]


@dataclass(frozen=True)
class DenseCollectives:
    """Write collectives as an engine carries them out between GPUs.

    reduces: whether the engine reduces elements of a type by the operation of that name.
    """

    name: ClassVar[str] = "dense-collectives"
    reduces: Reduces = lambda name, dtype: True

    def __call__(self, module: Module) -> Module:
        """The module whose collectives are of whole runs of memory."""
        devices = device_counts(module)

        def replace(x: Instruction) -> Instruction:
            return _Rewritten(x, *devices, self.reduces).made() if is_collective(x) else x

        return map_computations(module, lambda c: rebuild(c, replace))


@dataclass(frozen=True)
class _Rewritten:
    """What takes the place of a collective of a program for so many replicas and partitions."""

    x: Instruction
    replicas: int
    partitions: int
    reduces: Reduces

    def made(self) -> Instruction:
        """The same values; the instruction itself if it is as wanted."""
        x = self.x
        plain = tuple(laid_out(o, row_major(o.shape)) for o in x.operands)
        if any(self._is_apart(o) for o in x.operands) and self._is_regular():
            parts = [self._of_one(o, len(self._groups[0])) for o in plain]
            whole = isinstance(x.shape, TupleShape)
            return laid_out(builder.instruction("tuple", parts) if whole else parts[0], x.shape)
        if plain == x.operands and x.shape == row_major(x.shape):
            return x
        return laid_out(x.with_(operands=plain, shape=row_major(x.shape)), x.shape)

    def _is_regular(self) -> bool:
        """Whether groups are of one size, and can be stated for what it takes."""
        is_exchanged = self.x.opcode == "reduce-scatter" and self._is_reduced_here(
            self.x.operands[0]
        )
        one_size = len({len(g) for g in self._groups}) == 1
        return one_size and (not is_exchanged or min(self.replicas, self.partitions) == 1)

    def _is_apart(self, operand: Instruction) -> bool:
        """Whether parts do not lie together, or the engine does not reduce such elements."""
        return self._is_reduced_here(operand) or self._outer(operand) > 1

    def _is_reduced_here(self, operand: Instruction) -> bool:
        dtype = operand.array_shape.element_type.dtype
        return "to_apply" in self.x.attributes and not self.reduces(reducer_of(self.x), dtype)

    def _outer(self, operand: Instruction) -> int:
        """How many parts of an operand lie apart."""
        along = self.x.attributes.get("dimensions")
        return prod(operand.array_shape.dims[: along[0]]) if along else 1

    def _of_one(self, operand: Instruction, count: int) -> Instruction:
        """The collective's result for one of its operands; `count` devices are a group."""
        dims = operand.array_shape.dims
        match self.x.opcode:
            case "all-reduce":
                return builder.reshape(self._total(self._gathered(operand, count)), dims)
            case "all-gather":
                at = self.x["dimensions"][0]
                order = [*range(1, at + 1), 0, *range(at + 1, len(dims) + 1)]
                whole = (*dims[:at], count * dims[at], *dims[at + 1 :])
                return builder.reshape(self._gathered(operand, count), whole, order)
            case "reduce-scatter":
                at = self.x["dimensions"][0]
                parts = self._in_front(operand, at, count)
                part = (*dims[:at], dims[at] // count, *dims[at + 1 :])
                if self._is_reduced_here(operand):
                    exchanged = self._collective("all-to-all", parts, parts.array_shape)
                    return builder.reshape(self._total(exchanged), part)
                own = Shape(parts.array_shape.element_type, (1, *part))
                made = self._collective("reduce-scatter", parts, own, to_apply=self.x["to_apply"])
                return builder.reshape(made, part)
        assert self.x.opcode == "all-to-all"
        at = self.x["dimensions"][0]
        parts = self._in_front(operand, at, count)
        exchanged = self._collective("all-to-all", parts, parts.array_shape)
        order = [*range(1, at + 1), 0, *range(at + 1, len(dims) + 1)]
        return builder.reshape(exchanged, dims, order)

    def _gathered(self, operand: Instruction, count: int) -> Instruction:
        """What all devices of a group have, by a dimension in front."""
        shape = operand.array_shape
        alone = builder.reshape(operand, (1, *shape.dims))
        every = Shape(shape.element_type, (count, *shape.dims))
        return self._collective("all-gather", alone, every)

    def _in_front(self, operand: Instruction, at: int, count: int) -> Instruction:
        """The parts of an array along a dimension, by a dimension in front."""
        dims = operand.array_shape.dims
        part = (dims[at] // count, *dims[at + 1 :])
        cut = builder.reshape(operand, (*dims[:at], count, *part))
        order = (at, *(d for d in range(len(dims) + 1) if d != at))
        return builder.instruction("transpose", [cut], dimensions=order) if at else cut

    def _total(self, parts: Instruction) -> Instruction:
        """What is reduced of parts, by a dimension in front, from the first to the last."""
        count, *dims = parts.array_shape.dims
        rest = [(0, n, 1) for n in dims]

        def part(number: int) -> Instruction:
            cut = ((number, number + 1, 1), *rest)
            return builder.reshape(builder.instruction("slice", [parts], slice=cut), dims)

        def combined(left: Instruction, right: Instruction) -> Instruction:
            attributes: dict[str, Any] = {
                "dimensions": tuple(range(len(dims))), "to_apply": self.x["to_apply"]
            }  # fmt: skip
            return expand_map(builder.instruction("map", [left, right], **attributes))

        return reduce(combined, map(part, range(count)))

    def _collective(
        self, opcode: str, operand: Instruction, shape: Shape, **attributes: Any
    ) -> Instruction:
        """A collective of the same groups along the first dimension."""
        x, kept = self.x, dict(attributes)
        groups, channel = (
            x.attributes.get("replica_groups", ReplicaGroups()),
            "channel_id" in x.attributes,
        )
        if opcode in REDUCING:
            kept["use_global_device_ids"] = x.attributes.get("use_global_device_ids", False)
        elif x.opcode != opcode:
            # Its numbers are replicas or partitions; of one of them there is only one.
            groups, channel = ReplicaGroups(self._groups), self.partitions > 1
        if channel:
            kept["channel_id"] = x.attributes.get("channel_id", 1)
        return builder.instruction(
            opcode, [operand], shape=shape, dimensions=(0,), replica_groups=groups, **kept
        )

    @property
    def _groups(self) -> tuple[tuple[int, ...], ...]:
        return device_groups(self.x, self.replicas, self.partitions)
