"""Matrix products on CPUs: packed, cache-blocked and register-tiled.

    for each block of columns, for each block of depth:
        pack the right operand's block into panels as wide as a tile     (stays in L3)
        for each block of rows:
            pack the left operand's block into panels as high as a tile  (stays in L2)
            for each panel of columns (stays in L1), for each panel of rows:
                tile of the result += panel of rows × panel of columns   (in registers)

An operand that can be read in place at full speed is not packed, nor a constant that lies in panels
(panels.py). Sizes are known, so the tiles at the lower and right edges are kernels of their own, of
exactly the size that is left.

Other code can be part of the kernel: an operand that is computed is first computed a block at a
time, and results are finished some tiles at a time when their last products are added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tfc.backends.cpu.loops.nests import Chunk
from tfc.backends.cpu.products.functions import set_noalias
from tfc.backends.cpu.products.matvec import emit_streamed
from tfc.backends.cpu.products.packing import Panels, in_place, pack
from tfc.backends.cpu.products.schedule import MatmulSpec, TileSchedule, make_schedule
from tfc.backends.cpu.products.splits import split_product
from tfc.backends.cpu.products.tiles import UNROLL, Finishing, Result, Tiles
from tfc.backends.cpu.products.word_tiles import WordVectors
from tfc.backends.mlir.arithmetic.value import mlir_type
from tfc.backends.mlir.provider import arith, func, ir, scf
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    divide,
    for_range,
    index_value,
    minimum,
    multiply,
    store,
    subtract,
)
from tfc.backends.target import Target

__all__ = ["MatmulSpec", "emit_matmul"]

_SMALL = 32**3  # multiplications: code for just these sizes is then worth it


def emit_matmul(where: Any, name: str, spec: MatmulSpec, target: Target) -> Any:
    """Emit a function that computes a matrix product.

        func.func private @name(%lhs: memref<LxT>, %rhs: memref<RxT>, %out: memref<OxT>,
                                %workspace: memref<WxT>)

    The memrefs are flat; L, R and O are the spec's sizes and W is `spec.workspace_size(target)`.
    Their bases need the alignment of one element, for speed the workspace's should be 64 bytes. The
    function overwrites exactly the elements of the result, reads only elements of the operands, and
    wants `out` and `workspace` apart from everything else.

    Args:
        where: a module, or an insertion point in one.

    Returns:
        The `func.FuncOp`.
    """
    schedule = make_schedule(spec, target)
    element = mlir_type(spec.element_type)
    sizes = (spec.lhs_size, spec.rhs_size, spec.out_size, schedule.workspace_size)
    types = [ir.MemRefType.get([size], element) for size in sizes]
    insertion = where if isinstance(where, ir.InsertionPoint) else ir.InsertionPoint(where.body)
    with insertion, ir.Location.unknown(element.context):
        function = func.FuncOp(name, (types, []), visibility="private")
        set_noalias(function, len(types))
        with ir.InsertionPoint(function.add_entry_block()):
            emit_product(spec, target, list(function.arguments))
            func.return_([])
    return function


class Finish(Protocol):
    """Emits what makes results of a block of sums: `height` × `width` from (row, column) on."""

    def __call__(
        self, batch: Position, row: Position, column: Position, height: Position, width: Position,
        sums: "Result", /,
    ) -> None:  # fmt: skip
        """Emit it; `sums` is where the block is."""
        ...


# (batch, line, depth) -> an element of an operand: its line is a row of the left one, or a column
# of the right one.
Computed = Callable[[Position, Position, Position], Any]


@dataclass(frozen=True)
class Around:
    """What is computed around a product, in its kernel."""

    finish: Finish | None = None
    lhs: Computed | None = None
    rhs: Computed | None = None


def emit_product(
    spec: MatmulSpec,
    target: Target,
    memories: Sequence[Any],
    around: Around | None = None,
    chunk: Chunk | None = None,
) -> None:
    """Emit a product at the insertion point.

    Args:
        memories: flat memrefs of lhs and rhs (None if computed), of the result, and a workspace. If
            the spec has the sums apart, the result's memory is left to `around`.
        chunk: emit only that share of the product; the workspace is its own.
    """
    split, around = split_product(spec, target, chunk.count if chunk else 1), around or Around()
    whole = spec.flattened()
    if chunk is None or split.along == "batch":
        batches = chunk.part(whole.batch) if chunk else (0, whole.batch)
        _emit_part(whole, split.spec, target, memories, around, batches, (0, 0))
        return

    def part(spec: MatmulSpec) -> None:
        row = multiply(chunk.number, split.spec.m) if split.along == "rows" else 0
        column = multiply(chunk.number, split.spec.n) if split.along == "columns" else 0
        inside = _shifted(around, row, column)
        _emit_part(whole, spec, target, memories, inside, (0, whole.batch), (row, column))

    if split.last == split.spec:
        part(split.spec)
        return
    end = index_value(chunk.count - 1)
    choice = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, chunk.number, end), has_else=True)
    for block, spec in ((choice.then_block, split.last), (choice.else_block, split.spec)):
        with ir.InsertionPoint(block):
            part(spec)
            scf.yield_([])


def _emit_part(
    whole: MatmulSpec, spec: MatmulSpec, target: Target, memories: Sequence[Any], around: Around,
    batches: tuple[Position, Position], corner: tuple[Position, Position],
) -> None:  # fmt: skip
    """Emit the products of some batches: the part that a spec is, which begins at a corner."""
    lhs, rhs, out, workspace = memories
    row, column = corner
    schedule = make_schedule(spec, target)
    vectors = Vectors(spec.element_type, schedule.lanes)
    if spec.words:
        vectors = WordVectors(spec.element_type, schedule.lanes, spec.words)
    steps = [
        (row, spec.lhs_strides[1]),
        (column, spec.rhs_strides[2]),
        (row, spec.out_strides[1]),
    ]

    def one(b: Position, _: Any) -> None:
        starts = [add(s, multiply(*step)) for s, step in zip(_batch_starts(whole, b), steps)]
        starts[2] = add(starts[2], column)
        result = Result(out, starts[2], spec.out_strides[1])
        if spec.apart:
            result = Result(workspace, schedule.sums_start, spec.n)
        if schedule.stream is not None:
            places = (lhs, rhs, result.memory, workspace)
            starts[2] = result.position
            emit_streamed(vectors, schedule.stream, places, starts, target)
            if around.finish is not None:
                around.finish(b, 0, 0, spec.m, spec.n, result)
            return
        left = in_place(lhs, starts[0], *spec.lhs_strides[1:])
        right = in_place(rhs, starts[1], spec.rhs_strides[2], spec.rhs_strides[1])
        if spec.rhs_panels:
            right = replace(right, line_step=1)
        _Product(spec, schedule, vectors, left, right, result, workspace, b, around).emit()

    if min(spec.m, spec.n) > 0:
        for_range(*batches, 1, one)


def _shifted(around: Around, row: Position, column: Position) -> Around:
    """What is around the part of a product that begins at a row and column."""
    finish, lhs, rhs = around.finish, around.lhs, around.rhs

    def shifted(
        batch: Position, i: Position, j: Position, height: Position, width: int, sums: Result
    ) -> None:
        assert finish is not None
        finish(batch, add(row, i), add(column, j), height, width, sums)

    return Around(
        shifted if finish else None,
        lhs and (lambda batch, i, p: lhs(batch, add(row, i), p)),
        rhs and (lambda batch, j, p: rhs(batch, add(column, j), p)),
    )


def _batch_starts(spec: MatmulSpec, number: Position) -> list[Position]:
    """Where a product of the batch begins in lhs, rhs and out."""
    steps = [s[0] for s in (spec.lhs_strides, spec.rhs_strides, spec.out_strides)]
    if spec.outer is None:
        return [multiply(number, s) for s in steps]
    inner, outer = spec.outer
    whole = divide(number, inner)
    rest = subtract(number, multiply(whole, inner))
    return [add(multiply(whole, o), multiply(rest, s)) for o, s in zip(outer, steps)]


@dataclass(frozen=True)
class _Region:
    """Columns that tiles of one width cover: `count` from `first` on, `width` in each tile."""

    first: Position
    count: Position
    width: int


@dataclass(frozen=True)
class _Product:
    """The nest of blocks for one matrix product; the methods are its levels, outermost first."""

    spec: MatmulSpec
    schedule: TileSchedule
    vectors: Vectors
    lhs: Panels
    rhs: Panels
    out: Result
    workspace: Any
    batch: Position
    around: Around

    def emit(self) -> None:
        """Emit the whole product."""
        n, width = self.spec.n, self.schedule.tile_columns
        limit = self.schedule.block_columns
        whole = n - n % width
        rest = _Region(whole, n - whole, n - whole)
        if n <= limit:
            self._columns([_Region(0, whole, width), rest])
            return

        def block(first: Position, _: Any) -> None:
            count = _block_size(first, whole, limit)
            self._columns([_Region(first, count, width)])

        for_range(0, whole, limit, block)
        self._columns([rest])

    def _columns(self, regions: Sequence[_Region]) -> None:
        """A block of columns: all of its depth."""
        regions = [r for r in regions if r.width]
        if not regions:
            return

        def block(first: Position, _: Any) -> None:
            depth = _block_size(first, self.spec.k, self.schedule.block_depth)
            panels, used = [], 0
            for region in regions:
                panels.append(self._right_panels(region, first, depth, used))
                used = add(used, region.count)
            self._rows(list(zip(regions, panels)), first, depth)

        # With no depth at all one block still has to store zeros.
        for_range(0, max(self.spec.k, 1), self.schedule.block_depth, block)

    def _right_panels(
        self, region: _Region, first: Position, depth: Position, used: Position
    ) -> Panels:
        """The right operand's part in a region, packed if that is planned.

        Args:
            used: how many columns other regions have of the workspace.
        """
        if self.around.rhs is not None:
            start = self.schedule.computed_start
            part = self._compute(
                self.around.rhs, self.rhs, region.first, region.count, first, depth, start, used,
                self.schedule.rhs_computed // self.schedule.block_depth,
            )  # fmt: skip
        else:
            part = self._part(self.rhs, region.first, first)
        if not self.schedule.pack_rhs:
            return part
        stored = -(-region.width // self.vectors.lanes) * self.vectors.lanes
        return pack(
            self.vectors, part, region.count, depth, region.width, self.workspace,
            multiply(used, depth), stored_width=stored,
        )  # fmt: skip

    def _part(self, operand: Panels, line: Position, depth: Position) -> Panels:
        """The part of an operand in memory that begins with an element."""
        part = operand.panel(line)
        return replace(part, position=add(part.position, multiply(depth, operand.depth_step)))

    def _compute(
        self, computed: Computed, operand: Panels, first_line: Position, lines: Position,
        first_depth: Position, depth: Position, start: Position, used: Position, width: int,
    ) -> Panels:  # fmt: skip
        """A block of an operand that is computed, in the workspace.

        Args:
            operand: how the operand would lie in memory, which says what are neighbours here.
            start: where in the workspace to; `used` lines are there already.
            width: how many lines there is room for.
        """
        along = operand.depth_step == 1 or operand.line_step != 1
        line_step, depth_step = (self.schedule.block_depth, 1) if along else (1, width)
        part = in_place(
            self.workspace, add(start, multiply(used, line_step)), line_step, depth_step
        )

        def element(line: Position, p: Position) -> None:
            value = computed(self.batch, add(first_line, line), add(first_depth, p))
            at = add(part.position, multiply(line, line_step), multiply(p, depth_step))
            store(value, self.workspace, at)

        if along:
            each_pair(lines, depth, element)
        else:
            each_pair(depth, lines, lambda p, line: element(line, p))
        return part

    def _rows(
        self, right: Sequence[tuple[_Region, Panels]], first_depth: Position, depth: Position
    ) -> None:
        """All rows' share of a block of columns and depth."""
        height = self.schedule.tile_rows
        whole = self.spec.m - self.spec.m % height
        accumulate = last = None
        if self.spec.k > self.schedule.block_depth:
            zero = index_value(0)
            accumulate = arith.cmpi(arith.CmpIPredicate.ne, index_value(first_depth), zero)
            end, whole_depth = index_value(add(first_depth, depth)), index_value(self.spec.k)
            last = arith.cmpi(arith.CmpIPredicate.eq, end, whole_depth)

        def block(first: Position, count: Position, height: int) -> None:
            left = self._left_part(first, count, first_depth, depth)
            if self.schedule.pack_lhs:
                left = pack(
                    self.vectors, left, count, depth, height, self.workspace,
                    self.schedule.rhs_elements, stored_width=height,
                )  # fmt: skip

            def tiled(region: _Region, panels: Panels) -> None:
                tiles = Tiles(
                    self.vectors, height, region.width, left, panels, depth,
                    self.spec.k % UNROLL == 0, self.spec.m * self.spec.n * self.spec.k <= _SMALL,
                    accumulate,
                )  # fmt: skip
                sums = self._sums(region.first)
                finishing = self._finishing(first, region.first, last)
                if finishing is None:
                    tiles.call(sums.block(first, 0), count, region.count)
                else:
                    finishing.emit_around(tiles, sums, first, count, region.count)

            for region, panels in right:
                self._each_part(region, panels, tiled)

        def rows(first: Position, _: Any) -> None:
            block(first, _block_size(first, whole, self.schedule.block_rows), height)

        for_range(0, whole, self.schedule.block_rows, rows)
        if whole < self.spec.m:
            block(whole, self.spec.m - whole, self.spec.m - whole)

    def _each_part(
        self, region: _Region, panels: Panels, emit: Callable[[_Region, Panels], None]
    ) -> None:
        """Emit a region whole, or panel by panel where the operand's are wider than a tile."""
        width = self.spec.rhs_panels
        if width in (0, region.width):
            emit(region, panels)
            return

        def panel(column: Position, _: Any) -> None:
            inside = replace(panels.panel(column), panel_step=1)
            emit(_Region(add(region.first, column), width, region.width), inside)

        for_range(0, region.count, width, panel)

    def _left_part(
        self, first: Position, count: Position, first_depth: Position, depth: Position
    ) -> Panels:
        if self.around.lhs is None:
            return self._part(self.lhs, first, first_depth)
        start = self.schedule.computed_start + self.schedule.rhs_computed
        width = self.schedule.lhs_computed // self.schedule.block_depth
        return self._compute(
            self.around.lhs, self.lhs, first, count, first_depth, depth, start, 0, width
        )

    def _sums(self, column: Position) -> Result:
        """Where the sums are made from a column on."""
        if self.spec.apart and self.spec.k <= self.schedule.block_depth:
            return replace(self.out, row_step=self.schedule.finished[1], one_block=True)
        return self.out.at(0, column)

    def _finishing(self, row: Position, column: Position, last: Any) -> Finishing | None:
        """What finishes parts of the block that begins with a row and column."""
        finish = self.around.finish
        if finish is None:
            return None
        return Finishing(
            lambda i, j, height, width, sums: finish(
                self.batch, add(row, i), add(column, j), height, width, sums
            ),
            self.schedule.finished,
            last,
        )


def each_pair(outer: Position, inner: Position, body: Callable[[Position, Position], None]) -> None:
    """Emit two loops from 0 on around a body."""

    def line(i: Position, _: Any) -> None:
        for_range(0, inner, 1, lambda j, _: body(i, j))

    for_range(0, outer, 1, line)


def _block_size(first: Position, total: int, limit: int) -> Position:
    """The size of the block that begins at `first`."""
    if total % limit == 0:
        return limit if total else 0
    return minimum(limit, subtract(total, first))
