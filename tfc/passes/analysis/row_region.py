"""Row regions: computations that one kernel makes row by row, and which rows their values have.

    rows × length = 6 × 33:   x f32[6,33] full    reduce(x) f32[6] row    f32[6,1], f32[2,3] row

The reductions of a region remove the same last dimensions. Every other value is an array with a
place for each element of the space (full), one for each row (row), or one element (scalar); what is
"the same row" is a matter of row-major positions, so reshapes change nothing. Anything else is read
by its index, which is possible where it takes no more than moving elements of operands.

The pass that forms regions and the backends that emit them both ask this file.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Literal

from tfc.hlo.index_maps import Index, constant, delinearize, linearize, variable
from tfc.hlo.ir import Attributes, Instruction, postorder
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape
from tfc.passes.analysis.fusible import is_elementwise, is_movement, is_scalar_constant

Role = Literal["full", "row", "scalar"]
Indices = tuple[Index, ...]


@dataclass(frozen=True)
class Place:
    """Where a loop over rows is: the number of the row, and the position of an element in it."""

    row: Index
    point: Index

    def index(self, role: Role, dims: Sequence[int]) -> Indices:
        """The index of the element that belongs to this place, in an array of these dimensions."""
        position = {"full": self.point, "row": self.row, "scalar": constant(0)}[role]
        return delinearize(position, dims)

    def role(self, dims: Sequence[int], index: Indices) -> Role | None:
        """What the element at an index is to this place; None if it belongs to another."""
        position = linearize(index, dims)
        if _is_zero(position - self.row):
            return "row"
        if prod(dims) == 1:
            return "scalar"
        return "full" if _is_zero(position - self.point) else None


def _is_zero(index: Index) -> bool:
    return index.kind == "constant" and index.value == 0


@dataclass(frozen=True)
class RowSpace:
    """How many rows there are, and how long each is."""

    rows: int
    length: int

    @cached_property
    def place(self) -> Place:
        """Any place of the space."""
        row = variable("row", self.rows)
        return Place(row, row * self.length + variable("column", self.length))

    def role(self, shape: Shape) -> Role | None:
        """What an array of this shape can be in the space; None if it has another size."""
        sizes: dict[int, Role] = {self.rows * self.length: "full", self.rows: "row"}
        return sizes.get(shape.size)


@dataclass(frozen=True)
class Want:
    """An operand of which an element is wanted: that of the same place in its role, or another's.

    index: where the element is, if `role` is None.
    """

    operand: Instruction
    role: Role | None
    index: Indices = ()


def row_space(reduce: Instruction) -> RowSpace | str:
    """The rows that a reduction goes along, or why it goes along none."""
    shape = reduce.operands[0].array_shape
    count = len(reduce.operands) // 2
    removed = [d for d in reduce["dimensions"] if shape.dims[d] != 1]
    kept = [d for d in range(shape.rank) if d not in reduce["dimensions"] and shape.dims[d] != 1]
    if not all(o.array_shape.has_default_layout for o in reduce.operands[:count]):
        return "its operand does not lie in row-major order"
    if kept and removed and max(kept) > min(removed):
        return "it does not remove the last dimensions"
    rows, length = (prod(shape.dims[d] for d in some) for some in (kept, removed))
    if length < 2 or not rows:
        return "its rows have less than two elements"
    return RowSpace(rows, length)


def wants(instruction: Instruction, role: Role, space: RowSpace) -> list[Want] | str:
    """The elements of operands that the element of a place is made of, or why it cannot be."""
    operands = instruction.operands
    scalar: Role = "row" if space.rows == 1 else "scalar"
    if instruction.opcode == "reduce":
        count = len(operands) // 2
        inits = [Want(o, scalar) for o in operands[count:]]
        return [*(Want(o, "full") for o in operands[:count]), *inits]
    if instruction.opcode == "get-tuple-element":
        return [Want(operands[0], "row")]
    if is_elementwise(instruction):
        same = instruction.array_shape.dims
        return [Want(o, role if o.array_shape.dims == same else scalar) for o in operands]
    if not is_movement(instruction):
        known = instruction.opcode in ("iota", "parameter") or is_scalar_constant(instruction)
        return [] if known else f"{instruction.opcode} is not computed element by element"
    if len(operands) == 1:
        shapes = operands[0].array_shape, instruction.array_shape
        moved = _moved_from(instruction.opcode, instruction.attributes, *shapes, role, space)
        found = moved and [Want(operands[0], *moved)]
    else:
        found = _movement_wants(instruction, role, space.place)
    return found or f"{instruction.opcode} has elements of several kinds"


@lru_cache(maxsize=1024)
def _moved_from(
    opcode: str, attributes: Attributes, source: Shape, shape: Shape, role: Role, space: RowSpace
) -> tuple[Role | None, Indices] | None:
    """The role and index of what a movement of one operand wants; layers of a network are alike."""
    operand = Instruction("parameter", (), source)
    movement = Instruction(opcode, (operand,), shape, attributes)
    found = _movement_wants(movement, role, space.place)
    return (found[0].role, found[0].index) if found else None


def _movement_wants(movement: Instruction, role: Role, place: Place) -> list[Want] | None:
    moved = moves(movement, place.index(role, movement.array_shape.dims))
    if moved is None:
        return None
    found: list[Want] = []
    for operand, index in moved:
        own = place.role(operand.array_shape.dims, index)
        found.append(Want(operand, own, () if own else index))
    return found


def moves(movement: Instruction, index: Indices) -> list[tuple[Instruction, Indices]] | None:
    """The element that a movement takes, and those that say where it is; None if it chooses."""
    index_map = op_named(movement.opcode).index_map
    assert index_map is not None
    pieces = index_map(movement, index)
    if len(pieces) != 1 or not all(c.always for c in pieces[0].conditions):
        return None
    (piece,) = pieces
    return [(movement.operands[piece.operand], tuple(piece.index)), *piece.sources()]


class Elsewhere:
    """Walks from elements of other places to what they are made of.

    inside: the instructions that are computed; all others are inputs.
    passed: those of them whose elements of other places were asked for.
    """

    def __init__(self, place: Place, inside: Container[Instruction]):
        self.place, self.inside = place, inside
        self.passed: set[Instruction] = set()

    def is_free(self, instruction: Instruction) -> bool:
        """True if only movement is between the instruction and inputs or constants."""
        if instruction not in self.inside:
            return True
        self.passed.add(instruction)
        if not instruction.operands:
            return True
        return is_movement(instruction) and all(self.is_free(o) for o in instruction.operands)

    def of_row(self, instruction: Instruction, index: Indices) -> list[Want] | None:
        """The values of this very row that the element is made of, besides inputs.

        None if it is made of values of other rows.
        """
        if instruction not in self.inside:
            return []
        if not is_movement(instruction) and instruction.operands:
            role = self.place.role(instruction.array_shape.dims, index)
            if role and role != "full":
                return [Want(instruction, role)]
            if not is_elementwise(instruction):
                return None
        self.passed.add(instruction)
        reads = _reads(instruction, index)
        found: list[Want] = []
        for read in [None] if reads is None else [self.of_row(o, at) for o, at in reads]:
            if read is None:
                return None
            found += read
        return found


def _reads(instruction: Instruction, index: Indices) -> list[tuple[Instruction, Indices]] | None:
    """The elements of operands that an element is made of."""
    if is_movement(instruction):
        return moves(instruction, index)
    same = instruction.array_shape.dims
    return [(o, index if o.array_shape.dims == same else ()) for o in instruction.operands]


@dataclass(frozen=True)
class RowRegion:
    """A computation that can be made row by row.

    outputs: the arrays of its result, in order.
    order: its instructions, operands first.
    roles: of every instruction whose elements are wanted at their own place.
    moved: those that are wanted at other places, too.
    """

    space: RowSpace
    outputs: tuple[Instruction, ...]
    order: tuple[Instruction, ...]
    roles: Mapping[Instruction, Role]
    moved: frozenset[Instruction]


def row_region(root: Instruction) -> RowRegion | None:
    """The region that ends in a root, an array or a tuple of arrays; None if it is none.

    A region has reductions, all of them along the same rows, and is not just one of them.
    """
    order = postorder([root])
    reduces = [i for i in order if i.opcode == "reduce"]
    spaces = {row_space(r) for r in reduces}
    if [root] == reduces or len(spaces) != 1:
        return None
    (space,) = spaces
    if isinstance(space, str):
        return None
    outputs = root.operands if root.opcode == "tuple" else (root,)
    inside = frozenset(i for i in order if i.opcode != "parameter")
    elsewhere = Elsewhere(space.place, inside)
    roles = _roles(outputs, order, space, elsewhere)
    if roles is None:
        return None
    return RowRegion(space, outputs, tuple(order), roles, frozenset(elsewhere.passed))


def _roles(
    outputs: Sequence[Instruction],
    order: Sequence[Instruction],
    space: RowSpace,
    elsewhere: Elsewhere,
) -> dict[Instruction, Role] | None:
    """The role of each instruction that is wanted at its own place; None if that cannot be."""
    roles: dict[Instruction, Role] = {}
    for output in outputs:
        role = space.role(output.shape) if isinstance(output.shape, Shape) else None
        if role is None:
            return None
        roles[output] = role
    for instruction in reversed(order):
        role = roles.get(instruction)
        found = _wants_of_row(instruction, role, space, elsewhere) if role else []
        for want in found or []:
            assert want.role
            if roles.setdefault(want.operand, want.role) != want.role:
                return None
        if found is None:
            return None
    return roles


def _wants_of_row(
    instruction: Instruction, role: Role, space: RowSpace, elsewhere: Elsewhere
) -> list[Want] | None:
    """The elements of the same place that an element is made of; None if others are needed."""
    found: list[Want] = []
    first = wants(instruction, role, space)
    for want in [None] if isinstance(first, str) else first:
        if want is None:
            return None
        if want.role:
            found.append(want)
        elif role == "row":
            more = elsewhere.of_row(want.operand, want.index)
            if more is None:
                return None
            found += more
        elif not elsewhere.is_free(want.operand):
            return None
    return found
