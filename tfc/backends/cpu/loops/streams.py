"""Results that no cache holds: they are written past the caches, a stretch at a time.

    for each stretch:  for p in the stretch: stage[p] = f(…)          in vectors that LLVM makes
                       result[stretch] = stage                        in whole lines, non-temporal

A plain store reads the line that it is about to overwrite, and drives out of the cache what might
be used again; a non-temporal one does neither. It needs vectors that are known to be aligned, and
whole lines one after the other, hence the stage, which stays in the first-level cache.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.cpu.loops.tiled_movement import Tiling, step_of
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.provider import arith, ir, llvm, memref, scf, vector
from tfc.backends.mlir.scratch import stack_memory, store_at
from tfc.backends.mlir.spaces import Indices, Space
from tfc.backends.mlir.vectors import Position, for_range, index_value
from tfc.hlo.shape import Shape
from tfc.passes.analysis.row_plan import STREAMED_BYTES

_LEAST_RUN_BYTES = 4096  # that are next to each other, unless what is read lies apart anyway
LINE_BYTES = 64  # buffers that are not the caller's begin at such
_STRETCH_BYTES = 256  # short, so that reading what comes next and writing overlap
_SEQUENTIALLY_CONSISTENT = 7  # in LLVM's enumeration of orderings


@dataclass(frozen=True)
class Stage:
    """What is stored next in a result: some of its elements, one after the other.

    aligned: an i1, whether the result begins with a line, as all do that are not the caller's.
    """

    result: Buffer
    memory: Buffer
    aligned: Any

    def flush(self, first: Position, position: Callable[[Position], Any]) -> None:
        """Store the stage in the result, from element `first` of it on, a multiple of a line.

        Args:
            position: gives where in the result an element of the stage belongs.
        """
        chosen = scf.IfOp(self.aligned, has_else=True)
        for block, options in (
            (chosen.then_block, {"nontemporal": True, "alignment": LINE_BYTES}),
            (chosen.else_block, {}),
        ):
            with ir.InsertionPoint(block):
                self._copy(first, position, options)
                scf.yield_([])

    def _copy(
        self, first: Position, position: Callable[[Position], Any], options: Mapping[str, Any]
    ) -> None:
        stage, lanes = self.memory.memref, _lanes(self.result.shape)
        line = ir.VectorType.get([lanes], stage.type.element_type)

        def copy(place: Position, _: object) -> None:
            value = vector.load(line, stage, [index_value(place)])
            vector.store(value, self.result.memref, [position(place)], **options)

        for_range(first, self.memory.shape.size, lanes, copy)


def staged(
    space: Space, results: Sequence[Buffer], tiles: Tiling | None
) -> tuple[Tiling | None, Sequence[Stage | None]]:
    """The tiles of loops that store results of one shape, and the stage of each that has one.

    Args:
        tiles: those that the loops have for the sake of what they read.
    """
    last, size = len(space.sizes) - 1, space.sizes[-1]
    widest = max(result.shape.element_type.bytes for result in results)
    stretch = tiles.edges[last] if tiles else min(_STRETCH_BYTES // widest, size)
    if tiles is None and size * widest < _LEAST_RUN_BYTES:
        return None, [None] * len(results)
    stages = [stage_for(space, result, stretch) for result in results]
    if any(stages) and tiles is None:
        tiles = Tiling(space, {last: stretch}, [])
    return tiles, stages


def stage_for(space: Space, result: Buffer, stretch: int) -> Stage | None:
    """The stage for a stretch of points along the last loop of a space; None if it is of no use."""
    shape, lanes = result.shape, _lanes(result.shape)
    if shape.byte_size < STREAMED_BYTES or not lanes or space.sizes[-1] % lanes or stretch % lanes:
        return None
    position = result.position(space.index)
    *outer, last = space.variables
    steps = [step_of(position, v) for v in outer if v.kind == "variable"]
    if step_of(position, last) != 1 or any(s is None or s % lanes for s in steps):
        return None
    constants = [t.value for t in (*position.terms, position) if t.kind == "constant"]
    if sum(constants) % lanes:
        return None
    own = Shape(shape.element_type, (stretch,))
    address = memref.extract_aligned_pointer_as_index(result.memref)
    beyond = arith.andi(address, index_value(LINE_BYTES - 1))
    aligned = arith.cmpi(arith.CmpIPredicate.eq, beyond, index_value(0))
    return Stage(result, Buffer(stack_memory(own), own), aligned)


def store_in_stages(
    scope: Elements,
    index: Indices,
    elements: Iterable[Scalar],
    results: Sequence[Buffer],
    stages: Sequence[Stage | None],
    place: Position,
) -> None:
    """Store an element for each result: at `place` of its stage, or in the result if it has none.

    An element that is computed on demand is stored before the next one is asked for.
    """
    for element, result, stage in zip(elements, results, stages, strict=True):
        if stage is None:
            scope.store(element, result, index)
        else:
            store_at(element, stage.memory, index_value(place))


def flush_stages(
    scope: Callable[[Position], Elements],
    index: Indices,
    stages: Sequence[Stage | None],
    first: Position,
) -> None:
    """Store the stages in their results; `scope` gives what holds at a place of a stage."""
    for stage in filter(None, stages):
        where = stage.result.position(index)
        stage.flush(first, lambda place, where=where: scope(place).index_value(where))


def wait_for_stores() -> None:
    """Let no later store, as one that tells another thread of the result, come before those."""
    llvm.FenceOp(ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _SEQUENTIALLY_CONSISTENT))


def _lanes(shape: Shape) -> int:
    """The elements of a cache line; 0 where they make no vectors."""
    return 0 if shape.element_type.is_complex else LINE_BYTES // shape.element_type.bytes
