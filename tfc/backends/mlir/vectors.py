"""What hand-scheduled kernels are written in: positions in flat memory, loops, and vectors.

A position is a Python integer where it is known while emitting and a value of type `index` where it
is not; the arithmetic below folds what is known, so a loop that runs once leaves no trace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tfc.backends.mlir.arithmetic.scalar import emit
from tfc.backends.mlir.arithmetic.value import mlir_type
from tfc.backends.mlir.provider import arith, ir, memref, scf, vector
from tfc.hlo.shape import ElementType

Position: TypeAlias = Any
"""An `int`, or an `ir.Value` of type index."""


def index_value(position: Position) -> Any:
    """A position as a value of type `index`."""
    if isinstance(position, int):
        index = ir.IndexType.get()
        return emit("arith.constant", index, [], value=ir.IntegerAttr.get(index, position))
    return position


def index_operation(name: str, x: Any, y: Any) -> Any:
    """An operation of `arith` on two values of type `index`.

    There are so many of them that it shows whether they are made through their own classes.
    """
    return emit(f"arith.{name}", ir.IndexType.get(), [x, y])


def add(*terms: Position) -> Position:
    """The sum of positions."""
    known = sum(t for t in terms if isinstance(t, int))
    total: Position = known
    for term in terms:
        if not isinstance(term, int):
            total = term if isinstance(total, int) else index_operation("addi", total, term)
    if isinstance(total, int) or not known:
        return total
    return index_operation("addi", total, index_value(known))


def multiply(position: Position, factor: Position) -> Position:
    """The product of two positions."""
    if isinstance(position, int) and isinstance(factor, int):
        return position * factor
    for known, other in ((position, factor), (factor, position)):
        if isinstance(known, int) and known in (0, 1):
            return other if known else 0
    return index_operation("muli", index_value(position), index_value(factor))


def subtract(position: Position, other: Position) -> Position:
    """The difference of two positions."""
    if isinstance(position, int) and isinstance(other, int):
        return position - other
    return index_operation("subi", index_value(position), index_value(other))


def minimum(position: Position, other: Position) -> Position:
    """The smaller of two positions."""
    if isinstance(position, int) and isinstance(other, int):
        return min(position, other)
    return index_operation("minsi", index_value(position), index_value(other))


def maximum(position: Position, other: Position) -> Position:
    """The larger of two positions."""
    if isinstance(position, int) and isinstance(other, int):
        return max(position, other)
    return index_operation("maxsi", index_value(position), index_value(other))


def divide(position: Position, divisor: int) -> Position:
    """The quotient of a position ≥ 0."""
    if divisor == 1:
        return position
    if isinstance(position, int):
        return position // divisor
    return index_operation("divui", position, index_value(divisor))


def divide_up(position: Position, divisor: int) -> Position:
    """The quotient of a position ≥ 0, rounded up."""
    return divide(add(position, divisor - 1), divisor)


def round_down(position: Position, step: int) -> Position:
    """The largest multiple of `step` that is not above a position ≥ 0."""
    if isinstance(position, int):
        return position - position % step
    return subtract(position, index_operation("remui", position, index_value(step)))


def for_range(
    lower: Position,
    upper: Position,
    step: int,
    body: Callable[[Position, Sequence[Any]], Sequence[Any] | None],
    carried: Sequence[Any] = (),
) -> Sequence[Any]:
    """`for i in range(lower, upper, step)`, carrying values; known short loops are unrolled away.

    Args:
        body: (i, carried) -> the values for the next iteration; None if there are none.

    Returns:
        The values after the last iteration.
    """
    if isinstance(lower, int) and isinstance(upper, int) and upper - lower <= step:
        return body(lower, carried) or () if lower < upper else carried
    loop = scf.ForOp(index_value(lower), index_value(upper), index_value(step), list(carried))
    with ir.InsertionPoint(loop.body):
        scf.yield_(list(body(loop.induction_variable, list(loop.inner_iter_args)) or ()))
    return list(loop.results)


def load(memory: Any, position: Position) -> Any:
    """The element at a position."""
    return memref.load(memory, [index_value(position)])


def store(value: Any, memory: Any, position: Position) -> None:
    """Put an element at a position."""
    memref.store(value, memory, [index_value(position)])


def prefetch(memory: Any, position: Position, *, second: bool = False) -> None:
    """Bring what will be read into the first cache, or into the second one only."""
    hint = 2 if second else 3
    at = [index_value(position)]
    memref.prefetch(memory, at, is_write=False, locality_hint=hint, is_data_cache=True)


@dataclass(frozen=True)
class Vectors:
    """Operations on vectors of `lanes` elements; memory is aligned to elements only."""

    element_type: ElementType
    lanes: int

    @property
    def type(self) -> Any:
        """The `ir.Type` of a vector."""
        return ir.VectorType.get([self.lanes], mlir_type(self.element_type))

    def zero(self) -> Any:
        """A vector of zeros."""
        zero = 0.0 if self.element_type.is_float else 0
        return self.broadcast(arith.constant(mlir_type(self.element_type), zero))

    def broadcast(self, element: Any) -> Any:
        """A vector of equal elements."""
        return vector.broadcast(self.type, element)

    def load(self, memory: Any, position: Position, count: int | None = None) -> Any:
        """The elements from a position on; the first `count` only if given, the rest zero."""
        if count is None or count >= self.lanes:
            return vector.load(self.type, memory, [index_value(position)])
        mask = first_lanes(self.lanes, count)
        return vector.maskedload(self.type, memory, [index_value(position)], mask, self.zero())

    def store(self, value: Any, memory: Any, position: Position, count: int | None = None) -> None:
        """Put a vector at a position; its first `count` elements only if given."""
        if count is None or count >= self.lanes:
            vector.store(value, memory, [index_value(position)])
        else:
            mask = first_lanes(self.lanes, count)
            vector.maskedstore(memory, [index_value(position)], mask, value)

    def add(self, x: Any, y: Any) -> Any:
        """x + y"""
        return (arith.addi if self.element_type.is_integer else arith.addf)(x, y)

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """x·y + z, of floats fused where the target fuses at no cost."""
        if self.element_type.is_integer:
            return arith.addi(arith.muli(x, y), z)
        return vector.fma(x, y, z)

    def sum(self, value: Any) -> Any:
        """The sum of the elements, in any order."""
        fastmath = ir.Attribute.parse("#arith.fastmath<reassoc>")
        return vector.reduction(
            mlir_type(self.element_type), ir.Attribute.parse("#vector.kind<add>"), value,
            fastmath=fastmath,
        )  # fmt: skip

    def transpose(self, rows: Sequence[Any]) -> list[Any]:
        """The columns of a square block given by its rows.

        Blocks of 1, 2, 4 … lanes change places across the diagonal; every exchange is a shuffle of
        two vectors, of the kinds that CPUs have an instruction for.
        """
        block, width = list(rows), 1
        while width < self.lanes:
            low = [i if not i & width else self.lanes + i - width for i in range(self.lanes)]
            high = [i + width if not i & width else self.lanes + i for i in range(self.lanes)]
            for i in (i for i in range(self.lanes) if not i & width):
                pair = block[i], block[i + width]
                block[i] = vector.shuffle(*pair, mask=low)
                block[i + width] = vector.shuffle(*pair, mask=high)
            width *= 2
        return block


def first_lanes(lanes: int, count: int) -> Any:
    """A vector of truth values, of which the first `count` are true.

    A plain constant, since a mask of the vector dialect is not lowered by `convert-to-llvm`.
    """
    kind = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
    bits = [ir.BoolAttr.get(lane < count) for lane in range(lanes)]
    return arith.constant(kind, ir.DenseElementsAttr.get(bits, kind))
