"""Products with few lines on one side: a matrix times a vector, or times some.

All that counts is to read the matrix once, in whole sectors. Where its sums are neighbours, a warp
goes along a line, and its lanes add up what they have; else a lane has a line of its own, 32 lines
are a block, and its warps take turns along the sums and add up what they have.

    sums together:   line 0 | lane 0, 1 … 31, 0 …    warp 0
                     line 1 | lane 0, 1 … 31, 0 …    warp 1
    lines together:  sum 0  | lane 0, 1 … 31         warp 0
                     sum 1  | lane 0, 1 … 31         warp 1
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.grid import thread_in_block
from tfc.backends.gpu.matrices import load_shared, store_shared
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.finishing import Finish, when_below
from tfc.backends.gpu.products.operands import place_of_element
from tfc.backends.gpu.products.spec import ProductSpec, Side
from tfc.backends.gpu.shared import barrier
from tfc.backends.gpu.warps import WARP, from_lane
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    convert,
    fma,
    mlir_type,
    select,
)
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import add, for_range, index_value, multiply
from tfc.hlo.shape import PRED

MOST_LINES = 4
"""Of the narrow side."""
_LEAST_SUMS = 64
_WARPS = 8
_AT_ONCE = 4  # elements of the matrix that a thread has on the way


def is_skinny(spec: ProductSpec) -> bool:
    """Whether this is the form for a product."""
    return min(spec.m, spec.n) <= MOST_LINES and spec.k >= _LEAST_SUMS


@dataclass(frozen=True)
class Skinny:
    """The kernel of a product with few rows or few columns."""

    spec: ProductSpec

    @property
    def wide(self) -> Side:
        """The side with the most lines: the matrix."""
        return self.spec.lhs if self.spec.m >= self.spec.n else self.spec.rhs

    @property
    def few(self) -> Side:
        """The other side: some vectors."""
        return self.spec.rhs if self.spec.m >= self.spec.n else self.spec.lhs

    @property
    def _goes_along(self) -> bool:
        """Whether a warp goes along a line."""
        return self.wide.sums_are_neighbours

    @property
    def _lines(self) -> int:
        """Lines of a block."""
        return _WARPS if self._goes_along else WARP

    @property
    def blocks(self) -> int:
        """Blocks of one pair of matrices."""
        return -(-self.wide.lines // self._lines)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _WARPS * WARP

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return 0 if self._goes_along else self.threads * self.few.lines * self._size

    @property
    def _size(self) -> int:
        return self.spec.sums.bits // 8

    def emit(self, work: Work, base: Scalar | None, batch: Any, block: Any, finish: Finish) -> None:
        """Emit the code of a block.

        Args:
            base: where its shared memory begins, if it has any.
            batch, block: the pair of matrices, and the block's number for it, of type index.
            finish: what becomes of a sum.
        """
        thread = narrow(thread_in_block())
        lane, warp = thread % WARP, thread / WARP
        own = warp if self._goes_along else lane
        line = add(multiply(block, self._lines), index(own))
        turn = lane if self._goes_along else warp
        sums = self._sums(work, batch, line, turn, WARP if self._goes_along else _WARPS)
        if base is None:
            self._add_lanes(sums, lane, line, finish)
        else:
            self._add_warps(base, sums, (lane, warp), line, finish)

    def _sums(self, work: Work, batch: Any, line: Any, turn: Scalar, turns: int) -> list[Scalar]:
        """The thread's sums of every so many places, for each of the vectors."""
        spec, few = self.spec, self.few.lines
        step = turns * _AT_ONCE
        last = index_value(self.wide.lines - 1)
        line = arith.minui(line, last) if self.wide.lines % self._lines else line

        def add_place(totals: Sequence[Scalar], place: Any) -> list[Scalar]:
            x = self._element(work, self.wide, batch, line, place)
            return [
                self._add(t, x, self._element(work, self.few, batch, index_value(n), place))
                for n, t in enumerate(totals)
            ]

        def whole(start: Any, carried: Sequence[Any]) -> list[Any]:
            totals = [Scalar(v, spec.sums) for v in carried]
            for number in range(_AT_ONCE):
                totals = add_place(totals, add(start, index(turn), number * turns))
            return [t.value for t in totals]

        def rest(start: Any, carried: Sequence[Any]) -> list[Any]:
            place = add(start, index(turn))
            inside = arith.cmpi(arith.CmpIPredicate.ult, place, index_value(spec.k))
            totals = [Scalar(v, spec.sums) for v in carried]
            more = add_place(totals, arith.minui(place, index_value(spec.k - 1)))
            there = Scalar(inside, PRED)
            return [select(there, m, t).value for m, t in zip(more, totals)]

        end = spec.k // step * step
        zeros = [constant(spec.sums, 0).value] * few
        carried = for_range(0, end, step, whole, zeros)
        return [Scalar(v, spec.sums) for v in for_range(end, spec.k, turns, rest, carried)]

    def _element(self, work: Work, side: Side, batch: Any, line: Any, place: Any) -> Scalar:
        scope = Elements(
            sources(work.kernel, work.buffers), {"b": batch, "i": line, "p": index_value(place)}
        )
        found = scope.element(side.value, place_of_element(self.spec, side))
        return convert(found, self.spec.sums)

    def _add(self, total: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return fma(x, y, total) if self.spec.sums.is_float else total + x * y

    def _add_lanes(self, sums: Sequence[Scalar], lane: Scalar, line: Any, finish: Finish) -> None:
        """Add up over the lanes of a warp; the lane of a vector's number stores its sum."""
        for number, total in enumerate(sums):
            for offset in (16, 8, 4, 2, 1):
                total = total + from_lane(total, offset)
            own = index(lane ^ number)
            bounds = [(own, 1)]
            if self.wide.lines % self._lines:
                bounds.append((line, self.wide.lines))
            when_below(bounds, lambda t=total, n=number: self._finish(finish, line, n, t))

    def _add_warps(
        self, base: Scalar, sums: Sequence[Scalar], own: tuple[Scalar, Scalar], line: Any,
        finish: Finish,
    ) -> None:  # fmt: skip
        """Add up over the warps of a block; the warp of a vector's number stores its sums."""
        (lane, warp), size = own, self._size
        for number, total in enumerate(sums):
            place = (warp * len(sums) + number) * WARP + lane
            store_shared(base + place * size, [total.value])
        barrier()
        name = str(mlir_type(self.spec.sums))
        for number in range(len(sums)):

            def store(number: int = number) -> None:
                total = None
                for each in range(_WARPS):
                    offset = (each * len(sums) + number) * WARP * size
                    (value,) = load_shared(base + lane * size, name, offset=offset)
                    share = Scalar(value, self.spec.sums)
                    total = share if total is None else total + share
                assert total is not None
                self._finish(finish, line, number, total)

            bounds = [(index(warp ^ number), 1)]
            if self.wide.lines % self._lines:
                bounds.append((line, self.wide.lines))
            when_below(bounds, store)

    def _finish(self, finish: Finish, line: Any, number: int, total: Scalar) -> None:
        other = index_value(number)
        row, column = (line, other) if self.wide is self.spec.lhs else (other, line)
        finish(row, column, total).store()
