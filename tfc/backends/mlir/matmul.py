"""Matrix products on CPUs: packed, cache-blocked and register-tiled.

    for each block of columns, for each block of depth:
        pack the right operand's block into panels as wide as a tile     (stays in L3)
        for each block of rows:
            pack the left operand's block into panels as high as a tile  (stays in L2)
            for each panel of columns (stays in L1), for each panel of rows:
                tile of the result += panel of rows × panel of columns   (in registers)

An operand that can be read in place at full speed is not packed. Sizes are known, so the tiles at
the lower and right edges are kernels of their own, of exactly the size that is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.matmul_schedule import MatmulSpec, Schedule, make_schedule
from tfc.backends.mlir.matvec import emit_streamed
from tfc.backends.mlir.packing import Panels, in_place, pack
from tfc.backends.mlir.provider import arith, func, ir, scf
from tfc.backends.mlir.value import mlir_type
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    divide,
    for_range,
    index_value,
    load,
    minimum,
    multiply,
    round_down,
    subtract,
)
from tfc.backends.target import Target

__all__ = ["MatmulSpec", "emit_matmul"]


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
        noalias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
        function.arg_attrs = [noalias] * len(types)
        with ir.InsertionPoint(function.add_entry_block()):
            _emit_body(spec.flattened(), target, schedule, list(function.arguments))
            func.return_([])
    return function


def _emit_body(
    spec: MatmulSpec, target: Target, schedule: Schedule, memories: Sequence[Any]
) -> None:
    lhs, rhs, out, workspace = memories
    vectors = Vectors(spec.element_type, schedule.lanes)

    def one(b: Position, _: Any) -> None:
        starts = _batch_starts(spec, b)
        if schedule.stream is not None:
            emit_streamed(vectors, schedule.stream, memories, starts, target)
            return
        left = in_place(lhs, starts[0], *spec.lhs_strides[1:])
        right = in_place(rhs, starts[1], spec.rhs_strides[2], spec.rhs_strides[1])
        result = Result(out, starts[2], spec.out_strides[1])
        _Product(spec, schedule, vectors, left, right, result, workspace).emit()

    if min(spec.m, spec.n) > 0:
        for_range(0, spec.batch, 1, one)


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
class Result:
    """Where the result's rows lie: element (i, j) is at position + i·row_step + j."""

    memory: Any
    position: Position
    row_step: int

    def at(self, row: Position, column: Position) -> "Result":
        """The part of the result that begins with an element."""
        position = add(self.position, multiply(row, self.row_step), column)
        return Result(self.memory, position, self.row_step)


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
    schedule: Schedule
    vectors: Vectors
    lhs: Panels
    rhs: Panels
    out: Result
    workspace: Any

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
                used = add(used, multiply(region.count, depth))
            self._rows(list(zip(regions, panels)), first, depth)

        # With no depth at all one block still has to store zeros.
        for_range(0, max(self.spec.k, 1), self.schedule.block_depth, block)

    def _right_panels(
        self, region: _Region, first: Position, depth: Position, used: Position
    ) -> Panels:
        """The right operand's part in a region, packed if that is planned."""
        part = self.rhs.panel(region.first)
        part = in_place(
            part.memory,
            add(part.position, multiply(first, part.depth_step)),
            part.line_step,
            part.depth_step,
        )
        if not self.schedule.pack_rhs:
            return part
        stored = -(-region.width // self.vectors.lanes) * self.vectors.lanes
        return pack(
            self.vectors, part, region.count, depth, region.width, self.workspace, used,
            stored_width=stored,
        )  # fmt: skip

    def _rows(
        self, right: Sequence[tuple[_Region, Panels]], first_depth: Position, depth: Position
    ) -> None:
        """All rows' share of a block of columns and depth."""
        height = self.schedule.tile_rows
        whole = self.spec.m - self.spec.m % height
        accumulate = None
        if self.spec.k > self.schedule.block_depth:
            zero = index_value(0)
            accumulate = arith.cmpi(arith.CmpIPredicate.ne, index_value(first_depth), zero)

        def block(first: Position, count: Position, height: int) -> None:
            start = add(
                self.lhs.position,
                multiply(first, self.lhs.line_step),
                multiply(first_depth, self.lhs.depth_step),
            )
            left = in_place(self.lhs.memory, start, self.lhs.line_step, self.lhs.depth_step)
            if self.schedule.pack_lhs:
                left = pack(
                    self.vectors, left, count, depth, height, self.workspace,
                    self.schedule.rhs_elements, stored_width=height,
                )  # fmt: skip
            for region, panels in right:
                tiles = _Tiles(self.vectors, left, panels, depth, accumulate, height, region.width)
                tiles.emit(self.out.at(first, region.first), count, region.count)

        def rows(first: Position, _: Any) -> None:
            block(first, _block_size(first, whole, self.schedule.block_rows), height)

        for_range(0, whole, self.schedule.block_rows, rows)
        if whole < self.spec.m:
            block(whole, self.spec.m - whole, self.spec.m - whole)


def _block_size(first: Position, total: int, limit: int) -> Position:
    """The size of the block that begins at `first`."""
    if total % limit == 0:
        return limit if total else 0
    return minimum(limit, subtract(total, first))


@dataclass(frozen=True)
class _Tiles:
    """Tiles of one height and width, which share their panels' depth."""

    vectors: Vectors
    left: Panels
    right: Panels
    depth: Position
    accumulate: Any
    height: int
    width: int

    def emit(self, out: Result, rows: Position, columns: Position) -> None:
        """Emit the tiles of a block of the result."""

        def column(j: Position, _: Any) -> None:
            def row(i: Position, _: Any) -> None:
                self._tile(self.left.panel(i), self.right.panel(j), out.at(i, j))

            for_range(0, rows, self.height, row)

        for_range(0, columns, self.width, column)

    @property
    def _unroll(self) -> int:
        """Steps of depth in one turn of the loop: enough to hide its overhead in a full tile."""
        return 4 if self.height >= 4 and self.width > self.vectors.lanes else 2

    def _tile(self, left: Panels, right: Panels, out: Result) -> None:
        vectors, count = self.vectors, -(-self.width // self.vectors.lanes)
        packed = right.line_step == 1 and right.depth_step == count * vectors.lanes

        def step(p: Position, sums: Sequence[Any], unroll: int) -> Sequence[Any]:
            across = add(left.position, multiply(p, left.depth_step))
            down = add(right.position, multiply(p, right.depth_step))
            sums = list(sums)
            for u in range(unroll):
                row = [
                    vectors.load(
                        right.memory,
                        add(down, u * right.depth_step + j * vectors.lanes),
                        None if packed else self.width - j * vectors.lanes,
                    )
                    for j in range(count)
                ]
                for i in range(self.height):
                    at = add(across, u * left.depth_step + i * left.line_step)
                    factor = vectors.broadcast(load(left.memory, at))
                    for j in range(count):
                        at = i * count + j
                        sums[at] = vectors.multiply_add(factor, row[j], sums[at])
            return sums

        unroll = self._unroll
        whole = round_down(self.depth, unroll)
        sums: Sequence[Any] = [vectors.zero()] * (self.height * count)
        sums = for_range(0, whole, unroll, lambda p, s: step(p, s, unroll), sums)
        sums = for_range(whole, self.depth, 1, lambda p, s: step(p, s, 1), sums)
        if self.accumulate is None:
            self._store(sums, out, accumulate=False)
            return
        choice = scf.IfOp(self.accumulate, has_else=True)
        for block, accumulate in ((choice.then_block, True), (choice.else_block, False)):
            with ir.InsertionPoint(block):
                self._store(sums, out, accumulate=accumulate)
                scf.yield_([])

    def _store(self, sums: Sequence[Any], out: Result, *, accumulate: bool) -> None:
        vectors, count = self.vectors, -(-self.width // self.vectors.lanes)
        for i in range(self.height):
            for j in range(count):
                position = add(out.position, i * out.row_step + j * vectors.lanes)
                inside = self.width - j * vectors.lanes
                value = sums[i * count + j]
                if accumulate:
                    value = arith.addf(vectors.load(out.memory, position, inside), value)
                vectors.store(value, out.memory, position, inside)
