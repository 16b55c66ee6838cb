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
from tfc.backends.gpu.clusters import address_in_cluster, load_from_cluster, rank_in_cluster
from tfc.backends.gpu.matrices import PIECE, load_shared, store_shared
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.spec import ProductSpec
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import add, for_range, index_value


@dataclass(frozen=True)
class Result:
    """A result that was made, and where it is to be stored: an element of each array."""

    values: Sequence[Scalar]
    scope: Elements
    buffers: Sequence[Buffer]
    place: Indices

    def store(self, *neighbours: "Result") -> None:
        """Store it, with those behind it in memory, by one access to each array."""
        for number, (value, buffer) in enumerate(zip(self.values, self.buffers)):
            if neighbours:
                values = [value, *(other.values[number] for other in neighbours)]
                self.scope.store_together(values, buffer, self.place)
            else:
                self.scope.store(value, buffer, self.place)


# (row, column) of a sum in the whole matrix, of type index, and the sum: the result.
Finish = Callable[[Any, Any, Scalar], Result]
# The same, and the sum as it should be.
Mend = Callable[[Any, Any, Scalar], Scalar]

_BANKS = 128  # bytes that threads read at one time
_AT_ONCE = 4  # results of a thread that are on the way, where all of a tile are inside


@dataclass(frozen=True)
class Staging:
    """The sums of a block in shared memory.

    by_columns: whether a line is a column.
    row_step: from a row that a warp stores at once to the next.
    neighbours: results that a thread makes at once, which lie together in a line and in memory.
    """

    schedule: Schedule
    spec: ProductSpec
    by_columns: bool
    row_step: int = 1
    neighbours: int = 1

    @property
    def most_neighbours(self) -> int:
        """How many neighbours a thread may have: sums that it reads at once without conflicts."""
        return 2 * self._piece

    @property
    def _piece(self) -> int:
        """Sums that are read at once, as lines are aligned."""
        size = self.spec.sums.bits // 8
        return gcd(self._line * size, PIECE) // size

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

    def finish(
        self,
        base: Scalar,
        thread: Scalar,
        corner: Sequence[Any],
        finish: Finish,
        mend: Mend | None = None,
    ) -> None:
        """Emit the loop over all sums: each of its rounds takes some for each thread, in order.

        The blocks of a cluster take turns, and add up what all of them have.

        Args:
            corner: the row and the column at which the block's tile begins, of type index.
            mend: what is done to all sums of a round before results are made of them.
        """

        def store_all(taken: Sequence[tuple[Any, Any, Scalar]]) -> None:
            sums = taken if mend is None else [(r, c, mend(r, c, x)) for r, c, x in taken]
            # All results are made before the first is stored: none waits for another.
            results = [finish(*each) for each in sums]
            for first in range(0, len(results), self.neighbours):
                one, *others = results[first : first + self.neighbours]
                one.store(*others)

        spec, cluster = self.spec, self.schedule.cluster
        bases, threads = [base], self.schedule.threads * cluster
        if cluster > 1:
            bases = [address_in_cluster(base, rank) for rank in range(cluster)]
            thread = thread + rank_in_cluster() * self.schedule.threads
        count = self.schedule.rows * self.schedule.columns // self.neighbours
        is_whole = spec.m % self.schedule.rows == spec.n % self.schedule.columns == 0
        most = max(_AT_ONCE // self.neighbours, 1)
        at_once = gcd(count // threads, most) if is_whole and count % threads == 0 else 1

        def body(start: Any, _: Any) -> None:
            first = thread + narrow(index_value(start))

            def take() -> None:
                groups = [self._sums(bases, first + n * threads, corner) for n in range(at_once)]
                taken = [each for group in groups for each in group]
                edges = [] if is_whole else [(taken[0][0], spec.m), (taken[0][1], spec.n)]
                when_below(edges, lambda: store_all(taken))

            when_below([(index(first), count)] if count % threads else [], take)

        for_range(0, count, threads * at_once, body)

    def _sums(
        self, bases: Sequence[Scalar], number: Scalar, corner: Sequence[Any]
    ) -> list[tuple[Any, Any, Scalar]]:
        """(row, column, sum) of the neighbours of a number in the order of the lines.

        Args:
            bases: where the sums of each block of the cluster lie, which are added up in order.
        """
        length = self.schedule.rows if self.by_columns else self.schedule.columns
        length //= self.neighbours
        line, place = number / length, number % length * self.neighbours
        down, across = (place, line) if self.by_columns else (line, place)
        row, column = add(corner[0], index(down)), add(corner[1], index(across))
        at = line * self._line + place
        values, *others = [self._read(base, number, at) for base in bases]
        for more in others:
            values = [a + b for a, b in zip(values, more)]
        return [
            (add(row, n), column, value) if self.by_columns else (row, add(column, n), value)
            for n, value in enumerate(values)
        ]

    def _read(self, base: Scalar, number: Scalar, place: Scalar) -> list[Scalar]:
        """The sums of neighbours from a place on, a piece at once.

        Where there are two pieces, the second half of the threads that read at one time begins
        with the second, so that they read from all banks.
        """
        size, name = self.spec.sums.bits // 8, str(mlir_type(self.spec.sums))
        together = min(self.neighbours, self._piece)
        load = load_from_cluster if self.schedule.in_cluster else load_shared
        start = base + place * size
        if self.neighbours == together:
            return [Scalar(v, self.spec.sums) for v in load(start, name, together)]
        swapped = number / (_BANKS // 2 // (together * size)) % 2
        first = load(start + swapped * (together * size), name, together)
        second = load(start + (1 - swapped) * (together * size), name, together)
        is_swapped = swapped.ne(0).value
        pairs = [*zip(second, first), *zip(first, second)]
        return [Scalar(arith.select(is_swapped, a, b), self.spec.sums) for a, b in pairs]


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
