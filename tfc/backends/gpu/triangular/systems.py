"""Triangular-solve: a launch for each 32 unknowns, and a block for each tile of all after them.

    for each 32 unknowns, of each 32 right-hand sides:
      solve      every block solves for them in shared memory, by the tile on the diagonal
      update     the first block stores them; each other takes what they give in 32 equations that
                 follow from the right-hand side of these

All blocks solve for the same unknowns, so nobody waits for another. Right-hand sides that still
change lie in scratch memory; the operand is read by the first launch. f16 and bf16 are computed as
f32. The code is for a lower triangle left of its unknowns (rows i, columns j, right-hand sides c):
others are read from their end, or as their transpose.
"""

from math import prod
from typing import Any

from tfc.backends.gpu.grid import (
    THREADS,
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
from tfc.backends.mlir.arithmetic.value import Scalar, convert
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, add_freely, multiply_freely, sources
from tfc.backends.mlir.loops import for_each, for_loop, when
from tfc.backends.mlir.ordered.matrix_arithmetic import computed_in, conjugate, quotient
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.spaces import bind
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.triangular import SOLVE_FLAGS, flags
from tfc.hlo.shape import Shape


def solve_memory(kernel: Kernel) -> Shape | None:
    """Right-hand sides that still change; None if all unknowns are of one tile."""
    shape, (size, _) = kernel.root.array_shape, _sizes(kernel.root)
    if size <= edge_of(size):
        return None
    return Shape(computed_in(shape.element_type), shape.dims)


def solve_parts(kernel: Kernel) -> list[Part]:
    """The functions, and a launch of one of them for each tile of unknowns."""
    root = kernel.root
    size, count = _sizes(root)
    edge, width = edge_of(size), edge_of(count)
    tiles, blocks = max(-(-size // edge), 1), prod(root.array_shape.dims[:-2]) * -(-count // width)
    wide = computed_in(root.array_shape.element_type)
    shared = shared_bytes([tile_shape(wide, edge, edge), tile_shape(wide, edge, width)])

    def first(work: Work) -> None:
        _Solve(work, True).emit()

    def further(work: Work) -> None:
        _Solve(work, False).emit()

    return [
        Part(further if tile else first, blocks * (tiles - tile), True,
             [(tile * edge, tiles - tile)], _threads(size, count), shared)
        for tile in range(tiles)
    ]  # fmt: skip


def _sizes(root: Instruction) -> tuple[int, int]:
    """The number of unknowns, and of right-hand sides."""
    *_, rows, columns = root.array_shape.dims
    return (rows, columns) if flags(root, "left_side")[0] else (columns, rows)


def _threads(size: int, count: int) -> int:
    """Those of a block: enough for the tiles of the triangle where there are several."""
    return THREADS if size > edge_of(size) else threads_for(edge_of(size) * edge_of(count))


class _Solve:
    """The code of a block.

    first: whether the right-hand side is read from the operand.
    """

    def __init__(self, work: Work, first: bool):
        self.work, self.first, self.result = work, first, work.buffers[-1]
        root = work.root
        self.left, lower, self.unit = flags(root, *SOLVE_FLAGS)
        self.size, self.count = _sizes(root)
        self.edge, self.width = edge_of(self.size), edge_of(self.count)
        self.threads = _threads(self.size, self.count)
        self.wide = computed_in(root.array_shape.element_type)
        self.start, self.tiles = work.numbers
        self.held = None
        if self.size > self.edge:
            shape = Shape(self.wide, root.array_shape.dims)
            (flat,) = scratch_arrays(work.scratch, [Shape(self.wide, (shape.size,))])
            self.held = Buffer(flat.memref, shape)
        # x op(a) = b is op(a)T xT = bT; from the other end an upper triangle is a lower one.
        self.swapped = self.left == (root["transpose_a"] != "NO_TRANSPOSE")
        backwards = lower == self.swapped
        self.dims = root.array_shape.dims[:-2]
        self.batch: list[Index] = [variable(f"b{d}", n) for d, n in enumerate(self.dims)]
        self.i, self.j = variable("i", self.size), variable("j", self.size)
        self.c = variable("c", self.count)
        row, column = (self.size - 1 - v if backwards else v for v in (self.i, self.j))
        matrix = (column, row) if self.swapped else (row, column)
        self.of_a: Indices = (*self.batch, *matrix)
        self.of_b: Indices = (*self.batch, *((row, self.c) if self.left else (self.c, row)))

    def emit(self) -> None:
        """Solve for some unknowns; then store them, or take what they give in other equations."""
        number, self.side = self._sides()
        matrix, ahead = divided(number, self.tiles)
        batch = bind(self.batch, point_of(matrix, self.dims))
        self.scope = Elements(sources(self.work.kernel, self.work.buffers), batch)
        shapes = [(self.edge, self.edge), (self.edge, self.width)]
        arrays = shared_arrays([tile_shape(self.wide, *s) for s in shapes])
        self.triangle, self.found = (Tile(a, *s) for a, s in zip(arrays, shapes))
        self._solve()
        if self.held is None:
            self._store()
            return
        is_first = arith.cmpi(arith.CmpIPredicate.eq, ahead, index_value(0))
        when(is_first, self._store)
        rows = add(self.start, multiply(ahead, self.edge))
        when(below(0, ahead), lambda: self._update(rows, self.held))

    def _sides(self) -> tuple[Any, Any]:
        """The number of the block by the tiles of right-hand sides, and the first of its tile."""
        tiles = max(-(-self.count // self.width), 1)
        number, tile = divided(block_number(), index_value(tiles))
        return number, multiply(tile, self.width)

    def _coefficient(self, row: Any, column: Any) -> Scalar:
        here = self.scope.with_variables(**bind([self.i, self.j], [row, column]))
        element = convert(here.element(self.work.root.operands[0], self.of_a), self.wide)
        return conjugate(element) if self.work.root["transpose_a"] == "ADJOINT" else element

    def _at(self, row: Any, column: Any) -> Elements:
        return self.scope.with_variables(**bind([self.i, self.c], [row, add(self.side, column)]))

    def _right_side(self, row: Any, column: Any) -> Scalar:
        here = self._at(row, column)
        if not self.first and self.held is not None:
            return here.load(self.held, self.of_b)
        return convert(here.element(self.work.root.operands[1], self.of_b), self.wide)

    def _is_inside(self, row: Any, column: Any) -> Any:
        return within(below(row, self.size), below(add(self.side, column), self.count))

    def _is_kept(self, row: Any, column: Any) -> Any:
        """Whether a place of the triangle is read; all others may hold anything."""
        kind = arith.CmpIPredicate.ugt if self.unit else arith.CmpIPredicate.uge
        kept = arith.cmpi(kind, row, column)
        return within(kept, below(row, self.size), below(column, self.size))

    def _solve(self) -> None:
        """The unknowns of the tile on the diagonal: once one is known, it leaves all rows below."""
        triangle, found, start = self.triangle, self.found, self.start
        triangle.fill(self.threads, self.swapped,
                      lambda r, c: self._is_kept(add(start, r), add(start, c)),
                      lambda r, c: self._coefficient(add(start, r), add(start, c)))  # fmt: skip
        found.fill(self.threads, not self.left, lambda r, c: self._is_inside(add(start, r), c),
                   lambda r, c: self._right_side(add(start, r), c))  # fmt: skip
        barrier()
        far, near = divided(thread_in_block(), index_value(self.width))

        def divide(row: Any, column: Any) -> Scalar:
            value = found.get(row, column)
            return value if self.unit else quotient(value, triangle.get(row, row))

        def step(known: Any) -> None:
            # What is known is divided for good once nobody needs it as it was.
            factor = -divide(known, near)

            def one(row: Any, _: Any) -> list[Scalar]:
                def eliminate() -> None:
                    product = multiply_freely(triangle.get(row, known), factor)
                    found.put(row, near, add_freely(found.get(row, near), product))

                when(below(known, row), eliminate)
                return []

            for_loop(far, self.edge, self.threads // self.width, one)
            barrier()

        for_each(0, self.edge, step)
        found.each(self.threads, False, lambda r, c: found.put(r, c, divide(r, c)))
        barrier()

    def _store(self) -> None:
        def store(row: Any, column: Any) -> None:
            def keep() -> None:
                value = convert(self.found.get(row, column), self.result.shape.element_type)
                self._at(add(self.start, row), column).store(value, self.result, self.of_b)

            when(self._is_inside(add(self.start, row), column), keep)

        self.found.each(self.threads, not self.left, store)

    def _update(self, rows: Any, held: Any) -> None:
        """Take what the unknowns give in the equations from `rows` on from their right side."""
        start, coefficients = self.start, self.triangle
        coefficients.fill(self.threads, self.swapped, lambda r, _: below(add(rows, r), self.size),
                          lambda r, c: self._coefficient(add(rows, r), add(start, c)))  # fmt: skip
        barrier()

        def store(row: Any, column: Any, total: Scalar) -> None:
            at = add(rows, row), column

            def keep() -> None:
                self._at(*at).store(self._right_side(*at) - total, held, self.of_b)

            when(self._is_inside(*at), keep)

        each_product((self.edge, self.width, self.edge), self.threads, not self.left,
                     (coefficients.get, self.found.get), store)  # fmt: skip
