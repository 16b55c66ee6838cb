"""Which instruction's storage a value lives in.

A leaf is one array of an instruction's shape. tuple, get-tuple-element and opt-barrier only rename
leaves, and a reshape or transpose between arrays whose layouts agree leaves every byte where it is:
their leaves are their operands'. Everything else owns its leaves, except that a parameter's are
bound by whoever runs it.
"""

from collections.abc import Iterable
from itertools import accumulate

from tfc.hlo.ir import Instruction
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves
from tfc.passes.orders import forward, order_of

Leaf = tuple[Instruction, int]  # (the owner, which array of its shape)


def is_alias(instruction: Instruction) -> bool:
    """True if no code runs for the instruction: its value is where an operand's is."""
    match instruction.opcode:
        case "tuple" | "get-tuple-element" | "opt-barrier":
            return True
        case "reshape" | "transpose":
            return is_bitcast(instruction)
        case _:
            return False


def is_bitcast(instruction: Instruction) -> bool:
    """True for a reshape or transpose that keeps every element at its place in memory."""
    if instruction.opcode not in ("reshape", "transpose"):
        return False
    here, before = instruction.array_shape, instruction.operands[0].array_shape
    if instruction.opcode == "reshape" and here.has_default_layout and before.has_default_layout:
        return True
    if here.layout.padded_dimensions or before.layout.padded_dimensions:
        return False
    return forward(instruction, 0, order_of(before)) == order_of(here)


def own_leaves(instruction: Instruction) -> tuple[Leaf, ...]:
    """The leaves of the instruction's shape, owned by itself."""
    return tuple((instruction, i) for i, _ in enumerate(leaves(instruction.shape)))


class Sources:
    """The owner of every leaf, filled in as instructions are visited, operands first."""

    def __init__(self) -> None:
        self.of: dict[Instruction, tuple[Leaf, ...]] = {}
        self._starts: dict[int, tuple[AnyShape, list[int]]] = {}

    def visit(self, instruction: Instruction) -> tuple[Leaf, ...]:
        """The owners of the instruction's leaves; parameters that were bound keep theirs."""
        if instruction not in self.of:
            self.of[instruction] = self._resolve(instruction)
        return self.of[instruction]

    def bind(self, parameter: Instruction, owners: tuple[Leaf, ...]) -> None:
        """Say where a parameter's leaves are."""
        self.of[parameter] = owners

    def _resolve(self, instruction: Instruction) -> tuple[Leaf, ...]:
        if not is_alias(instruction):
            return own_leaves(instruction)
        operands = instruction.operands
        if instruction.opcode == "get-tuple-element":
            starts = self._leaf_starts(operands[0].shape)
            index = instruction["index"]
            return self.of[operands[0]][starts[index] : starts[index + 1]]
        return tuple(leaf for o in operands for leaf in self.of[o])

    def _leaf_starts(self, shape: AnyShape) -> list[int]:
        """For each element of a tuple the number of its first leaf, and the count of all."""
        found = self._starts.get(id(shape))
        if found is None:
            assert isinstance(shape, TupleShape)
            counts = (sum(1 for _ in leaves(e)) for e in shape.elements)
            # The shape is kept too, so that its id is not given to another object.
            found = self._starts[id(shape)] = (shape, [0, *accumulate(counts)])
        return found[1]


def leaf_shapes(some: Iterable[Leaf]) -> dict[Leaf, Shape]:
    """The shape of each of the leaves, and of their owners' others."""
    shapes: dict[Leaf, Shape] = {}
    for owner in dict.fromkeys(owner for owner, _ in some):
        for number, shape in enumerate(leaves(owner.shape)):
            shapes[owner, number] = shape
    return shapes
