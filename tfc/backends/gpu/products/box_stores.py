"""Results of a warpgroup: through boxes in shared memory, of which one is stored while the next is
written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.driver.interface import Boxes
from tfc.backends.gpu.matrices import PIECE, store_shared
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.stages import where
from tfc.backends.gpu.warpgroups import (
    ROW_BYTES,
    ROWS,
    WARPGROUP,
    meet,
    show_writes,
    store_box,
    wait_for_boxes,
)
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, constant, select
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import U32

# (first column, sums) -> the words of two neighbours, or half of one, for each pair of sums.
Made = Callable[[int, Sequence[Any]], list[list[Any]]]


@dataclass(frozen=True)
class BoxStores:
    """Two boxes of 64 rows and 128 bytes, from the address `held` on.

    thread, group: the number of the thread in its warpgroup, and that of this one, which has the
        block's barrier after that number.
    """

    work: Work
    held: Scalar
    thread: Scalar
    group: Scalar

    BYTES: ClassVar[int] = 2 * ROWS * ROW_BYTES
    """Shared memory of a warpgroup's."""

    def store(
        self, number: int, boxes: Boxes, sums: Sequence[Any], made: Made,
        corner: Callable[[int], list[Any]],
    ) -> None:  # fmt: skip
        """Store what is made of the thread's sums, two of each eight columns and row.

        Args:
            number: of the descriptor of `boxes`.
            corner: where the box of a first column begins, of type index.
        """
        width = ROW_BYTES // boxes.itemsize
        for turn, first in enumerate(range(0, 2 * len(sums), width)):
            at = self.held + turn % 2 * (ROWS * ROW_BYTES)
            results = made(first, sums[first // 2 : (first + width) // 2])
            with where(self.thread.eq(0)):
                # The last one of another call may be the first of both.
                wait_for_boxes(min(turn, 1), only_read=True)
            meet(self.group + 1, WARPGROUP)
            self._put(at, results)
            show_writes()
            meet(self.group + 1, WARPGROUP)
            with where(self.thread.eq(0)):
                places = [narrow(index_value(c)) for c in corner(first)[: len(boxes.dims)]]
                store_box(self.work.boxes[number], places, at)

    def _put(self, at: Scalar, results: Sequence[Sequence[Any]]) -> None:
        """Write a box's results, whose pieces are exchanged as boxes have them.

        A pair is half a word, a word or two. Of two words, a half of the warp goes at once, four
        rows: where these are odd they take the pieces in another order, so that all are in
        different banks.
        """
        lane = self.thread % WARP
        line = lane / 4
        start = at + (self.thread / WARP * 16 + line) * ROW_BYTES
        words, is_half = len(results[0]), str(results[0][0].type) == "i16"
        steps = len(results) // 2  # of eight columns, for two rows each
        odd = (line % 2).ne(0)
        for step in range(steps):
            for lower in range(2):
                if is_half:
                    piece, offset = constant(U32, step // 2), step % 2 * 8 + lane % 4 * 2
                    values = results[2 * step + lower]
                elif words == 1:
                    piece, offset = constant(U32, step), lane % 4 * 4
                    values = results[2 * step + lower]
                else:
                    other = results[2 * (step ^ 2) + lower]
                    values = [select(odd, Scalar(x, U32), Scalar(y, U32)).value
                              for x, y in zip(other, results[2 * step + lower])]  # fmt: skip
                    piece = select(odd, constant(U32, step ^ 2), step) * 2 + lane % 4 / 2
                    offset = lane % 2 * 8
                place = start + (piece ^ line) * PIECE + offset
                store_shared(place, values, lower * 8 * ROW_BYTES)
