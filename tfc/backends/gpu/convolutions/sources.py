"""Where the tiles of a convolution's matrices come from: pieces of arrays that slide.

A thread's lines stay the same from tile to tile, so what their places need is computed once; what
places of the sums need is computed once a tile. What a line meets on padding is zeros.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from tfc.backends.gpu.assembly import global_address
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.convolutions.phases import Phase
from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.operands import copy_width, elements_at, is_along, tile_type
from tfc.backends.gpu.products.pieces import Computed, Copied, PieceAt
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.spec import Side
from tfc.backends.mlir.arithmetic.value import Scalar, constant, minimum, resize, select
from tfc.hlo.shape import U32, U64


def source_of(
    work: Work, phase: Phase, side: Side, schedule: Schedule, batch: Any, end: Any
) -> Copied | Computed:
    """What brings a side's tiles.

    Args:
        batch: the number of the group, of type index.
        end: the place at which the block's sums end, of type index.
    """
    spec, is_array = phase.spec, side is phase.spec.lhs
    lines = schedule.rows if is_array else schedule.columns
    edged = side.lines % lines != 0
    width = copy_width(spec, side)
    if not width:
        where, inside = phase.array_place() if is_array else (phase.window_place(), [])
        at = elements_at(work, spec, side, batch, end, edged, where, inside)
        return Computed(at, tile_type(spec, side))
    assert side.parameter is not None
    start = Scalar(global_address(work.buffers[side.parameter].memref), U64)
    form = _array_pieces if is_array else _window_pieces
    return Copied(form(phase, start, narrow(batch), narrow(end)), side.stored.bits // 8, width)


def _array_pieces(phase: Phase, start: Scalar, group: Scalar, end: Scalar) -> PieceAt:
    spec, shape = phase.spec, phase.spec.lhs.value.array_shape
    size, along = spec.lhs.stored.bits // 8, is_along(spec, spec.lhs)

    def at(line: Any, place: Any) -> tuple[Any, Scalar]:
        row, sums = (narrow(x) for x in ((line, place) if along else (place, line)))
        batch, *places = phase.line_parts(parts_of_number(row, phase.line_sizes))
        *taps, feature = parts_of_number(sums, phase.sum_sizes)
        there, element = (sums < end) & (row < spec.m), batch * shape.strides[0]
        for slide, q, t, stride in zip(phase.slides, places, taps, shape.strides[1:]):
            # What is before the array is a large number.
            position = q * slide.stride + (t * slide.dilation - slide.low % 2**32)
            if not slide.is_inside:
                there = there & (position < slide.size)
            element = element + position * stride
        element = element + (group * phase.inputs + feature) * shape.strides[-1]
        return _address(start, element, size), select(there, constant(U32, PIECE), 0)

    return at


def _window_pieces(phase: Phase, start: Scalar, group: Scalar, end: Scalar) -> PieceAt:
    spec, shape = phase.spec, phase.spec.rhs.value.array_shape
    size, along = spec.rhs.stored.bits // 8, is_along(spec, spec.rhs)

    def at(line: Any, place: Any) -> tuple[Any, Scalar]:
        column, sums = (narrow(x) for x in ((line, place) if along else (place, line)))
        element = _row(phase, sums) + (group * spec.n + column) * shape.strides[-1]
        outputs = constant(U32, spec.n)
        first, limit, there = (sums, end, column < outputs) if along else (
            column, outputs, sums < end
        )  # fmt: skip
        left = select(first < limit, (limit - first) * size, 0)
        return _address(start, element, size), select(there, minimum(left, PIECE), 0)

    return at


def _row(phase: Phase, sums: Scalar) -> Scalar:
    """Where in the kernel a place of a phase's sums is, of the first feature of the result."""
    shape = phase.spec.rhs.value.array_shape
    if shape.has_default_layout and all(s.tap_step == 1 for s in phase.slides):
        return sums * shape.dims[-1]
    *taps, feature = parts_of_number(sums, phase.sum_sizes)
    row = feature * shape.strides[-2]
    for slide, t, stride in zip(phase.slides, taps, shape.strides):
        row = row + (t * slide.tap_step + slide.first_tap) * stride
    return row


def parts_of_number(number: Scalar, sizes: Sequence[int]) -> list[Scalar]:
    """The point of a space with this row-major number; what is beyond is in the first part."""
    found = []
    for n in range(len(sizes)):
        inner = prod(sizes[n + 1 :])
        part = number / inner if inner > 1 else number
        found.append(part % sizes[n] if n else part)
    return found


def _address(start: Scalar, element: Scalar, size: int) -> Any:
    return (start + resize(element, U64) * size).value
