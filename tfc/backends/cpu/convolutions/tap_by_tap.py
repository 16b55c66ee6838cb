"""Convolutions with large kernels and few places: one place of the window, a tap, after the other.

    for each block of features of the result:                         (chunks are of these)
        for each tap, and each block of features of the array:
            pack that part of the kernel, unless it lies so           (stays in L2)
            for each panel of it (stays in L1), for each tile of places at which the tap is inside:
                fetch some of the part that is next                   (into the caches)
                sums += features of the places × panel                (in registers)

So the kernel is read once, in order, and from memory while tiles are computed. The places of a tile
follow each other in a rectangle of the last two spatial dimensions, over the ends of its lines;
taps on padding take no part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.cpu.convolutions.spec import ConvolutionSpec, TapPlan
from tfc.backends.cpu.convolutions.work import ConvolutionWork, Finish, OutputBlock
from tfc.backends.cpu.loops.nests import Chunk
from tfc.backends.cpu.products.functions import call_part
from tfc.backends.cpu.products.packing import Panels, in_place, pack
from tfc.backends.cpu.products.register_tile import RegisterTile, sum_up
from tfc.backends.mlir.provider import arith, ir, scf
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
    subtract,
)
from tfc.backends.mlir.windows import bounds_inside
from tfc.hlo.attributes.window import WindowDimension

_UNROLL = 4  # features in one turn of a loop


def emit_by_taps(work: ConvolutionWork) -> None:
    """Emit a convolution that has a `tap_plan`; chunks share blocks of the result's features."""
    plan = work.spec.tap_plan(work.target)
    assert plan is not None
    _ByTaps(
        work.spec, plan, work.vectors, work.lhs, work.rhs, work.out, work.workspace, work.finish
    ).emit(work.chunk)


@dataclass(frozen=True)
class _Along:
    """The places of a result's dimension at which a tap is inside, of an array of one batch.

    lhs, out: where the first is, in elements of the arrays; *_step: how far the next.
    """

    count: Position
    lhs: Position
    lhs_step: int
    out: Position
    out_step: int


