"""Products of a matrix with a few vectors: each element of the matrix is read once, in order.

Such a product is bound by memory, so what counts is that the matrix flows in long streams:

* rows: where the elements that are summed are neighbours, several rows of the matrix are read side
  by side, and every row's products are summed in registers;
* columns: where the sums are neighbours, several lines of the matrix are read side by side and
  added to a piece of the result that stays in L1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tfc.backends.cpu.products.schedule import Stream
from tfc.backends.mlir.vectors import Position, Vectors, add, for_range, load, multiply, store
from tfc.backends.target import Target

Place: TypeAlias = tuple[Any, Position]
"""A memory, and the position in it where an array begins."""


def emit_streamed(
    vectors: Vectors,
    stream: Stream,
    memories: Sequence[Any],
    starts: Sequence[Position],
    target: Target,
) -> None:
    """Emit a product of a matrix and few vectors.

    Args:
        memories: the product's left operand, right operand, result, and the workspace.
        starts: the positions at which the first three begin.
    """
    matrix, vector = (0, 1) if stream.swapped else (1, 0)
    places = [(memories[i], starts[i]) for i in (matrix, vector, 2)]
    if not stream.in_rows:
        _Columns(vectors, stream, *places).emit(target.l1_bytes)
        return
    if stream.gathered:
        stream, places[1] = _gather(stream, places[1], memories[3])
    _Rows(vectors, stream, *places).emit()


def _gather(stream: Stream, source: Place, workspace: Any) -> tuple[Stream, Place]:
    """Copy the vectors' elements so that each vector's are neighbours."""
    memory, start = source

    def vector(v: Position, _: Any) -> None:
        def element(p: Position, _: Any) -> None:
            offset = add(multiply(v, stream.vector_step), multiply(p, stream.vector_depth))
            value = load(memory, add(start, offset))
            store(value, workspace, add(multiply(v, stream.depth), p))

        for_range(0, stream.depth, 1, element)

    for_range(0, stream.count, 1, vector)
    return replace(stream, vector_step=stream.depth, vector_depth=1), (workspace, 0)


@dataclass(frozen=True)
class _Rows:
    vectors: Vectors
    stream: Stream
    matrix: Place
    vector: Place
    result: Place

    def emit(self) -> None:
        """Emit the loop over groups of rows."""
        outputs, together = self.stream.outputs, max(4 // self.stream.count, 1)
        whole = outputs - outputs % together
        for_range(0, whole, together, lambda i, _: self._group(i, together))
        if whole < outputs:
            self._group(whole, outputs - whole)

    def _group(self, first: Position, rows: int) -> None:
        """The sums of some neighbouring rows."""
        lanes, depth = self.vectors.lanes, self.stream.depth
        step = 2 * lanes
        whole = depth - depth % step
        sums: Sequence[Any] = [self.vectors.zero()] * (2 * rows * self.stream.count)

        def turn(p: Position, sums: Sequence[Any]) -> Sequence[Any]:
            halves = len(sums) // 2
            low = self._products(first, rows, p, sums[:halves], lanes)
            return [*low, *self._products(first, rows, add(p, lanes), sums[halves:], lanes)]

        sums = for_range(0, whole, step, turn, sums)
        halves = len(sums) // 2
        sums = [self.vectors.add(x, y) for x, y in zip(sums[:halves], sums[halves:])]
        for p in range(whole, depth, lanes):
            sums = self._products(first, rows, p, sums, depth - p)
        self._store(first, rows, sums)

    def _products(
        self, first: Position, rows: int, p: Position, sums: Sequence[Any], inside: int
    ) -> list[Any]:
        """The sums after a vector's worth of depth from p on."""
        (matrix, start), (vector, vector_start) = self.matrix, self.vector
        result, count = list(sums), self.stream.count
        factors = [
            self.vectors.load(vector, add(vector_start, p, v * self.stream.vector_step), inside)
            for v in range(count)
        ]
        base = add(start, multiply(first, self.stream.matrix_output), p)
        for i in range(rows):
            row = self.vectors.load(matrix, add(base, i * self.stream.matrix_output), inside)
            for v in range(count):
                at = i * count + v
                result[at] = self.vectors.multiply_add(row, factors[v], result[at])
        return result

    def _store(self, first: Position, rows: int, sums: Sequence[Any]) -> None:
        stream = self.stream
        base = add(self.result[1], multiply(first, stream.result_output))
        for i in range(rows):
            for v in range(stream.count):
                at = add(base, i * stream.result_output + v * stream.result_step)
                store(self.vectors.sum(sums[i * stream.count + v]), self.result[0], at)


@dataclass(frozen=True)
class _Columns:
    vectors: Vectors
    stream: Stream
    matrix: Place
    vector: Place
    result: Place

    def emit(self, l1_bytes: int) -> None:
        """Emit the loops over pieces of the result and lines of the matrix."""
        lanes, stream = self.vectors.lanes, self.stream
        room = l1_bytes // 2 // (stream.count * self.vectors.element_type.bytes)
        limit = max(room // lanes * lanes, lanes)
        outputs = stream.outputs
        whole = outputs - outputs % limit
        for_range(0, whole, limit, lambda i, _: self._piece(i, limit))
        if whole < outputs:
            self._piece(whole, outputs - whole)

    def _piece(self, first: Position, size: int) -> None:
        """One piece of the result, in which all lines of the matrix are added up."""
        stream = self.stream
        together = 8 if stream.count == 1 else 4
        start = min(together, stream.depth)
        self._lines(first, size, 0, start, fresh=True)
        whole = start + (stream.depth - start) // together * together
        for_range(
            start, whole, together,
            lambda p, _: self._lines(first, size, p, together, fresh=False),
        )  # fmt: skip
        if whole < stream.depth:
            self._lines(first, size, whole, stream.depth - whole, fresh=False)

    def _lines(self, first: Position, size: int, p: Position, lines: int, *, fresh: bool) -> None:
        """Add some neighbouring lines, or begin with them."""
        stream, vectors, lanes = self.stream, self.vectors, self.vectors.lanes
        base = add(self.vector[1], multiply(p, stream.vector_depth))
        factors = [
            vectors.broadcast(
                load(self.vector[0], add(base, line * stream.vector_depth + v * stream.vector_step))
            )
            for v in range(stream.count)
            for line in range(lines)
        ]
        start = add(self.matrix[1], first, multiply(p, stream.matrix_depth))

        def piece(i: Position, inside: int) -> None:
            at = add(start, i)
            rows = [
                vectors.load(self.matrix[0], add(at, line * stream.matrix_depth), inside)
                for line in range(lines)
            ]
            for v in range(stream.count):
                end = add(self.result[1], first, i, v * stream.result_step)
                total = vectors.load(self.result[0], end, inside) if not fresh else vectors.zero()
                for line in range(lines):
                    total = vectors.multiply_add(factors[v * lines + line], rows[line], total)
                vectors.store(total, self.result[0], end, inside)

        whole = size - size % lanes
        for_range(0, whole, lanes, lambda i, _: piece(i, lanes))
        if whole < size:
            piece(whole, size - whole)
