"""A stable radix sort of a row in scratch memory, for comparators that go by keys (sort_keys).

Keys become unsigned integers of the same order. One pass counts how often each value of each digit
occurs; then the elements move, digit by digit from the lowest, from one half of the scratch arrays
to their places in the other. A digit that all elements share moves none. Keys are computed again
where they are needed, from elements alone: their bits are the same each time, so that no place is
outside of the row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    convert,
    mlir_type,
)
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.integer_keys import integer_key
from tfc.backends.mlir.loops import for_each, for_loop
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scalar_computation import emit_scalar
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.vectors import Position, for_range, index_value, multiply
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, PRED, U32, U64, ElementType, Shape
from tfc.passes.analysis.sort_keys import SortKey

# The counters of a digit, and the lines that elements move to, stay in the first cache.
_DIGIT = 8


def is_any_nan(
    keys: Sequence[SortKey], comparator: Computation, rows: Sequence[Buffer], count: Any
) -> Any:
    """An i1: some element has a key with which the keys do not give the comparator's order."""

    def step(position: Any, found: Sequence[Scalar]) -> Sequence[Scalar]:
        elements = [load_at(row, position) for row in rows]
        sides = [e for e in elements for _side in range(2)]
        (any_nan,) = found
        for key in keys:
            if key.numbers_only:
                value = emit_scalar(comparator, sides, key.value)
                wide = convert(value, F32) if value.element_type.bits < 32 else value
                any_nan = any_nan | wide.ne(wide)
        return [any_nan]

    return for_loop(0, count, 1, step, [constant(PRED, False)])[0].value


@dataclass(frozen=True)
class RadixSort:
    """A row as code sorts it by keys.

    capacity: how many elements the row may have.
    """

    keys: tuple[SortKey, ...]
    comparator: Computation
    capacity: int

    @property
    def digits(self) -> int:
        """How many digits the keys have."""
        return -(-sum(k.bits for k in self.keys) // _DIGIT)

    @property
    def counters(self) -> Shape:
        """The memory that counts how often each value of each digit occurs."""
        return Shape(U32 if self.capacity < 1 << 32 else U64, (self.digits << _DIGIT,))

    def emit(self, rows: Sequence[Buffer], counters: Buffer, count: Any) -> Any:
        """Emit the sort; gives where the sorted row begins, 0 or `count`.

        Args:
            rows: twice as much memory as the row needs, for each operand; the row, which is not
                empty, is at its beginning.
            count: how many elements the row has, a value of type `index`.
        """
        none = constant(counters.shape.element_type, 0)
        for_each(0, counters.shape.dims[0], lambda place: store_at(none, counters, place))

        def tally(position: Any) -> None:
            key = self._key(rows, position)
            for number in range(self.digits):
                place = self._counter(key, number)
                store_at(load_at(counters, place) + 1, counters, place)

        for_each(0, count, tally)
        whole = _from_index(count, counters.shape.element_type)

        def digit(number: Position, state: Sequence[Any]) -> Sequence[Any]:
            (source,) = state
            some = self._counter(self._key(rows, source), number)
            differs = load_at(counters, some).ne(whole).value
            moved = scf.IfOp(differs, [ir.IndexType.get()], has_else=True)
            with ir.InsertionPoint(moved.then_block):
                target = arith.subi(count, source)
                self._find_places(counters, number)
                self._move(rows, counters, number, count, source, target)
                scf.yield_([target])
            with ir.InsertionPoint(moved.else_block):
                scf.yield_([source])
            return list(moved.results)

        return for_range(0, self.digits, 1, digit, [index_value(0)])[0]

    def _key(self, rows: Sequence[Buffer], position: Any) -> Scalar:
        return integer_key(self.keys, self.comparator, [load_at(row, position) for row in rows])

    def _counter(self, key: Scalar, number: Position) -> Any:
        """The place of the counter of a key's digit."""
        amount = index_value(multiply(number, _DIGIT))
        value = (key >> _from_index(amount, key.element_type)) & ((1 << _DIGIT) - 1)
        base = index_value(multiply(number, 1 << _DIGIT))
        return arith.addi(base, arith.index_castui(ir.IndexType.get(), value.value))

    def _find_places(self, counters: Buffer, number: Position) -> None:
        """Turn counts into the places of the first elements."""
        first = index_value(multiply(number, 1 << _DIGIT))

        def step(value: Any, before: Sequence[Scalar]) -> Sequence[Scalar]:
            place = arith.addi(first, value)
            some = load_at(counters, place)
            store_at(before[0], counters, place)
            return [before[0] + some]

        for_loop(0, 1 << _DIGIT, 1, step, [constant(counters.shape.element_type, 0)])

    def _move(
        self, rows: Sequence[Buffer], counters: Buffer, number: Position, count: Any,
        source: Any, target: Any,
    ) -> None:  # fmt: skip
        def step(position: Any) -> None:
            elements = [load_at(row, arith.addi(source, position)) for row in rows]
            some = self._counter(integer_key(self.keys, self.comparator, elements), number)
            place = load_at(counters, some)
            store_at(place + 1, counters, some)
            to = arith.addi(target, arith.index_castui(ir.IndexType.get(), place.value))
            for element, row in zip(elements, rows):
                store_at(element, row, to)

        for_each(0, count, step)


def _from_index(value: Any, element_type: ElementType) -> Scalar:
    return Scalar(arith.index_castui(mlir_type(element_type), value), element_type)
