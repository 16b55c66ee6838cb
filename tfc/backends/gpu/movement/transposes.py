"""Transposes through shared memory: what is read along another dimension than what is stored.

    each warp reads 32 neighbours of x   →   tile[i][j] in shared memory   →   stores 32 of y

Threads that stored neighbours would read elements that lie far apart, a sector of memory for each.
Here a block has a tile of 32 × 32 places. It first reads what of the operand belongs to them, along
the operand's rows; then each thread computes elements along the result's, and finds the operand's
in shared memory. A row of the tile there is a word longer than it is wide, so that neither way has
bank conflicts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.gpu.grid import (
    LARGEST_GRID,
    THREADS,
    block_number,
    point_of,
    thread_in_block,
)
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.spaces import Space, bind, loop_space, step_of
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape
from tfc.passes.analysis.loop_spaces import visits

_EDGE = 32  # of a tile: what a warp reads or stores at once
_WORD = 4  # bytes of a bank
_STEP = THREADS // _EDGE  # rows of a tile that a block takes at once
_LEAST = 1024  # elements for which tiles pay
_MOST_SHARED = 48 << 10  # bytes that every GPU gives a block


@dataclass(frozen=True)
class _Read:
    """An operand's element: what it is of, at which index in terms of the loops."""

    operand: Instruction
    index: Indices

    @property
    def row(self) -> int:
        """The elements from one row of a tile to the next: a word more than are read."""
        return _EDGE + max(_WORD // self.operand.array_shape.element_type.bytes, 1)

    @property
    def tile(self) -> Shape:
        """Where a block keeps a tile of it."""
        return Shape(self.operand.array_shape.element_type, (_EDGE * self.row,))


@dataclass(frozen=True)
class _Plan:
    """Which operands are turned.

    across: the number of the loop along which they lie; results lie along the last.
    """

    space: Space
    across: int
    turned: tuple[_Read, ...]

    @property
    def around(self) -> list[int]:
        """The numbers of the other loops."""
        return [n for n in range(len(self.space.sizes) - 1) if n != self.across]

    @property
    def tiles(self) -> list[int]:
        """How many tiles there are, along each loop around and the two of the tile."""
        sizes = self.space.sizes
        edges = [-(-sizes[n] // _EDGE) for n in (self.across, len(sizes) - 1)]
        return [*(sizes[n] for n in self.around), *edges]


def transposing_parts(kernel: Kernel) -> list[Part] | None:
    """The function of a kernel that reads operands across; None if it reads none so."""
    plan = _plan(kernel)
    if plan is None:
        return None
    shared = shared_bytes([r.tile for r in plan.turned])
    return [Part(lambda w: _emit(plan, w), prod(plan.tiles), True, shared=shared)]


def _plan(kernel: Kernel) -> _Plan | None:
    root, op = kernel.root, op_named(kernel.root.opcode)
    if kernel.product is not None or not (op.elementwise or op.is_movement):
        return None
    (result,) = kernel.results
    if len(kernel.results) > 1 or result.size < _LEAST:
        return None
    space = loop_space(kernel.computation, root, Buffer(None, result))
    if len(space.sizes) < 2 or space.variables[-1].kind != "variable":
        return None
    for across in sorted(range(len(space.sizes) - 1), key=lambda n: -space.sizes[n]):
        turned = tuple(_turned(kernel, space, across))
        if turned and min(space.sizes[across], space.sizes[-1]) > 1:
            plan = _Plan(space, across, turned)
            enough = shared_bytes([r.tile for r in turned]) <= _MOST_SHARED
            # Of small matrices there may be more than blocks, where threads are enough.
            return plan if enough and prod(plan.tiles) <= LARGEST_GRID else None
    return None


def _turned(kernel: Kernel, space: Space, across: int) -> Iterator[_Read]:
    """The elements read whose neighbours belong to neighbours along another loop than the last."""
    parameters = kernel.computation.parameters
    for value, index, pieces in visits(parameters, kernel.root, space.index):
        if pieces and any(not c.always for p in pieces for c in p.conditions):
            return  # only some places are read, which a branch says
        if value not in parameters or value.array_shape.size < _LEAST:
            continue
        position = Buffer(None, value.array_shape).position(index)
        last, own = (step_of(position, space.variables[n]) for n in (-1, across))
        if own == 1 and last not in (0, 1, None):
            yield _Read(value, index)


def _emit(plan: _Plan, work: Work) -> None:
    space, inputs = plan.space, sources(work.kernel, work.buffers)
    *around, down, right = point_of(block_number(), plan.tiles)
    row, column = (arith.muli(t, index_value(_EDGE)) for t in (down, right))
    fixed = bind([space.variables[n] for n in plan.around], around)
    tiles = shared_arrays([r.tile for r in plan.turned])
    lane = arith.remui(thread_in_block(), index_value(_EDGE))
    warp = arith.divui(thread_in_block(), index_value(_EDGE))

    def scope(i: Any, j: Any) -> Elements:
        """The elements at a place of the tile: i along what is read, j along the result."""
        pair = [space.variables[plan.across], space.variables[-1]]
        at = [arith.addi(row, i), arith.addi(column, j)]
        return Elements(inputs, {**fixed, **bind(pair, at)})

    def inside(i: Any, j: Any) -> Any:
        sizes = (index_value(space.sizes[n]) for n in (plan.across, -1))
        at = (arith.addi(row, i), arith.addi(column, j))
        tests = [arith.cmpi(arith.CmpIPredicate.ult, p, s) for p, s in zip(at, sizes)]
        return arith.andi(*tests)

    def place(turned: _Read, i: Any, j: Any) -> Any:
        return arith.addi(arith.muli(i, index_value(turned.row)), j)

    def read(i: Any, j: Any) -> None:
        elements = scope(i, j)
        for turned, tile in zip(plan.turned, tiles):
            store_at(elements.element(turned.operand, turned.index), tile, place(turned, i, j))

    def compute(i: Any, j: Any) -> None:
        elements = scope(i, j)
        for turned, tile in zip(plan.turned, tiles):
            elements.know(turned.operand, turned.index, load_at(tile, place(turned, i, j)))
        elements.store(elements.element(work.root, space.index), work.buffers[-1], space.index)

    steps = [arith.addi(warp, index_value(k)) for k in range(0, _EDGE, _STEP)]
    for j in steps:
        when(inside(lane, j), lambda j=j: read(lane, j))
    barrier()
    for i in steps:
        when(inside(i, lane), lambda i=i: compute(i, lane))
