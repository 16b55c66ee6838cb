"""Reductions: a kernel whose root is `reduce`, with the producers that fusion gave it, or several
that go over the same elements and what is stored on the way.

Where the fastest dimension in memory is reduced, each result is a sequential sum that LLVM splits
over vector lanes (rows). Where it is kept, the results of a stretch of neighbours are accumulated
side by side in the result buffer (columns). On a grid each point makes one result.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any, TypeVar

from tfc.backends.mlir.accumulations import FEW, accumulation, chunked_loop, combined
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import (
    Kernel,
    Loops,
    nest,
    several,
    sources,
)
from tfc.backends.mlir.loops import LoopBody, each_point, for_loop
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, stack_memory, store_at
from tfc.backends.mlir.spaces import (
    Indices,
    Space,
    access_positions,
    bind,
    make_space,
    merge_loops,
)
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.contraction import free_dimensions
from tfc.hlo.shape import Shape
from tfc.passes.analysis.loop_spaces import visits

# Neighbouring results accumulated at a time: 8 KiB of f32 stays in the first-level cache.
STRETCH = 2048
LEAST_STRETCH = 256  # of each result, where there are many
ROWS = 4  # rows that are gone along at once, if their elements take little code
LANES = 8  # accumulators of a row: as many as make a vector of f32 on most processors
GROUPS = 4  # of such accumulators
MOST_UNROLLED = 16  # (instruction, index) pairs
_FAR_BYTES = 1 << 22  # an operand that no cache near a core holds

T = TypeVar("T")


def emit_reduce(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A reduction into one result buffer for each of its operands."""
    root = kernel.root
    results = buffers[-(len(root.operands) // 2) :]
    emit_reductions(Reductions(kernel, buffers, [(root, results)]), loops)


class Reductions:
    """Reductions of arrays of one shape over the same dimensions, in one pass over the elements.

    Args:
        reduces: each reduction with its result buffers.
        stored: arrays of the operands' shape that the pass stores besides, with their buffers.
    """

    def __init__(
        self,
        kernel: Kernel,
        buffers: Sequence[Buffer],
        reduces: Sequence[tuple[Instruction, Sequence[Buffer]]],
        stored: Sequence[tuple[Instruction, Buffer]] = (),
    ):
        self.kernel, self.buffers, self.stored = kernel, buffers, stored
        first = reduces[0][0]
        self.operand = first.operands[0].array_shape
        self.reduced: tuple[int, ...] = first["dimensions"]
        self.kept = free_dimensions(self.operand.rank, self.reduced)
        self.results = [result for _, results in reduces for result in results]
        self.counts = [len(results) for _, results in reduces]
        self.inputs = [r.operands[:n] for (r, _), n in zip(reduces, self.counts)]
        self.init_values = [i for (r, _), n in zip(reduces, self.counts) for i in r.operands[n:]]
        self.sums = [accumulation(r["to_apply"]) for r, _ in reduces]
        self.identities = [identity for some in self.sums for identity in some.identities]
        self.values = several([*(i for some in self.inputs for i in some), *(v for v, _ in stored)])

    def space(self, order: Sequence[int], barriers: Sequence[int]) -> Space:
        """Loops over the dimensions in this order."""
        stored = self.stored[0][1].position if self.stored else None
        return merge_loops(self.operand.dims, order, barriers, self._reads, stored)

    def _reads(self, index: Indices) -> Iterator[Index]:
        return access_positions(self.kernel.computation.parameters, self.values, index)

    def code(self, space: Space) -> int:
        """How many instructions a point's elements are computed from."""
        return sum(1 for _ in visits(self.kernel.computation.parameters, self.values, space.index))

    def inits(self, scope: Elements) -> list[Scalar]:
        """What the accumulators begin with."""
        return self.widen([scope.element(i, ()) for i in self.init_values])

    def widen(self, scalars: Sequence[Scalar]) -> list[Scalar]:
        """Accumulators from scalars of the results' types."""
        parts = zip(self.sums, self.split(scalars))
        return [wide for some, part in parts for wide in some.widen(part)]

    def narrow(self, totals: Sequence[Scalar]) -> list[Scalar]:
        """The accumulators in the results' types."""
        shapes = self.split([r.shape for r in self.results])
        parts = zip(self.sums, self.split(totals), shapes)
        return [total for some, part, own in parts for total in some.narrow(part, own)]

    def elements(self, scope: Elements, space: Space) -> list[Scalar]:
        """Accumulators of the elements at a point, where the arrays besides are stored."""
        inputs = [scope.element(i, space.index) for some in self.inputs for i in some]
        values = [scope.element(value, space.index) for value, _ in self.stored]
        for value, (_, buffer) in zip(values, self.stored):
            scope.store(value, buffer, space.index)
        return self.widen(inputs)

    def combine(self, totals: Sequence[Scalar], others: Sequence[Scalar]) -> list[Scalar]:
        """Accumulators of what two have accumulated."""
        parts = zip(self.sums, self.split(totals), self.split(others))
        return [total for some, old, new in parts for total in some.combine(old, new)]

    def step(self, scope: Elements, space: Space, totals: Sequence[Scalar]) -> list[Scalar]:
        """The accumulators with the elements at a point, where the arrays besides are stored."""
        return self.combine(totals, self.elements(scope, space))

    def split(self, totals: Sequence[T]) -> list[Sequence[T]]:
        """What belongs to each reduction, of what there is one of for each accumulator."""
        ends = list(accumulate(self.counts))
        return [totals[end - count : end] for end, count in zip(ends, self.counts)]


def emit_reductions(work: Reductions, loops: Loops) -> None:
    """Emit the loops of one pass over the elements."""
    operand, kept = work.operand, work.kept
    order = operand.layout.minor_to_major[::-1]
    wide = [d for d in order if operand.dims[d] > 1]
    if loops.flat:
        groups = [*([d] for d in kept), *([d] for d in order if d not in kept)]
        _emit_rows(work, make_space(operand.dims, groups), len(kept), loops, 0)
    elif wide and wide[-1] in kept and work.reduced:
        _emit_columns(work, loops)
    else:
        rows = [d for d in order if d in kept] + [d for d in order if d not in kept]
        space = work.space(rows, [len(kept)])
        _emit_rows(work, space, sum(1 for g in space.groups if g[0] in kept), loops, LANES)


@dataclass(frozen=True)
class _Rows:
    """The elements at points of several rows at once, a scope for each row."""

    scopes: Sequence[Elements]

    def with_variables(self, **variables: Any) -> "_Rows":
        """The scopes with further index variables."""
        return _Rows([scope.with_variables(**variables) for scope in self.scopes])


def _emit_rows(work: Reductions, space: Space, outer: int, loops: Loops, lanes: int) -> None:
    """The first `outer` loops visit the results; the others run inside with accumulators.

    Args:
        lanes: how many accumulators to use for each result of what LLVM makes no vectors of.
    """
    at = tuple(space.index[d] for d in work.kept)
    together = _rows_together(work, space, outer) if lanes else 1
    count = len(work.results)

    def step(rows: _Rows, totals: Sequence[Scalar]) -> Sequence[Scalar]:
        parts = [totals[n : n + count] for n in range(0, len(totals), count)]
        return [t for row, own in zip(rows.scopes, parts) for t in work.step(row, space, own)]

    def innermost(size: int, body: LoopBody, carried: Sequence[Scalar]) -> Sequence[Scalar]:
        return chunked_loop(size, body, carried, work.identities * together, prod(sizes))

    variables, sizes = space.variables[outer:], space.sizes[outer:]
    in_lanes = lanes and len(sizes) == 1 and sizes[0] >= 4 * GROUPS * lanes and max(work.counts) > 1

    def body(points: Sequence[Any]) -> None:
        inputs = sources(work.kernel, work.buffers)
        rows = [Elements(inputs, space.bind(p)) for p in neighbours(space, points, together)]
        if in_lanes:
            totals = _in_lanes(work, space, rows, lanes)
        else:
            inits = [init for row in rows for init in work.inits(row)]
            totals = nest(_Rows(rows), variables, sizes, inits, step, innermost)
        for row in rows:
            for total, result in zip(work.narrow(totals[:count]), work.results):
                row.store(total, result, at)
            totals = totals[count:]

    around = list(space.sizes[:outer])
    if together > 1:
        around[-1] = -(-around[-1] // together)
    loops.each(around, body)


def _rows_together(work: Reductions, space: Space, outer: int) -> int:
    """How many rows to go along at once: memory answers several streams faster than one."""
    rows = space.sizes[outer - 1] if outer else 1
    if rows < 2 * ROWS or work.operand.byte_size < _FAR_BYTES or work.code(space) > MOST_UNROLLED:
        return 1
    # The last rows are those before them again where they do not come out even.
    return 1 if work.stored and rows % ROWS else ROWS


def neighbours(space: Space, points: Sequence[Any], together: int) -> list[Sequence[Any]]:
    """The points of neighbouring rows, of a point of the loops around them."""
    if together == 1:
        return [points]
    *around, point = points
    last = index_value(space.sizes[len(around)] - together)
    first = arith.minsi(arith.muli(point, index_value(together)), last)
    return [[*around, arith.addi(first, index_value(n))] for n in range(together)]


def _in_lanes(
    work: Reductions, space: Space, rows: Sequence[Elements], lanes: int
) -> Sequence[Scalar]:
    """Rows whose elements go in turn to accumulators in memory, which are combined at the end.

    Of a loop over a few accumulators LLVM makes vectors, whatever combines them (argmax), and keeps
    them in registers. There are several such loops, which do not wait for each other.
    """
    (last,), (size,) = space.variables[-1:], space.sizes[-1:]
    inits = [work.inits(row) for row in rows]
    shapes = [Shape(i.element_type, (lanes,)) for i in inits[0]]
    starts = range(0, lanes * GROUPS // len(rows), lanes)
    groups = [[[Buffer(stack_memory(s), s) for s in shapes] for _ in starts] for _ in rows]

    def elements(row: Elements, point: Any) -> list[Scalar]:
        return work.elements(row.with_variables(**bind([last], [point])), space)

    def load(group: Sequence[Buffer], lane: Any) -> list[Scalar]:
        return [load_at(array, lane) for array in group]

    def store(totals: Sequence[Scalar], group: Sequence[Buffer], lane: Any) -> Sequence[Scalar]:
        for total, array in zip(totals, group):
            store_at(total, array, lane)
        return []

    def begin(row: Elements, group: Sequence[Buffer], first: int) -> None:
        place = index_value(first)
        for_loop(0, lanes, 1, lambda lane, _: store(
            elements(row, arith.addi(place, lane)), group, lane))  # fmt: skip

    def take(row: Elements, group: Sequence[Buffer], first: Any, count: int) -> None:
        def one(lane: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
            new = elements(row, arith.addi(first, lane))
            return store(work.combine(load(group, lane), new), group, lane)

        for_loop(0, count, 1, one)

    def take_all(first: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
        for row, own in zip(rows, groups):
            for group, start in zip(own, starts):
                take(row, group, arith.addi(first, index_value(start)), lanes)
        return []

    for row, own in zip(rows, groups):
        for group, start in zip(own, starts):
            begin(row, group, start)
    step = starts.stop
    whole = size - size % step
    for_loop(step, whole, step, take_all)
    totals: list[Scalar] = []
    for row, own, init in zip(rows, groups, inits):
        for start in range(whole, size, lanes):
            take(row, own[0], index_value(start), min(lanes, size - start))
        for group in own[1:]:
            for_loop(0, lanes, 1, lambda lane, _, own=own, group=group: store(
                work.combine(load(own[0], lane), load(group, lane)), own[0], lane))  # fmt: skip
        totals += for_loop(
            0, lanes, 1, lambda lane, held, own=own: work.combine(held, load(own[0], lane)), init
        )
    return totals


def _emit_columns(work: Reductions, loops: Loops) -> None:
    """Neighbouring results side by side: the loop over the fastest dimension is the inner one."""
    operand, kept = work.operand, work.kept
    order = operand.layout.minor_to_major[::-1]
    last = max(p for p, d in enumerate(order) if operand.dims[d] > 1)
    # Kept dimensions that end the order run innermost; the other kept ones are the outer loops.
    start = last
    while start > 0 and (order[start - 1] in kept or operand.dims[order[start - 1]] == 1):
        start -= 1
    inner = [d for d in order[start:] if d in kept]
    outer = [d for d in order[:start] if d in kept]
    reduced = [d for d in order if d not in kept]
    space = work.space([*outer, *reduced, *inner], [len(outer), len(outer) + len(reduced)])
    split = [sum(1 for g in space.groups if g[0] in part) for part in (outer, reduced)]
    _Columns(work, space, split).emit(loops)


class _Columns:
    """The loops of the columns form: outer, stretch, reduced, neighbours."""

    def __init__(self, work: Reductions, space: Space, split: Sequence[int]):
        self.work, self.space = work, space
        self.outer, self.reduced = split
        self.at = tuple(space.index[d] for d in work.kept)
        self.stretch = max(STRETCH // len(work.results), LEAST_STRETCH)
        self.exact = all(some.exact for some in work.sums)
        rows = space.sizes[self.outer + self.reduced - 1] if self.reduced else 0
        few = rows if self.exact and rows <= FEW else ROWS
        self.together = few if work.code(space) <= MOST_UNROLLED else 1

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body."""
        sizes = self.space.sizes
        middle = self.outer + self.reduced
        # All but the last of the inner loops are as good as outer ones.
        around = [*range(self.outer), *range(middle, len(sizes) - 1)]

        def body(points: Sequence[Any]) -> None:
            *points, stretch = points
            outer = bind([self.space.variables[n] for n in around], points)
            scope = Elements(sources(self.work.kernel, self.work.buffers), outer)
            self._stretch(scope, arith.muli(stretch, index_value(self.stretch)))

        loops.each([*(sizes[n] for n in around), -(-sizes[-1] // self.stretch)], body)

    def _stretch(self, scope: Elements, low: Any) -> Sequence[Scalar]:
        high = arith.minsi(
            arith.addi(low, index_value(self.stretch)), index_value(self.space.sizes[-1])
        )
        for_loop(low, high, 1, lambda point, _: self._start(scope, point))
        middle = slice(self.outer, self.outer + self.reduced)
        *variables, last = self.space.variables[middle]
        *sizes, size = self.space.sizes[middle]
        whole = size - size % self.together

        def accumulate(points: Sequence[Any]) -> None:
            around = scope.with_variables(**bind(variables, points))

            def rows(first: Any, count: int) -> Sequence[Scalar]:
                numbers = [arith.addi(first, index_value(k)) for k in range(count)]
                inner = [around.with_variables(**bind([last], [n])) for n in numbers]
                return for_loop(low, high, 1, lambda point, _: self._step(inner, point))

            for_loop(0, whole, self.together, lambda first, _: rows(first, self.together))
            for_loop(whole, size, 1, lambda first, _: rows(first, 1))

        each_point(sizes, accumulate)
        return []

    def _at_point(self, scope: Elements, point: Any) -> Elements:
        return scope.with_variables(**{self.space.variables[-1].name: point})

    def _start(self, scope: Elements, point: Any) -> Sequence[Scalar]:
        inner = self._at_point(scope, point)
        inits = self.work.narrow(self.work.inits(inner))
        for init, result in zip(inits, self.work.results):
            inner.store(init, result, self.at)
        return []

    def _step(self, rows: Sequence[Elements], point: Any) -> Sequence[Scalar]:
        scopes = [self._at_point(row, point) for row in rows]
        totals = self.work.widen([scopes[0].load(r, self.at) for r in self.work.results])
        if self.exact:
            elements = [self.work.elements(scope, self.space) for scope in scopes]
            totals = self.work.combine(totals, combined(elements, self.work.combine))
        else:
            for scope in scopes:
                totals = self.work.step(scope, self.space, totals)
        for total, result in zip(self.work.narrow(totals), self.work.results):
            scopes[0].store(total, result, self.at)
        return []
