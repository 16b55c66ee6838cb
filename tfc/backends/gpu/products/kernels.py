"""A kernel of a dot as parts: blocks that make tiles of it, and a second step for shared sums."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.assembly import shared_address
from tfc.backends.gpu.clusters import meet_cluster
from tfc.backends.gpu.grid import Grid, block_number, thread_in_block
from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.choice import schedule_for
from tfc.backends.gpu.products.finishing import Finish, Mend, Result, Staging
from tfc.backends.gpu.products.mma_tiles import MmaTiles
from tfc.backends.gpu.products.operands import copy_width, is_along, source_of, tile_form, tile_type
from tfc.backends.gpu.products.pieces import Computed, Copied
from tfc.backends.gpu.products.pipeline import Operand, Pipeline
from tfc.backends.gpu.products.register_tiles import RegisterTiles
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.skinny import Skinny, is_skinny
from tfc.backends.gpu.products.spec import ProductSpec, Side, spec_of
from tfc.backends.gpu.shared import barrier
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, emit
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith, ir
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.spaces import lies_evenly
from tfc.backends.mlir.vectors import add, divide_up, index_value, minimum, multiply, subtract
from tfc.hlo.index_maps import constant, delinearize, evaluate_index, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import dot_groups, root_index

_SUPER_ROWS = 8  # of tiles, that blocks with neighbouring numbers go down before they go right


def product_parts(kernel: Kernel, in_clusters: bool = False) -> list[Part] | None:
    """The parts of a kernel whose product is a dot; None if only the plain form is for it.

    Args:
        in_clusters: whether blocks that share sums are clusters.
    """
    spec = spec_of(kernel)
    if spec is None:
        return None
    if is_skinny(spec):
        return [skinny_part(kernel, spec)]
    return parts_with(kernel, spec, schedule_for(spec, in_clusters=in_clusters))


def skinny_part(kernel: Kernel, spec: ProductSpec) -> Part:
    """The part of a product that has few rows or columns."""
    form = Skinny(spec)

    def emit(work: Work) -> None:
        block, batch = divided(block_number(), form.blocks, spec.batch)
        base = shared_memory() if form.shared_bytes else None
        form.emit(work, base, batch, block, finishing(work, product_index(kernel, spec), batch))

    blocks = form.blocks * spec.batch
    return Part(emit, blocks, True, threads=form.threads, shared=form.shared_bytes)


def partial_sums(kernel: Kernel) -> Shape | None:
    """The sums of shares that a second step adds up, if the kernel has any."""
    spec = spec_of(kernel)
    return None if spec is None or is_skinny(spec) else shared_sums(spec, schedule_for(spec))


def shared_sums(spec: ProductSpec, schedule: Schedule) -> Shape | None:
    """The same of a schedule."""
    if schedule.steps == 1:
        return None
    return Shape(spec.sums, (schedule.splits, spec.batch, spec.m, spec.n))


def parts_with(kernel: Kernel, spec: ProductSpec, schedule: Schedule) -> list[Part]:
    """The parts that a schedule gives."""
    return parts_of_blocks(Block(kernel, spec, schedule))


def parts_of_blocks(block: "Block") -> list[Part]:
    """The parts of a product by blocks: their own, and the second step if they share sums."""
    spec, schedule = block.spec, block.schedule
    blocks = block.tiles[0] * block.tiles[1] * spec.batch * schedule.splits
    parts = [
        Part(
            block.emit, blocks, True, threads=schedule.threads, shared=block.shared_bytes,
            wide=block.wide_buffers, cluster=schedule.cluster,
        )
    ]  # fmt: skip
    if schedule.steps > 1:
        parts.append(Part(block.add_up, spec.batch * spec.m * spec.n))
    return parts


@dataclass(frozen=True)
class Block:
    """A block of the kernel of a product."""

    kernel: Kernel
    spec: ProductSpec
    schedule: Schedule

    @property
    def tiles(self) -> tuple[int, int]:
        """How many tiles there are down and across."""
        spec, schedule = self.spec, self.schedule
        return -(-spec.m // schedule.rows), -(-spec.n // schedule.columns)

    @property
    def depth(self) -> int:
        """The sums of a stage."""
        return self.schedule.depth(tile_type(self.spec, self.spec.lhs).bits // 8)

    @property
    def share(self) -> int:
        """The sums of a block, as a multiple of those of a stage."""
        stages = -(-self.spec.k // self.depth)
        return -(-stages // self.schedule.splits) * self.depth

    @property
    def staging(self) -> Staging:
        """How the block's sums lie before they are finished."""
        by_columns = self.schedule.steps == 1 and goes_down(self.kernel, self.spec, self.index)
        left, right = (is_along(self.spec, side) for side in self.spec.sides)
        one_by_one = self.spec.kind is None and right and not left
        step = PIECE * 8 // self.spec.sums.bits if one_by_one else 1
        staging = Staging(self.schedule, self.spec, by_columns, step)
        return replace(staging, neighbours=self._neighbours(staging))

    def _neighbours(self, staging: Staging) -> int:
        """How many results a thread makes at once: those that one access of memory stores."""
        spec, schedule, partial = self.spec, self.schedule, shared_sums(self.spec, self.schedule)
        shapes, place = self.kernel.results, root_index(self.kernel.computation, self.index)
        if partial is not None:
            shapes = (partial,)
            place = tuple(variable(name, size) for name, size in zip("sbij", partial.dims))
        positions = [Buffer(None, shape).position(place) for shape in shapes]
        widest = max(shape.element_type.bytes for shape in shapes)
        name, length = ("i", spec.m) if staging.by_columns else ("j", spec.n)
        line = variable(name, length)
        count = min(PIECE // widest, staging.most_neighbours)
        count = gcd(count, schedule.rows * schedule.columns // schedule.threads)
        while count > 1 and (
            length % count or not all(lies_evenly(p, line, count) for p in positions)
        ):
            count //= 2
        return count

    @property
    def shared_bytes(self) -> int:
        """Shared memory: of the stages, and then of the sums."""
        return max(self.schedule.stages * self.schedule.stage_bytes(), self.staging.bytes)

    @property
    def wide_buffers(self) -> set[int]:
        """The buffers that results alone are made of, whose neighbours are read at once."""
        kernel, product = self.kernel, self.kernel.product
        assert product is not None
        parameters, multiplied = kernel.computation.parameters, _behind(product)
        return {n for n, p in enumerate(kernel.arguments) if parameters[p] not in multiplied}

    @property
    def index(self) -> Indices:
        """The index of the product's element, of the variables b (batch), i (row), j (column)."""
        return product_index(self.kernel, self.spec)

    def source(self, work: Work, side: Side, batch: Any, end: Any) -> Copied | Computed:
        """What brings a side's tiles, up to the place `end` of the sums."""
        return source_of(work, self.spec, side, self.schedule, batch, end)

    def finish(self, work: Work, batch: Any) -> Finish:
        """What makes results of sums."""
        return finishing(work, self.index, batch)

    def mend(self, work: Work, batch: Any) -> Mend | None:
        """What makes sums right before results are made of them; None if they are."""
        return None

    def emit(self, work: Work) -> None:
        """Emit the code of the block whose tile is the one of its number."""
        spec, schedule, depth = self.spec, self.schedule, self.depth
        batch, split, down, across = self._place(block_number())
        first = multiply(split, self.share)
        last = minimum(add(first, self.share), spec.k) if schedule.splits > 1 else spec.k
        end = index_value(last)
        count = index_value(divide_up(subtract(last, first), depth))
        corner = (multiply(down, schedule.rows), multiply(across, schedule.columns))
        thread, base = narrow(thread_in_block()), shared_memory()
        operands, forms = [], []
        for side, lines, start in zip(spec.sides, (schedule.rows, schedule.columns), corner):
            form = tile_form(spec, side, lines, schedule)
            source = self.source(work, side, batch, end)
            strided = not (copy_width(spec, side) or side.sums_are_neighbours)
            operands.append(Operand(form, source, start, strided))
            forms.append(form)
        inner = self._inner(thread, (forms[0], forms[1]))
        pipeline = Pipeline(schedule, base, thread, (operands[0], operands[1]), depth)
        sums = pipeline.run(inner, first, count)
        self.staging.store(base, inner.places(sums))
        if schedule.in_cluster:
            meet_cluster(releases=True)
        else:
            barrier()
        if schedule.steps > 1:
            self.staging.finish(base, thread, corner, self._keep(work, batch, split))
            return
        finish, mend = self.finish(work, batch), self.mend(work, batch)
        self.staging.finish(base, thread, corner, finish, mend)
        if schedule.in_cluster:  # others may still read this block's sums
            meet_cluster(releases=True)

    def _place(self, number: Any) -> tuple[Any, Any, Any, Any]:
        """(batch, split, tile down, tile across) of a block's number.

        Blocks that run at the same time share rows and columns: they go down some tiles, then one
        to the right.
        """
        down, across = self.tiles
        cluster, shares = self.schedule.cluster, self.schedule.splits // self.schedule.cluster
        rank, number = divided(number, cluster, down * across * shares * self.spec.batch)
        rest, batch = divided(number, down * across * shares, self.spec.batch)
        tile, share = divided(rest, down * across, shares)
        split = rank if self.schedule.in_cluster else share
        if down % _SUPER_ROWS == 0 and across > 1:
            inside, outer = divided(tile, _SUPER_ROWS * across, down // _SUPER_ROWS)
            row, column = divided(inside, _SUPER_ROWS, across)
            return batch, split, add(multiply(outer, _SUPER_ROWS), row), column
        row, column = divided(tile, down, across)
        return batch, split, row, column

    def _inner(self, thread: Scalar, forms: tuple[Any, Any]) -> MmaTiles | RegisterTiles:
        schedule, warp = self.schedule, thread / WARP
        across = schedule.columns // schedule.warp_columns
        row, column = warp / across * schedule.warp_rows, warp % across * schedule.warp_columns
        if self.spec.kind is not None:
            lane = thread % WARP
            return MmaTiles(schedule, self.spec.kind, forms, lane, row, column)
        return RegisterTiles(schedule, self.spec.sums, forms, thread % WARP, row, column)

    # --- What becomes of sums ---------------------------------------------------------------------

    def _partial(self, work: Work) -> tuple[Buffer, Indices]:
        shape = Shape(self.spec.sums, (self.schedule.splits, *self._sizes))
        names = zip("sbij", shape.dims)
        (buffer,) = scratch_arrays(work.scratch, [shape])
        return buffer, tuple(variable(n, size) for n, size in names)

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return (self.spec.batch, self.spec.m, self.spec.n)

    def _keep(self, work: Work, batch: Any, split: Any) -> Finish:
        """Store the sums of a share."""
        buffer, where = self._partial(work)

        def keep(row: Any, column: Any, total: Scalar) -> Result:
            scope = Elements({}, {"s": split, "b": batch, "i": row, "j": column})
            return Result([total], scope, [buffer], where)

        return keep

    def add_up(self, work: Work) -> None:
        """Emit the second step: the sums of the shares, in their order, and what comes after."""
        buffer, where = self._partial(work)

        def body(points: Sequence[Any]) -> None:
            batch, row, column = points
            scope = Elements({}, {"b": batch, "i": row, "j": column})
            total = None
            for split in range(self.schedule.splits):
                share = scope.load(buffer, (constant(split), *where[1:]))
                total = share if total is None else total + share
            assert total is not None
            mend = self.mend(work, batch)
            total = total if mend is None else mend(row, column, total)
            self.finish(work, batch)(row, column, total).store()

        Grid().each(self._sizes, body)


def _behind(x: Instruction) -> set[Instruction]:
    """All that an instruction is made of."""
    found, left = set[Instruction](), [x]
    while left:
        new = [o for o in left.pop().operands if o not in found]
        found.update(new)
        left += new
    return found


def finishing(work: Work, index: Indices, batch: Any) -> Finish:
    """What stores elements of the kernel's results, given the index of the product's."""
    at, product = root_index(work.kernel.computation, index), work.kernel.product
    assert product is not None

    def finish(row: Any, column: Any, total: Scalar) -> Result:
        scope = Elements(sources(work.kernel, work.buffers), {"b": batch, "i": row, "j": column})
        scope = scope.with_value(product, total)
        values = [scope.element(value, at) for value in work.kernel.values]
        return Result(values, scope, work.buffers[-len(values) :], at)

    return finish


def shared_memory() -> Scalar:
    """The address of the shared memory that the launch gives."""
    kind = ir.Type.parse("memref<?xi8, #gpu.address_space<workgroup>>")
    return shared_address(emit("gpu.dynamic_shared_memory", kind, []))


def divided(number: Any, inner: int, outer: int) -> tuple[Any, Any]:
    """(remainder, quotient) by `inner` of a number below `inner · outer`."""
    if outer == 1:
        return number, index_value(0)
    if inner == 1:
        return index_value(0), number
    return arith.remui(number, index_value(inner)), arith.divui(number, index_value(inner))


def product_index(kernel: Kernel, spec: ProductSpec) -> Indices:
    """The index of the product's element of batch b, row i and column j."""
    assert kernel.product is not None
    _, _, (shape, groups) = dot_groups(kernel.product)
    variables = (("b", spec.batch), ("i", spec.m), ("j", spec.n))
    return tuple(
        part
        for (name, size), group in zip(variables, groups)
        for part in delinearize(variable(name, size), [shape.dims[d] for d in group])
    )


def goes_down(kernel: Kernel, spec: ProductSpec, index: Indices) -> bool:
    """Whether what is near in the result's memory is in one column of the product."""

    where = root_index(kernel.computation, index)
    position = Buffer(None, kernel.results[0]).position(where)

    def place(row: int, column: int) -> int:
        return int(evaluate_index(position, {"b": 0, "i": row, "j": column}))

    if spec.m == 1 or spec.n == 1:
        return spec.n == 1 and spec.m > 1
    start = place(0, 0)
    return abs(place(1, 0) - start) < abs(place(0, 1) - start)
