"""Sort: a kernel that sorts row after row, stably, for any comparator.

A row is copied into scratch memory and sorted there: long ones by the digits of their keys if the
comparator goes by keys, all others by merging. The result goes from there to the results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tfc.backends.cpu.sorting.merge_sort import MergeSort
from tfc.backends.cpu.sorting.radix_sort import (
    RadixSort,
    in_order_of_bits,
    is_any_nan,
    is_any_nan_or_minus_zero,
)
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.loops import for_each
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import ElementType, Shape
from tfc.passes.analysis.sort_keys import sort_keys

# Elements for each digit from which on digits are faster: counting takes as long for fewer.
FEWEST_PER_DIGIT = 24


@dataclass(frozen=True)
class RowSort:
    """How a row of up to `capacity` elements of each type is sorted in scratch memory."""

    types: tuple[ElementType, ...]
    comparator: Computation
    capacity: int

    @cached_property
    def radix(self) -> RadixSort | None:
        """The sort by digits, if it is the faster one."""
        keys = sort_keys(self.comparator)
        radix = RadixSort(keys, self.comparator, self.capacity)
        return radix if keys and self.capacity >= FEWEST_PER_DIGIT * radix.digits else None

    @property
    def arrays(self) -> list[Shape]:
        """The scratch memory: two rows of each type, and what else is needed."""
        rows = [Shape(t, (2 * self.capacity,)) for t in self.types]
        return rows if self.radix is None else [*rows, self.radix.counters]

    def emit(self, arrays: Sequence[Buffer], count: Any) -> Any:
        """Emit the sort of the first `count` elements, not none, of each row.

        Returns:
            Where the sorted rows begin, 0 or `count`.
        """
        rows, radix = arrays[: len(self.types)], self.radix
        if radix is None:
            return MergeSort(rows, self.comparator, count).emit()
        keys = radix.keys
        by_bits = replace(radix, keys=in_order_of_bits(keys))

        def in_canonical_order() -> Any:
            if not any(k.numbers_only for k in keys):
                return radix.emit(rows, arrays[-1], count)
            any_nan = is_any_nan(keys, self.comparator, rows, count)
            merges = MergeSort(rows, self.comparator, count)
            return _either(any_nan, merges.emit, lambda: radix.emit(rows, arrays[-1], count))

        if all(k.total for k in keys):
            return radix.emit(rows, arrays[-1], count)
        some = is_any_nan_or_minus_zero(keys, self.comparator, rows, count)
        return _either(some, in_canonical_order, lambda: by_bits.emit(rows, arrays[-1], count))


def _either(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """The index that one of two pieces of code gives."""
    chosen = scf.IfOp(condition, [ir.IndexType.get()], has_else=True)
    for block, make in ((chosen.then_block, then), (chosen.else_block, otherwise)):
        with ir.InsertionPoint(block):
            scf.yield_([make()])
    return chosen.results[0]


def _row_sort(root: Instruction) -> RowSort:
    (dimension,) = root["dimensions"]
    shapes = [o.array_shape for o in root.operands]
    types = tuple(s.element_type for s in shapes)
    return RowSort(types, root["to_apply"], shapes[0].dims[dimension])


def sort_workspace(root: Instruction) -> Shape:
    """The bytes of scratch memory of a sort."""
    return scratch_shape(_row_sort(root).arrays)


def emit_sort(kernel: Kernel, buffers: Sequence[Buffer], scratch: Any, loops: Loops) -> None:
    """A sort into one result buffer for each operand; `loops` run the rows."""
    root, row_sort = kernel.root, _row_sort(kernel.root)
    results = buffers[-len(root.operands) :]
    arrays = scratch_arrays(scratch, row_sort.arrays)
    (dimension,) = root["dimensions"]
    dims, count = results[0].shape.dims, row_sort.capacity
    order = results[0].shape.layout.minor_to_major[::-1]
    space = make_space(dims, [[d] for d in order if d != dimension])
    place = variable("place", count)
    index = tuple(place if d == dimension else i for d, i in enumerate(space.index))

    def row(points: Sequence[Any]) -> None:
        scope = Elements(sources(kernel, buffers), space.bind(points))

        def at(position: Any) -> Elements:
            return scope.with_variables(**bind([place], [position]))

        def start(position: Any) -> None:
            here = at(position)
            for array, operand in zip(arrays, root.operands):
                element = here.element(operand, index)
                store_at(element, array, position)

        def finish(position: Any) -> None:
            here, found = at(position), arith.addi(begin, position)
            for array, result in zip(arrays, results):
                element = load_at(array, found)
                here.store(element, result, index)

        for_each(0, count, start)
        begin = row_sort.emit(arrays, index_value(count))
        for_each(0, count, finish)

    loops.each(space.sizes, row)