@dataclass(frozen=True)
class _ByTaps:
    spec: ConvolutionSpec
    plan: TapPlan
    vectors: Vectors
    lhs: Any
    rhs: Any
    out: Any
    workspace: Any
    finish: Finish | None

    def emit(self, chunk: Chunk | None) -> None:
        """Emit the blocks of a chunk."""
        blocks = self.spec.columns // self.plan.columns
        first, end = chunk.part(blocks) if chunk else (0, blocks)
        for_range(first, end, 1, lambda b, _: self._block(multiply(b, self.plan.columns)))

    @property
    def _sums(self) -> tuple[Any, int, list[int]]:
        """The memory of sums, where they begin, and their strides along batch and places."""
        spec = self.spec
        if not spec.apart:
            return self.out, 0, list(spec.out.strides[:-1])
        strides = [spec.columns]
        for size in reversed(spec.out.dims[1:-1]):
            strides.insert(0, strides[0] * size)
        return self.workspace, self.plan.packed_size, strides

    def _block(self, column: Position) -> None:
        """A block of the result's features, from `column` on."""
        memory, start, strides = self._sums
        dims, columns = self.spec.out.dims[:-1], self.plan.columns

        def zeros(memories: Sequence[Any], values: Sequence[Position]) -> None:
            start, columns, *rest = values

            def store(at: Position) -> None:
                self.vectors.store(self.vectors.zero(), memories[0], at)

            def place(at: Position, _: Any) -> None:
                for_range(0, columns, self.vectors.lanes, lambda c, _: store(add(at, c)))

            _each(rest[: len(dims)], rest[len(dims) :], start, place)

        def line(at: Position, batch: Position, places: tuple[Position, ...]) -> None:
            if self.finish is not None:
                block = OutputBlock(dims[-1], True, 0, batch, (*places, 0), (column, columns))
                self.finish(block, (memory, at))

        values = map(index_value, (add(start, column), columns, *dims, *strides))
        call_part("zeros", (self.vectors, len(dims)), [memory], list(values), zeros, any_size=True)
        self._taps(column, (), 0)
        _each(dims[:-1], strides, start, lambda at, places: line(at, places[0], places[1:]))

    def _taps(self, column: Position, found: tuple[_Along, ...], depth: Position) -> None:
        """The taps whose first places in the window are known; `depth` is their number."""
        n, spec = len(found), self.spec
        if n == len(spec.window.dimensions):
            inputs = self.plan.inputs
            for_range(0, spec.rhs.dims[-2], inputs, lambda i, _: self._tap(column, found, depth, i))
            return

        def tap(k: Position, _: Any) -> None:
            number = add(multiply(depth, spec.rhs.dims[n]), k)
            self._taps(column, (*found, self._along(n, k)), number)

        for_range(0, spec.rhs.dims[n], 1, tap)

    def _along(self, n: int, k: Position) -> _Along:
        """Where tap k along a spatial dimension is inside."""
        d: WindowDimension = self.spec.window.dimensions[n]
        lhs, out = self.spec.lhs, self.spec.out
        at = add(multiply(k, d.window_dilation), -d.low)
        places = out.dims[n + 1]
        first, end = bounds_inside(at, d.stride, lhs.dims[n + 1], (0, places), d.reach(places))
        count = maximum(subtract(end, first), 0)
        from_lhs = multiply(add(at, multiply(first, d.stride)), lhs.strides[n + 1])
        step = self._sums[2][n + 1]
        return _Along(count, from_lhs, d.stride * lhs.strides[n + 1], multiply(first, step), step)

    def _tap(
        self, column: Position, along: Sequence[_Along], depth: Position, first: Position
    ) -> None:
        """One tap's share of the sums from some features of the array."""
        spec, plan, width = self.spec, self.plan, self.plan.tile_columns
        line = add(multiply(depth, spec.rhs.dims[-2]), first)
        # What comes next; after the last, that once more.
        following = minimum(add(line, plan.inputs), spec.depth - plan.inputs)
        whole = self._kernel(column)
        panels, coming = replace(whole, position=whole.at(line)), whole.at(following)
        if not spec.panels:
            panels = pack(
                self.vectors, panels, plan.columns, plan.inputs, width, self.workspace, 0,
                stored_width=width,
            )  # fmt: skip
        memory, sums, strides = self._sums
        outer = [_Along(spec.out.dims[0], 0, spec.lhs.strides[0], 0, strides[0]), *along[:-2]]
        inner = along[-2:] if len(along) > 1 else [_Along(1, 0, 0, 0, 0), *along]

        def rectangle(n: int, lhs: Position, out: Position) -> None:
            if n < len(outer):
                here = outer[n]
                for_range(0, here.count, 1, lambda p, _: rectangle(
                    n + 1, add(lhs, multiply(p, here.lhs_step)),
                    add(out, multiply(p, here.out_step))))  # fmt: skip
                return
            high, wide = inner
            values = [lhs, out, high.count, wide.count, high.lhs_step, wide.lhs_step]
            values += [high.out_step, wide.out_step, plan.columns, panels.position]
            values += [panels.panel_step, plan.inputs, coming, whole.panel_step, whole.depth_step]
            call_part(
                "taps", (self.vectors, plan.tile_rows, width, plan.inputs % _UNROLL == 0),
                [self.lhs, panels.memory, memory, self.rhs], list(map(index_value, values)),
                self._tiles,
                any_size=True,
            )  # fmt: skip

        lhs = add(first, *(a.lhs for a in along))
        rectangle(0, lhs, add(sums, column, *(a.out for a in along)))

    def _kernel(self, column: Position) -> Panels:
        """The kernel as it lies, from a feature of the result on that begins a panel."""
        features, width = self.spec.rhs.dims[-1], self.spec.panels
        if width:
            return Panels(self.rhs, multiply(column, self.spec.depth), self.spec.depth, 1, width)
        return in_place(self.rhs, column, 1, features)

    def _tiles(self, memories: Sequence[Any], values: Sequence[Position]) -> None:
        """All tiles of a rectangle of places, in a function that convolutions of all sizes share.

        Args:
            memories: of the array, the packed kernel, the sums, and the kernel.
            values: where in lhs and sums the rectangle begins, its sizes, the steps from a line and
                from a place to the next in lhs and in the sums, the columns; where the packed part
                of the kernel begins, the distance of panels of one column in it, and their depth;
                where the part begins that is next, the distance of its columns where they begin
                a panel, and that of its lines.
        """
        lhs, out, lines, places, lhs_line, lhs_place, out_line, out_place, *rest = values
        columns, start, panel_step, depth, next_start, next_panel, next_step = rest
        total = index_value(multiply(lines, places))
        # From the last place of a line to the first of the next.
        back = subtract(places, 1)
        wraps = [
            subtract(line, multiply(back, place))
            for line, place in ((lhs_line, lhs_place), (out_line, out_place))
        ]
        packed = Panels(memories[1], start, panel_step, 1, self.plan.tile_columns)
        line = RegisterTile(self.vectors, 1, self.plan.tile_columns)

        def tile(first: Position, right: Panels, out: Position) -> None:
            y = arith.divui(index_value(first), index_value(places))
            x = subtract(first, multiply(y, places))
            at = [
                add(start, multiply(y, line), multiply(x, place))
                for start, line, place in ((lhs, lhs_line, lhs_place), (out, out_line, out_place))
            ]
            rows = [(at, None)]
            for i in range(1, self.plan.tile_rows):
                is_there = _compare("slt", add(first, i), total)
                is_last = _compare("eq", x, back)
                moved = [
                    add(a, _select(is_last, wrap, step))
                    for a, wrap, step in zip(at, wraps, (lhs_place, out_place))
                ]
                x = _select(is_last, 0, add(x, 1))
                # Past the end the row before is read once more, and not stored.
                at = [_select(is_there, m, a) for m, a in zip(moved, at)]
                rows.append((at, is_there))
            sums = self._sums_of(memories[0], [at[0] for at, _ in rows], right, depth)
            for n, (place, is_there) in enumerate(rows):
                row = sums[n * len(line.insides) : (n + 1) * len(line.insides)]
                _when(
                    is_there, lambda p=place[1], r=row: line.store(r, memories[2], [p], adds=True)
                )

        def panel(j: Position, _: Any) -> None:
            right, to = packed.panel(j), add(out, j)
            coming = add(next_start, multiply(j, next_panel))

            def one(i: Position, _: Any) -> None:
                self._fetch(memories[3], coming, next_step, depth, i, total)
                tile(i, right, to)

            for_range(0, total, self.plan.tile_rows, one)

        for_range(0, columns, self.plan.tile_columns, panel)

    def _fetch(
        self, memory: Any, start: Position, step: Position, depth: Position, place: Position,
        total: Any,
    ) -> None:  # fmt: skip
        """Bring a share of a panel's lines into the caches: that of the tile from a place on.

        Args:
            start, step: where the panel begins in the kernel, and the distance of its lines.
            depth: the number of lines. total: the number of places.
        """
        ends = [place, minimum(add(place, self.plan.tile_rows), total)]
        first, end = (arith.divui(index_value(multiply(e, depth)), total) for e in ends)

        def line(p: Position, _: Any) -> None:
            at = add(start, multiply(p, step))
            for column in range(0, self.plan.tile_columns, self.vectors.lanes):
                prefetch(memory, add(at, column))

        for_range(first, end, 1, line)

    def _sums_of(
        self, memory: Any, rows: Sequence[Position], right: Panels, depth: Position
    ) -> Sequence[Any]:
        """The sums of a tile whose rows' features begin at positions."""
        tile = RegisterTile(self.vectors, len(rows), self.plan.tile_columns)

        def step(p: Position, sums: Sequence[Any]) -> Sequence[Any]:
            row = tile.row(right.memory, add(right.position, multiply(p, right.depth_step)))
            factors = tile.broadcasts(memory, (add(start, p) for start in rows))
            return tile.add_products(sums, factors, row)

        unroll = _UNROLL if self.plan.inputs % _UNROLL == 0 else 1
        return sum_up(depth, depth, unroll, step, tile.zeros())


def _each(
    dims: Sequence[Position], strides: Sequence[Position], start: Position,
    body: Callable[[Position, tuple[Position, ...]], None], index: tuple[Position, ...] = (),
) -> None:  # fmt: skip
    """Loops over an array's elements: `body` gets where each is, and its index."""
    if not dims:
        body(start, index)
        return
    for_range(0, dims[0], 1, lambda i, _: _each(
        dims[1:], strides[1:], add(start, multiply(i, strides[0])), body, (*index, i)))  # fmt: skip


def _compare(relation: str, x: Position, y: Position) -> Any:
    return arith.cmpi(arith.CmpIPredicate[relation], index_value(x), index_value(y))


def _select(condition: Any, x: Position, y: Position) -> Any:
    return arith.select(condition, index_value(x), index_value(y))


def _when(condition: Any, body: Callable[[], None]) -> None:
    """Emit code that runs under a condition, always if it is None."""
    if condition is None:
        body()
        return
    with ir.InsertionPoint(scf.IfOp(condition).then_block):
        body()
        scf.yield_([])
