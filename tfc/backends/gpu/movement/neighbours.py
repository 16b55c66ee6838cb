"""Which elements a thread makes together, and how it reads what they are made of.

    concatenate(x[64,96], y[64,32]) in fours     i, j = …     in one piece? 4j < 96, for all four
                                                 x: four at once; y: four at once

Neighbours along the innermost loop are `count` at a time. Where several pieces make an array, all
of them belong to one, or they are those few between which pieces meet, which are made one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tfc.backends.mlir.elements import Buffer, Indices
from tfc.backends.mlir.kernels import Kernel, several
from tfc.backends.mlir.spaces import (
    Space,
    access_positions,
    lies_evenly,
    make_space,
    merge_loops,
    step_of,
)
from tfc.hlo.index_maps import Condition, Decided, Index, Piece
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.loop_spaces import visits

_ACCESS = 16  # bytes of the largest access
_FEW = 4  # neighbours at most, where some array is read one by one
_MOST_CODE = 256  # instructions of all neighbours, in all cases
_LEAST = 1024  # elements for which it pays
_MOST_CASES = 16  # combinations of pieces

Place = Callable[[Indices], Index]
Read = tuple[Instruction, Indices]
Visit = tuple[Instruction, Indices, list[Piece]]


@dataclass(frozen=True)
class Neighbours:
    """How a kernel's elements are made, `count` in a thread.

    space: the loops; a thread has neighbours of the last one.
    root: the value, or a tuple of several of one shape, that is stored.
    conditions: those that all neighbours of a thread meet, or none: they tell its case apart.
    seams: (index, step, bound): where an index of that step along the loop crosses the bound
        between neighbours, they are made one by one.
    """

    space: Space
    count: int
    root: Instruction
    conditions: tuple[Condition, ...]
    seams: tuple[tuple[Index, int, int], ...]

    @property
    def groups(self) -> int:
        """How many threads share the last loop: the last one may have fewer elements."""
        return -(-self.space.sizes[-1] // self.count)

    @property
    def is_ragged(self) -> bool:
        """Whether the last thread along the loop has fewer elements."""
        return self.space.sizes[-1] % self.count > 0


def neighbours_of(
    kernel: Kernel, values: Sequence[Instruction], results: Sequence[Buffer], place: Place
) -> Neighbours | None:
    """How the elements of values of one shape are made; None if one by one is as good.

    Args:
        results: where they go to, all in the same order of memory.
        place: the position there of the element at an index.
    """
    root, parameters = several(values), kernel.computation.parameters
    if root.operands[0].array_shape.size < _LEAST:
        return None
    dims, order = values[0].array_shape.dims, results[0].shape.layout.minor_to_major[::-1]
    space = merge_loops(
        dims, order, [], lambda at: access_positions(parameters, root, at), place
    )  # fmt: skip
    if not space.variables or space.variables[-1].kind != "variable":
        return None
    reads = list(_reads(kernel, root, space, {}))
    steps = [step_of(position_of(r), space.variables[-1]) for r in reads]
    if not all(s in (-1, 0, 1) for s in steps):
        return None
    bytes_of = [s.shape.element_type.bytes for s in results]
    bytes_of += [v.array_shape.element_type.bytes for (v, _), s in zip(reads, steps) if s]
    count = _ACCESS // max(bytes_of)
    spaces = [space, make_space(dims, [order])] if len(space.sizes) > 1 else [space]
    tried = ((s, n) for s in spaces for n in (16, 8, 4, 2) if n <= count)
    return next(filter(None, (_neighbours(kernel, root, s, n, place) for s, n in tried)), None)


def _neighbours(
    kernel: Kernel, root: Instruction, space: Space, count: int, place: Place
) -> Neighbours | None:
    """Groups of `count` neighbours; None if they do not lie together, or are too much code."""
    last = space.variables[-1]
    if space.sizes[-1] < count or not lies_evenly(place(space.index), last, count):
        return None
    reads = list(_reads(kernel, root, space, {}))
    if count > _FEW and not all(is_together(r, last, count) for r in reads):
        return None
    conditions = tuple(_conditions(kernel, root, space))
    if has_pairs(kernel) and (conditions or space.sizes[-1] % count):
        return None
    steps = [step_of(c.index, last) for c in conditions]
    if not all(s in (-1, 0, 1) for s in steps):
        return None
    seams = [seam for c, s in zip(conditions, steps) for seam in _seams(c, s or 0, last, count)]
    found = Neighbours(space, count, root, conditions, tuple(dict.fromkeys(seams)))
    cases = list(_cases(kernel, found, {}))
    code = sum(cases) * count
    if len(cases) > _MOST_CASES or (code > _MOST_CODE and (count > 2 or len(cases) > 1)):
        return None
    return found


def has_pairs(kernel: Kernel) -> bool:
    """Whether there are complex numbers, of which LLVM makes an access of 16 bytes in plain code
    only."""
    arrays = (*kernel.operand_shapes, *kernel.results)
    return any(s.element_type.is_complex for s in arrays)


def _conditions(kernel: Kernel, root: Instruction, space: Space) -> Iterator[Condition]:
    seen = visits(kernel.computation.parameters, root, space.index)
    yield from dict.fromkeys(c for _, _, ps in seen for p in ps for c in p.conditions)


def _seams(
    condition: Condition, step: int, last: Index, count: int
) -> Iterator[tuple[Index, int, int]]:
    """Where a condition's bounds lie between neighbours."""
    index = condition.index
    for bound in (condition.low, condition.high):
        if not step or not index.low < bound <= index.high:
            continue
        begin = index - last - bound if step > 0 else index + last + (1 - bound)
        if not _is_multiple(begin, count):
            yield index, step, bound


