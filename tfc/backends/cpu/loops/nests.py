"""The CPU's way through a space: nested loops, in tiles or past the caches where that is faster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.cpu.loops.streams import (
    Stage,
    flush_stages,
    staged,
    store_in_stages,
    wait_for_stores,
)
from tfc.backends.cpu.loops.tiled_movement import tiling
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Stores, several
from tfc.backends.mlir.loops import each_point, for_each
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import Position, index_value


class LoopNest:
    """Nested sequential loops, the last index fastest."""

    flat = False

    def each(self, sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
        """Emit a loop for each size around `body`, which gets the loop variables."""
        each_point(sizes, body)

    def store(self, work: Stores, points: Sequence[Any]) -> None:
        """Emit the loops of `work`: in tiles where an operand is read along another dimension than
        the results are stored along, past the caches where the results are large."""
        space, kernel = work.space, work.kernel
        parameters = kernel.computation.parameters
        # Tiles may not read what is overwritten: it lies where a result does.
        moved = [p for p in parameters if not kernel.overwrites(p)]
        root, first = several(work.values), work.results[0]
        tiles = tiling(space, work.first_free, first, root, parameters, moved)
        stages: Sequence[Stage | None] = [None] * len(work.results)
        if first.shape.dims and not kernel.in_place:
            tiles, stages = staged(space, work.results, tiles)
        if tiles is None:
            work.emit_each(self, points)
            return

        def store(scope: Elements, place: Position = 0) -> None:
            store_in_stages(scope, space.index, work.elements(scope), work.results, stages, place)

        def flush(scope: Callable[[Position], Elements], first: Position) -> None:
            flush_stages(scope, space.index, stages, first)

        tiles.emit(self.each, points, work.inputs, store, flush)
        if any(stages):
            wait_for_stores()


@dataclass(frozen=True)
class Chunk:
    """One share of a kernel's work; the shares run in any order, or at the same time.

    number: which one, a value of type `index` below `count`.
    """

    number: Any
    count: int

    def part(self, size: int, step: int = 1) -> tuple[Any, Any]:
        """The first of `size` things in this share, and the end; shares begin at multiples."""
        share = -(-size // (self.count * step)) * step
        total = index_value(size)
        low = arith.minsi(arith.muli(self.number, index_value(share)), total)
        return low, arith.minsi(arith.addi(low, index_value(share)), total)


_NEIGHBOURS = 64  # elements of the fastest dimension that stay together, as vectors and in lines


class SplitNest(LoopNest):
    """A chunk's share of the points of a space: the CPU's way through it with several threads.

    The first dimension that has enough for all shares is split, else the largest.
    """

    def __init__(self, chunk: Chunk):
        self.chunk = chunk
        self._inside = False

    def each(self, sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
        """Emit loops around `body`; what it calls in turn has to be done for each of its points."""
        if self._inside:
            super().each(sizes, body)
            return
        self._inside = True
        if sizes:
            enough = (d for d, size in enumerate(sizes) if size >= 2 * self.chunk.count)
            self._share(list(sizes), next(enough, sizes.index(max(sizes))), body)
        else:
            first = arith.cmpi(arith.CmpIPredicate.eq, self.chunk.number, index_value(0))
            with ir.InsertionPoint(scf.IfOp(first).then_block):
                body([])
                scf.yield_([])
        self._inside = False

    def _share(self, sizes: list[int], split: int, body: Callable[[Sequence[Any]], None]) -> None:
        is_fastest = split == len(sizes) - 1 and sizes[split] >= self.chunk.count * _NEIGHBOURS
        low, high = self.chunk.part(sizes[split], _NEIGHBOURS if is_fastest else 1)

        def middle(outer: Sequence[Any]) -> None:
            def inside(point: Any) -> None:
                each_point(sizes[split + 1 :], lambda inner: body([*outer, point, *inner]))

            for_each(low, high, inside)

        each_point(sizes[:split], middle)
