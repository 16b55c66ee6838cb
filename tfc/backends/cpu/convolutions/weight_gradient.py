"""Convolutions whose window is larger than their result, as the gradient of a kernel is.

    for each feature of the array, each line of the window, and each of the result that meets it:
        results of the line += elements of the array × a line of the kernel

The last step is a matrix product in tiles: its rows are the results' places along the line, and
batches, its depth is the line of the window, its columns are the features of the result. Nothing is
packed, and both operands are read once for each line that meets them; the sums stay in a cache.
Which elements are on padding differs from row to row at the ends of a line: there rows take part
under a condition.
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
from tfc.backends.cpu.convolutions.work import ConvolutionWork, Finish, OutputBlock
from tfc.backends.cpu.products.register_tile import RegisterTile, each_panel
from tfc.backends.cpu.products.schedule import tile_shape
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    divide,
    for_range,
    index_value,
    maximum,
    minimum,
    multiply,
    subtract,
)
from tfc.backends.target import Target


def panel_features(spec: ConvolutionSpec, target: Target) -> int:
    """How many features of the result a tile has."""
    lanes = target.lanes(spec.lhs.element_type.bits)
    return tile_shape(1, spec.columns, target, lanes)[1] * lanes


def feature_chunks(spec: ConvolutionSpec, target: Target) -> int:
    """How many chunks can share the features of the result; 0 if places are shared instead."""
    panels = spec.columns // panel_features(spec, target)
    return panels if spec.alone and panels > 1 else 0


def emit_weight_gradient(work: ConvolutionWork) -> None:
    """Emit a convolution with a spec that `is_weight_gradient`; chunks share the features, if there
    are `feature_chunks`, else the places along `widest_place`."""
    spec, target, dims = work.spec, work.target, work.spec.out.dims
    parts = [(0, n) for n in dims]
    if work.chunk is not None:
        along, step = len(dims) - 1, panel_features(spec, target)
        if not feature_chunks(spec, target):
            along, step = widest_place(spec), 1
        parts[along] = work.chunk.part(dims[along], step)
    steps = tuple(prod(dims[n + 1 :]) for n in range(len(dims)))
    emitter = _WeightGradient(
        spec, target, work.vectors, work.lhs, work.rhs, work.sums,
        steps if spec.apart else spec.out.strides, parts,
    )  # fmt: skip
    emitter.emit(work.finish)


@dataclass(frozen=True)
class _WeightGradient:
    """The loops.

    sums: the memory of the sums, in which neighbours along each dimension are `steps` apart.
    parts: the first place along each dimension of the result that is wanted, and the end.
    """

    spec: ConvolutionSpec
    target: Target
    vectors: Vectors
    lhs: Any
    rhs: Any
    sums: Any
    steps: Sequence[int]
    parts: Sequence[tuple[Position, Position]]

    def emit(self, finish: Finish | None) -> None:
        """Emit all of it."""
        lhs, rhs = self.spec.lhs, self.spec.rhs
        each_line(self.steps, self.parts, lambda places, at: self._clear(at))
        for_range(
            0, rhs.dims[-2], 1,
            lambda f, _: meet_lines(
                self.spec, self.steps[1:], self.parts[1:], self._line,
                (multiply(f, lhs.strides[-1]), multiply(f, rhs.strides[-2]), 0),
            ),
        )  # fmt: skip
        if finish is None:
            return
        done, count = finish, self.spec.out.dims[-2]
        each_line(
            self.steps, self.parts,
            lambda places, at: done(
                OutputBlock(count, True, 0, places[0], (*places[1:], 0)), (self.sums, at)
            ),
        )  # fmt: skip

    def _clear(self, at: Position) -> None:
        """Make the sums of a line zero."""

        def zeros(c: Position, width: int) -> None:
            tile = RegisterTile(self.vectors, 1, width)

            def place(p: Position, _: Any) -> None:
                tile.store(tile.zeros(), self.sums, [add(at, multiply(p, self.steps[-2]), c)])

            for_range(0, self.spec.out.dims[-2], 1, place)

        self._panels(1, zeros)

    def _line(self, lhs: Position, rhs: Position, sums: Position) -> None:
        """The products along a line of the window: rows are places and batches, if these lie as one
        dimension, else those of each place are batches."""
        spec, d = self.spec, self.spec.window.dimensions[-1]
        batch, count = spec.out.dims[0], spec.out.dims[-2]
        along = d.stride * spec.lhs.strides[-2]
        step, out_step = spec.lhs.strides[0], self.steps[0]
        if along == batch * step and self.steps[-2] == batch * out_step:
            self._rows(batch * count, step, out_step, lhs, rhs, sums, lambda m: divide(m, batch))
            return

        def place(p: Position, _: Any) -> None:
            start, end = add(lhs, multiply(p, along)), add(sums, multiply(p, self.steps[-2]))
            self._rows(batch, step, out_step, start, rhs, end, lambda m: p)

        for_range(0, count, 1, place)

    def _rows(
        self, rows: int, step: int, out_step: int, lhs: Position, rhs: Position, sums: Position,
        place_of: Callable[[Position], Position],
    ) -> None:  # fmt: skip
        """The products of rows, `step` apart in the array and `out_step` in the sums."""
        lanes = self.vectors.lanes
        height, vectors = tile_shape(rows, self.spec.columns, self.target, lanes)
        whole = rows - rows % height

        def panel(c: Position, width: int) -> None:
            def some(m: Position, height: int) -> None:
                tile = RegisterTile(self.vectors, height, width)
                ends = [add(sums, multiply(m, out_step), i * out_step, c) for i in range(height)]
                totals = tile.load(self.sums, ends)
                start = add(lhs, multiply(m, step))
                places = [place_of(add(m, i)) for i in range(height)]
                totals = self._products(tile, start, step, add(rhs, c), places, totals)
                tile.store(totals, self.sums, ends)

            for_range(0, whole, height, lambda m, _: some(m, height))
            if whole < rows:
                some(whole, rows - whole)

        self._panels(vectors, panel)

    def _products(
        self, tile: RegisterTile, lhs: Position, step: int, rhs: Position,
        places: Sequence[Position], totals: Sequence[Any],
    ) -> Sequence[Any]:  # fmt: skip
        """The sums of a tile with the products along the line."""
        spec, d, size = self.spec, self.spec.window.dimensions[-1], self.spec.lhs.dims[-2]
        ranges = [inside_of(d, size, p) for p in range(spec.out.dims[-2])]
        (first, low), (high, end) = ((min(some), max(some)) for some in zip(*ranges))
        if low >= high:
            low = high = end
        along = spec.lhs.strides[-2]

        def products(q: Position, totals: Sequence[Any], *, guarded: bool) -> Sequence[Any]:
            row = tile.row(self.rhs, add(rhs, multiply(q, spec.rhs.strides[-3])))
            start = add(multiply(q, d.window_dilation), -d.low)
            found: list[Any] = []
            for i, place in enumerate(places):
                shift, inside = multiply(start, along), None
                if guarded:
                    # Rows that are outside read an element that they have, and leave it out.
                    before = multiply(place, d.stride)
                    at = add(start, before)
                    there = minimum(maximum(at, 0), size - 1)
                    inside = arith.cmpi(arith.CmpIPredicate.eq, index_value(at), index_value(there))
                    shift = multiply(subtract(there, before), along)
                old = totals[i * len(row) : (i + 1) * len(row)]
                factor = tile.broadcasts(self.lhs, [add(lhs, shift, i * step)])
                new = tile.add_products(old, factor, row)
                found += new if inside is None else map(partial(arith.select, inside), new, old)
            return found

        def edge(t: Position, totals: Sequence[Any]) -> Sequence[Any]:
            if first < low:
                is_first = arith.cmpi(
                    arith.CmpIPredicate.slt, index_value(t), index_value(low - first)
                )
                shift = arith.select(is_first, index_value(first), index_value(high - low + first))
                t = add(t, shift)
            else:
                t = add(t, high)
            return products(t, totals, guarded=True)

        totals = for_range(low, high, 1, lambda q, t: products(q, t, guarded=False), totals)
        return for_range(0, low - first + end - high, 1, edge, totals)

    def _panels(self, vectors: int, body: Callable[[Position, int], None]) -> None:
        each_panel(self.spec.columns, vectors * self.vectors.lanes, body, self.parts[-1])
