"""Cholesky and triangular-solve: threads for what does not wait for each other.

A factor's column needs all columns before it, so the threads of one block make its elements side by
side, column after column. The right-hand sides of a triangular system know nothing of each other:
each is a thread. Both compute in scratch memory, f16 and bf16 as f32.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tfc.backends.gpu.grid import THREADS, Grid, block_number, gpu, point_of, thread_in_block
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.arithmetic.floating import sqrt
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, select
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, add_freely, multiply_freely, sources
from tfc.backends.mlir.loops import for_loop
from tfc.backends.mlir.ordered.matrix_arithmetic import (
    computed_in,
    conjugate,
    divide_by_real,
    quotient,
    real,
)
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.index_maps import constant as constant_index
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.triangular import SOLVE_FLAGS, flags
from tfc.hlo.shape import Shape


def computed_shape(root: Instruction) -> Shape:
    """The array that factors, or solutions, are computed in: row-major, as the result is."""
    shape = root.array_shape
    return Shape(computed_in(shape.element_type), shape.dims)


def _scratch(work: Work) -> Buffer:
    """That array."""
    shape = computed_shape(work.root)
    (flat,) = scratch_arrays(work.scratch, [Shape(shape.element_type, (shape.size,))])
    return Buffer(flat.memref, shape)


def cholesky_parts(kernel: Kernel) -> list[Part]:
    """The factors, a block for each, and then what is stored."""
    dims = kernel.results[0].dims
    return [
        Part(_emit_factor, prod(dims[:-2]), by_block=True),
        Part(_emit_factor_result, prod(dims)),
    ]


def _batch_of(dims: Sequence[int]) -> tuple[list[Index], list[int]]:
    sizes = list(dims[:-2])
    return [variable(f"b{d}", n) for d, n in enumerate(sizes)], sizes


def _emit_factor(work: Work) -> None:
    """The lower triangle of the factor, whose diagonal holds its squares until it is stored."""
    root, factor = work.root, _scratch(work)
    dims, wide = factor.shape.dims, factor.shape.element_type
    (lower,) = flags(root, "lower")
    size = dims[-1]
    batch, sizes = _batch_of(dims)
    i, j, k = (variable(name, size) for name in "ijk")
    which = bind(batch, point_of(block_number(), sizes))
    scope = Elements(sources(work.kernel, work.buffers), which)
    of_operand = (*batch, i, j) if lower else (*batch, j, i)

    def element_of_column(column: Any, row: Any) -> None:
        here = scope.with_variables(**bind([i, j], [row, column]))
        element = convert(here.element(root.operands[0], of_operand), wide)

        def add(before: Any, total: Sequence[Scalar]) -> Sequence[Scalar]:
            inner = here.with_variables(**bind([k], [before]))
            x, y = inner.load(factor, (*batch, i, k)), inner.load(factor, (*batch, j, k))
            return [add_freely(total[0], multiply_freely(x, conjugate(y)))]

        (products,) = for_loop(0, column, 1, add, [constant(wide, 0)])
        here.store((element if lower else conjugate(element)) - products, factor, (*batch, i, j))

    def divide(column: Any, row: Any) -> None:
        here = scope.with_variables(**bind([i, j], [row, column]))
        below = arith.cmpi(arith.CmpIPredicate.ugt, row, column)
        with ir.InsertionPoint(scf.IfOp(below).then_block):
            inner = here.with_variables()
            pivot = sqrt(real(inner.load(factor, (*batch, j, j))))
            divided = divide_by_real(inner.load(factor, (*batch, i, j)), pivot)
            inner.store(divided, factor, (*batch, i, j))
            scf.yield_([])

    def column(place: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
        _side_by_side(place, size, lambda row: element_of_column(place, row))
        gpu.barrier()
        _side_by_side(place, size, lambda row: divide(place, row))
        gpu.barrier()
        return []

    for_loop(0, size, 1, column)


def _side_by_side(first: Any, end: int, body: Callable[[Any], None]) -> None:
    """The threads of the block take the numbers from `first` to `end` - 1 in turn."""

    def one(number: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
        body(number)
        return []

    for_loop(arith.addi(first, thread_in_block()), end, THREADS, one)


def _emit_factor_result(work: Work) -> None:
    factor, result = _scratch(work), work.buffers[-1]
    dims, element_type = result.shape.dims, result.shape.element_type
    (lower,) = flags(work.root, "lower")
    space = make_space(dims, [[d] for d in range(len(dims))])
    *batch, row, column = space.index
    i, j = (row, column) if lower else (column, row)  # the place in the lower triangle
    last = dims[-1] - 1

    def body(points: Sequence[Any]) -> None:
        scope = Elements({}, space.bind(points))
        wide = factor.shape.element_type
        here, along = scope.index_value(i), scope.index_value(j)
        is_kept = arith.cmpi(arith.CmpIPredicate.uge, here, along)
        is_root = arith.cmpi(arith.CmpIPredicate.eq, here, along)
        pivot = scope.load(factor, (*batch, constant_index(last), constant_index(last)))
        root_of_last = sqrt(real(pivot))
        failed = root_of_last.ne(root_of_last)  # a NaN anywhere has spread to the last row
        # What is above the diagonal was never written.
        chosen = scf.IfOp(is_kept, [constant(wide, 0).value.type], has_else=True)
        with ir.InsertionPoint(chosen.then_block):
            inner = scope.with_variables()
            value = inner.load(factor, (*batch, i, j))
            diagonal = convert(sqrt(real(value)), wide)
            stored = arith.select(is_root, diagonal.value, value.value)
            scf.yield_([stored])
        with ir.InsertionPoint(chosen.else_block):
            scf.yield_([constant(wide, 0).value])
        value = Scalar(chosen.results[0], wide)
        value = select(failed, float("nan"), value if lower else conjugate(value))
        scope.store(convert(value, element_type), result, space.index)

    Grid().each(space.sizes, body)


def solve_parts(kernel: Kernel) -> list[Part]:
    """The solutions, a thread for each right-hand side."""
    root = kernel.root
    dims = root.array_shape.dims
    return [Part(_emit_solve, prod(dims[:-2]) * _sides(root))]


def _sides(root: Instruction) -> int:
    """The number of right-hand sides."""
    return root.array_shape.dims[-1 if flags(root, "left_side")[0] else -2]


def _emit_solve(work: Work) -> None:
    root, found, result = work.root, _scratch(work), work.buffers[-1]
    left, lower, unit = flags(root, *SOLVE_FLAGS)
    dims, wide = found.shape.dims, found.shape.element_type
    count = _sides(root)
    size = dims[-2 if left else -1]
    batch, sizes = _batch_of(dims)
    i, j, c = variable("i", size), variable("j", size), variable("c", count)
    # x op(a) = b is op(a)T xT = bT; from the other end an upper triangle is a lower one.
    swapped = left == (root["transpose_a"] != "NO_TRANSPOSE")
    backwards = lower == swapped
    row, column = (size - 1 - v if backwards else v for v in (i, j))
    of_a = (*batch, column, row) if swapped else (*batch, row, column)

    def of_b(at: Index) -> tuple[Index, ...]:
        return (*batch, at, c) if left else (*batch, c, at)

    def triangle(scope: Elements) -> Scalar:
        element = convert(scope.element(root.operands[0], of_a), wide)
        return conjugate(element) if root["transpose_a"] == "ADJOINT" else element

    def side(points: Sequence[Any]) -> None:
        own = Elements(sources(work.kernel, work.buffers), bind([*batch, c], points))

        def solve(place: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
            here = own.with_variables(**bind([i], [place]))
            start = convert(here.element(root.operands[1], of_b(row)), wide)

            def eliminate(known: Any, total: Sequence[Scalar]) -> Sequence[Scalar]:
                inner = here.with_variables(**bind([j], [known]))
                product = multiply_freely(-triangle(inner), inner.load(found, of_b(column)))
                return [add_freely(total[0], product)]

            (value,) = for_loop(0, place, 1, eliminate, [start])
            if not unit:
                value = quotient(value, triangle(here.with_variables(**bind([j], [place]))))
            here.store(value, found, of_b(row))
            here.store(convert(value, result.shape.element_type), result, of_b(row))
            return []

        for_loop(0, index_value(size), 1, solve)

    Grid().each([*sizes, count], side)
