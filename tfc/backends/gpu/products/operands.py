"""The tiles of a dot's operands: in which form they are in shared memory, and what brings them."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.gpu.assembly import global_address
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.matrices import PIECE, Kind, TileForm
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.pieces import Computed, Copied, ElementAt, PieceAt
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.spec import ProductSpec, Side
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, minimum, mlir_type, select
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.backends.mlir.windows import guarded
from tfc.hlo.index_maps import Condition, delinearize, variable
from tfc.hlo.shape import PRED, U32, U64, ElementType


def tile_type(spec: ProductSpec, side: Side) -> ElementType:
    """The type of a side's elements in shared memory."""
    return side.stored if spec.element.is_integer and spec.kind else spec.element


def copy_width(spec: ProductSpec, side: Side) -> int:
    """How many bytes of an operand can be copied at once, as they lie; 0 if none can.

    Arrays begin at multiples of 16 bytes.
    """
    if side.strides is None or side.stored != tile_type(spec, side):
        return 0
    size = side.stored.bits // 8
    batch, line, sums = side.strides
    if spec.k == 1 and sums == 0:
        sums = 1
    if side.lines == 1 and line == 0:
        line = 1
    if sums == 1 or spec.k == 1:
        steps = [batch * (spec.batch > 1), line * (side.lines > 1)]
    elif line == 1 and _goes_across(spec.kind):
        steps = [batch * (spec.batch > 1), sums]
    else:
        return 0
    return next((w for w in (16, 8, 4) if all(s * size % w == 0 for s in steps)), 0)


def _goes_across(kind: Kind | None) -> bool:
    """Whether tiles whose lines are places of the sums can be read."""
    return kind is None or kind.bytes > 1


def is_along(spec: ProductSpec, side: Side) -> bool:
    """Whether the lines of a side's tile go along the sums."""
    if not copy_width(spec, side):
        return True
    assert side.strides is not None
    return side.strides[2] <= 1 or spec.k == 1


def tile_form(spec: ProductSpec, side: Side, lines: int, schedule: Schedule) -> TileForm:
    """How a side's tile lies in shared memory."""
    size = tile_type(spec, side).bits // 8
    if is_along(spec, side):
        return TileForm(lines, schedule.pieces, True, spec.kind)
    return TileForm(schedule.depth(size), lines * size // PIECE, False, spec.kind)


def source_of(
    work: Work, spec: ProductSpec, side: Side, schedule: Schedule, batch: Any, end: Any
) -> Copied | Computed:
    """What brings a side's tiles.

    Args:
        batch: the number of the pair of matrices, of type index.
        end: the place at which the block's sums end, of type index.
    """
    lines = schedule.rows if side is spec.lhs else schedule.columns
    edged = side.lines % lines != 0
    width = copy_width(spec, side)
    if not width:
        where = place_of_element(spec, side)
        at = elements_at(work, spec, side, batch, end, edged, where)
        return Computed(at, tile_type(spec, side))
    assert side.parameter is not None
    start = Scalar(global_address(work.buffers[side.parameter].memref), U64)
    at = _pieces(spec, side, schedule, batch, end, edged, start)
    return Copied(at, side.stored.bits // 8, width)


def _pieces(
    spec: ProductSpec, side: Side, schedule: Schedule, batch: Any, end: Any, edged: bool,
    start: Scalar,
) -> PieceAt:  # fmt: skip
    assert side.strides is not None
    size, along = side.stored.bits // 8, is_along(spec, side)
    line_stride = side.strides[1 if along else 2]
    matrix = start + _wide(multiply(batch, side.strides[0] * size))
    whole = spec.k % (schedule.depth(size) * schedule.splits) == 0

    def at(line: Any, place: Any) -> tuple[Any, Scalar]:
        address = matrix + _wide(add(multiply(line, line_stride * size), multiply(place, size)))
        row, sums = (line, place) if along else (place, line)
        # (where the piece is, where the array ends, whether a piece may reach beyond that)
        bounds = [(sums, end, not whole and along)]
        if edged:
            bounds.append((row, index_value(side.lines), not along))
        count = constant(U32, PIECE)
        for x, limit, is_cut in bounds:
            below = Scalar(arith.cmpi(arith.CmpIPredicate.ult, x, limit), PRED)
            if is_cut:
                left = arith.muli(arith.subi(limit, x), index_value(size))
                count = minimum(count, narrow(arith.minui(left, index_value(PIECE))))
            count = select(below, count, 0)
        return address.value, count

    return at


def _wide(position: Any) -> Scalar:
    return Scalar(arith.index_castui(mlir_type(U64), index_value(position)), U64)


def place_of_element(spec: ProductSpec, side: Side) -> Indices:
    """The index of a side's value, of the variables b, i (a line) and p (a place of the sums)."""
    dims = side.value.array_shape.dims
    names = (("b", spec.batch), ("i", side.lines), ("p", spec.k))
    placed: dict[int, Any] = {}
    for (name, size), group in zip(names, side.dimensions):
        placed |= dict(zip(group, delinearize(variable(name, size), [dims[d] for d in group])))
    return tuple(placed[d] for d in range(len(dims)))


def elements_at(
    work: Work, spec: ProductSpec, side: Side, batch: Any, end: Any, edged: bool,
    where: Indices, inside: Sequence[Condition] = (),
) -> ElementAt:  # fmt: skip
    """Elements by line and place of the sums; those that are not there are zero.

    Args:
        edged: whether there are lines beyond the side's.
        where: the index of the side's value, of the variables b, i (a line) and p (a place).
        inside: when there is such an element.
    """
    element_type = tile_type(spec, side)

    def at(line: Any, place: Any) -> Scalar:
        last = index_value(spec.k - 1)
        values = {"b": batch, "i": line, "p": arith.minui(place, last)}
        tests = [arith.cmpi(arith.CmpIPredicate.ult, place, end)]
        if edged:
            values["i"] = arith.minui(line, index_value(side.lines - 1))
            tests.append(arith.cmpi(arith.CmpIPredicate.ult, line, index_value(side.lines)))
        scope = Elements(sources(work.kernel, work.buffers), values)
        (value,) = guarded(
            scope,
            inside,
            lambda inner: [convert(inner.element(side.value, where), element_type)],
            [constant(element_type, 0)],
        )
        there = tests[0] if len(tests) == 1 else arith.andi(*tests)
        return select(Scalar(there, PRED), value, 0)

    return at
