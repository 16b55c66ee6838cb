"""Depthwise convolutions: each feature of the result from its own of the array, features as lanes.

    for each line of the result:
        for each tile of neighbours whose whole window is inside, and each other place:
            for a few vectors of features:
                for each place of the window that is inside:
                    tile += elements of the array × those of the kernel     (in registers)

There is so little arithmetic that reading the array is what takes the time. So features are the
inner loop, in the order in which they lie, and of a large array the line that the next one needs is
asked for in advance. The kernel is used as it lies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.cpu.convolutions.spec import ConvolutionSpec
from tfc.backends.cpu.convolutions.taps import Taps, interior, taps_of
from tfc.backends.cpu.convolutions.work import ConvolutionWork, Finish, OutputBlock
from tfc.backends.cpu.loops.nests import Chunk
from tfc.backends.cpu.products.register_tile import RegisterTile, each_panel
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    maximum,
    minimum,
    multiply,
    prefetch,
)

_LINE = 64  # bytes that are in a cache together


def emit_depthwise(work: ConvolutionWork) -> None:
    """Emit a depthwise convolution; chunks share the first spatial dimension, or the batches if
    there is but one."""
    far = work.spec.lhs.byte_size > work.target.l2_bytes
    _Depthwise(
        work.spec, work.vectors, work.registers, work.lhs, work.rhs, work.sums, work.finish,
        work.chunk, far,
    ).emit()  # fmt: skip


@dataclass(frozen=True)
class _Depthwise:
    """The loops; `out` is where the sums go, `far` says whether the array is in no near cache."""

    spec: ConvolutionSpec
    vectors: Vectors
    registers: int
    lhs: Any
    rhs: Any
    out: Any
    finish: Finish | None
    chunk: Chunk | None
    far: bool

    def emit(self) -> None:
        """Emit all batches."""
        count, lines = self.spec.out.dims[0], len(self.spec.window.dimensions) > 1
        lhs, out = self.spec.lhs.strides[0], self.spec.out.strides[0]
        for_range(
            *(self.chunk.part(count) if self.chunk and not lines else (0, count)), 1,
            lambda b, _: self._lines(b, (), [], multiply(b, lhs), multiply(b, out)),
        )  # fmt: skip

    def _lines(
        self, batch: Position, at: tuple[Position, ...], taps: list[Taps], lhs: Position,
        out: Position,
    ) -> None:  # fmt: skip
        """The lines at some places along the first spatial dimensions."""
        spec, n = self.spec, len(at)
        window, size, count = spec.window.dimensions[n], spec.lhs.dims[n + 1], spec.out.dims[n + 1]
        if n == len(spec.window.dimensions) - 1:
            start, step = (0, spec.columns) if spec.apart else (out, spec.out.strides[-2])
            self._line(taps, lhs, start, step)
            if self.finish is not None:
                self.finish(OutputBlock(count, True, 0, batch, (*at, 0)), (self.out, start))
            return

        def place(p: Position, _: Any) -> None:
            after = add(out, multiply(p, spec.out.strides[n + 1]))
            self._lines(batch, (*at, p), [*taps, taps_of(window, size, count, p)], lhs, after)

        for_range(*(self.chunk.part(count) if self.chunk and n == 0 else (0, count)), 1, place)

    def _line(self, taps: list[Taps], lhs: Position, out: Position, step: int) -> None:
        """The results along the last spatial dimension, `step` apart."""
        spec = self.spec
        window, size, count = spec.window.dimensions[-1], spec.lhs.dims[-2], spec.out.dims[-2]
        low, high = interior(window, size, count)
        most = max(self.registers // 2, 1)
        tiles = -(-(high - low) // most)
        height = -(-(high - low) // max(tiles, 1))
        end = low + (high - low) // max(height, 1) * height

        def edge(p: Position, _: Any) -> None:
            if low < high:
                after = arith.cmpi(arith.CmpIPredicate.sge, index_value(p), index_value(low))
                p = arith.select(after, index_value(add(p, high - low)), index_value(p))
            inside = [*taps, taps_of(window, size, count, p)]
            self._tile(1, inside, lhs, add(out, multiply(p, step)), step)

        def tile(p: Position, height: int) -> None:
            start = add(multiply(p, window.stride), -window.low)
            inside = [*taps, Taps(window.size, 0, 1, start, window.window_dilation)]
            later = self._next_line(taps, p) if self.far and taps else None
            after = None if later is None else add(lhs, later)
            self._tile(height, inside, lhs, add(out, multiply(p, step)), step, after)

        for_range(0, count - (high - low), 1, edge)
        if low < high:
            for_range(low, end, height, lambda p, _: tile(p, height))
        if end < high:
            tile(end, high - end)

    def _tile(
        self, height: int, taps: Sequence[Taps], lhs: Position, out: Position, step: int,
        later: Position | None = None,
    ) -> None:  # fmt: skip
        """Neighbours with the same taps, all features; `later` is where the next line reads."""

        vectors = min(max(self.registers // height, 1), 8)
        vectors = min(vectors, -(-self.spec.columns // self.vectors.lanes))

        def panel(c: Position, width: int) -> None:
            tile = RegisterTile(self.vectors, height, width)
            if later is not None:
                self._ask_for(height, add(later, c), len(tile.insides))
            sums = self._sums(tile, taps, add(lhs, c), c)
            tile.store(sums, self.out, [add(out, c, i * step) for i in range(height)])

        each_panel(self.spec.columns, vectors * self.vectors.lanes, panel)

    def _next_line(self, taps: Sequence[Taps], place: Position) -> Position:
        """Where the part of the array that the line after this one is the first to read begins."""
        spec, row = self.spec, taps[-1]
        stride, size = spec.window.dimensions[-2].stride, spec.lhs.dims[-3]
        last = add(row.at, multiply(add(row.count, -1), row.move))
        at = maximum(minimum(add(last, stride), size - 1), 0)
        along = multiply(place, spec.window.dimensions[-1].stride * spec.lhs.strides[-2])
        before = (multiply(t.at, s) for t, s in zip(taps[:-1], spec.lhs.strides[1:]))
        return add(*before, multiply(at, spec.lhs.strides[-3]), along)

    def _ask_for(self, height: int, at: Position, vectors: int) -> None:
        """Bring the elements of a tile nearer that is read a line later."""
        spec, lanes = self.spec, self.vectors.lanes
        lines = max(_LINE // (lanes * spec.lhs.element_type.bytes), 1)
        for i in range(height * spec.window.dimensions[-1].stride):
            for j in range(0, vectors, lines):
                prefetch(self.lhs, add(at, i * spec.lhs.strides[-2] + j * lanes))

    def _sums(
        self, tile: RegisterTile, taps: Sequence[Taps], lhs: Position, rhs: Position
    ) -> Sequence[Any]:
        """The sums of a tile."""
        spec = self.spec
        along = spec.window.dimensions[-1].stride * spec.lhs.strides[-2]

        def walk(n: int, lhs: Position, rhs: Position, sums: Sequence[Any]) -> Sequence[Any]:
            if n == len(taps):
                row = tile.row(self.rhs, rhs)
                values = tile.load(self.lhs, [add(lhs, i * along) for i in range(tile.height)])
                return tile.add_lane_products(sums, values, row)
            here = taps[n]

            def tap(t: Position, sums: Sequence[Any]) -> Sequence[Any]:
                at = add(here.at, multiply(t, here.move))
                place = add(here.first, multiply(t, here.step))
                return walk(
                    n + 1, add(lhs, multiply(at, spec.lhs.strides[n + 1])),
                    add(rhs, multiply(place, spec.rhs.strides[n])), sums,
                )  # fmt: skip

            return for_range(0, here.count, 1, tap, sums)

        return walk(0, lhs, rhs, tile.zeros())
