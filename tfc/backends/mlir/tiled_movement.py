"""Loops that read an operand along another dimension than the one they store along: in tiles.

A loop along the result's fastest dimension meets a transposed operand once in each row of its
memory: every element in another cache line, perhaps in another page, and no vectors. Here the loops
run over tiles of the dimensions concerned. A tile of such an operand is first copied into a small
array on the stack, turned the way the result lies: it is read along its rows and transposed in
registers. On the stack its rows are neighbours, so that they do not drive each other out of the
cache as those of an array whose sizes are powers of two do. The loops over the tile then read all
they need along their fastest dimension, so that LLVM makes vectors of them:

    for each tile of j, i:    turned[j, i] = x[i, j] for i, j in the tile
                              result[j, i] = f(turned[j, i], …) for j, i in the tile
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.provider import memref, vector
from tfc.backends.mlir.scratch import stack_memory
from tfc.backends.mlir.spaces import Space
from tfc.backends.mlir.value import Scalar, from_memory
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    load,
    maximum,
    minimum,
    multiply,
    round_down,
    store,
    subtract,
)
from tfc.hlo.indexing import Index
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import U8, ElementType, Shape
from tfc.passes.loop_spaces import visits

_EDGE_BYTES = 256  # of a tile: runs in memory that prefetching pays for …
_STACK_BYTES = 1 << 16  # … unless all tiles together take more than this
_VECTOR_BYTES = 16  # of squares: in 128 bits all CPUs interleave two vectors with one instruction
_LEAST_BYTES = 1 << 13  # an operand well inside the L1 cache needs no tiles
_LEAST_STRIDE = 16  # bytes; elements that lie closer are read well enough one by one
_LEAST_ROWS = 3  # fewer rows are read side by side as fast
_MOST_LOOPS = 3  # with tiles

Offsets = Mapping[int, Position]  # by the number of a loop


@dataclass(frozen=True)
class Turned:
    """An operand that is read along a loop other than the innermost.

    index: what is read of it, in terms of the variables; position: where that is in its memory.
    along: the number of the loop whose neighbouring points are nearest there.
    """

    operand: Instruction
    index: Indices
    position: Index
    along: int

    @property
    def element_type(self) -> ElementType:
        """The operand's."""
        return self.operand.array_shape.element_type


