"""Products of a matrix with a few vectors: each element of the matrix is read once, in order.

Such a product is bound by memory, so what counts is that the matrix flows in long streams:

* rows: where the elements that are summed are neighbours, several rows of the matrix are read side
  by side, and every row's products are summed in registers;
* columns: where the sums are neighbours, several lines of the matrix are read side by side and
  added to a piece of the result that stays in L1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.matmul_schedule import MatmulSpec
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import Position, Vectors, add, for_range, load, multiply, store
from tfc.backends.target import Target

MAXIMUM_VECTORS = 1


@dataclass(frozen=True)
class Stream:
    """result[v, i] = Σ_p matrix[i, p] · vector[v, p], with v < count, i < outputs, p < depth.

    `swapped` says that the matrix is the product's left operand.
    """

    swapped: bool
    count: int
    outputs: int
    depth: int
    matrix_output: int
    matrix_depth: int
    vector_step: int
    vector_depth: int
    result_step: int
    result_output: int

    @property
    def in_rows(self) -> bool:
        """True if the elements that are summed are neighbours."""
        return self.matrix_depth == 1 and self.vector_depth == 1

    @property
    def in_columns(self) -> bool:
        """True if the sums are neighbours."""
        return self.matrix_output == 1 and self.result_output == 1


def find_stream(spec: MatmulSpec, target: Target) -> Stream | None:
    """The product as a stream, if that is the way to compute it."""
    (_, lhs_m, lhs_k), (_, rhs_k, rhs_n) = spec.lhs_strides, spec.rhs_strides
    m, n, k, out_m = spec.m, spec.n, spec.k, spec.out_strides[1]
    right = Stream(False, m, n, k, rhs_n, rhs_k, lhs_m, lhs_k, out_m, 1)
    left = Stream(True, n, m, k, lhs_m, lhs_k, rhs_n, rhs_k, 1, out_m)
    for stream in (left, right):
        size = stream.outputs * k * spec.element_type.bytes
        few = stream.count == 1 or (stream.count <= MAXIMUM_VECTORS and size > target.l2_bytes)
        if k and few and (stream.in_rows or stream.in_columns):
            return stream
    return None


def emit_streamed(
    vectors: Vectors,
    stream: Stream,
    memories: Sequence[Any],
    starts: Sequence[Position],
    target: Target,
) -> None:
    """Emit the product; `memories` and `starts` are the product's left, right and result."""
    order = (0, 1, 2) if stream.swapped else (1, 0, 2)
    memories, starts = [memories[i] for i in order], [starts[i] for i in order]
    if stream.in_rows:
        _Rows(vectors, stream, memories, starts).emit()
    else:
        _Columns(vectors, stream, memories, starts).emit(target.l1_bytes)


@dataclass(frozen=True)
class _Rows:
    vectors: Vectors
    stream: Stream
    memories: Sequence[Any]
    starts: Sequence[Position]

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
        sums = [arith.addf(x, y) for x, y in zip(sums[:halves], sums[halves:])]
        for p in range(whole, depth, lanes):
            sums = self._products(first, rows, p, sums, depth - p)
        self._store(first, rows, sums)

    def _products(
        self, first: Position, rows: int, p: Position, sums: Sequence[Any], inside: int
    ) -> list[Any]:
        """The sums after a vector's worth of depth from p on."""
        (matrix, vector, _), (start, vector_start, _) = self.memories, self.starts
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
        base = add(self.starts[2], multiply(first, stream.result_output))
        for i in range(rows):
            for v in range(stream.count):
                at = add(base, i * stream.result_output + v * stream.result_step)
                store(self.vectors.sum(sums[i * stream.count + v]), self.memories[2], at)


@dataclass(frozen=True)
class _Columns:
    vectors: Vectors
    stream: Stream
    memories: Sequence[Any]
    starts: Sequence[Position]

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
        together = max(8, 2)
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
        base = add(self.starts[1], multiply(p, stream.vector_depth))
        factors = [
            vectors.broadcast(
                load(
                    self.memories[1], add(base, line * stream.vector_depth + v * stream.vector_step)
                )
            )
            for v in range(stream.count)
            for line in range(lines)
        ]
        start = add(self.starts[0], first, multiply(p, stream.matrix_depth))

        def piece(i: Position, inside: int) -> None:
            at = add(start, i)
            rows = [
                vectors.load(self.memories[0], add(at, line * stream.matrix_depth), inside)
                for line in range(lines)
            ]
            for v in range(stream.count):
                end = add(self.starts[2], first, i, v * stream.result_step)
                total = vectors.load(self.memories[2], end, inside) if not fresh else vectors.zero()
                for line in range(lines):
                    total = vectors.multiply_add(factors[v * lines + line], rows[line], total)
                vectors.store(total, self.memories[2], end, inside)

        whole = size - size % lanes
        for_range(0, whole, lanes, lambda i, _: piece(i, lanes))
        if whole < size:
            piece(whole, size - whole)
