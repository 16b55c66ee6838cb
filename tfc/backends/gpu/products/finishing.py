"""Results of sums: through shared memory, so that threads store what is next to each other.

The sums of a block lie there in lines, as the result does: rows, or columns where a column's
elements are neighbours. Lines are so long that the pairs that a warp stores at once are in
different banks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.matrices import load_shared, store_shared
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.spec import ProductSpec
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import add, for_range, index_value

# (row, column) of a sum in the whole matrix, of type index, and the sum: what stores the result.
Finish = Callable[[Any, Any, Scalar], Callable[[], None]]

_AT_ONCE = 4  # results of a thread that are on the way, where all of a tile are inside


@dataclass(frozen=True)
class Staging:
    """The sums of a block in shared memory.

    by_columns: whether a line is a column.
    row_step: from a row that a warp stores at once to the next.
    """

    schedule: Schedule
    spec: ProductSpec
    by_columns: bool
    row_step: int = 1

    @property
    def _line(self) -> int:
        """Elements from one line to the next."""
        length = self.schedule.rows if self.by_columns else self.schedule.columns
        words = self.spec.sums.bits // 32
        if self.by_columns:
            return length + (4 // words - length) % (32 // words)
        return length + (8 // self.row_step - length) % (32 // words // self.row_step)

    @property
    def bytes(self) -> int:
        """Shared memory that it takes."""
        lines = self.schedule.columns if self.by_columns else self.schedule.rows
        return lines * self._line * self.spec.sums.bits // 8

    def store(self, base: Scalar, places: Iterable[tuple[Scalar, Scalar, list[Any]]]) -> None:
        """Put (row, column, neighbours in the row) there."""
        size = self.spec.sums.bits // 8
        for row, column, values in places:
            if self.by_columns:
                start = base + (column * self._line + row) * size
                for number, value in enumerate(values):
                    store_shared(start, [value], number * self._line * size)
            else:
                store_shared(base + (row * self._line + column) * size, values)

    def finish(self, base: Scalar, thread: Scalar, corner: Sequence[Any], finish: Finish) -> None:
        """Emit the loop over all sums: each of its rounds takes some for each thread, in order.

        Args:
            corner: the row and the column at which the block's tile begins, of type index.
        """
        threads, spec = self.schedule.threads, self.spec
        count = self.schedule.rows * self.schedule.columns
        is_whole = spec.m % self.schedule.rows == spec.n % self.schedule.columns == 0
        at_once = gcd(count // threads, _AT_ONCE) if is_whole else 1

        def body(start: Any, _: Any) -> None:
            first = thread + narrow(index_value(start))
            taken = [self._sum(base, first + n * threads, corner) for n in range(at_once)]
            if is_whole:
                _store_all(finish, taken)
            else:
                bounds = [(taken[0][0], spec.m), (taken[0][1], spec.n)]
                when_below(bounds, lambda: _store_all(finish, taken))

        for_range(0, count, threads * at_once, body)

    def _sum(self, base: Scalar, number: Scalar, corner: Sequence[Any]) -> tuple[Any, Any, Scalar]:
        """(row, column, sum) of a number in the order of the lines."""
        length = self.schedule.rows if self.by_columns else self.schedule.columns
        size, name = self.spec.sums.bits // 8, str(mlir_type(self.spec.sums))
        line, place = number / length, number % length
        (value,) = load_shared(base + (line * self._line + place) * size, name)
        down, across = (place, line) if self.by_columns else (line, place)
        row, column = add(corner[0], index(down)), add(corner[1], index(across))
        return row, column, Scalar(value, self.spec.sums)


def _store_all(finish: Finish, taken: Sequence[tuple[Any, Any, Scalar]]) -> None:
    """Make all results before the first is stored: none waits for another."""
    for store in [finish(*each) for each in taken]:
        store()


def when_below(bounds: Sequence[tuple[Any, int]], body: Callable[[], None]) -> None:
    """Emit a body for threads whose values, of type index, are all below their bounds."""
    if not bounds:
        body()
        return
    tests = [arith.cmpi(arith.CmpIPredicate.ult, x, index_value(end)) for x, end in bounds]
    condition = tests[0]
    for test in tests[1:]:
        condition = arith.andi(condition, test)
    when(condition, body)


def when(condition: Any, body: Callable[[], None]) -> None:
    """Emit a body for threads for which an i1 holds."""
    with ir.InsertionPoint(scf.IfOp(condition).then_block):
        body()
        scf.yield_([])
