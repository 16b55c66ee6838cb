"""Take away what depends on other devices where there are none.

    r = u32[] replica-id()                                r = u32[] constant(0)
    ROOT y = f32[8] all-reduce(x), to_apply=add    -->    ROOT y = x

A collective whose groups have one device each is the identity, up to the form of its result. Does
nothing to a module whose collectives join several devices.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.replica_groups import device_groups, is_collective
from tfc.hlo.ir import Instruction, Module, laid_out, map_computations, rebuild
from tfc.hlo.shape import U32, TupleShape


@dataclass(frozen=True)
class Devices:
    """Replace collectives among one device, and the numbers of replica and partition if fixed."""

    name: ClassVar[str] = "devices"

    def __call__(self, module: Module) -> Module:
        """The module without collectives that join nothing."""
        replicas, partitions = device_counts(module)

        def replace(x: Instruction) -> Instruction:
            if (x.opcode, replicas) == ("replica-id", 1):
                return builder.constant(0, U32)
            if (x.opcode, partitions) == ("partition-id", 1):
                return builder.constant(0, U32)
            return _alone(x, replicas, partitions) if is_collective(x) else x

        return map_computations(module, lambda c: rebuild(c, replace))


def _alone(x: Instruction, replicas: int, partitions: int) -> Instruction:
    """The collective's operands, if they are its results."""
    groups = device_groups(x, replicas, partitions)
    if len(groups) < replicas * partitions or any(len(g) > 1 for g in groups):
        return x
    operands = x.operands
    if x.attributes.get("source_target_pairs", ((0, 0),)) == ():
        # What nobody sends to gets zeros.
        operands = tuple(builder.full(0, o.array_shape.with_layout(None)) for o in operands)
    alone = isinstance(x.shape, TupleShape)
    made = builder.instruction("tuple", operands) if alone else operands[0]
    return laid_out(made, x.shape)
