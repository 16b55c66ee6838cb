"""Cholesky: tiles of the factor's columns, two launches for each.

    for each 32 columns:
      panel      every block factors the tile on the diagonal in shared memory, and with it a tile
                 of the rows below, which takes the same steps
      update     every block takes the product of two tiles of the panel from a tile to their right

All blocks factor the same tile on the diagonal, so nobody waits for another. What is still to be
factored lies in scratch memory; the operand is read by the first two launches. A matrix of one tile
is one launch. f16 and bf16 are computed as f32. The code is for lower triangles; an upper one is
read and stored as the adjoint.
"""

from math import prod
from typing import Any

from tfc.backends.gpu.grid import (
    Grid,
    below,
    block_number,
    divided,
    point_of,
    thread_in_block,
    threads_for,
    within,
)
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.triangular.tiles import Tile, each_product, edge_of, tile_shape
from tfc.backends.mlir.arithmetic.floating import sqrt
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, select
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, add_freely, multiply_freely, sources
from tfc.backends.mlir.loops import for_each, for_loop, when
from tfc.backends.mlir.ordered.matrix_arithmetic import (
    computed_in,
    conjugate,
    divide_by_real,
    real,
)
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.index_maps import constant as constant_index
from tfc.hlo.ops.triangular import flags
from tfc.hlo.shape import PRED, Shape


def cholesky_memory(kernel: Kernel) -> Shape | None:
    """The tiles that are still to be factored, then the factor; None if all is one tile."""
    shape = kernel.root.array_shape
    if shape.dims[-1] <= edge_of(shape.dims[-1]):
        return None
    return Shape(computed_in(shape.element_type), shape.dims)


