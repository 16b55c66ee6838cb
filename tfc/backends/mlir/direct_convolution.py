"""Convolutions on CPUs: tiles of the result in registers, straight from the array and the kernel.

    for each group, pack its part of the kernel into panels as wide as a tile
    for each place of the result, and each panel:
        for each tile of results that use the panel at the same places of the window:
            for each place of the window that is not on padding or in a gap:
                for each input feature:
                    tile += column of the array's elements × row of the panel   (in registers)

The results of a tile are neighbours along the last spatial dimension where every place of the
window is inside, and of different batches elsewhere. Which places are inside is bounds of loops.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any, Protocol

from tfc.backends.mlir.convolution_spec import ConvolutionSpec
from tfc.backends.mlir.functions import call_part
from tfc.backends.mlir.loops import Chunk
from tfc.backends.mlir.matmul_schedule import tile_shape
from tfc.backends.mlir.packing import Panels, in_place, pack
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    divide,
    divide_up,
    for_range,
    index_value,
    load,
    maximum,
    minimum,
    multiply,
    round_down,
    subtract,
)
from tfc.backends.target import Target
from tfc.hlo.window import WindowDimension


class Finish(Protocol):
    """Emits what makes results of a block of sums: all features of a group, for some members."""

    def __call__(self, block: "Block", sums: tuple[Any, Position]) -> None:
        """Emit it; `sums` is where those of the first member begin, if they are made apart."""
        ...


def emit_direct_convolution(
    spec: ConvolutionSpec,
    target: Target,
    memories: Sequence[Any],
    finish: Finish | None = None,
    chunk: Chunk | None = None,
) -> None:
    """Emit a convolution into memory of its result.

    Args:
        memories: flat memrefs of lhs, rhs and out, and a workspace. If the spec has the sums apart,
            the result's memory is left to `finish`.
        chunk: emit only that share of the first spatial dimension; the workspace is its own.
    """
    lhs, rhs, out, workspace = memories
    _Direct(spec, target, lhs, rhs, out, workspace, finish, chunk).emit()


@dataclass(frozen=True)
class _Taps:
    """The places of the window along a dimension that are inside, as an arithmetic sequence.

    Number t of `count` is place first + t·step of the window, at `at` + t·move in the array.
    """

    count: Position
    first: Position
    step: int
    at: Position
    move: int


def _taps(d: WindowDimension, size: int, count: int, place: Position) -> _Taps:
    """The taps for a place of a result's dimension of `count`, over an array's of `size`."""
    start = add(multiply(place, d.stride), -d.low)
    last = (count - 1) * d.stride - d.low  # the largest start
    if d.base_dilation == 1 and d.low <= 0 and last + d.extent <= size:
        return _Taps(d.size, 0, 1, start, d.window_dilation)
    shared = gcd(d.window_dilation, d.base_dilation)
    step, move = d.base_dilation // shared, d.window_dilation // shared
    dilated = (size - 1) * d.base_dilation + 1
    lower = divide_up(maximum(subtract(0, start), 0), d.window_dilation)
    upper = divide_up(maximum(subtract(dilated, start), 0), d.window_dilation)
    upper = minimum(upper, d.size)
    # The first place from `lower` on where start + place·window_dilation is no gap.
    whole = -(-max(last, 0) // d.base_dilation) * d.base_dilation
    missing = _remainder(subtract(whole, start), d.base_dilation)
    residue = _remainder(multiply(divide(missing, shared), pow(move, -1, step)), step)
    rounds = divide_up(maximum(subtract(lower, residue), 0), step)
    first = add(residue, multiply(rounds, step))
    found = divide_up(maximum(subtract(upper, first), 0), step)
    if shared > 1:
        fits = arith.cmpi(
            arith.CmpIPredicate.eq, index_value(_remainder(missing, shared)), index_value(0)
        )
        found = arith.select(fits, index_value(found), index_value(0))
    at = divide(add(start, multiply(first, d.window_dilation)), d.base_dilation)
    return _Taps(found, first, step, at, move)


def _remainder(position: Position, divisor: int) -> Position:
    return subtract(position, round_down(position, divisor))


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
class Block:
    """Results that are made together: those of members, for all features of a group.

    count: how many members; along: they are neighbours along the last spatial dimension from
        `places[-1]` on, else of all batches.
    features: the first of the group's features, and how many; None for all.
    """

    count: int
    along: bool
    group: Position
    batch: Position
    places: tuple[Position, ...]
    features: tuple[Position, int] | None = None


@dataclass(frozen=True)
class _Columns:
    """`count` features of the result from `first` on, and the panels of `width` made of them."""

    first: int
    count: int
    width: int
    panels: Panels


class _Direct:
    def __init__(
        self, spec: ConvolutionSpec, target: Target, lhs: Any, rhs: Any, out: Any, workspace: Any,
        finish: Finish | None, chunk: Chunk | None,
    ):  # fmt: skip
        self.spec, self.target, self.finish, self.chunk = spec, target, finish, chunk
        self.lhs, self.rhs, self.out, self.workspace = lhs, rhs, out, workspace
        self.vectors = Vectors(spec.lhs.element_type, target.lanes(spec.lhs.element_type.bits))
        self.features = spec.rhs.dims[-2]
        self.columns: list[_Columns] = []

    def emit(self) -> None:
        """Emit all groups."""
        spec = self.spec

        def group(g: Position, _: Any) -> None:
            column = multiply(g, spec.columns)
            features = multiply(g, self.features * spec.lhs.strides[-1])
            self.columns = self._pack(column)
            for members, first, end in self._regions():
                self._region(members, first, end, features, column, g)

        for_range(0, 1 if spec.depthwise else spec.groups, 1, group)

    def _regions(self) -> Iterator[tuple[_Members, int, int]]:
        """The places first … end-1 of the last spatial dimension, and what tiles are made of."""
        lhs, out, last = self.spec.lhs, self.spec.out, self.spec.window.dimensions[-1]
        batch, count = out.dims[0], out.dims[-2]
        low, high = _interior(last, lhs.dims[-2], count)
        if high - low < min(batch, self._tile(batch)[0]):
            low = high = count
        across = _Members(batch, lhs.strides[0], out.strides[0], along=False)
        along = _Members(high - low, last.stride * lhs.strides[-2], out.strides[-2], along=True)
        for members, first, end in ((across, 0, low), (along, low, high), (across, high, count)):
            if first < end:
                yield members, first, end

    def _tile(self, members: int) -> tuple[int, int]:
        """The number of members and of vectors in a tile."""
        return tile_shape(members, self.spec.columns, self.target, self.vectors.lanes)

    def _pack(self, column: Position) -> list[_Columns]:
        """The group's part of the kernel, packed; what does not fill a panel has one of its own."""
        spec, lanes = self.spec, self.vectors.lanes
        full = self._tile(1)[1] * lanes
        whole = spec.columns - spec.columns % full
        found = []
        for first, count, width in ((0, whole, full), (whole, spec.columns - whole, None)):
            if count:
                width = width or count
                source = in_place(self.rhs, add(column, first), 1, spec.rhs.dims[-1])
                panels = pack(
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
            batch: Position, at: tuple[Position, ...], taps: Sequence[_Taps], out: Position,
            lhs: Position,
        ) -> None:  # fmt: skip
            n = len(at)
            if n == len(spec.window.dimensions):
                block = Block(members.count, members.along, group, batch, at)
                self._block(members, taps, lhs, out, block)
                return
            d, size, count = spec.window.dimensions[n], spec.lhs.dims[n + 1], spec.out.dims[n + 1]
            is_last = n == len(spec.window.dimensions) - 1

            def place(here_at: Position, _: Any) -> None:
                after = add(out, multiply(here_at, spec.out.strides[n + 1]))
                here = _taps(d, size, count, here_at)
                if is_last and members.along:
                    here = _Taps(d.size, 0, 1, first * d.stride - d.low, d.window_dilation)
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
        self, members: _Members, taps: Sequence[_Taps], lhs: Position, out: Position, block: Block
    ) -> None:
        """All features of all members, which have the same taps."""
        memory, step = self.out, members.out_step
        if self.spec.apart:
            memory, step = self.workspace, self.spec.columns
            out = self.spec.packed_size(self.target)

        def tiles(memories: list[Any], values: list[Position]) -> None:
            inner = copy(self)
            inner.lhs, inner.workspace, memory = memories
            inner.columns = [
                replace(c, panels=replace(c.panels, memory=inner.workspace)) for c in self.columns
            ]
            lhs, out, *found = values
            places = [
                replace(t, count=found[3 * n], first=found[3 * n + 1], at=found[3 * n + 2])
                for n, t in enumerate(taps)
            ]
            inner._tiles(members, places, lhs, out, memory, step)

        call_part(
            "convolution",
            (self.spec, members, [(t.step, t.move) for t in taps]),
            [self.lhs, self.workspace, memory],
            [lhs, out, *(v for t in taps for v in (t.count, t.first, t.at))],
            tiles,
        )
        if self.finish is not None:
            self.finish(block, (memory, out))

    def _tiles(
        self, members: _Members, taps: Sequence[_Taps], lhs: Position, out: Position, memory: Any,
        step: int,
    ) -> None:  # fmt: skip
        """The sums of a block: of each member at `step` from those of the one before."""
        rows = self._tile(members.count)[0]
        whole = members.count - members.count % rows
        for columns in self.columns:

            def panel(j: Position, _: Any, columns: _Columns = columns) -> None:
                end = add(out, columns.first, j)
                start = add(lhs, columns.first, j) if self.spec.depthwise else lhs
                right = columns.panels.panel(j)

                def tile(m: Position, height: int) -> None:
                    from_lhs = add(start, multiply(m, members.lhs_step))
                    sums = self._sum(members, taps, from_lhs, right, height, columns.width)
                    to = add(end, multiply(m, step))
                    self._store(sums, memory, to, step, height, columns.width)

                for_range(0, whole, rows, lambda m, _: tile(m, rows))
                if whole < members.count:
                    tile(whole, members.count - whole)

            for_range(0, columns.count, columns.width, panel)

    def _sum(
        self, members: _Members, taps: Sequence[_Taps], lhs: Position, right: Panels,
        height: int, width: int,
    ) -> Sequence[Any]:  # fmt: skip
        """The sums of a tile: `height` rows of vectors."""
        vectors, spec = self.vectors, self.spec
        count = -(-width // vectors.lanes)

        def step(
            lhs: Position, depth: Position, c: Position, sums: Sequence[Any], unroll: int
        ) -> Sequence[Any]:
            sums = list(sums)
            for u in range(unroll):
                at = add(right.position, multiply(add(depth, c, u), right.depth_step))
                row = [vectors.load(right.memory, add(at, j * vectors.lanes)) for j in range(count)]
                for i in range(height):
                    start = add(lhs, i * members.lhs_step)
                    feature = add(start, multiply(add(c, u), spec.lhs.strides[-1]))
                    factors = self._factors(feature, count, width)
                    for j in range(count):
                        place = i * count + j
                        sums[place] = vectors.multiply_add(factors[j], row[j], sums[place])
            return sums

        def walk(n: int, lhs: Position, depth: Position, sums: Sequence[Any]) -> Sequence[Any]:
            if n == len(taps):
                unroll = min(2, self.features)
                whole = self.features - self.features % unroll
                sums = for_range(
                    0, whole, unroll, lambda c, s: step(lhs, depth, c, s, unroll), sums
                )
                return for_range(
                    whole, self.features, 1, lambda c, s: step(lhs, depth, c, s, 1), sums
                )
            here, inner = taps[n], prod(spec.rhs.dims[n + 1 : -1])

            def tap(t: Position, sums: Sequence[Any]) -> Sequence[Any]:
                at = add(here.at, multiply(t, here.move))
                place = add(here.first, multiply(t, here.step))
                after = add(lhs, multiply(at, spec.lhs.strides[n + 1]))
                return walk(n + 1, after, add(depth, multiply(place, inner)), sums)

            return for_range(0, here.count, 1, tap, sums)

        return walk(0, lhs, 0, [vectors.zero()] * (height * count))

    def _factors(self, position: Position, count: int, width: int) -> list[Any]:
        """What the vectors of a row are multiplied by: one feature, or each its own."""
        vectors = self.vectors
        if not self.spec.depthwise:
            return [vectors.broadcast(load(self.lhs, position))] * count
        return [
            vectors.load(self.lhs, add(position, j * vectors.lanes), width - j * vectors.lanes)
            for j in range(count)
        ]

    def _store(
        self, sums: Sequence[Any], memory: Any, out: Position, step: int, height: int, width: int
    ) -> None:
        vectors, count = self.vectors, -(-width // self.vectors.lanes)
        for i in range(height):
            for j in range(count):
                inside = width - j * vectors.lanes
                position = add(out, i * step + j * vectors.lanes)
                vectors.store(sums[i * count + j], memory, position, inside)


def _interior(d: WindowDimension, size: int, count: int) -> tuple[int, int]:
    """The places of a result's dimension whose whole window is inside, as low … high-1."""
    if d.base_dilation > 1:
        return count, count
    low = min(max(-(-d.low // d.stride), 0), count)
    return low, max(min((size + d.low - d.extent) // d.stride + 1, count), low)
