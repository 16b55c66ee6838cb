"""Cholesky and triangular-solve: kernels of one matrix after the other, in one thread.

Each copies what it reads into scratch memory in one form, so that there is one algorithm for all
forms: a lower triangle, row by row, whose inner loops run over neighbours in memory. An upper
triangle becomes a lower one by transposing (cholesky) or by counting backwards (triangular-solve).
f16 and bf16 compute in f32.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.mlir.arithmetic.floating import sqrt
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    convert,
    select,
)
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, add_freely, multiply_freely, sources
from tfc.backends.mlir.loops import for_each, for_loop
from tfc.backends.mlir.ordered.matrix_arithmetic import (
    computed_in,
    conjugate,
    divide_by_real,
    quotient,
    real,
)
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.triangular import SOLVE_FLAGS, flags
from tfc.hlo.shape import Shape

# Right-hand sides solved for at a time: few enough to stay in a cache while the triangle passes by.
COLUMNS = 64


class _Matrix:
    """A row-major matrix in scratch memory, by values of type `index`."""

    def __init__(self, buffer: Buffer, width: int):
        self.buffer, self.width = buffer, width

    def _position(self, row: Any, column: Any) -> Any:
        return arith.addi(arith.muli(row, index_value(self.width)), column)

    def load(self, row: Any, column: Any) -> Scalar:
        return load_at(self.buffer, self._position(row, column))

    def store(self, value: Scalar, row: Any, column: Any) -> None:
        store_at(value, self.buffer, self._position(row, column))


def _batch(shape: Shape, kernel: Kernel, buffers: Sequence[Buffer], body) -> None:
    """Loops over all but the last two dimensions around `body(scope, index in the batch)`."""
    dims = shape.dims[:-2]
    space = make_space(dims, [[d] for d in range(len(dims))], "b")

    def matrix(points: Sequence[Any]) -> None:
        body(Elements(sources(kernel, buffers), space.bind(points)), space.index)

    LoopNest().each(space.sizes, matrix)


def cholesky_workspace(root: Instruction) -> Shape:
    """The bytes of scratch memory of a cholesky: one matrix."""
    return scratch_shape(_cholesky_arrays(root))


def _cholesky_arrays(root: Instruction) -> list[Shape]:
    shape = root.array_shape
    return [Shape(computed_in(shape.element_type), (shape.dims[-1] ** 2,))]


def emit_cholesky(kernel: Kernel, buffers: Sequence[Buffer], scratch: Any) -> None:
    """A Cholesky factor, or its adjoint, for each matrix of a batch."""
    root, result = kernel.root, buffers[-1]
    element_type, size = result.shape.element_type, result.shape.dims[-1]
    (lower,) = flags(root, "lower")
    factor = _Matrix(scratch_arrays(scratch, _cholesky_arrays(root))[0], size)
    wide = factor.buffer.shape.element_type
    i, j = variable("i", size), variable("j", size)

    def matrix(scope: Elements, batch: Sequence[Index]) -> None:
        place = (*batch, i, j) if lower else (*batch, j, i)

        def at(row: Any, column: Any) -> Elements:
            return scope.with_variables(**bind([i, j], [row, column]))

        def less_products(row: Any, column: Any) -> Scalar:
            """The operand's element less the products of the factor's rows to the left of it."""
            element = convert(at(row, column).element(root.operands[0], place), wide)

            def add(k: Any, total: Sequence[Scalar]) -> Sequence[Scalar]:
                other = conjugate(factor.load(column, k))
                return [add_freely(total[0], multiply_freely(factor.load(row, k), other))]

            products = for_loop(0, column, 1, add, [constant(wide, 0)])[0]
            return (element if lower else conjugate(element)) - products

        def factor_row(row: Any) -> None:
            def off_diagonal(column: Any) -> None:
                pivot = real(factor.load(column, column))
                factor.store(divide_by_real(less_products(row, column), pivot), row, column)

            for_each(0, row, off_diagonal)
            factor.store(convert(sqrt(real(less_products(row, row))), wide), row, row)

        def finish_row(row: Any) -> None:
            def store(value: Scalar, column: Any) -> None:
                kept = select(failed, float("nan"), value)
                at(row, column).store(convert(kept, element_type), result, place)

            after = arith.addi(row, index_value(1))
            of_result = (lambda x: x) if lower else conjugate
            for_each(0, after, lambda column: store(of_result(factor.load(row, column)), column))
            for_each(after, size, lambda column: store(constant(wide, 0), column))

        for_each(0, size, factor_row)
        last = index_value(size - 1)
        pivot = real(factor.load(last, last))
        failed = pivot.ne(pivot)  # a NaN anywhere has spread to the last row
        for_each(0, size, finish_row)

    _batch(result.shape, kernel, buffers, matrix)


def solve_workspace(root: Instruction) -> Shape:
    """The bytes of scratch memory of a triangular-solve: a triangle and some right-hand sides."""
    return scratch_shape(_solve_arrays(root))


def _solve_arrays(root: Instruction) -> list[Shape]:
    size, count = _sizes(root)
    wide = computed_in(root.array_shape.element_type)
    return [Shape(wide, (size * size,)), Shape(wide, (size * min(count, COLUMNS),))]


def _sizes(root: Instruction) -> tuple[int, int]:
    """The number of unknowns, and of right-hand sides."""
    size, count = root.array_shape.dims[-2:]
    return (size, count) if flags(root, "left_side")[0] else (count, size)


def emit_solve(kernel: Kernel, buffers: Sequence[Buffer], scratch: Any) -> None:
    """The solutions for each triangular matrix of a batch."""
    _Solve(kernel, buffers, scratch).emit()


class _Solve:
    """The forward substitution t x = b with a lower triangle t."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer], scratch: Any):
        self.kernel, self.buffers, self.root = kernel, buffers, kernel.root
        self.size, self.count = _sizes(self.root)
        self.chunk = min(self.count, COLUMNS)
        triangle, sides = scratch_arrays(scratch, _solve_arrays(self.root))
        self.wide = triangle.shape.element_type
        self.triangle, self.sides = _Matrix(triangle, self.size), _Matrix(sides, self.chunk)
        self.left, lower, self.unit = flags(self.root, *SOLVE_FLAGS)
        # x op(a) = b is op(a)ᵀ xᵀ = bᵀ.
        self.swapped = self.left == (self.root["transpose_a"] != "NO_TRANSPOSE")
        self.backwards = lower == self.swapped

    def emit(self) -> None:
        """Emit the kernel's body."""
        _batch(self.buffers[-1].shape, self.kernel, self.buffers, self._matrix)

    def _matrix(self, scope: Elements, batch: Sequence[Index]) -> None:
        i, j = variable("i", self.size), variable("j", self.size)
        c = variable("c", self.count)
        row, column = (self.size - 1 - v if self.backwards else v for v in (i, j))
        of_a = (*batch, column, row) if self.swapped else (*batch, row, column)
        of_b = (*batch, row, c) if self.left else (*batch, c, row)
        a, b = self.root.operands

        def read_triangle(row: Any) -> None:
            def each(column: Any) -> None:
                here = scope.with_variables(**bind([i, j], [row, column]))
                element = convert(here.element(a, of_a), self.wide)
                is_adjoint = self.root["transpose_a"] == "ADJOINT"
                self.triangle.store(conjugate(element) if is_adjoint else element, row, column)

            for_each(0, arith.addi(row, index_value(1)), each)

        def solve_chunk(first: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
            rest = arith.subi(index_value(self.count), first)
            width = arith.minui(rest, index_value(self.chunk))

            def at(row: Any, column: Any) -> Elements:
                return scope.with_variables(**bind([i, c], [row, arith.addi(first, column)]))

            def read(row: Any, column: Any) -> None:
                element = convert(at(row, column).element(b, of_b), self.wide)
                self.sides.store(element, row, column)

            def write(row: Any, column: Any) -> None:
                found = convert(self.sides.load(row, column), self.buffers[-1].shape.element_type)
                at(row, column).store(found, self.buffers[-1], of_b)

            self._everywhere(width, read)
            for_each(0, self.size, lambda row: self._substitute(row, width))
            self._everywhere(width, write)
            return []

        for_each(0, self.size, read_triangle)
        for_loop(0, self.count, self.chunk, solve_chunk)

    def _everywhere(self, width: Any, body: Callable[[Any, Any], None]) -> None:
        """Visit the right-hand sides in scratch, by neighbours in a row-major operand."""
        if self.left:
            for_each(0, self.size, lambda row: for_each(0, width, lambda column: body(row, column)))
        else:
            for_each(0, width, lambda column: for_each(0, self.size, lambda row: body(row, column)))

    def _substitute(self, row: Any, width: Any) -> None:
        """Solve for one row, those before it being known."""

        def eliminate(known: Any) -> None:
            factor = -self.triangle.load(row, known)

            def each(column: Any) -> None:
                product = multiply_freely(factor, self.sides.load(known, column))
                self.sides.store(add_freely(self.sides.load(row, column), product), row, column)

            for_each(0, width, each)

        for_each(0, row, eliminate)
        if not self.unit:
            pivot = self.triangle.load(row, row)

            def divide(column: Any) -> None:
                self.sides.store(quotient(self.sides.load(row, column), pivot), row, column)

            for_each(0, width, divide)
