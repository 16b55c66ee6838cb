"""Sort: rows of any length by any comparator, stably, as a network of exchanges.

    for block = 2, 4, 8 … until a block holds a row       each half of a block is in order
      compare i with its mirror in the block               the lower half is now ≤ the upper one
      for step = block/4 … 2, 1: compare i with i + step   each half is put in order alike

All comparisons of one launch go to different pairs. Places beyond the row's end count as greater
than all, so they never move. Equal elements are told apart by where they were: their numbers move
with them, in scratch memory.
"""

from collections.abc import Sequence
from typing import Any

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.parts import Part, Work, put_in_place
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import PRED, S32, S64, Shape

_MIRROR = 0  # the second number of a launch that compares with the mirror in the block


def numbers_shape(root: Instruction) -> Shape:
    """The array of where each element of the sorted rows was."""
    (dimension,) = root["dimensions"]
    shape = root.operands[0].array_shape
    return Shape(S32 if shape.dims[dimension] < 2**31 else S64, (shape.size,))


def sort_parts(kernel: Kernel) -> list[Part]:
    """The operands, the numbers of their places, and the exchanges."""
    root = kernel.root
    (dimension,) = root["dimensions"]
    shape = root.operands[0].array_shape
    parts = [p for n, o in enumerate(root.operands) for p in put_in_place(kernel, o, n)]
    exchanges = _exchanges(shape.dims[dimension])
    if not exchanges or not shape.size:
        return parts
    return [
        *parts,
        Part(_emit_numbers, shape.size),
        Part(_emit_exchange, shape.size, numbers=exchanges),
    ]


def _exchanges(length: int) -> list[tuple[int, int]]:
    """The numbers of each launch: the size of the block, and the step, or `_MIRROR`."""
    found, block = [], 2
    while block < 2 * length:
        found.append((block, _MIRROR))
        step = block // 4
        while step:
            found.append((block, step))
            step //= 2
        block *= 2
    return found


class _Rows:
    """A thread's place: which row it is in, and where in the row."""

    def __init__(self, work: Work):
        root, self.results = work.root, work.buffers[-len(work.root.operands) :]
        (self.dimension,) = root["dimensions"]
        dims = self.results[0].shape.dims
        self.length = dims[self.dimension]
        order = [
            d for d in self.results[0].shape.layout.minor_to_major[::-1] if d != self.dimension
        ]
        # Neighbouring threads are neighbours in the row.
        self.space = make_space(dims, [*([d] for d in order), [self.dimension]])
        self.place = variable("place", self.length)
        self.index: Indices = tuple(
            self.place if d == self.dimension else i for d, i in enumerate(self.space.index)
        )
        shape = numbers_shape(root)
        (self.numbers,) = scratch_arrays(work.scratch, [shape])
        # The numbers lie row by row.
        position, step = self.place, self.length
        for size, v in zip(reversed(self.space.sizes[:-1]), reversed(self.space.variables[:-1])):
            position, step = position + v * step, step * size
        self.number_at = (position,)

    def scope(self, points: Sequence[Any], place: Any) -> Elements:
        """The elements of a row at a place, of type `index`."""
        return Elements({}, bind([*self.space.variables[:-1], self.place], [*points[:-1], place]))


def _emit_numbers(work: Work) -> None:
    rows = _Rows(work)
    kind = rows.numbers.shape.element_type

    def body(points: Sequence[Any]) -> None:
        here = rows.scope(points, points[-1])
        own = Scalar(arith.index_cast(mlir_type(kind), points[-1]), kind)
        here.store(own, rows.numbers, rows.number_at)

    Grid().each(rows.space.sizes, body)


def _emit_exchange(work: Work) -> None:
    rows = _Rows(work)
    block, step = work.numbers

    def body(points: Sequence[Any]) -> None:
        own = points[-1]
        is_mirror = arith.cmpi(arith.CmpIPredicate.eq, step, index_value(_MIRROR))
        last = arith.subi(block, index_value(1))
        other = arith.select(is_mirror, arith.xori(own, last), arith.xori(own, step))
        above = arith.cmpi(arith.CmpIPredicate.ugt, other, own)
        there = arith.cmpi(arith.CmpIPredicate.ult, other, index_value(rows.length))
        with ir.InsertionPoint(scf.IfOp(arith.andi(above, there)).then_block):
            _order(work, rows, rows.scope(points, own), rows.scope(points, other))
            scf.yield_([])

    Grid().each(rows.space.sizes, body)


def _order(work: Work, rows: _Rows, low: Elements, high: Elements) -> None:
    """Exchange the elements of two places unless they are in order."""
    arrays = [*((r, rows.index) for r in rows.results), (rows.numbers, rows.number_at)]
    lower = [low.load(array, at) for array, at in arrays]
    upper = [high.load(array, at) for array, at in arrays]

    def is_before(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
        pairs = [s for pair in zip(x[:-1], y[:-1]) for s in pair]
        return emit_scalar_computation(work.root["to_apply"], pairs)[0]

    first, second = is_before(lower, upper), is_before(upper, lower)
    later = arith.cmpi(arith.CmpIPredicate.ugt, lower[-1].value, upper[-1].value)
    swaps = second | (~first & Scalar(later, PRED))
    with ir.InsertionPoint(scf.IfOp(swaps.value).then_block):
        for (array, at), x, y in zip(arrays, lower, upper):
            low.store(y, array, at)
            high.store(x, array, at)
        scf.yield_([])
