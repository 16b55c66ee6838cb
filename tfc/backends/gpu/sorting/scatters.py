"""Scatter of many updates: sorted by where they go, so that each place is one thread's.

    sort      (place, number) of all updates by place, digit by digit: stably, so by number, too
    combine   the first of a place's updates combines all of them, from the first to the last

A place's updates are combined in the order of the evaluator, so to the same bits, whatever they
are combined with. Places of windows that do not fit are beyond all others. Where updates replace
what was there, the last one of a place is the only one to do anything.

What lies side by side in every window, and goes to other places than its neighbours in all of them,
is sorted once for all: a row of an embedding table has one place, and its columns a thread each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.gpu.assembly import index, number
from tfc.backends.gpu.grid import Grid, point_of
from tfc.backends.gpu.ordered.scatters import dimensions_apart, operand_parts, turns_part
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.sorting.digits import Digits, digit_memory, digit_parts
from tfc.backends.gpu.sorting.sort_rows import Scalars
from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type, select
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import when, while_scalars
from tfc.backends.mlir.ordered.scatters import Scatter
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays
from tfc.backends.mlir.spaces import Space, bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.errors import InternalError
from tfc.hlo.index_maps import constant as constant_index
from tfc.hlo.ir import postorder
from tfc.hlo.ops.indexed import scatter_windows, window_sizes
from tfc.hlo.shape import PRED, U32, U64, ElementType, Shape

# Nanoseconds by which the two ways are compared: of an update that waits for the one before it, as
# it reads what that one stored, of one of a group whose updates are read together, and of a launch.
# Nobody measured them: they are made of what latencies of the L2 cache, three one after the other
# in either case, and a launch within a graph are said to be.
_TURN, _GROUPED, _LAUNCH = 500, 100, 3000
_LAUNCHES = 3  # of a digit
_GROUP = 8

_LESS, _EQUAL = arith.CmpIPredicate.ult, arith.CmpIPredicate.eq


@dataclass(frozen=True)
class Places:
    """Where updates go, for each point of what never meets.

    rows: dimensions of the updates of which each point is sorted by itself.
    turns: those along which updates may meet, in the order in which they are combined.
    lanes: those whose elements go along with what is sorted.
    sizes: of these dimensions in turn.
    placed: (dimension of the operand, its size) that tell places of a row apart.
    """

    rows: tuple[int, ...]
    turns: tuple[int, ...]
    lanes: tuple[int, ...]
    dims: tuple[int, ...]
    placed: tuple[tuple[int, int], ...]

    def count(self, dimensions: Sequence[int]) -> int:
        """How many points dimensions of the updates have."""
        return prod(self.dims[d] for d in dimensions)

    @property
    def beyond(self) -> int:
        """The number of places, which is the place of what fits nowhere."""
        return prod(size for _, size in self.placed)

    @property
    def place_type(self) -> ElementType:
        """The type of a place."""
        return U32 if self.beyond < 1 << 32 else U64

    @property
    def digits(self) -> Digits:
        """How (place, number) are sorted."""
        rows, length, bits = self.count(self.rows), self.count(self.turns), self.beyond.bit_length()
        return Digits(rows, length, (self.place_type, U32), bits, lambda w: _Rows(self, w), True)

    @property
    def are_many(self) -> bool:
        """Whether it takes less time to sort the updates than to combine them in turn.

        In turn, each update waits for the one before it. Of sorted ones a place's groups do: an
        equal share of all, as the indices are not known.
        """
        turns = self.count(self.turns)
        if not 1 < turns < 1 << 31 or not self.beyond or not self.count(self.rows):
            return False
        launches = _LAUNCHES * self.digits.passes + 1
        return turns * _TURN > launches * _LAUNCH + turns // self.beyond * _GROUPED


def places_of(kernel: Kernel) -> Places:
    """Where the updates of a scatter go."""
    root = kernel.root
    operand, update = root.operands[0].array_shape, root.operands[-1].array_shape
    windows = scatter_windows(root)
    sizes = window_sizes(windows, operand, update)
    inside, apart = windows.window_dims, dimensions_apart(kernel)
    order = [*(d for d in range(update.rank) if d not in inside), *inside]
    lanes = [d for d in update.layout.minor_to_major[::-1] if d in apart and d in inside]
    placed = [(d, operand.dims[d]) for d in windows.index_map if sizes[d] != operand.dims[d]]
    return Places(
        tuple(d for d in apart if d not in inside),
        tuple(d for d in order if d not in apart),
        tuple(lanes),
        update.dims,
        tuple(placed),
    )


def scatter_parts(kernel: Kernel) -> list[Part]:
    """The operands, then the updates."""
    places = places_of(kernel)
    if not places.are_many:
        return [*operand_parts(kernel), turns_part(kernel)]
    combine = Part(lambda work: _Combine(places, work).emit(), prod(places.dims))
    return [*operand_parts(kernel), *digit_parts(places.digits), combine]


def scatter_memory(kernel: Kernel) -> Shape | None:
    """The scratch memory of a scatter whose updates are sorted."""
    places = places_of(kernel)
    return digit_memory(places.digits) if places.are_many else None


class _Rows:
    """The places and numbers of updates, before they are sorted."""

    def __init__(self, places: Places, work: Work):
        self.places, self.scatter = places, Scatter(work.kernel, work.buffers)
        self.space = _space(places)
        self._inputs = sources(work.kernel, work.buffers)
        within = self.scatter.windows.window_dims
        self._batch = [i for d, i in enumerate(self.space.index) if d not in within]

    def scope(self, row: Any, turn: Any, lanes: Sequence[Any] = ()) -> Elements:
        """The elements of an update."""
        own, sizes = self.places, self.space.sizes
        split = len(own.rows), len(own.rows) + len(own.turns)
        points = [
            *point_of(row, sizes[: split[0]]),
            *point_of(turn, sizes[split[0] : split[1]]),
            *lanes,
        ]
        return Elements(self._inputs, bind(self.space.variables, points))

    def placed(self, scope: Elements) -> tuple[Elements, Any]:
        """The scope with the update's place, and whether its window fits."""
        corner, fits = self.scatter.corner(scope, self._batch)
        return scope.with_variables(**corner), fits

    def operand(self, row: Any, place: Any) -> Scalars:
        """(place, number) of an update."""
        found, fits = self.placed(self.scope(row, place))
        at, total = self.scatter.place(self.space.index), constant_index(0)
        for d, size in self.places.placed:
            total = total * size + at[d]
        kind = self.places.place_type
        where = Scalar(arith.index_castui(mlir_type(kind), found.index_value(total)), kind)
        return [select(Scalar(fits, PRED), where, self.places.beyond), number(place)]

    def key(self, element: Scalars) -> Scalar:
        """The place."""
        return element[0]

    def store(self, row: Any, place: Any, element: Scalars) -> None:
        """Nobody asks for it."""
        raise InternalError("sorted updates stay in scratch memory")


