"""What a device has of a value: parts of its arrays, in tuples as the value's are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.passes.spmd.logical_mesh import Spec


@dataclass(frozen=True)
class Part:
    """What a device has of a value.

    spec: which part of the array it is; None for what the program itself takes for parts.
    dims: of the whole array.
    """

    instruction: Instruction
    spec: Spec | None
    dims: tuple[int, ...] = ()


Nest: TypeAlias = Part | tuple["Nest", ...]


def parts_of(value: Nest) -> Iterator[Part]:
    """The parts of a value, in order."""
    if isinstance(value, Part):
        yield value
    else:
        for element in value:
            yield from parts_of(element)


def pack(value: Nest) -> Instruction:
    """One instruction of a value, tuples included."""
    if isinstance(value, Part):
        return value.instruction
    return builder.instruction("tuple", [pack(element) for element in value])
