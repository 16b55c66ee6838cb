"""topk: the first k elements of each row, of which most are read once and no more.

    a block goes along its row, a tile at a time
      elements that come before the k-th one known so far are put behind the candidates
      when these have no room for another tile, they are sorted, and the first k of them stay
    at the end what is left of them is sorted

Where there are few rows, each is taken in pieces by several blocks, and the candidates that these
leave are a row of the same kind for a second function. An element is its key, an unsigned integer
in the order that is asked for, and its position, so no two are equal, and which candidates there
are does not depend on how they came together: of equal elements the first one is taken.

Of more elements than a block holds, keys and positions are sorted digit by digit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from tfc.backends.gpu.assembly import index, number
from tfc.backends.gpu.grid import THREADS, block_number, point_of, thread_in_block
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.gpu.sorting.digits import Digits, digit_memory, digit_parts
from tfc.backends.gpu.sorting.shared_tiles import SharedTile
from tfc.backends.gpu.sorting.sort_rows import Scalars, padded_length
from tfc.backends.gpu.warps import WARP, lanes_where, ones
from tfc.backends.mlir.arithmetic.value import Scalar, bitcast, constant, emit, resize, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.integer_keys import integer_key
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import for_loop, found_when, when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scratch import load_at, scratch_arrays, scratch_shape, store_at
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import variable
from tfc.hlo.shape import PRED, S32, U32, U64, ElementType, Shape
from tfc.passes.analysis.sort_keys import selection_order, sort_keys

# The most elements that are kept -> candidates that there is room for. A tile has what is left of
# these, a whole number of times the threads of a block.
_CAPACITIES = ((256, 1024), (1024, 2048))
_FULL = 256  # blocks that keep a GPU busy
_ROOMS = 4  # as many times the room for candidates has a piece, at least

_WARPS = THREADS // WARP
_LESS, _EQUAL = arith.CmpIPredicate.ult, arith.CmpIPredicate.eq


@dataclass(frozen=True)
class Selection:
    """How the first elements of rows are selected.

    rows, length: the rows.
    k: how many elements of each are kept.
    key_type: of what they are ordered by.
    capacity: candidates that there is room for, a power of two.
    pieces: of a row.
    """

    rows: int
    length: int
    k: int
    key_type: ElementType
    capacity: int
    pieces: int

    @property
    def items(self) -> int:
        """Elements of a tile for each thread."""
        return max((self.capacity - self.k) // THREADS, 1)

    @property
    def piece(self) -> int:
        """Elements of a piece: whole tiles."""
        tile = self.items * THREADS
        return -(-self.length // (self.pieces * tile)) * tile

    @property
    def types(self) -> tuple[ElementType, ...]:
        """What a candidate is: key and position, in one number where there is room for both."""
        return (U64,) if self.key_type == U32 else (U64, U32)

    @property
    def shared(self) -> list[Shape]:
        """The candidates, and how many each warp found in a tile, for two tiles in turn."""
        held = [Shape(t, (self.capacity,)) for t in self.types]
        return [*held, Shape(U32, (2 * _WARPS,))]

    @property
    def left(self) -> list[Shape]:
        """The candidates that pieces leave, in scratch memory; none if a row is one."""
        return [
            Shape(t, (self.rows * self.pieces * self.k,)) for t in self.types * (self.pieces > 1)
        ]


def selection_of(kernel: Kernel) -> Selection | None:
    """How a topk selects; None if it keeps more than a block holds."""
    operand, k = kernel.root.operands[0].array_shape, kernel.root["k"]
    length = operand.dims[-1]
    rows = operand.size // max(length, 1)
    capacity = next((size for most, size in _CAPACITIES if k <= most), None)
    if capacity is None:
        return None
    capacity = min(capacity, max(padded_length(length), 2))
    wanted = -(-_FULL // rows) if rows else 1
    pieces = min(wanted, isqrt(length // k), length // (_ROOMS * capacity))
    key_type = U64 if _key_bits(kernel) > 32 else U32
    plan = Selection(rows, length, k, key_type, capacity, max(pieces, 1))
    return replace(plan, pieces=-(-length // plan.piece))  # the last one is not empty


def selection_parts(kernel: Kernel) -> list[Part]:
    """The functions of a topk."""
    selection = selection_of(kernel)
    if selection is None:
        return digit_parts(_digits(kernel))
    plan, shared = selection, shared_bytes(selection.shared)

    def whole(work: Work) -> None:
        _Block(plan, work, block_number(), index_value(0)).select_operands(to_results=True)

    def piece(work: Work) -> None:
        pieces = index_value(plan.pieces)
        row, own = arith.divui(block_number(), pieces), arith.remui(block_number(), pieces)
        _Block(plan, work, row, own).select_operands(to_results=False)

    def again(work: Work) -> None:
        _Block(plan, work, block_number(), index_value(0)).select_left()

    if plan.pieces == 1:
        return [Part(whole, plan.rows, True, shared=shared)]
    return [
        Part(piece, plan.rows * plan.pieces, True, shared=shared),
        Part(again, plan.rows, True, shared=shared),
    ]


def selection_memory(kernel: Kernel) -> Shape | None:
    """The scratch memory of a topk."""
    selection = selection_of(kernel)
    if selection is None:
        return digit_memory(_digits(kernel))
    return scratch_shape(selection.left) if selection.left else None


# --- Rows -----------------------------------------------------------------------------------------


class _Rows:
    """The elements of rows, and the places of results, for a row's number and a place in it."""

    def __init__(self, work: Work):
        root = work.root
        self.operand_array, self.k = root.operands[0], root["k"]
        self.results = work.buffers[-2:]
        self._inputs = sources(work.kernel, work.buffers)
        dims, layout = self.operand_array.array_shape.dims, self.results[0].shape.layout
        order = [d for d in layout.minor_to_major[::-1] if d != len(dims) - 1]
        self._space = make_space(dims, [[d] for d in order], "r")
        self._place, self._number = variable("place", dims[-1]), variable("number", self.k)
        self._comparator = selection_order(root)
        self._keys = sort_keys(self._comparator)

    def operand(self, row: Any, place: Any) -> Scalars:
        """The key of an element, and its position, a U32."""
        value = self._value(self._scope(row, place, index_value(0)))
        return [integer_key(self._keys, self._comparator, [value, constant(S32, 0)]), number(place)]

    def key(self, element: Scalars) -> Scalar:
        """The key of (key, position)."""
        return element[0]

    def store(self, row: Any, place: Any, element: Scalars) -> None:
        """Store the element that has a place in the order, if it is one of the first."""

        def keep() -> None:
            scope = self._scope(row, index(element[1]), place)
            at = (*self._space.index[:-1], self._number)
            for value, result in zip((self._value(scope), bitcast(element[1], S32)), self.results):
                scope.store(value, result, at)

        when(arith.cmpi(_LESS, place, index_value(self.k)), keep)

    def _scope(self, row: Any, place: Any, number: Any) -> Elements:
        points = [*point_of(row, self._space.sizes), place, number]
        return Elements(
            self._inputs, bind([*self._space.variables, self._place, self._number], points)
        )

    def _value(self, scope: Elements) -> Scalar:
        return scope.element(self.operand_array, (*self._space.index[:-1], self._place))


