"""What the loops of a kernel run over, so that values over the same space can share them."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from tfc.hlo.index_maps import Decided, Index, Piece, possible
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named

Indices = tuple[Index, ...]


@dataclass(frozen=True)
class LoopSpace:
    """The elements that a loop visits, and which dimensions it reduces.

    dims, minor_to_major: of the array that is stored, or that a reduction goes through.
    reduced: the dimensions that are reduced; None for a loop that stores each element.
    """

    dims: tuple[int, ...]
    minor_to_major: tuple[int, ...]
    reduced: frozenset[int] | None = None

    def joined(self, other: "LoopSpace") -> "LoopSpace | None":
        """The space of one pass that does both; None if there is none."""
        if (self.dims, self.minor_to_major) != (other.dims, other.minor_to_major):
            return None
        if self.reduced is None or other.reduced is None:
            return self if other.reduced is None else other
        return self if self.reduced == other.reduced else None


def space_of(root: Instruction) -> LoopSpace:
    """The space of a loop or a reduction."""
    if root.opcode != "reduce":
        shape = root.array_shape
        return LoopSpace(shape.dims, shape.layout.minor_to_major)
    shape = root.operands[0].array_shape
    return LoopSpace(shape.dims, shape.layout.minor_to_major, frozenset(root["dimensions"]))


def nests(values: Iterable[Instruction]) -> list[list[Instruction]]:
    """The loops and reductions that a kernel computes, those in one list in the same loops."""
    found: list[tuple[LoopSpace, list[Instruction]]] = []
    for value in dict.fromkeys(values):
        own = space_of(value)
        for number, (space, members) in enumerate(found):
            joined = space.joined(own)
            if joined is not None:
                members.append(value)
                found[number] = (joined, members)
                break
        else:
            found.append((own, [value]))
    return [members for _, members in found]


def visits(
    inputs: Container[Instruction],
    root: Instruction,
    index: Indices,
    known: Container[Instruction] = (),
    decided: Decided | None = None,
) -> Iterator[tuple[Instruction, Indices, list[Piece]]]:
    """Each (instruction, index) that the value of `root` at `index` is computed from, scalars left
    out, and for data movement the pieces that its element may be.

    Args:
        inputs: where to stop: the parameters of a kernel's computation.
        root: an instruction, or a tuple of several of one shape.
        known: what is left out, with all that only it is computed from.
        decided: conditions that are known to hold, or not to.
    """
    seen: set[tuple[Instruction, Indices]] = set()
    stack = [(i, index) for i in (root.operands if root.opcode == "tuple" else [root])]
    while stack:
        instruction, at = stack.pop()
        if (instruction, at) in seen or instruction in known or not instruction.array_shape.rank:
            continue
        seen.add((instruction, at))
        op, pieces = op_named(instruction.opcode), []
        if op.index_map is not None:
            pieces = possible(op.index_map(instruction, at), decided)
            stack += [(instruction.operands[p.operand], p.index) for p in pieces]
            stack += [source for p in pieces for source in p.sources()]
        elif instruction not in inputs:
            stack += [(o, at) for o in instruction.operands]
        yield instruction, at, pieces
