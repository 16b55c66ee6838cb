"""Depthwise convolutions whose window is larger than their result, as the gradient of a kernel is.

    for each place of the window but along the last dimension, and each place of the result that
    has an element of the array there:
        for each panel of features, and a few neighbours along the last dimension:
            sums += elements of the array × that of the kernel     (in registers, along a line)

Both operands are read once, in the order in which they lie; the sums stay in the first cache.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from tfc.backends.cpu.convolutions.spec import ConvolutionSpec
from tfc.backends.cpu.convolutions.window_lines import (
    each_line,
    inside_of,
    meet_lines,
    widest_place,
)
from tfc.backends.cpu.convolutions.work import ConvolutionWork, OutputBlock
from tfc.backends.cpu.products.register_tile import RegisterTile, each_panel
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    multiply,
)

_MOST_PLACES = 4  # whose sums are in registers together


def emit_depthwise_weight_gradient(work: ConvolutionWork) -> None:
    """Emit a convolution that `is_depthwise_weight_gradient`; chunks share the places along
    `widest_place`."""
    spec, chunk, sums, finish = work.spec, work.chunk, work.sums, work.finish
    inner = spec.out.dims[1:]
    steps = tuple(prod(inner[n + 1 :]) for n in range(len(inner)))
    # Both operands of a product are vectors that differ with the place: x86 reads one in memory.
    registers = work.registers - (0 if work.target.architecture == "x86_64" else 2)
    emitter = _DepthwiseWeightGradient(
        spec, work.vectors, registers, work.lhs, work.rhs, sums,
        steps if spec.apart else spec.out.strides[1:],
        [chunk.part(count) if chunk and n == widest_place(spec) else (0, count)
         for n, count in enumerate(spec.out.dims)][1:],
    )  # fmt: skip

    def batch(b: Position, _: Any) -> None:
        at = 0 if spec.apart else multiply(b, spec.out.strides[0])
        emitter.clear(at)
        meet_lines(
            spec, emitter.steps, emitter.parts, emitter.line,
            (multiply(b, spec.lhs.strides[0]), 0, at),
        )  # fmt: skip
        if finish is None:
            return
        done = finish
        each_line(
            emitter.steps, emitter.parts,
            lambda places, at: done(OutputBlock(inner[-2], True, 0, b, (*places, 0)), (sums, at)),
            at,
        )  # fmt: skip

    for_range(0, spec.out.dims[0], 1, batch)


@dataclass(frozen=True)
class _DepthwiseWeightGradient:
    """The loops for one batch.

    steps: how far neighbours along each dimension of the result but the batch are in `sums`.
    parts: the first place along each of them that is wanted, and the end.
    """

    spec: ConvolutionSpec
    vectors: Vectors
    registers: int
    lhs: Any
    rhs: Any
    sums: Any
    steps: Sequence[int]
    parts: Sequence[tuple[Position, Position]]

    def clear(self, at: Position) -> None:
        """Make all sums of a batch zero."""

        def zeros(at: Position, column: Position, width: int) -> None:
            tile = RegisterTile(self.vectors, 1, width)
            tile.store(tile.zeros(), self.sums, [add(at, column)])

        def line(_: object, at: Position) -> None:
            def place(p: Position, _: Any) -> None:
                self._panels(4, partial(zeros, add(at, multiply(p, self.steps[-2]))))

            for_range(0, self.spec.out.dims[-2], 1, place)

        each_line(self.steps, self.parts, line, at)

    def line(self, lhs: Position, rhs: Position, sums: Position) -> None:
        """The products along a line of the window."""
        d, size = self.spec.window.dimensions[-1], self.spec.lhs.dims[-2]
        count = self.spec.out.dims[-2]
        ranges = [inside_of(d, size, p) for p in range(count)]
        groups = -(-count // _MOST_PLACES)
        together = -(-count // groups)

        def panel(first: int, c: Position, width: int) -> None:
            places = range(first, min(first + together, count))
            ends = [add(sums, p * self.steps[-2], c) for p in places]
            tile = RegisterTile(self.vectors, len(places), width)
            vectors = len(tile.insides)
            totals: Sequence[Any] = tile.load(self.sums, ends)

            def products(
                some: Sequence[int], first: int, end: int, totals: Sequence[Any]
            ) -> Sequence[Any]:
                def tap(q: Position, totals: Sequence[Any]) -> Sequence[Any]:
                    totals = list(totals)
                    row = tile.row(self.rhs, add(rhs, multiply(q, self.spec.rhs.strides[-3]), c))
                    along = add(multiply(q, d.window_dilation), -d.low)
                    for p in some:
                        step = multiply(add(along, p * d.stride), self.spec.lhs.strides[-2])
                        values = tile.row(self.lhs, add(lhs, step, c))
                        of = slice((p - places[0]) * vectors, (p - places[0] + 1) * vectors)
                        totals[of] = tile.add_lane_products(totals[of], values, row)
                    return totals

                return for_range(first, end, 1, tap, totals)

            # Taps that are inside for all places, and around them those that are for some.
            low, high = (f(ranges[p][n] for p in places) for n, f in enumerate((max, min)))
            low, high = (low, high) if low < high else (d.size, d.size)
            for p in places:
                totals = products([p], ranges[p][0], min(ranges[p][1], low), totals)
            totals = products(places, low, high, totals)
            for p in places:
                totals = products([p], max(ranges[p][0], high), ranges[p][1], totals)
            tile.store(totals, self.sums, ends)

        for first in range(0, count, together):
            self._panels(max(self.registers // together, 1), partial(panel, first))

    def _panels(self, vectors: int, body: Callable[[Position, int], None]) -> None:
        each_panel(self.spec.columns, vectors * self.vectors.lanes, body)