def _is_multiple(index: Index, count: int) -> bool:
    terms = index.terms if index.kind == "add" else (index,)
    return all(t.kind in ("constant", "mul") and not t.value % count for t in terms)


def _cases(kernel: Kernel, found: Neighbours, decided: Decided) -> Iterator[int]:
    """For each case how many instructions make an element."""
    parameters = kernel.computation.parameters
    seen = list(visits(parameters, found.root, found.space.index, decided=decided))
    condition = undecided(seen)
    if condition is None:
        yield len(seen)
        return
    for holds in (True, False):
        yield from _cases(kernel, found, {**decided, condition: holds})


def undecided(seen: Sequence[Visit]) -> Condition | None:
    """The first condition, among what `visits` gives, of which it is not known whether it holds."""
    return next((c for _, _, ps in seen for p in ps for c in p.conditions), None)


def _reads(kernel: Kernel, root: Instruction, space: Space, decided: Decided) -> Iterator[Read]:
    parameters = kernel.computation.parameters
    for value, index, _ in visits(parameters, root, space.index, decided=decided):
        if value in parameters:
            yield value, index


def position_of(read: Read) -> Index:
    """Where in an operand an element is read."""
    value, index = read
    return Buffer(None, value.array_shape).position(index)


def is_together(read: Read, last: Index, count: int) -> bool:
    """Whether neighbours are read by one access or two, or are the same element."""
    position = position_of(read)
    return step_of(position, last) == 0 or shift(read, position, last, count) is not None


def shift(read: Read, position: Index, last: Index, count: int) -> int | None:
    """How far after a multiple of `count` the first of the neighbours that are read lies; None
    if it varies. In reverse, the first in memory is the last one along the loop."""
    step = step_of(position, last)
    if step not in (-1, 1):
        return None
    rest = position - last if step > 0 else position + last - (count - 1)
    terms = rest.terms if rest.kind == "add" else (rest,)
    constant = sum(t.value for t in terms if t.kind == "constant") % count
    if not _is_multiple(rest - constant, count):
        return None
    # Of neighbours in two stretches the second is read whole, which must not reach beyond the end.
    is_whole = read[0].array_shape.storage_size % count == 0
    return constant if constant == 0 or (step > 0 and is_whole) else None


def together(
    kernel: Kernel,
    values: Sequence[Read],
    written: Sequence[tuple[Shape, Indices]],
    last: Index,
    conditions: Sequence[Condition] = (),
) -> int:
    """How many neighbours along a loop threads make, of values that are read at indices: 1 if some
    do not lie together, or come from pieces of arrays.

    Args:
        written: the results, and the indices there.
        conditions: those that a thread looks at once for all of its neighbours.
    """
    parameters = kernel.computation.parameters
    seen = [v for value, index in values for v in visits(parameters, value, index)]
    if prod(written[0][0].dims) < _LEAST:
        return 1
    counts, _ = counts_together(kernel, seen, written, last)
    return next((n for n in counts if all(_is_shared(c, last, n) for c in conditions)), 1)


def _is_shared(condition: Condition, last: Index, count: int) -> bool:
    """Whether a condition holds for all of `count` neighbours along a loop, or for none."""
    step = step_of(condition.index, last)
    if condition.always or condition.never or step == 0:
        return True
    return step in (-1, 1) and not list(_seams(condition, step, last, count))


def counts_together(
    kernel: Kernel,
    seen: Sequence[Visit],
    written: Sequence[tuple[Shape, Indices]],
    last: Index,
) -> tuple[list[int], list[Read]]:
    """How many neighbours along a loop lie together wherever they are read and written, the most
    first, and what is read; no numbers if some do not, or come from pieces of arrays.

    Args:
        seen: what they are computed from, as `visits` gives it.
        written: the results, and the indices there.
    """
    parameters = kernel.computation.parameters
    reads = list(dict.fromkeys((v, i) for v, i, _ in seen if v in parameters))
    bytes_of = [s.element_type.bytes for s, _ in written]
    bytes_of += [v.array_shape.element_type.bytes for v, _ in reads]
    if last.kind != "variable" or undecided(seen) or has_pairs(kernel) or not bytes_of:
        return [], reads
    places = [Buffer(None, shape).position(index) for shape, index in written]
    counts = [
        count
        for count in (16, 8, 4, 2)
        if count * max(bytes_of) <= _ACCESS
        and (last.high + 1) % count == 0
        and all(lies_evenly(p, last, count) for p in places)
        and all(is_together(r, last, count) for r in reads)
    ]
    return counts, reads
