"""Iteration spaces: how many loops a kernel needs, and the array index at a point of them.

Neighbouring dimensions share one loop where every access stays a linear function of the loop
variables: adding two f32[64,64] is one loop of 4096, adding a row to each row is two. Fewer and
longer loops vectorise better.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any

from tfc.backends.mlir.elements import Buffer
from tfc.hlo.index_maps import Index, constant, delinearize, variable
from tfc.hlo.ir import Computation, Instruction
from tfc.passes.analysis.fusible import price
from tfc.passes.analysis.loop_spaces import visits

Indices = tuple[Index, ...]
Box = Sequence[tuple[int, int]]  # for each dimension the range of a part of an array
_MOST_PIECES = 128  # parts of one array
_MORE_CODE = 4  # how many times the code of one loop its parts may have …
_LITTLE_CODE = 64  # … unless it is less than this


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


def make_space(
    dims: Sequence[int], groups: Sequence[Sequence[int]], prefix: str = "i", box: Box | None = None
) -> Space:
    """The space of given groups of dimensions, or of the part of it in a box."""
    origin, dims = zip(*((low, high - low) for low, high in box)) if box else ((), dims)
    variables, sizes = [], []
    index = [constant(0)] * len(dims)
    for number, group in enumerate(groups):
        widths = [dims[d] for d in group]
        size = 1
        for width in widths:
            size *= width
        loop = variable(f"{prefix}{number}", size)
        for d, i in zip(group, delinearize(loop, widths)):
            index[d] = i + origin[d] if origin else i
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
        root: the instruction stored, or a tuple of several of one shape.
        flat: one loop over everything, whatever the accesses (a GPU grid).
        elements: look at what `root` reads to choose the loops; else only at the result.
    """
    dims, order = result.shape.dims, result.shape.layout.minor_to_major[::-1]
    if flat:
        return make_space(dims, [order])
    parameters = computation.parameters
    reads = (lambda index: access_positions(parameters, root, index)) if elements else None
    return merge_loops(dims, order, [], reads, result.position)


def merge_loops(
    dims: Sequence[int],
    order: Sequence[int],
    barriers: Sequence[int],
    reads: Callable[[Indices], Iterable[Index]] | None,
    written: Callable[[Indices], Index] | None = None,
    box: Box | None = None,
    prefix: str = "i",
) -> Space:
    """Join neighbouring loops, from the innermost outwards, while all accesses stay linear.

    Args:
        order: the dimensions that the loops run over, outermost first; others stay at 0.
        barriers: positions in `order` that must begin a new loop.
        reads: the positions in memory that are read where the loops visit an index.
        written: the position that is stored to at an index.
        box: the part that the loops visit; all of it by default.
        prefix: what the names of the variables begin with.
    """
    groups: list[list[int]] = [[d] for d in order]
    starts = set(barriers)
    position = len(order) - 1
    while position > 0:
        if position not in starts:
            at = _group_at(groups, position)
            joined = groups[: at - 1] + [groups[at - 1] + groups[at]] + groups[at + 1 :]
            space = make_space(dims, joined, prefix, box)
            positions = list(reads(space.index)) if reads else []
            if written is not None:
                positions.append(written(space.index))
            if all(is_linear(p) for p in positions):
                groups = joined
        position -= 1
    return make_space(dims, groups, prefix, box)


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
        root: an instruction, or a tuple of several of one shape.
        known: instructions whose values need no reading.
    """
    for instruction, at, pieces in visits(parameters, root, index, known):
        if instruction in parameters:
            yield Buffer(None, instruction.array_shape).position(at)
        elif instruction.opcode == "iota":
            yield at[instruction["iota_dimension"]]
        for piece in pieces:
            yield from (c.index for c in piece.conditions)


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


def step_of(position: Index, loop: Index) -> int | None:
    """How far apart positions at neighbouring points of a loop are; None if that varies."""
    total = 0
    for term in position.terms if position.kind == "add" else (position,):
        base, factor = (term.left, term.value) if term.kind == "mul" else (term, 1)
        assert base is not None
        if base == loop:
            total += factor
        elif _depends(base, loop):
            return None
    return total


def lies_evenly(position: Index, loop: Index, count: int) -> bool:
    """Whether `count` neighbours along a loop are together, from a multiple of as many on."""
    rest = position - loop
    terms = rest.terms if rest.kind == "add" else (rest,)
    is_even = all(t.kind in ("constant", "mul") and not t.value % count for t in terms)
    return is_even and step_of(position, loop) == 1


def _depends(index: Index, loop: Index) -> bool:
    """True if an expression has the variable in it."""
    inside = [*index.terms, *(index.source[1] if index.source else ())]
    if index.left is not None:
        inside.append(index.left)
    return index == loop or any(_depends(i, loop) for i in inside)


def pieces(
    inputs: Container[Instruction], root: Instruction, dims: Sequence[int]
) -> list[list[tuple[int, int]]]:
    """For each dimension the ranges in which elements come from one piece of a concatenate or pad.

    Loops over them have no branch in them. Where that is too much code, each has one range.

    Args:
        inputs: the parameters of the kernel's computation.
        root: the instruction in it that is the array, or a tuple of several like it.
    """
    variables = tuple(variable(f"i{d}", size) for d, size in enumerate(dims))
    cuts = [{0, size} for size in dims]
    for _, _, parts in visits(inputs, root, variables):
        for condition in (c for p in parts for c in p.conditions):
            for d, i in enumerate(variables):
                rest = condition.index - i
                if rest.kind == "constant":
                    ends = (condition.low - rest.value, condition.high - rest.value)
                    cuts[d].update(e for e in ends if 0 < e < dims[d])
    whole = [[(0, size)] for size in dims]
    ranges = [list(pairwise(sorted(c))) or [(0, 0)] for c in cuts]
    if ranges == whole or prod(map(len, ranges)) > _MOST_PIECES:
        return whole
    groups = [[d] for d in range(len(dims))]
    spaces = (make_space(dims, groups, box=box) for box in product(*ranges))
    code = sum(_code(inputs, root, space.index) for space in spaces)
    most = max(_MORE_CODE * _code(inputs, root, variables), _LITTLE_CODE)
    return ranges if code <= most else whole


def _code(inputs: Container[Instruction], root: Instruction, index: Indices) -> int:
    """How much code computes the value at an index, in small operations."""
    return sum(max(price(i), 1) for i, _, _ in visits(inputs, root, index))
