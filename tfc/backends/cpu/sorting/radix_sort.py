"""A stable radix sort of a row in scratch memory, for comparators that go by keys (sort_keys).

Keys become unsigned integers of the same order. One pass counts how often each value of each digit
occurs; then the elements move, digit by digit from the lowest, from one half of the scratch arrays
to their places in the other. A digit that all elements share moves none. Keys are computed again
where they are needed, from elements alone: their bits are the same each time, so that no place is
outside of the row. Of a row whose keys are neither NaN nor -0, which is looked at first, the order
is that of their bits, whose keys cost a third of the canonical ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
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
from tfc.hlo.shape import ELEMENT_TYPES, F32, PRED, U32, U64, ElementType, Shape
from tfc.passes.analysis.sort_keys import SortKey

# The bits of a digit. The counters of a narrow one, and the lines that elements move to, stay in
# the first cache; wide ones move the elements of long rows fewer times.
_NARROW, _WIDE = 8, 11
_LONG = 8192


def in_order_of_bits(keys: Sequence[SortKey]) -> tuple[SortKey, ...]:
    """The keys as they order elements of which no key is NaN or -0: what costs least to compute."""
    return tuple(replace(k, total=True, numbers_only=False) for k in keys)


def is_any_nan(
    keys: Sequence[SortKey], comparator: Computation, rows: Sequence[Buffer], count: Any
) -> Any:
    """An i1: some element has a key with which the keys do not give the comparator's order."""
    some = [k for k in keys if k.numbers_only]
    return _is_any(some, _is_nan, comparator, rows, count)


def is_any_nan_or_minus_zero(
    keys: Sequence[SortKey], comparator: Computation, rows: Sequence[Buffer], count: Any
) -> Any:
    """An i1: some element has a key whose bits do not give the comparator's order."""

    def has_other_place(value: Scalar) -> Scalar:
        unsigned = ELEMENT_TYPES[f"u{value.element_type.bits}"]
        minus_zero = bitcast(value, unsigned).eq(1 << (unsigned.bits - 1))
        return _is_nan(value) | minus_zero

    some = [k for k in keys if not k.total]
    return _is_any(some, has_other_place, comparator, rows, count)


def _is_nan(value: Scalar) -> Scalar:
    wide = convert(value, F32) if value.element_type.bits < 32 else value
    return wide.ne(wide)


def _is_any(
    keys: Sequence[SortKey], holds: Callable[[Scalar], Scalar], comparator: Computation,
    rows: Sequence[Buffer], count: Any,
) -> Any:  # fmt: skip
    """An i1: for one of the keys of some element it holds."""

    def step(position: Any, found: Sequence[Scalar]) -> Sequence[Scalar]:
        elements = [load_at(row, position) for row in rows]
        sides = [e for e in elements for _side in range(2)]
        (any_yet,) = found
        for key in keys:
            any_yet = any_yet | holds(emit_scalar(comparator, sides, key.value))
        return [any_yet]

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
    def digit_bits(self) -> int:
        """The bits of a digit: narrow ones where wide ones would not be fewer."""
        bits = sum(k.bits for k in self.keys)
        fewer = -(-bits // _WIDE) < -(-bits // _NARROW)
        return _WIDE if fewer and self.capacity >= _LONG else _NARROW

    @property
    def digits(self) -> int:
        """How many digits the keys have."""
        return -(-sum(k.bits for k in self.keys) // self.digit_bits)

    @property
    def counters(self) -> Shape:
        """The memory that counts how often each value of each digit occurs."""
        return Shape(U32 if self.capacity < 1 << 32 else U64, (self.digits << self.digit_bits,))

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
        amount = index_value(multiply(number, self.digit_bits))
        value = (key >> _from_index(amount, key.element_type)) & ((1 << self.digit_bits) - 1)
        base = index_value(multiply(number, 1 << self.digit_bits))
        return arith.addi(base, arith.index_castui(ir.IndexType.get(), value.value))

    def _find_places(self, counters: Buffer, number: Position) -> None:
        """Turn counts into the places of the first elements."""
        first = index_value(multiply(number, 1 << self.digit_bits))

        def step(value: Any, before: Sequence[Scalar]) -> Sequence[Scalar]:
            place = arith.addi(first, value)
            some = load_at(counters, place)
            store_at(before[0], counters, place)
            return [before[0] + some]

        for_loop(0, 1 << self.digit_bits, 1, step, [constant(counters.shape.element_type, 0)])

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
