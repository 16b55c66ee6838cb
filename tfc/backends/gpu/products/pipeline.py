"""The way of a block along its sums, in stages: some are on the way while one is multiplied.

    stage 0 … S-2 begin
    for each tile t:    wait for stage t; all threads are here, so stage t-1 is free
                        begin stage t+S-1, multiply stage t, store what came through registers

Where tiles come from is a `Source` each (pieces.py), how they are multiplied an `Inner`
(mma_tiles.py, register_tiles.py); the sums are returned, and whoever asked finishes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tfc.backends.gpu.matrices import TileForm, commit_copies, wait_for_copies
from tfc.backends.gpu.products.pieces import Share, Source
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.shared import barrier
from tfc.backends.mlir.arithmetic.value import Scalar, constant, select
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.shape import U32


class Inner(Protocol):
    """How the threads of a block multiply two tiles."""

    def start(self) -> list[Any]:
        """The sums of a thread before the first tile."""
        ...

    def step(self, lhs: Scalar, rhs: Scalar, sums: Sequence[Any]) -> list[Any]:
        """The sums with the products of tiles at two addresses."""
        ...


@dataclass(frozen=True)
class Operand:
    """What a block needs of one operand.

    first: the line of the matrix at which the block's part begins, of type index.
    lines_first: as in `Share`.
    """

    form: TileForm
    source: Source
    first: Any
    lines_first: bool = False

    def share(self, thread: Scalar, threads: int) -> Share:
        """What a thread brings of each tile."""
        return Share(self.form, thread, threads, self.lines_first)


@dataclass(frozen=True)
class Pipeline:
    """The stages of a block.

    base: where in shared memory they are.
    operands: the left and the right one.
    depth: the sums of a stage.
    """

    schedule: Schedule
    base: Scalar
    thread: Scalar
    operands: tuple[Operand, Operand]
    depth: int

    def run(self, inner: Inner, first: Any, count: Any) -> list[Any]:
        """The sums of tiles from the place `first` of the sums on, of type index, and `count`.

        All threads may use the shared memory for something else when this is done. Tiles beyond the
        last are asked for as others are: sources give zeros there.
        """
        stages = self.schedule.stages
        for stage in range(stages - 1):
            to = constant(U32, stage * self._stage_bytes) + self.base
            self._put(to, self._fetch(to, add(first, stage * self.depth)))
            commit_copies()
        bounds = [index_value(0), count, index_value(1)]
        begin = [constant(U32, 0).value, constant(U32, (stages - 1) * self._stage_bytes).value]
        loop = scf.ForOp(*bounds, [*begin, *inner.start()])
        with ir.InsertionPoint(loop.body):
            carried = list(loop.inner_iter_args)
            scf.yield_(self._turn(inner, first, loop.induction_variable, carried))
        wait_for_copies()
        barrier()
        return list(loop.results)[2:]

    def _turn(self, inner: Inner, first: Any, tile: Any, carried: Sequence[Any]) -> list[Any]:
        """One tile."""
        stages = self.schedule.stages
        reading, writing = (Scalar(x, U32) for x in carried[:2])
        wait_for_copies(stages - 2)
        barrier()
        to, lhs = self.base + writing, self.base + reading
        ahead = add(first, multiply(add(tile, stages - 1), self.depth))
        held = self._fetch(to, ahead)
        commit_copies()
        sums = inner.step(lhs, lhs + self.operands[0].form.bytes, carried[2:])
        self._put(to, held)
        return [self._next(reading).value, self._next(writing).value, *sums]

    @property
    def _stage_bytes(self) -> int:
        return sum(o.form.bytes for o in self.operands)

    def _next(self, offset: Scalar) -> Scalar:
        """The stage after one."""
        last = (self.schedule.stages - 1) * self._stage_bytes
        return select(offset.eq(last), 0, offset + self._stage_bytes)

    def _places(self, to: Scalar) -> list[Scalar]:
        return [to, to + self.operands[0].form.bytes]

    def _fetch(self, to: Scalar, place: Any) -> list[list[Any]]:
        """Begin to bring both tiles whose sums begin at a place."""
        found = []
        for operand, address in zip(self.operands, self._places(to)):
            at = (operand.first, place) if operand.form.along else (place, operand.first)
            share = operand.share(self.thread, self.schedule.threads)
            found.append(operand.source.fetch(share, address, *at))
        return found

    def _put(self, to: Scalar, held: Sequence[Sequence[Any]]) -> None:
        for operand, address, values in zip(self.operands, self._places(to), held):
            operand.source.put(operand.share(self.thread, self.schedule.threads), address, values)