def cholesky_parts(kernel: Kernel) -> list[Part]:
    """The functions, and a launch of two of them for each column of tiles."""
    dims = kernel.root.array_shape.dims
    size, batch = dims[-1], prod(dims[:-2])
    edge = edge_of(size)
    tiles = max(-(-size // edge), 1)
    wide = computed_in(kernel.root.array_shape.element_type)
    threads = threads_for(edge * edge)
    rows = edge if tiles == 1 else 2 * edge
    panel_memory = shared_bytes([tile_shape(wide, rows, edge)])
    update_memory = shared_bytes([tile_shape(wide, edge, edge)] * 2)

    def first_panel(work: Work) -> None:
        _Factor(work, True).panel()

    def panel(work: Work) -> None:
        _Factor(work, False).panel()

    def first_update(work: Work) -> None:
        _Factor(work, True).update()

    def update(work: Work) -> None:
        _Factor(work, False).update()

    parts = []
    for tile in range(tiles):
        after = tiles - tile - 1
        parts.append(Part(panel if tile else first_panel, batch * max(after, 1), True,
                          [(tile * edge, max(after, 1))], threads, panel_memory))  # fmt: skip
        if after:
            parts.append(Part(update if tile else first_update, batch * after * after, True,
                              [(tile * edge, after)], threads, update_memory))  # fmt: skip
    if tiles > 1:
        parts.append(Part(_emit_rest, prod(dims)))
    return parts


class _Factor:
    """The code of a block: rows i and columns j of a lower triangle.

    first: whether what is factored is read from the operand.
    """

    def __init__(self, work: Work, first: bool):
        self.work, self.first, self.result = work, first, work.buffers[-1]
        dims = work.root.array_shape.dims
        self.size, self.edge = dims[-1], edge_of(dims[-1])
        self.is_one = self.size <= self.edge
        self.wide = computed_in(work.root.array_shape.element_type)
        self.threads = threads_for(self.edge * self.edge)
        (self.lower,) = flags(work.root, "lower")
        self.batch: list[Index] = [variable(f"b{d}", n) for d, n in enumerate(dims[:-2])]
        self.sizes = dims[:-2]
        self.i, self.j = variable("i", self.size), variable("j", self.size)
        self.place: Indices = (
            (*self.batch, self.i, self.j) if self.lower else (*self.batch, self.j, self.i)
        )
        self.held = None
        if not self.is_one:
            shape = Shape(self.wide, dims)
            (flat,) = scratch_arrays(work.scratch, [Shape(self.wide, (shape.size,))])
            self.held = Buffer(flat.memref, shape)
        self.start = work.numbers[0]

    def _scope_of(self, matrix: Any) -> None:
        points = point_of(matrix, self.sizes)
        known = bind(self.batch, points)
        self.scope = Elements(sources(self.work.kernel, self.work.buffers), known)

    def _at(self, row: Any, column: Any) -> Elements:
        return self.scope.with_variables(**bind([self.i, self.j], [row, column]))

    def _unfactored(self, row: Any, column: Any) -> Scalar:
        here = self._at(row, column)
        if not self.first and self.held is not None:
            return here.load(self.held, self.place)
        element = convert(here.element(self.work.root.operands[0], self.place), self.wide)
        return element if self.lower else conjugate(element)

    def _is_kept(self, row: Any, column: Any) -> Any:
        """Whether a place lies in the triangle; the other one may hold anything."""
        kept = arith.cmpi(arith.CmpIPredicate.uge, row, column)
        return within(kept, below(row, self.size), below(column, self.size))

    # --- A column of tiles ------------------------------------------------------------------------

    def panel(self) -> None:
        """Factor the tile on the diagonal, and a tile below it."""
        matrix, below_it = divided(block_number(), self.work.numbers[1])
        self._scope_of(matrix)
        edge = self.edge
        rows = edge if self.is_one else 2 * edge
        (memory,) = shared_arrays([tile_shape(self.wide, rows, edge)])
        tile = Tile(memory, rows, edge)
        skipped = multiply(below_it, edge)

        def place(row: Any, column: Any) -> tuple[Any, Any]:
            over = arith.select(below(row, edge), index_value(0), skipped)
            return add(self.start, row, over), add(self.start, column)

        down = not self.lower
        tile.fill(self.threads, down, lambda r, c: self._is_kept(*place(r, c)),
                  lambda r, c: self._unfactored(*place(r, c)))  # fmt: skip
        barrier()
        for_each(0, edge, lambda column: self._step(tile, column))
        if self.is_one:
            self._store_all(tile)
            return
        is_first = arith.cmpi(arith.CmpIPredicate.eq, below_it, index_value(0))

        def store(row: Any, column: Any) -> None:
            at = place(row, column)
            is_below = arith.cmpi(arith.CmpIPredicate.uge, row, index_value(edge))

            def keep() -> None:
                here, value = self._at(*at), _factored(tile, row, column)
                self._store(here, value)
                if self.held is not None:
                    held = self.held
                    when(is_below, lambda: here.with_variables().store(value, held, self.place))

            when(within(self._is_kept(*at), arith.ori(is_first, is_below)), keep)

        tile.each(self.threads, down, store)

    def _step(self, tile: Tile, column: Any) -> None:
        """Divide a column by the root of its pivot, and take its products from those after it.

        The diagonal keeps the squares, which others still read."""

        def divide(row: Any) -> None:
            pivot = sqrt(real(tile.get(column, column)))
            tile.put(row, column, divide_by_real(tile.get(row, column), pivot))

        def below_pivot(row: Any, _: Any) -> None:
            when(below(column, row), lambda: divide(row))

        Tile(tile.buffer, tile.rows, 1).each(self.threads, True, below_pivot)
        barrier()
        far, near = divided(thread_in_block(), index_value(self.edge))

        def subtract_products() -> None:
            factor = -conjugate(tile.get(near, column))

            def one(row: Any, _: Any) -> list[Scalar]:
                def there() -> None:
                    product = multiply_freely(tile.get(row, column), factor)
                    tile.put(row, near, add_freely(tile.get(row, near), product))

                when(arith.cmpi(arith.CmpIPredicate.uge, row, near), there)
                return []

            for_loop(far, tile.rows, self.threads // self.edge, one)

        when(below(column, near), subtract_products)
        barrier()

    def _store(self, here: Elements, value: Scalar) -> None:
        stored = value if self.lower else conjugate(value)
        here.store(convert(stored, self.result.shape.element_type), self.result, self.place)

    def _store_all(self, tile: Tile) -> None:
        """Store the factor of a matrix of one tile: zero above, NaN everywhere if it failed."""
        last = index_value(max(self.size - 1, 0))
        pivot = sqrt(real(tile.get(last, last)))  # a NaN anywhere has spread to it
        failed = pivot.ne(pivot)

        def store(row: Any, column: Any) -> None:
            def keep() -> None:
                above = Scalar(below(row, column), PRED)
                value = select(above, constant(self.wide, 0), _factored(tile, row, column))
                self._store(self._at(row, column), select(failed, float("nan"), value))

            when(within(below(row, self.size), below(column, self.size)), keep)

        tile.each(self.threads, not self.lower, store)

    # --- What is right of it ----------------------------------------------------------------------

    def update(self) -> None:
        """Take the product of two tiles of the panel from one to their right."""
        after = self.work.numbers[1]
        number, second = divided(block_number(), after)
        matrix, first = divided(number, after)
        self._scope_of(matrix)
        when(arith.cmpi(arith.CmpIPredicate.uge, first, second),
             lambda: self._update(self._rows_of(first), self._rows_of(second)))  # fmt: skip

    def _rows_of(self, tile: Any) -> Any:
        return add(self.start, multiply(add(tile, 1), self.edge))

    def _update(self, first: Any, second: Any) -> None:
        edge, held, down = self.edge, self.held, not self.lower
        assert held is not None
        arrays = shared_arrays([tile_shape(self.wide, edge, edge)] * 2)
        x, y = (Tile(a, edge, edge) for a in arrays)
        for tile, start in ((x, first), (y, second)):
            tile.fill(
                self.threads,
                down,
                lambda row, _, start=start: below(add(start, row), self.size),
                lambda row, column, start=start: self._at(
                    add(start, row), add(self.start, column)
                ).load(held, self.place),
            )
        barrier()

        def store(row: Any, column: Any, total: Scalar) -> None:
            at = add(first, row), add(second, column)

            def keep() -> None:
                self._at(*at).store(self._unfactored(*at) - total, held, self.place)

            when(self._is_kept(*at), keep)

        factors = x.get, lambda term, column: conjugate(y.get(column, term))
        each_product((edge, edge, edge), self.threads, down, factors, store)


def _factored(tile: Tile, row: Any, column: Any) -> Scalar:
    """An element of the factor, of a tile whose diagonal holds squares."""
    value = tile.get(row, column)
    is_root = Scalar(arith.cmpi(arith.CmpIPredicate.eq, row, column), PRED)
    return select(is_root, convert(sqrt(real(value)), value.element_type), value)


def _emit_rest(work: Work) -> None:
    """Zero above the diagonal; NaN everywhere if the matrix was not positive definite."""
    result = work.buffers[-1]
    dims, element_type = result.shape.dims, result.shape.element_type
    wide = computed_in(element_type)
    (lower,) = flags(work.root, "lower")
    space = make_space(dims, [[d] for d in range(len(dims))])
    *batch, row, column = space.index
    i, j = (row, column) if lower else (column, row)  # the place in the lower triangle
    last = constant_index(dims[-1] - 1)

    def body(points: Any) -> None:
        scope = Elements({}, space.bind(points))
        pivot = real(convert(scope.load(result, (*batch, last, last)), wide))
        failed = pivot.ne(pivot)  # a NaN anywhere has spread to the last pivot
        above = below(scope.index_value(i), scope.index_value(j))

        def store() -> None:
            value = select(failed, float("nan"), constant(wide, 0))
            scope.with_variables().store(convert(value, element_type), result, space.index)

        when(arith.ori(failed.value, above), store)

    Grid().each(space.sizes, body)
