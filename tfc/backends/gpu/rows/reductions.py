"""Reductions on a grid: teams of threads make results, in one step or in two.

    rows      the fastest dimension in memory is reduced: neighbours in a warp read neighbours
    columns   it is kept: threads read results side by side, several slices of each

Where there are few results for many threads, the elements of each are taken in pieces, whose totals
go to scratch memory; a second part combines them. Where there are clusters, the pieces are one if
they are few, or would be with twice the threads each: its first block reads the totals of all from
their shared memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.assembly import shared_address
from tfc.backends.gpu.clusters import (
    MOST_BLOCKS,
    address_in_cluster,
    load_from_cluster,
    meet_cluster,
)
from tfc.backends.gpu.grid import THREADS, Grid, block_number, point_of
from tfc.backends.gpu.movement.groups import Group
from tfc.backends.gpu.movement.neighbours import Read, counts_together
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.rows.teams import Team, Totals
from tfc.backends.gpu.shared import shared_arrays, shared_bytes
from tfc.backends.mlir.accumulations import combined
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import found_when, when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.reductions import Reductions
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.several_results import Nest, nests_of
from tfc.backends.mlir.spaces import Space, bind
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import ElementType, Shape
from tfc.passes.analysis.loop_spaces import visits

_LEAST = 1024  # elements for which a team pays
_WARP_ROW = 1024  # elements of a row that one warp makes, where there are rows enough
_FULL = 1 << 18  # threads that keep a GPU busy
_PIECE = 1 << 12  # elements of a row's piece, at least
_TURNS = 16  # elements of a column's piece for each thread, at least
_COLUMNS = 32  # results side by side: 128 bytes of f32
_MOST_PIECES = 1024
_MOST_JOINED = 32  # pieces that are as soon made by the blocks of a cluster as by a second launch
_WORDS = ("float", "signed", "unsigned")
_ALIGNED = 32  # elements at which pieces begin


def reduce_parts(kernel: Kernel, in_clusters: bool = False) -> list[Part] | None:
    """The functions of a kernel of reductions and of what it stores besides; None if all is small.

    What is small stays in one function, a thread for each result.

    Args:
        in_clusters: whether the blocks of a few pieces are clusters.
    """
    plans = _plans(kernel)
    if not plans:
        return None
    planned, first = {number for number, _ in plans}, 0
    small = [n.points for k, n in enumerate(_nests(kernel)) if k not in planned]

    def emit_small(work: Work) -> None:
        for number, nest in enumerate(nests_of(work.kernel, work.buffers)):
            if number not in planned:
                nest.emit(Grid())

    parts = [Part(emit_small, max(small))] if small else []
    for number, plan in plans:
        parts += plan.parts(number, first, _partials(plans), in_clusters)
        first += len(plan.partials)
    return parts


def partial_totals(kernel: Kernel) -> Shape | None:
    """The scratch memory of a kernel of reductions, for the totals of pieces."""
    arrays = _partials(_plans(kernel))
    return scratch_shape(arrays) if arrays else None


def _nests(kernel: Kernel) -> list[Nest]:
    """The nests of a kernel that has no memory yet."""
    return nests_of(kernel, [Buffer(None, s) for s in (*kernel.operand_shapes, *kernel.results)])


def _plans(kernel: Kernel) -> list[tuple[int, "_Plan"]]:
    """The numbers of the nests that teams make, and how."""
    found = ((k, _plan(n.reductions)) for k, n in enumerate(_nests(kernel)) if n.reduces)
    return [(k, plan) for k, plan in found if plan is not None]


def _partials(plans: Sequence[tuple[int, "_Plan"]]) -> list[Shape]:
    return [array for _, plan in plans for array in plan.partials]


@dataclass(frozen=True)
class _Plan:
    """How one pass over the elements is shared out.

    outer, reduced, inner: the dimensions: results, elements of each, results side by side.
    sizes: how many there are of each.
    team: that makes results of pieces, of which there are `pieces`.
    types: of the totals.
    """

    outer: tuple[int, ...]
    reduced: tuple[int, ...]
    inner: tuple[int, ...]
    sizes: tuple[int, int, int]
    team: Team
    pieces: int
    types: tuple[ElementType, ...]

    @property
    def results(self) -> int:
        """How many results there are."""
        return self.sizes[0] * self.sizes[2]

    @property
    def piece_size(self) -> int:
        """How many elements pieces have, but for the last: whole sectors of memory."""
        size = self.sizes[1] // self.pieces
        return size // _ALIGNED * _ALIGNED if self.pieces > 1 else size

    @property
    def blocks(self) -> int:
        """How many blocks make the pieces of all results."""
        tiles = self.sizes[0] * -(-self.sizes[2] // self.team.width)
        groups = tiles if self.inner else -(-self.results // self.team.results)
        return groups * self.pieces

    @property
    def partials(self) -> list[Shape]:
        """The arrays of the totals of pieces, if there are several: piece by piece."""
        return [Shape(t, (self.pieces * self.results,)) for t in self.types * (self.pieces > 1)]

    @property
    def second(self) -> Team:
        """The team that combines the totals of pieces."""
        slices = _power(min(self.pieces, 8 if self.results >= _COLUMNS else THREADS))
        wide = self.results >= _COLUMNS
        return Team(THREADS, slices, THREADS // slices if wide else 1)

    @property
    def in_cluster(self) -> "_Plan | None":
        """The plan whose pieces are made by the blocks of a cluster, if that may be and pays."""
        words = all(t.bits in (32, 64) and t.kind in _WORDS for t in self.types)
        if not (words and 1 < self.pieces <= _MOST_JOINED):
            return None
        if self.pieces <= MOST_BLOCKS:
            return self
        team = replace(self.team, threads=2 * self.team.threads, slices=2 * self.team.slices)
        return replace(self, team=team, pieces=MOST_BLOCKS)

    @property
    def shared(self) -> list[Shape]:
        """The arrays in shared memory of a block of a cluster; the last ones are its totals."""
        own = [Shape(t, (self.team.results,)) for t in self.types]
        return [*self.team.shared_shapes(self.types), *own]

    def parts(
        self, number: int, first: int, arrays: Sequence[Shape], in_clusters: bool
    ) -> list[Part]:
        """The functions.

        Args:
            number: of the nest.
            arrays, first: all of the kernel's arrays of totals, and where this plan's are.
            in_clusters: whether the blocks of a few pieces are clusters.
        """

        def one(work: Work) -> _Pass:
            held = scratch_arrays(work.scratch, arrays) if arrays else []
            return pass_of(work, self, held[first : first + len(self.partials)])

        def pass_of(work: Work, plan: _Plan, totals: Sequence[Buffer]) -> _Pass:
            return _Pass(plan, nests_of(work.kernel, work.buffers)[number].reductions, totals)

        joined = self.in_cluster if in_clusters else None
        if joined is not None:
            return [
                Part(
                    lambda w: pass_of(w, joined, []).emit(in_cluster=True), joined.blocks, True,
                    threads=joined.team.threads, shared=shared_bytes(joined.shared),
                    cluster=joined.pieces,
                )
            ]  # fmt: skip
        team, second = self.team, self.second
        shared, blocks = team.shared_bytes(self.types), self.blocks
        parts = [Part(lambda w: one(w).emit(), blocks, True, threads=team.threads, shared=shared)]
        if self.pieces > 1:
            blocks, shared = -(-self.results // second.results), second.shared_bytes(self.types)
            parts.append(
                Part(lambda w: one(w).finish(), blocks, True, threads=second.threads, shared=shared)
            )
        return parts


def _plan(work: Reductions) -> _Plan | None:
    """The plan of a pass; None if a thread for each result is as good."""
    dims, order = work.operand.dims, work.operand.layout.minor_to_major[::-1]
    reduced = tuple(d for d in order if d not in work.kept)
    count = prod(dims[d] for d in reduced)
    if work.operand.size < _LEAST or count < 2:
        return None
    last = max(order.index(d) for d in reduced if dims[d] > 1)
    inner = tuple(d for d in order[last:] if d in work.kept and dims[d] > 1)
    outer = tuple(d for d in order if d in work.kept and d not in inner)
    types = tuple(
        some.wide or r.shape.element_type
        for some, own in zip(work.sums, work.split(work.results))
        for r in own
    )
    sizes = prod(dims[d] for d in outer), count, prod(dims[d] for d in inner)
    share = _columns_of if inner else _rows_of
    return _Plan(outer, reduced, inner, sizes, *share(*sizes), types)


def _rows_of(rows: int, length: int, _: int) -> tuple[Team, int]:
    """The team and the pieces of reductions along the fastest dimension."""
    slices = min(_power(length), 32)
    if length > _WARP_ROW or rows * slices < _FULL:
        slices = max(slices, min(THREADS, _power(length // 4)))
    pieces = min(length // max(_PIECE, slices), _FULL // (rows * slices), _MOST_PIECES)
    return Team(THREADS, slices), max(pieces, 1)


def _columns_of(outer: int, count: int, columns: int) -> tuple[Team, int]:
    """The team and the pieces of reductions that keep the fastest dimension."""
    slices = min(_power(count), THREADS // min(_COLUMNS, _power(2 * columns - 1)))
    width = THREADS // slices
    threads = outer * -(-columns // width) * THREADS
    pieces = min(count // (_TURNS * slices), _FULL // threads, _MOST_PIECES)
    return Team(THREADS, slices, width), max(pieces, 1)


def _power(most: int) -> int:
    """The largest power of two that is no larger; 1 at least."""
    return 1 << max(most.bit_length() - 1, 0)


class _Pass:
    """The code of a plan."""

    def __init__(self, plan: _Plan, work: Reductions, partials: Sequence[Buffer]):
        self.plan, self.work, self.partials = plan, work, partials
        barriers = [len(plan.outer), len(plan.outer) + len(plan.reduced)]
        self.space = work.space([*plan.outer, *plan.reduced, *plan.inner], barriers)
        self.inputs = sources(work.kernel, work.buffers)
        self.each, self.reads = self._together()

    def _together(self) -> tuple[int, list[Read]]:
        """How many neighbours along a row a thread reads at once, and what."""
        plan, work = self.plan, self.work
        if plan.inner or work.stored:
            return 1, []
        seen = list(visits(work.kernel.computation.parameters, work.values, self.space.index))
        counts, reads = counts_together(work.kernel, seen, [], self.space.variables[-1])
        found = [count for count in counts if count * plan.team.slices <= plan.piece_size]
        return (found[0], reads) if found else (1, [])

    def _bound(self, dims: Sequence[int], number: Any) -> dict[str, Any]:
        """The variables of the loops over some dimensions at the point with a number."""
        space: Space = self.space
        loops = [k for k, group in enumerate(space.groups) if group[0] in dims]
        variables = [space.variables[k] for k in loops]
        return bind(variables, point_of(number, [space.sizes[k] for k in loops]))

    def emit(self, in_cluster: bool = False) -> None:
        """What each thread does: its share, then what the team has; the first one stores it.

        Args:
            in_cluster: whether the blocks of the pieces of results are one cluster.
        """
        plan, team, work = self.plan, self.plan.team, self.work
        group, piece = block_number(), index_value(0)
        if plan.pieces > 1:
            pieces = index_value(plan.pieces)
            group, piece = arith.divui(group, pieces), arith.remui(group, pieces)
        result, slice_number = team.place()
        outer, inner, inside = self._result(group, result)
        scope = Elements(self.inputs, {**self._bound(plan.outer, outer),
                                       **self._bound(plan.inner, inner)})  # fmt: skip
        first, end = self._piece(piece)
        each = index_value(self.each)

        def elements(place: Any) -> Totals:
            return self._elements(scope, arith.addi(first, arith.muli(place, each)))

        totals = found_when(
            inside,
            lambda: team.accumulate(
                slice_number,
                plan.piece_size // self.each,
                arith.divui(end, each),
                elements,
                work.combine,
            ),
            [constant(t, 0) for t in plan.types],
        )
        totals = team.combined(totals, work.combine)
        begins = arith.cmpi(arith.CmpIPredicate.eq, slice_number, index_value(0))

        def store() -> None:
            if plan.pieces == 1:
                self._store(scope.with_variables(), totals)
                return
            number = arith.addi(arith.muli(outer, index_value(plan.sizes[2])), inner)
            at = arith.addi(arith.muli(piece, index_value(plan.results)), number)
            for total, array in zip(totals, self.partials):
                store_at(total, array, at)

        stores = arith.andi(inside, begins)
        if in_cluster:
            self._store_from_cluster(scope, totals, result, piece, stores)
        else:
            when(stores, store)

    def _store_from_cluster(
        self, scope: Elements, totals: Totals, result: Any, piece: Any, stores: Any
    ) -> None:
        """Combine the totals of all blocks of the cluster, in their order, in the first of them.

        Args:
            result: the number of the thread's result in its block.
            piece: the number of the block in its cluster.
            stores: an i1: whether the thread has totals.
        """
        plan, work = self.plan, self.work
        own = shared_arrays(plan.shared)[-len(plan.types) :]

        def keep() -> None:
            for total, array in zip(totals, own):
                store_at(total, array, result)

        def finish() -> None:
            found, at = totals, narrow(result)
            for rank in range(1, plan.pieces):
                others = []
                for element_type, array in zip(plan.types, own):
                    address = shared_address(array.memref) + at * element_type.bytes
                    there = address_in_cluster(address, rank)
                    (value,) = load_from_cluster(there, str(mlir_type(element_type)))
                    others.append(Scalar(value, element_type))
                found = work.combine(found, others)
            self._store(scope.with_variables(), found)

        when(stores, keep)
        meet_cluster(releases=True)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, piece, index_value(0))
        when(arith.andi(stores, is_first), finish)
        meet_cluster(releases=True)  # the first one may still read this block's totals

    def _elements(self, scope: Elements, place: Any) -> Totals:
        """What neighbours along a row add, from a place on."""
        at, work = self._bound(self.plan.reduced, place), self.work
        if self.each == 1:
            return work.elements(scope.with_variables(**at), self.space)
        last = self.space.variables[-1]
        numbers = [arith.addi(at[last.name], index_value(k)) for k in range(self.each)]
        scopes = [scope.with_variables(**{**at, last.name: number}) for number in numbers]
        group = Group(scopes, last, work.kernel, work.buffers)
        for value, index in self.reads:
            group.read(value, index)
        return combined([work.elements(s, self.space) for s in scopes], work.combine)

    def finish(self) -> None:
        """Combine the totals of pieces: a team for each result."""
        plan, team, work = self.plan, self.plan.second, self.work
        result, slice_number = team.place()
        start = arith.muli(block_number(), index_value(team.results))
        number = arith.addi(start, result)
        inside = arith.cmpi(arith.CmpIPredicate.ult, number, index_value(plan.results))

        def elements(piece: Any) -> Totals:
            at = arith.addi(arith.muli(piece, index_value(plan.results)), number)
            return [load_at(array, at) for array in self.partials]

        totals = found_when(
            inside,
            lambda: team.accumulate(
                slice_number, plan.pieces, index_value(plan.pieces), elements, work.combine
            ),
            [constant(t, 0) for t in plan.types],
        )
        totals = team.combined(totals, work.combine)
        begins = arith.cmpi(arith.CmpIPredicate.eq, slice_number, index_value(0))

        def store() -> None:
            columns = index_value(plan.sizes[2])
            at = {**self._bound(plan.outer, arith.divui(number, columns)),
                  **self._bound(plan.inner, arith.remui(number, columns))}  # fmt: skip
            self._store(Elements(self.inputs, at), totals)

        when(arith.andi(inside, begins), store)

    def _result(self, group: Any, result: Any) -> tuple[Any, Any, Any]:
        """The outer and inner number of a thread's result, and whether there is such a result."""
        plan, team = self.plan, self.plan.team
        if not plan.inner:
            outer = arith.addi(arith.muli(group, index_value(team.results)), result)
            inside = arith.cmpi(arith.CmpIPredicate.ult, outer, index_value(plan.sizes[0]))
            return outer, index_value(0), inside
        tiles = index_value(-(-plan.sizes[2] // team.width))
        start = arith.muli(arith.remui(group, tiles), index_value(team.width))
        inner = arith.addi(start, result)
        inside = arith.cmpi(arith.CmpIPredicate.ult, inner, index_value(plan.sizes[2]))
        return arith.divui(group, tiles), inner, inside

    def _piece(self, piece: Any) -> tuple[Any, Any]:
        """The first element of a piece, and how many it has: the last one has the rest, too."""
        plan = self.plan
        first = arith.muli(piece, index_value(plan.piece_size))
        last = arith.cmpi(arith.CmpIPredicate.eq, piece, index_value(plan.pieces - 1))
        rest = plan.sizes[1] - plan.piece_size * (plan.pieces - 1)
        return first, arith.select(last, index_value(rest), index_value(plan.piece_size))

    def _store(self, scope: Elements, totals: Totals) -> None:
        """Store the results, which begin with what the reduction does."""
        work = self.work
        at = tuple(self.space.index[d] for d in work.kept)
        totals = work.combine(work.inits(scope), totals)
        for total, result in zip(work.narrow(totals), work.results):
            scope.store(total, result, at)
