"""Convolutions with fewer features in the result than a vector has lanes, as the gradient of an
image is: places of the window and features share the lanes.

    for each line of the result, and each line of the array that meets it:
        for each element of the array's line:
            spread = features of the array × kernel      all places of the line of a window at once
            line[from where the element reaches] += spread

A product has the elements of a line as rows, the features of the array as depth, and the features
of the result at all places that an element reaches as columns; neighbours overlap in the sums of
the line, which stay in the first-level cache. Gaps between elements cost nothing.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.cpu.convolutions.taps import Taps, taps_of
from tfc.backends.cpu.convolutions.work import ConvolutionWork, OutputBlock
from tfc.backends.cpu.products.register_tile import RegisterTile, sum_up
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import (
    Position,
    add,
    first_lanes,
    for_range,
    load,
    multiply,
    store,
)


def emit_small_channels(work: ConvolutionWork) -> None:
    """Emit a convolution with a spec that `has_small_channels`; chunks share the first spatial
    dimension, or the batches if there is but one."""
    _SmallChannels(work).emit()


class _SmallChannels:
    """The loops. The workspace holds the sums of a line, and then the packed kernel."""

    def __init__(self, work: ConvolutionWork):
        self.spec, self.lhs, self.rhs, self.out = work.spec, work.lhs, work.rhs, work.out
        self.workspace, self.finish, self.chunk = work.workspace, work.finish, work.chunk
        self.lanes, self.vectors = work.lanes, work.vectors
        self.spread = work.spec.spread(work.target)
        *_, self.depth, self.features = work.spec.rhs.dims
        self.packed = work.spec.line_sums(work.target)
        self.height = max(work.registers // self.spread.vectors, 1)

    def emit(self) -> None:
        """Emit all batches."""
        self._pack()
        count, lines = self.spec.out.dims[0], len(self.spec.window.dimensions) > 1
        lhs, out = self.spec.lhs.strides[0], self.spec.out.strides[0]
        for_range(
            *(self.chunk.part(count) if self.chunk and not lines else (0, count)), 1,
            lambda b, _: self._lines(b, (), [], multiply(b, lhs), multiply(b, out)),
        )  # fmt: skip

    def _pack(self) -> None:
        """The kernel: for each place but along the last dimension, and each feature of the array, a
        row of the places along the last dimension, last first, and features; then zeros."""
        *outer, along, depth, features = self.spec.rhs.dims
        width, steps = self.spread.vectors * self.lanes, self.spec.rhs.strides

        def row(rhs: Position, to: Position) -> None:
            for j in range(self.spread.vectors):
                self.vectors.store(self.vectors.zero(), self.workspace, add(to, j * self.lanes))

            def place(k: Position, _: Any) -> None:
                start = add(rhs, multiply(k, -steps[-3]), (along - 1) * steps[-3])
                end = add(to, multiply(k, features))
                for f in range(features):
                    element = load(self.rhs, add(start, f * steps[-1]))
                    store(element, self.workspace, add(end, f))

            for_range(0, along, 1, place)

        def walk(n: int, rhs: Position, row_number: Position) -> None:
            if n == len(outer):
                for_range(
                    0, depth, 1,
                    lambda c, _: row(
                        add(rhs, multiply(c, steps[-2])),
                        add(self.packed, multiply(add(row_number, c), width)),
                    ),
                )  # fmt: skip
                return
            inner = depth
            for size in outer[n + 1 :]:
                inner *= size
            for_range(
                0, outer[n], 1,
                lambda k, _: walk(
                    n + 1, add(rhs, multiply(k, steps[n])), add(row_number, multiply(k, inner))
                ),
            )  # fmt: skip

        walk(0, 0, 0)

    def _lines(
        self, batch: Position, at: tuple[Position, ...], taps: list[Taps], lhs: Position,
        out: Position,
    ) -> None:  # fmt: skip
        """The lines at some places along the first spatial dimensions."""
        spec, n = self.spec, len(at)
        if n == len(spec.window.dimensions) - 1:
            self._line(taps, lhs)
            memory, start = self.workspace, self.spread.before * self.features
            if not spec.apart:
                self._copy(out)
                memory, start = self.out, out
            if self.finish is not None:
                self.finish(
                    OutputBlock(spec.out.dims[-2], True, 0, batch, (*at, 0)), (memory, start)
                )
            return
        window, size, count = spec.window.dimensions[n], spec.lhs.dims[n + 1], spec.out.dims[n + 1]

        def place(p: Position, _: Any) -> None:
            after = add(out, multiply(p, spec.out.strides[n + 1]))
            self._lines(batch, (*at, p), [*taps, taps_of(window, size, count, p)], lhs, after)

        for_range(*(self.chunk.part(count) if self.chunk and n == 0 else (0, count)), 1, place)

    def _copy(self, out: Position) -> None:
        """The sums of a line, to where the result is."""
        count, start = self.spec.out.dims[-2] * self.features, self.spread.before * self.features
        whole = count - count % self.lanes

        def move(c: Position, inside: int) -> None:
            values = self.vectors.load(self.workspace, add(start, c))
            self.vectors.store(values, self.out, add(out, c), inside)

        for_range(0, whole, self.lanes, lambda c, _: move(c, self.lanes))
        if whole < count:
            move(whole, count - whole)

    def _line(self, taps: list[Taps], lhs: Position) -> None:
        """The sums of a line."""

        def clear(c: Position, _: Any) -> None:
            self.vectors.store(self.vectors.zero(), self.workspace, c)

        def walk(n: int, lhs: Position, row: Position) -> None:
            if n == len(taps):
                self._elements(
                    lhs, add(self.packed, multiply(row, self.spread.vectors * self.lanes))
                )
                return
            here, inner = taps[n], self.depth
            for size in self.spec.rhs.dims[n + 1 : -3]:
                inner *= size

            def tap(t: Position, _: Any) -> None:
                at = add(here.at, multiply(t, here.move))
                place = add(here.first, multiply(t, here.step))
                walk(
                    n + 1, add(lhs, multiply(at, self.spec.lhs.strides[n + 1])),
                    add(row, multiply(place, inner)),
                )  # fmt: skip

            for_range(0, here.count, 1, tap)

        for_range(0, self.packed, self.lanes, clear)
        walk(0, lhs, 0)

    def _elements(self, lhs: Position, kernel: Position) -> None:
        """What the elements of a line of the array add to the sums.

        Those of a tile are far apart: what neighbours add overlaps, and memory that was just
        written in other pieces is slow to read.
        """
        size = self.spec.lhs.dims[-2]
        apart = size // self.height
        for_range(0, apart, 1, lambda w, _: self._tile(self.height, apart, w, lhs, kernel))
        rest = size - apart * self.height
        if rest:
            self._tile(rest, 1, apart * self.height, lhs, kernel)

    def _tile(
        self, height: int, apart: int, first: Position, lhs: Position, kernel: Position
    ) -> None:
        """Elements `first`, first + apart …, `height` of them."""
        spec, count = self.spec, self.spread.vectors
        step, width = spec.lhs.strides[-2], count * self.lanes
        start = add(lhs, multiply(first, step))

        tile = RegisterTile(self.vectors, height, width)

        def feature(c: Position, sums: Sequence[Any]) -> Sequence[Any]:
            right = tile.row(self.workspace, add(kernel, multiply(c, width)))
            elements = add(start, multiply(c, spec.lhs.strides[-1]))
            rows = (add(elements, i * apart * step) for i in range(height))
            return tile.add_products(sums, tile.broadcasts(self.lhs, rows), right)

        sums = sum_up(self.depth, self.depth, 1, feature, tile.zeros())
        reach = spec.window.dimensions[-1].base_dilation * self.features
        used = spec.window.dimensions[-1].size * self.features
        for i in range(height):
            end = add(multiply(first, reach), i * apart * reach, self.spread.start * self.features)
            for j in range(count):
                at = add(end, j * self.lanes)
                new = self._first(sums[i * count + j], used - j * self.lanes)
                new = self.vectors.add(self.vectors.load(self.workspace, at), new)
                self.vectors.store(new, self.workspace, at)

    def _first(self, value: Any, count: int) -> Any:
        """A vector's first elements, and zeros: a product with zero may be no number."""
        if count >= self.lanes:
            return value
        return arith.select(first_lanes(self.lanes, count), value, self.vectors.zero())
