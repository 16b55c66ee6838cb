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

from tfc.backends.mlir.arithmetic.value import Scalar, from_memory
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.provider import vector
from tfc.backends.mlir.scratch import stack_memory
from tfc.backends.mlir.spaces import Space, step_of
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    load,
    minimum,
    multiply,
    prefetch,
    store,
    subtract,
)
from tfc.hlo.index_maps import Index
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import U8, ElementType, Shape
from tfc.passes.analysis.loop_spaces import visits

_EDGE_BYTES = 256  # of a tile: runs in memory that prefetching pays for …
_STACK_BYTES = 1 << 16  # … unless all tiles together take more than this
_VECTOR_BYTES = 16  # of squares: in 128 bits all CPUs interleave two vectors with one instruction
_LEAST_BYTES = 1 << 13  # an operand well inside the L1 cache needs no tiles
_FAR_BYTES = 1 << 22  # an operand beyond the caches is fetched ahead
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
        """The type of the operand's elements."""
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
        each_tile: Callable[[Sequence[int], Callable[[Sequence[Any]], None]], None],
        outer: Sequence[Any],
        sources: Mapping[Instruction, Buffer | Scalar],
        body: Callable[[Elements, Position], None],
        finish: Callable[[Callable[[Position], Elements], Position], None],
    ) -> None:
        """Emit the loops around `body`, which emits what is done at a point.

        Args:
            each_tile: runs a body for each tile, given how many there are along each loop.
            outer: the points of the outermost loops, which are emitted already.
            sources: the buffers of the kernel's operands.
            body: (the elements at a point, how far it is along the last loop of the tile)
            finish: emits what is done when the last loop is: (the elements at a point so far along
                it, the first point)
        """
        sizes, first = self.space.sizes, len(outer)
        edges = [self.edges.get(n, 1) for n in range(len(sizes))]
        stacks = [stack_memory(self._tile_shape(*each)) for each in self.turned]

        def tile(points: Sequence[Any]) -> None:
            starts = [*outer, *(multiply(p, e) for p, e in zip(points, edges[first:]))]
            low = list(starts)
            for n, edge in self.edges.items():
                if sizes[n] % edge:
                    low[n] = minimum(starts[n], sizes[n] - edge)

            def elements(at: Offsets) -> Elements:
                points = [index_value(add(p, at.get(n, 0))) for n, p in enumerate(low)]
                return Elements(sources, self.space.bind(points))

            def point(at: Offsets) -> None:
                scope = elements(at)
                for (turned, numbers), stack in zip(self.turned, stacks):
                    value = from_memory(load(stack, self._place(numbers, at)), turned.element_type)
                    scope.know(turned.operand, turned.index, value)
                body(scope, at[last])

            def row(at: Offsets) -> None:
                for_range(new[last], self.edges[last], 1, lambda p, _: point({**at, last: p}))
                finish(lambda p: elements({**at, last: p}), new[last])

            for (turned, numbers), stack in zip(self.turned, stacks):
                source = sources[turned.operand]
                assert isinstance(source, Buffer)
                self._turn(turned, numbers, source.memref, stack, low, elements)
            # The last tile begins inside the one before it, whose points are done.
            new = {n: subtract(starts[n], low[n]) if sizes[n] % e else 0
                   for n, e in self.edges.items()}  # fmt: skip
            *around, last = self.edges
            self._each(around, new, {}, row)

        each_tile([-(-size // edge) for size, edge in zip(sizes[first:], edges[first:])], tile)

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
        low: Sequence[Position],
        elements: Callable[[Offsets], Elements],
    ) -> None:
        """Copy a tile of an operand in squares of vectors; the last ones may overlap others.

        Args:
            low: the first point of the tile; elements: those at an offset from it.
        """
        along, last, size = turned.along, numbers[-1], self.space.sizes[-1]
        step = step_of(turned.position, self.space.variables[last])
        assert step is not None
        vectors = self._vectors(turned)
        lanes = vectors.lanes

        def square(at: Offsets) -> None:
            first = elements(at).index_value(turned.position)
            if lanes == 1:
                store(load(memory, first), stack, self._place(numbers, at))
                return
            rows = [vectors.load(memory, add(first, i * step)) for i in range(lanes)]
            if turned.operand.array_shape.byte_size >= _FAR_BYTES:
                # The rows of the square after the next, or of the last there is.
                later = minimum(add(at[last], 2 * lanes), subtract(size - lanes, low[last]))
                first = elements({**at, last: later}).index_value(turned.position)
                for i in range(lanes):
                    prefetch(memory, add(first, i * step))
            for j, row in enumerate(_transposed(rows)):
                vectors.store(row, stack, self._place(numbers, {**at, along: add(at[along], j)}))

        def squares(n: int, body: Callable[[Position], None]) -> None:
            edge = self.edges[n]
            inside = (lambda p: minimum(p, edge - lanes)) if edge % lanes else (lambda p: p)
            for_range(0, edge, lanes, lambda p, _: body(inside(p)))

        def plane(at: Offsets) -> None:
            squares(last, lambda i: squares(along, lambda j: square({**at, last: i, along: j})))

        self._each([n for n in numbers if n not in (along, last)], {}, {}, plane)

    def _vectors(self, turned: Turned) -> Vectors:
        """What squares are made of: one lane where elements are not moved as vectors."""
        element_type = turned.element_type
        stored = element_type if element_type.bits > 8 else U8
        together = step_of(turned.position, self.space.variables[turned.along]) == 1
        lanes = _VECTOR_BYTES // stored.bytes
        if not together or element_type.is_complex:
            lanes = 1
        return Vectors(stored, lanes)

    def _each(
        self,
        numbers: Sequence[int],
        starts: Offsets,
        at: Offsets,
        body: Callable[[Offsets], None],
    ) -> None:
        """Loops over a tile's points, each given by how far along the tiled loops it is."""
        if not numbers:
            body(at)
            return
        n, *rest = numbers
        for_range(
            starts.get(n, 0), self.edges[n], 1,
            lambda p, _: self._each(rest, starts, {**at, n: p}, body),
        )  # fmt: skip


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
    if last <= first or 0 in space.sizes:
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
    if not near or shape.byte_size < _LEAST_BYTES:
        return None
    _, along = min(near)
    # A few rows are read side by side as fast, and a few elements of a row in passing.
    least = min(space.sizes[along], space.sizes[-1])
    if least * shape.element_type.bytes < _VECTOR_BYTES:
        return None
    return Turned(operand, index, position, along)


def _even(size: int, most: int) -> int:
    """The edge of tiles of about the same size; of several a multiple of what a vector has."""
    tiles = -(-size // most)
    return min(size, -(-size // (tiles * _VECTOR_BYTES)) * _VECTOR_BYTES)