def _key_bits(kernel: Kernel) -> int:
    return sum(k.bits for k in sort_keys(selection_order(kernel.root)))


def _digits(kernel: Kernel) -> Digits:
    """How keys and positions are sorted where too many are kept."""
    operand, bits = kernel.root.operands[0].array_shape, _key_bits(kernel)
    length = operand.dims[-1]
    return Digits(operand.size // length, length, (U64 if bits > 32 else U32, U32), bits, _Rows)


# --- Blocks ---------------------------------------------------------------------------------------

Source = Callable[[Any], Scalars]  # place -> candidate


class _Block:
    """The code of a block of threads, for a piece of a row."""

    def __init__(self, plan: Selection, work: Work, row: Any, piece: Any):
        self.plan, self.row, self.piece, self.rows = plan, row, piece, _Rows(work)
        *held, self.counts = shared_arrays(plan.shared)
        self.tile = SharedTile(held, THREADS, lambda x, y: self._is_before(y, x))
        self.left = scratch_arrays(work.scratch, plan.left) if plan.left else []
        self._thread = thread_in_block()
        self._warp = arith.divui(self._thread, index_value(WARP))
        lane = number(arith.remui(self._thread, index_value(WARP)))
        self._lanes_before = (constant(U32, 1) << lane) - 1
        self._is_first = arith.cmpi(_EQUAL, lane.value, constant(U32, 0).value)

    def select_operands(self, to_results: bool) -> None:
        """Select from the operand; into the results, or to be selected from again."""
        plan = self.plan
        start = arith.muli(self.piece, index_value(plan.piece))
        self._select(self._operand, start, plan.length, plan.piece)
        self.tile.each(plan.k, self._store_result if to_results else self._leave)

    def select_left(self) -> None:
        """Select from what the pieces left, into the results."""
        count = self.plan.pieces * self.plan.k
        self._select(self._of_left, index_value(0), count, count)
        self.tile.each(self.plan.k, self._store_result)

    # --- Candidates: a key in the upper and a position in the lower half, or two numbers ----------

    def _joined(self, key: Scalar, position: Scalar) -> Scalars:
        if len(self.plan.types) == 2:
            return [key, position]
        return [(resize(key, U64) << 32) | resize(position, U64)]

    def _last(self) -> Scalars:
        """What comes after all candidates."""
        return [constant(t, (1 << t.bits) - 1) for t in self.plan.types]

    def _is_before(self, x: Scalars, y: Scalars) -> Scalar:
        if len(x) == 1:
            return x[0] < y[0]
        return (x[0] < y[0]) | (x[0].eq(y[0]) & (x[1] < y[1]))

    def _operand(self, place: Any) -> Scalars:
        key, position = self.rows.operand(self.row, place)
        return self._joined(key, position)

    def _of_left(self, place: Any) -> Scalars:
        at = arith.addi(self._left_of(self.row, index_value(0)), place)
        return [load_at(a, at) for a in self.left]

    def _left_of(self, row: Any, piece: Any) -> Any:
        """Where what a piece leaves begins."""
        group = arith.addi(arith.muli(row, index_value(self.plan.pieces)), piece)
        return arith.muli(group, index_value(self.plan.k))

    def _leave(self, place: Any) -> None:
        at = arith.addi(self._left_of(self.row, self.piece), place)
        for value, array in zip(self.tile.get(place), self.left):
            store_at(value, array, at)

    def _store_result(self, place: Any) -> None:
        position = resize(self.tile.get(place)[-1], U32)
        self.rows.store(self.row, place, [position, position])

    # --- Along the row ----------------------------------------------------------------------------

    def _select(self, source: Source, start: Any, end: int, length: int) -> None:
        """The first k of the elements from `start` on, at most `length`, before `end`: sorted."""
        size = self.plan.items * THREADS

        def tile(count: Any, state: Scalars) -> Scalars:
            first = arith.addi(start, arith.muli(count, index_value(size)))
            return self._tile(count, first, source, end, state)

        used, *_ = for_loop(0, -(-length // size), 1, tile, [constant(U32, 0), *self._last()])
        self._sort(used)

    def _tile(self, count: Any, first: Any, source: Source, end: int, state: Scalars) -> Scalars:
        """(number of candidates, bound) after another tile."""
        used, *bound = state
        found = []
        for item in range(self.plan.items):
            place = arith.addi(first, arith.addi(index_value(item * THREADS), self._thread))
            inside = Scalar(arith.cmpi(_LESS, place, index_value(end)), PRED)
            found.append((source(arith.minui(place, index_value(end - 1))), inside))

        def taken(bound: Scalars) -> list[Scalar]:
            """Which of the elements are candidates, where they go, and how many all are."""
            chosen = [inside & self._is_before(x, bound) for x, inside in found]
            return [*chosen, *self._numbers(count, chosen)]

        def make_room() -> Scalars:
            self._sort(used)
            bound = self.tile.get(index_value(self.plan.k - 1))
            return [constant(U32, self.plan.k), *bound, *taken(bound)]

        at_first = [used, *bound, *taken(bound)]
        is_full = used + at_first[-1] > self.plan.capacity
        made = found_when(is_full.value, make_room, at_first)
        used, bound, made = made[0], made[1 : 1 + len(bound)], made[1 + len(bound) :]
        *places, total = made[len(found) :]
        for (candidate, _), chosen, place in zip(found, made, places):
            at = index(used + place)
            when(chosen.value, lambda a=at, c=candidate: self.tile.put(a, c))
        return [used + total, *bound]

    def _numbers(self, count: Any, taken: Sequence[Scalar]) -> list[Scalar]:
        """How many of a tile's new candidates are before each of the thread's, and in all."""
        own, ranks = constant(U32, 0), []
        for one in taken:
            lanes = lanes_where(one.value)
            ranks.append(own + ones(lanes & self._lanes_before))
            own = own + ones(lanes)
        # Tiles take turns, so that none overwrites what some warp has yet to read.
        turn = arith.muli(arith.remui(count, index_value(2)), index_value(_WARPS))
        when(self._is_first, lambda: store_at(own, self.counts, arith.addi(turn, self._warp)))
        barrier()
        before = total = constant(U32, 0)
        for warp in range(_WARPS):
            found = load_at(self.counts, arith.addi(turn, index_value(warp)))
            earlier = Scalar(arith.cmpi(_LESS, index_value(warp), self._warp), PRED)
            before = before + select(earlier, found, 0)
            total = total + found
        return [*(before + rank for rank in ranks), total]

    # --- Sorting ----------------------------------------------------------------------------------

    def _sort(self, used: Scalar) -> None:
        """Sort the candidates, of which there are as many as said, and the next ones up to a power
        of two, of which there are at least k."""
        last = arith.maxui(index(used), index_value(max(self.plan.k, 2)))
        leading = emit(
            "math.ctlz", used.value.type, [number(arith.subi(last, index_value(1))).value]
        )
        size = index(constant(U32, 1) << (32 - Scalar(leading, U32)))

        def fill(place: Any) -> None:
            beyond = arith.cmpi(arith.CmpIPredicate.uge, place, index(used))
            when(beyond, lambda: self.tile.put(place, self._last()))

        self.tile.each(size, fill)
        barrier()

        self.tile.sort(size)