class _Combine:
    """The code of a thread: the updates of a place, for one of the lanes, if it is the first."""

    def __init__(self, places: Places, work: Work):
        self.places, self.rows = places, _Rows(places, work)
        self.scatter = self.rows.scatter
        self.length, digits = places.count(places.turns), places.digits
        self.keys, self.numbers = scratch_arrays(work.scratch, digits.arrays)[:2]
        self.half = digits.kept_half * digits.rows * self.length
        combined = set(postorder([work.root["to_apply"].root]))
        old = work.root["to_apply"].parameters[: self.scatter.count]
        self.replaces = not any(p in combined for p in old)

    def emit(self) -> None:
        """Emit it."""
        lanes = [self.places.dims[d] for d in self.places.lanes]
        sizes = [self.places.digits.rows, self.length, *lanes]
        Grid().each(sizes, lambda point: self._thread(point[0], point[1], point[2:]))

    def _thread(self, row: Any, place: Any, lanes: Sequence[Any]) -> None:
        key = self._load(self.keys, row, place)
        # Of updates that replace what was there the last one of a place is the one.
        end, step = (self.length - 1, 1) if self.replaces else (0, -1)
        is_end = arith.cmpi(_EQUAL, place, index_value(end))
        beside = arith.select(is_end, place, arith.addi(place, index_value(step)))
        is_other = self._load(self.keys, row, beside).ne(key)
        chosen = (Scalar(is_end, PRED) | is_other) & (key < self.places.beyond)
        when(chosen.value, lambda: self._combine(row, place, lanes, key))

    def _combine(self, row: Any, place: Any, lanes: Sequence[Any], key: Scalar) -> None:
        at = self.scatter.place(self.rows.space.index)
        turn = index(self._load(self.numbers, row, place))
        scope, _ = self.rows.placed(self.rows.scope(row, turn, lanes))
        made = self.scatter.combine(
            [scope.load(r, at) for r in self.scatter.results], self._updates(scope)
        )
        if not self.replaces:
            made = self._following(row, place, lanes, key, made)
        for value, result in zip(made, self.scatter.results):
            scope.store(value, result, at)

    def _following(
        self, row: Any, place: Any, lanes: Sequence[Any], key: Scalar, made: Scalars
    ) -> Scalars:
        """What the updates after the first one of a place make of it, as many as there are of a
        group together, so that they are read at once, then those that are left."""

        def along(count: int, state: Scalars) -> Scalars:
            def goes_on(state: Scalars) -> Scalar:
                last = state[0] + (count - 1)
                # Keys are sorted: if the last one is the place's, so are those before it.
                inside = last < self.length
                at = arith.minui(index(last), index_value(self.length - 1))
                return inside & self._load(self.keys, row, at).eq(key)

            def combine(state: Scalars) -> Scalars:
                next_one, *total = state
                turns = [
                    index(self._load(self.numbers, row, index(next_one + n))) for n in range(count)
                ]
                found = [self._updates(self.rows.scope(row, turn, lanes)) for turn in turns]
                for updates in found:
                    total = self.scatter.combine(total, updates)
                return [next_one + count, *total]

            return while_scalars(state, goes_on, combine)

        state = along(_GROUP, [number(place) + 1, *made])
        return along(1, state)[1:]

    def _updates(self, scope: Elements) -> Scalars:
        return [scope.element(u, self.rows.space.index) for u in self.scatter.updates]

    def _load(self, array: Buffer, row: Any, place: Any) -> Scalar:
        start = arith.addi(index_value(self.half), arith.muli(row, index_value(self.length)))
        return load_at(array, arith.addi(start, place))


def _space(places: Places) -> Space:
    groups = [[d] for d in (*places.rows, *places.turns, *places.lanes)]
    return make_space(places.dims, groups, "u")