@dataclass(frozen=True)
class Tiling:
    """Loops in tiles.

    edges: how many points of each tiled loop a tile has, by the loop's number, outermost first.
    turned: what is copied onto the stack, and the tiled loops that its elements depend on.
    """

    space: Space
    edges: Mapping[int, int]
    turned: Sequence[tuple[Turned, Sequence[int]]]

    def emit(
        self,
        loops: Any,
        outer: Sequence[Any],
        sources: Mapping[Instruction, Buffer | Scalar],
        body: Callable[[Elements], None],
    ) -> None:
        """Emit the loops around `body`, which emits what is done at a point.

        Args:
            loops: the backend's, which run the tiles.
            outer: the points of the outermost loops, which are emitted already.
            sources: the buffers of the kernel's operands.
        """
        sizes, first = self.space.sizes, len(outer)
        edges = [self.edges.get(n, 1) for n in range(len(sizes))]
        stacks = [stack_memory(self._tile_shape(*each)) for each in self.turned]

        def tile(points: Sequence[Any]) -> None:
            low = [*outer, *(multiply(p, e) for p, e in zip(points, edges[first:]))]
            extents = {
                n: edge if sizes[n] % edge == 0 else minimum(edge, subtract(sizes[n], low[n]))
                for n, edge in self.edges.items()
            }

            def elements(at: Offsets) -> Elements:
                points = [index_value(add(p, at.get(n, 0))) for n, p in enumerate(low)]
                return Elements(sources, self.space.bind(points))

            def point(at: Offsets) -> None:
                scope = elements(at)
                for (turned, numbers), stack in zip(self.turned, stacks):
                    value = from_memory(load(stack, self._place(numbers, at)), turned.element_type)
                    scope.know(turned.operand, turned.index, value)
                body(scope)

            for (turned, numbers), stack in zip(self.turned, stacks):
                source = sources[turned.operand]
                assert isinstance(source, Buffer)
                self._turn(turned, numbers, source.memref, stack, extents, elements)
            _each(list(self.edges), extents, {}, point)

        loops.each([-(-size // edge) for size, edge in zip(sizes[first:], edges[first:])], tile)

    @property
    def stack_bytes(self) -> int:
        """The memory that all tiles together take."""
        return sum(self._tile_shape(*each).byte_size for each in self.turned)

    def _tile_shape(self, turned: Turned, numbers: Sequence[int]) -> Shape:
        return Shape(turned.element_type, (prod(self.edges[n] for n in numbers),))

    def _place(self, numbers: Sequence[int], at: Offsets) -> Position:
        """Where on the stack an element of a tile is."""
        place: Position = 0
        for n in numbers:
            place = add(multiply(place, self.edges[n]), at[n])
        return place

    def _turn(
        self,
        turned: Turned,
        numbers: Sequence[int],
        memory: Any,
        stack: Any,
        extents: Offsets,
        elements: Callable[[Offsets], Elements],
    ) -> None:
        """Copy a tile of an operand: squares of vectors as far as they fit, then the rest."""
        along, last = turned.along, numbers[-1]
        step = step_of(turned.position, self.space.variables[last])
        assert step is not None
        vectors = self._vectors(turned)
        lanes = vectors.lanes

        def start(at: Offsets) -> Any:
            return elements(at).index_value(turned.position)

        def square(at: Offsets) -> None:
            first = start(at)
            rows = [vectors.load(memory, add(first, i * step)) for i in range(lanes)]
            for i in range(2 * lanes, 3 * lanes):  # the rows of the square after the next
                _prefetch(memory, add(first, i * step), downwards=step < 0)
            for j, row in enumerate(_transposed(rows)):
                vectors.store(row, stack, self._place(numbers, {**at, along: add(at[along], j)}))

        def one(at: Offsets) -> None:
            store(load(memory, start(at)), stack, self._place(numbers, at))

        def plane(at: Offsets) -> None:
            def columns(low: Position, high: Position, step: int, i: Position, do: Any) -> None:
                for_range(low, high, step, lambda j, _: do({**at, last: i, along: j}))

            height, width = extents[last], extents[along]
            rows, whole = (round_down(e, lanes) if lanes > 1 else 0 for e in (height, width))
            for_range(0, rows, lanes, lambda i, _: columns(0, whole, lanes, i, square))
            for_range(0, rows, 1, lambda i, _: columns(whole, width, 1, i, one))
            for_range(rows, height, 1, lambda i, _: columns(0, width, 1, i, one))

        _each([n for n in numbers if n not in (along, last)], extents, {}, plane)

    def _vectors(self, turned: Turned) -> Vectors:
        """What squares are made of: one lane where elements are not moved as vectors."""
        element_type = turned.element_type
        stored = element_type if element_type.bits > 8 else U8
        together = step_of(turned.position, self.space.variables[turned.along]) == 1
        lanes = _VECTOR_BYTES // stored.bytes if together and not element_type.is_complex else 1
        return Vectors(stored, lanes)


def _each(
    numbers: Sequence[int], extents: Offsets, at: Offsets, body: Callable[[Offsets], None]
) -> None:
    """Loops over a tile's points, each given by how far along the tiled loops it is."""
    if not numbers:
        body(at)
        return
    n, *rest = numbers
    for_range(0, extents[n], 1, lambda p, _: _each(rest, extents, {**at, n: p}, body))


def _prefetch(memory: Any, position: Position, downwards: bool) -> None:
    """Bring what will be read into the cache; positions beyond the array's end stand for it."""
    inside = maximum(position, 0) if downwards else minimum(position, memory.type.shape[0] - 1)
    memref.prefetch(
        memory, [index_value(inside)], is_write=False, locality_hint=3, is_data_cache=True
    )


def _transposed(rows: Sequence[Any]) -> Sequence[Any]:
    """The columns of a square: its halves are interleaved as often as its size can be halved."""
    lanes, half = len(rows), len(rows) // 2
    order = [n for i in range(lanes) for n in (i, lanes + i)]
    for _ in range(lanes.bit_length() - 1):
        pairs = zip(rows[:half], rows[half:])
        rows = [
            vector.shuffle(x, y, mask=mask)
            for x, y in pairs
            for mask in (order[:lanes], order[lanes:])
        ]
    return rows


def tiling(
    space: Space,
    first: int,
    result: Buffer,
    root: Instruction,
    inputs: Container[Instruction],
    moved: Container[Instruction],
) -> Tiling | None:
    """The tiles that the loops of a kernel had better have; None if they are well as they are.

    Args:
        first: the number of the outermost loop that may be tiled.
        result: where the elements are stored.
        root: what is stored, or a tuple of several of one shape.
        inputs: the parameters of the kernel's computation; moved: those that may be copied.
    """
    last = len(space.sizes) - 1
    if last <= first or 0 in space.sizes or space.sizes[last] < _LEAST_ROWS:
        return None
    if step_of(result.position(space.index), space.variables[last]) != 1:
        return None
    found: list[Turned] = []
    for instruction, index, pieces in visits(inputs, root, space.index):
        if len(pieces) > 1:
            return None  # what is read under a condition may not exist
        turned = _turned(space, first, instruction, index) if instruction in moved else None
        if turned is not None:
            found.append(turned)
    tiled = {last}
    for turned in sorted(found, key=lambda t: -t.operand.array_shape.byte_size):
        if len(tiled) < _MOST_LOOPS:
            tiled.add(turned.along)
    found = [t for t in found if t.along in tiled]
    if not found:
        return None
    loops = sorted(tiled)
    depends = [[n for n in loops if step_of(t.position, space.variables[n]) != 0] for t in found]
    edge = _EDGE_BYTES // max(t.element_type.bytes for t in found)
    while True:
        edges = {n: _even(space.sizes[n], edge) for n in loops}
        made = Tiling(space, edges, list(zip(found, depends)))
        if made.stack_bytes <= _STACK_BYTES or edge <= _VECTOR_BYTES:
            return made
        edge //= 2


def _turned(space: Space, first: int, operand: Instruction, index: Indices) -> Turned | None:
    """How an operand is read, if that is along another loop than the last."""
    shape = operand.array_shape
    position = Buffer(None, shape).position(index)
    steps = [abs(step_of(position, v) or 0) for v in space.variables]
    near = [(step, n) for n, step in enumerate(steps) if n >= first and 0 < step < steps[-1]]
    far = steps[-1] * shape.element_type.bytes >= _LEAST_STRIDE
    if not near or not far or shape.byte_size < _LEAST_BYTES:
        return None
    return Turned(operand, index, position, min(near)[1])


def _even(size: int, most: int) -> int:
    """The edge of tiles of about the same size; of several a multiple of what a vector has."""
    tiles = -(-size // most)
    return size if tiles == 1 else -(-size // (tiles * _VECTOR_BYTES)) * _VECTOR_BYTES


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


def _depends(index: Index, loop: Index) -> bool:
    """True if an expression has the variable in it."""
    inside = [*index.terms, *(index.source[1] if index.source else ())]
    if index.left is not None:
        inside.append(index.left)
    return index == loop or any(_depends(i, loop) for i in inside)
