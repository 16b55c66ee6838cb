"""Iteration spaces: how many loops a kernel needs, and the array index at a point of them.

Neighbouring dimensions share one loop where every access stays a linear function of the loop
variables: adding two f32[64,64] is one loop of 4096, adding a row to each row is two. Fewer and
longer loops vectorise better.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.elements import Buffer
from tfc.hlo.indexing import Index, constant, delinearize, variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named

Indices = tuple[Index, ...]


@dataclass(frozen=True)
class Space:
    """Loops from outermost to innermost, and the index they give.

    groups: for each loop, the dimensions it runs over, major first.
    variables: for each loop its variable; a loop of one iteration has a constant instead.
    index: for each dimension of the array, its value in terms of the variables.
    """

    groups: tuple[tuple[int, ...], ...]
    variables: tuple[Index, ...]
    sizes: tuple[int, ...]
    index: Indices

    def bind(self, points: Sequence[Any]) -> dict[str, Any]:
        """The values of the outer variables at a point of as many loops."""
        return bind(self.variables, points)


def bind(variables: Sequence[Index], points: Sequence[Any]) -> dict[str, Any]:
    """Values by variable name; a loop of one iteration has no variable to bind."""
    return {v.name: p for v, p in zip(variables, points) if v.kind == "variable"}


def make_space(dims: Sequence[int], groups: Sequence[Sequence[int]], prefix: str = "i") -> Space:
    """The space of given groups of dimensions."""
    variables, sizes = [], []
    index = [constant(0)] * len(dims)
    for number, group in enumerate(groups):
        widths = [dims[d] for d in group]
        size = 1
        for width in widths:
            size *= width
        loop = variable(f"{prefix}{number}", size)
        for d, i in zip(group, delinearize(loop, widths)):
            index[d] = i
        variables.append(loop)
        sizes.append(size)
    frozen = tuple(tuple(g) for g in groups)
    return Space(frozen, tuple(variables), tuple(sizes), tuple(index))


def loop_space(
    computation: Computation,
    root: Instruction,
    result: Buffer,
    *,
    flat: bool = False,
    elements: bool = True,
) -> Space:
    """The space of a kernel that stores each element of `result`, in the order of its memory.

    Args:
        flat: one loop over everything, whatever the accesses (a GPU grid).
        elements: look at what `root` reads to choose the loops; else only at the result.
    """
    dims, order = result.shape.dims, result.shape.layout.minor_to_major[::-1]
    if flat:
        return make_space(dims, [order])
    parameters = computation.parameters
    reads = (lambda index: access_positions(parameters, root, index)) if elements else None
    return merge_loops(dims, order, [], reads, result)


def merge_loops(
    dims: Sequence[int],
    order: Sequence[int],
    barriers: Sequence[int],
    reads: Callable[[Indices], Iterable[Index]] | None,
    result: Buffer | None = None,
    prefix: str = "i",
) -> Space:
    """Join neighbouring loops, from the innermost outwards, while all accesses stay linear.

    Args:
        order: the dimensions that the loops run over, outermost first; others stay at 0.
        barriers: positions in `order` that must begin a new loop.
        reads: the positions in memory that are read where the loops visit an index.
        result: a buffer that is stored to at the same index.
        prefix: what the names of the variables begin with.
    """
    groups: list[list[int]] = [[d] for d in order]
    starts = set(barriers)
    position = len(order) - 1
    while position > 0:
        if position not in starts:
            at = _group_at(groups, position)
            joined = groups[: at - 1] + [groups[at - 1] + groups[at]] + groups[at + 1 :]
            space = make_space(dims, joined, prefix)
            positions = list(reads(space.index)) if reads else []
            if result is not None:
                positions.append(result.position(space.index))
            if all(is_linear(p) for p in positions):
                groups = joined
        position -= 1
    return make_space(dims, groups, prefix)


def _group_at(groups: list[list[int]], position: int) -> int:
    """The number of the group that begins at a position in the order of dimensions."""
    start = 0
    for number, group in enumerate(groups):
        if start == position:
            return number
        start += len(group)
    raise AssertionError("a group begins at every position that is not yet joined")


def access_positions(
    parameters: Container[Instruction],
    root: Instruction,
    index: Indices,
    known: Container[Instruction] = (),
) -> Iterator[Index]:
    """The positions, in elements, that the value of `root` at `index` is read from.

    Args:
        known: instructions whose values need no reading.
    """
    seen: set[tuple[Instruction, Indices]] = set()
    stack = [(root, index)]
    while stack:
        instruction, at = stack.pop()
        if (instruction, at) in seen or instruction in known or not instruction.array_shape.rank:
            continue
        seen.add((instruction, at))
        if instruction in parameters:
            yield Buffer(None, instruction.array_shape).position(at)
            continue
        op = op_named(instruction.opcode)
        if op.index_map is not None:
            for piece in op.index_map(instruction, at):
                stack.append((instruction.operands[piece.operand], piece.index))
                yield from (c.index for c in piece.conditions if not c.always)
                stack.extend(piece.sources())
        elif instruction.opcode == "iota":
            yield at[instruction["iota_dimension"]]
        else:
            stack.extend((o, at) for o in instruction.operands)


def is_linear(index: Index) -> bool:
    """True if the expression has no division and no remainder."""
    match index.kind:
        case "variable" | "constant":
            return True
        case "element":  # a scalar is the same throughout; an array's element is anything
            return index.source is not None and not index.source[1]
        case "add":
            return all(is_linear(t) for t in index.terms)
        case "mul":
            return index.left is not None and is_linear(index.left)
        case _:
            return False
