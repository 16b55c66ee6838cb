"""Convolutions on CPUs: tiles of the result in registers, straight from the array and the kernel.

    for each group, pack its part of the kernel into panels as wide as a tile, unless it lies so
    for each place of the result, and each panel:
        for each tile of results that use the panel at the same places of the window:
            for each place of the window that is not on padding or in a gap:
                for each input feature:
                    tile += column of the array's elements × row of the panel   (in registers)

The results of a tile are neighbours along the last spatial dimension where every place of the
window is inside, and of different batches elsewhere. Which places are inside is bounds of loops.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tfc.backends.cpu.convolutions.spec import ConvolutionSpec
from tfc.backends.cpu.convolutions.taps import Taps, interior, taps_of
from tfc.backends.cpu.convolutions.work import ConvolutionWork, OutputBlock
from tfc.backends.cpu.products.byte_packing import pack_bytes
from tfc.backends.cpu.products.packing import Panels, in_place, pack
from tfc.backends.cpu.products.panels import PanelForm
from tfc.backends.cpu.products.schedule import further_rows, tile_shape
from tfc.backends.cpu.products.tiles import UNROLL, Result, Tiles, Walk
from tfc.backends.mlir.vectors import (
    Position,
    add,
    for_range,
    multiply,
)
from tfc.backends.target import Target

_SMALL = 32**3  # multiplications of a block: code for just these sizes is then worth it


def emit_direct_convolution(work: ConvolutionWork) -> None:
    """Emit a convolution; chunks share features of the result if there are `shared_features`, else
    the first spatial dimension."""
    _Direct(work).emit()


def shared_features(spec: ConvolutionSpec, target: Target, chunks: int) -> int:
    """How many features of the result each of some chunks has; 0 if they share places.

    Places are shared unless they are so few that some chunks would have a tenth more than others,
    as the gradient of a kernel has: array and kernel are then read by all chunks, and are in the
    caches of each, while features want all of the array but a part of the kernel each.
    """
    share, rest = divmod(spec.columns, chunks)
    is_uneven = 10 * -(-_places(spec) // chunks) * chunks > 11 * _places(spec)
    is_whole = rest == 0 and share % _panel_features(spec, target) == 0
    simple = spec.groups == 1 and not spec.panels and spec.words is None
    return share if simple and is_whole and is_uneven else 0


def _places(spec: ConvolutionSpec) -> int:
    """How many places chunks may share."""
    return spec.out.dims[1] if len(spec.window.dimensions) > 1 else 1


def _panel_features(spec: ConvolutionSpec, target: Target) -> int:
    """How many features of the result a tile has."""
    lanes = target.lanes(spec.lhs.element_type.bits)
    return tile_shape(1, spec.columns, target, lanes, spec.choice.tile)[1] * lanes


def convolution_panels(spec: ConvolutionSpec, target: Target) -> PanelForm | None:
    """The panels in which tiles read the kernel, if it could lie so."""
    plan = spec.tap_plan(target) if spec.algorithm(target) == "tap by tap" else None
    if plan is None and (spec.algorithm(target) != "direct" or spec.words is not None):
        return None
    width = plan.tile_columns if plan is not None else _panel_features(spec, target)
    features = spec.rhs.dims[-1]
    if spec.columns % width or spec.rhs.storage_size != spec.rhs.size:
        return None
    return PanelForm(1, spec.depth, features, (0, features, 1), width)


@dataclass(frozen=True)
class _Members:
    """The results that tiles are made of: `count` of them, apart by steps in lhs and out.

    along: they are neighbours along the last spatial dimension; else they are of all batches.
    """

    count: int
    lhs_step: int
    out_step: int
    along: bool


@dataclass(frozen=True)
class _Columns:
    """`count` features of the result from `first` on, and the panels of `width` made of them."""

    first: Position
    count: int
    width: int
    panels: Panels


class _Direct:
    def __init__(self, work: ConvolutionWork):
        self.spec, self.target, self.finish, self.chunk = (
            work.spec, work.target, work.finish, work.chunk,
        )  # fmt: skip
        self.lhs, self.rhs, self.out, self.workspace = work.lhs, work.rhs, work.out, work.workspace
        self.vectors = work.vectors
        self.features = work.spec.rhs.dims[-2]
        self.first_column, self.column_count = self._own_columns()
        self.columns: list[_Columns] = []

    def _own_columns(self) -> tuple[Position, int]:
        """The first of a group's features that are computed, and how many they are."""
        if self.chunk is not None:
            share = shared_features(self.spec, self.target, self.chunk.count)
            if share:
                number, self.chunk = self.chunk.number, None
                return multiply(number, share), share
        return 0, self.spec.columns

    def emit(self) -> None:
        """Emit all groups."""
        spec = self.spec

        def group(g: Position, _: Any) -> None:
            column = add(multiply(g, spec.columns), self.first_column)
            features = multiply(g, self.features * spec.lhs.strides[-1])
            self.columns = self._pack(column)
            for members, first, end in self._regions():
                self._region(members, first, end, features, column, g)

        for_range(0, spec.groups, 1, group)

    def _regions(self) -> Iterator[tuple[_Members, int, int]]:
        """The places first … end-1 of the last spatial dimension, and what tiles are made of."""
        lhs, out, last = self.spec.lhs, self.spec.out, self.spec.window.dimensions[-1]
        batch, count = out.dims[0], out.dims[-2]
        low, high = interior(last, lhs.dims[-2], count)
        if high - low < min(batch, self._tile(batch)[0]):
            low = high = count
        across = _Members(batch, lhs.strides[0], out.strides[0], along=False)
        along = _Members(high - low, last.stride * lhs.strides[-2], out.strides[-2], along=True)
        for members, first, end in ((across, 0, low), (along, low, high), (across, high, count)):
            if first < end:
                yield members, first, end

    def _tile(self, members: int) -> tuple[int, int]:
        """The number of members and of vectors in a tile."""
        return tile_shape(
            members, self.spec.columns, self.target, self.vectors.lanes, self.spec.choice.tile,
            further_rows=further_rows(self.spec.words),
        )  # fmt: skip

    def _pack(self, column: Position) -> list[_Columns]:
        """The group's part of the kernel, packed; what does not fill a panel has one of its own."""
        spec, lanes = self.spec, self.vectors.lanes
        full = self._tile(1)[1] * lanes
        if spec.panels:
            start = multiply(column, spec.depth)
            panels = Panels(self.rhs, start, spec.depth, 1, spec.panels)
            return [_Columns(0, spec.columns, full, panels)]
        whole = self.column_count - self.column_count % full
        found = []
        for first, count, width in ((0, whole, full), (whole, self.column_count - whole, None)):
            if count:
                width = width or count
                source = in_place(self.rhs, add(column, first), 1, spec.rhs.dims[-1])
                copy = pack if spec.words is None else pack_bytes
                panels = copy(
                    self.vectors, source, count, spec.depth, width, self.workspace,
                    first * spec.depth, stored_width=-(-width // lanes) * lanes,
                )  # fmt: skip
                found.append(_Columns(first, count, width, panels))
        return found

    def _region(
        self, members: _Members, first: int, end: int, lhs: Position, out: Position, group: Position
    ) -> None:
        """The results at some places of the last spatial dimension.

        Args:
            lhs, out: the positions of the group's first features.
        """
        spec = self.spec

        def places(
            batch: Position, at: tuple[Position, ...], taps: Sequence[Taps], out: Position,
            lhs: Position,
        ) -> None:  # fmt: skip
            n = len(at)
            if n == len(spec.window.dimensions):
                features = self.first_column, self.column_count
                block = OutputBlock(members.count, members.along, group, batch, at, features)
                self._block(members, taps, lhs, out, block)
                return
            d, size, count = spec.window.dimensions[n], spec.lhs.dims[n + 1], spec.out.dims[n + 1]
            is_last = n == len(spec.window.dimensions) - 1

            def place(here_at: Position, _: Any) -> None:
                after = add(out, multiply(here_at, spec.out.strides[n + 1]))
                here = taps_of(d, size, count, here_at)
                if is_last and members.along:
                    here = Taps(d.size, 0, 1, first * d.stride - d.low, d.window_dilation)
                places(batch, (*at, here_at), [*taps, here], after, lhs)

            if is_last and members.along:
                place(first, None)
            elif is_last:
                for_range(first, end, 1, place)
            else:
                low, high = self.chunk.part(count) if self.chunk and n == 0 else (0, count)
                for_range(low, high, 1, place)

        def batch(b: Position, _: Any) -> None:
            after = add(out, multiply(b, spec.out.strides[0]))
            places(b, (), [], after, add(lhs, multiply(b, spec.lhs.strides[0])))

        for_range(0, spec.lhs.dims[0] if members.along else 1, 1, batch)

    def _block(
        self,
        members: _Members,
        taps: Sequence[Taps],
        lhs: Position,
        out: Position,
        block: OutputBlock,
    ) -> None:
        """All features of all members, which have the same taps."""
        memory, step, start = self.out, members.out_step, out
        if self.spec.apart:
            memory, step = self.workspace, self.spec.columns
            start = self.spec.packed_size(self.target)
            out = add(start, self.first_column)
        rows = self._tile(members.count)[0]
        whole = members.count - members.count % rows

        def tiled(columns: _Columns) -> None:
            end = add(out, columns.first)
            for first, count, height in (0, whole, rows), (whole, None, members.count - whole):
                if height:
                    starts = add(lhs, first * members.lhs_step), add(end, first * step)
                    steps = members.lhs_step, step
                    self._call_tiles(columns, taps, memory, starts, steps, count or height, height)

        for columns in self.columns:
            self._each_part(columns, tiled)
        if self.finish is not None:
            self.finish(block, (memory, start))

    def _each_part(self, columns: _Columns, emit: Callable[[_Columns], None]) -> None:
        """Emit columns at once, or panel by panel where the kernel's are wider than a tile."""
        width = self.spec.panels
        if width in (0, columns.width):
            emit(columns)
            return

        def panel(first: Position, _: Any) -> None:
            panels = replace(columns.panels.panel(first), panel_step=1)
            emit(_Columns(first, width, columns.width, panels))

        for_range(0, columns.count, width, panel)

    def _call_tiles(
        self, columns: _Columns, taps: Sequence[Taps], memory: Any,
        starts: tuple[Position, Position], steps: tuple[int, int], count: int, height: int,
    ) -> None:  # fmt: skip
        """The tiles of some columns.

        Args:
            memory: where to.
            starts: where in the array and in `memory` to begin.
            steps: those from one member to the next, in the array and in `memory`.
            count: how many members, `height` in a tile.
        """
        spec, panels = self.spec, columns.panels
        (lhs, out), right = starts, panels.position
        walks: list[Walk] = []
        for n, t in enumerate(taps):
            stride = spec.lhs.strides[n + 1]
            inner = prod(spec.rhs.dims[n + 1 : -1]) * panels.depth_step
            lhs = add(lhs, multiply(t.at, stride))
            right = add(right, multiply(t.first, inner))
            walks.append(Walk(t.count, t.move * stride, t.step * inner))
        special = prod((count, self.column_count, spec.depth)) <= _SMALL
        # AArch64 loads a factor before it multiplies by it, and LLVM those of both positions of a
        # turn together: with the window's loops around, half of the sums would go to the stack.
        unroll = 1 if walks and self.target.architecture == "aarch64" else UNROLL
        tiles = Tiles(
            self.vectors, height, columns.width,
            in_place(self.lhs, lhs, steps[0], spec.lhs.strides[-1]),
            replace(panels, position=right),
            self.features, self.features % unroll == 0, special, walks=walks, unroll=unroll,
        )  # fmt: skip
        tiles.call(Result(memory, out, steps[1]), count, columns.count)
