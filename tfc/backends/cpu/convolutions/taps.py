"""Which places of a convolution's window are inside the array, neither on padding nor in a gap."""

from dataclasses import dataclass
from math import gcd

from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import (
    Position,
    add,
    divide,
    divide_up,
    index_value,
    maximum,
    multiply,
    round_down,
    subtract,
)
from tfc.backends.mlir.windows import bounds_inside
from tfc.hlo.attributes.window import WindowDimension


@dataclass(frozen=True)
class Taps:
    """The places of the window along a dimension that are inside, as an arithmetic sequence.

    Number t of `count` is place first + t·step of the window, at `at` + t·move in the array.
    """

    count: Position
    first: Position
    step: int
    at: Position
    move: int


def taps_of(d: WindowDimension, size: int, count: int, place: Position) -> Taps:
    """The taps for a place of a result's dimension of `count`, over an array's of `size`."""
    start = add(multiply(place, d.stride), -d.low)
    last = (count - 1) * d.stride - d.low  # the largest start
    dilated, dilation = d.dilated(size), d.window_dilation
    lower, upper = bounds_inside(start, dilation, dilated, (0, d.size), d.reach(count))
    if d.base_dilation == 1:
        found = upper if lower == 0 else maximum(subtract(upper, lower), 0)
        return Taps(found, lower, 1, add(start, multiply(lower, dilation)), dilation)
    shared = gcd(d.window_dilation, d.base_dilation)
    step, move = d.base_dilation // shared, d.window_dilation // shared
    # The first place from `lower` on where start + place·window_dilation is no gap.
    whole = -(-max(last, 0) // d.base_dilation) * d.base_dilation
    missing = _remainder(subtract(whole, start), d.base_dilation)
    residue = _remainder(multiply(divide(missing, shared), pow(move, -1, step)), step)
    rounds = divide_up(maximum(subtract(lower, residue), 0), step)
    first = add(residue, multiply(rounds, step))
    found = divide_up(maximum(subtract(upper, first), 0), step)
    if shared > 1:
        fits = arith.cmpi(
            arith.CmpIPredicate.eq, index_value(_remainder(missing, shared)), index_value(0)
        )
        found = arith.select(fits, index_value(found), index_value(0))
    at = divide(add(start, multiply(first, d.window_dilation)), d.base_dilation)
    return Taps(found, first, step, at, move)


def _remainder(position: Position, divisor: int) -> Position:
    return subtract(position, round_down(position, divisor))


def interior(d: WindowDimension, size: int, count: int) -> tuple[int, int]:
    """The places of a result's dimension whose whole window is inside, as low … high-1."""
    if d.base_dilation > 1:
        return count, count
    starts = -d.low, (count - 1) * d.stride - d.low
    low, high = bounds_inside(-d.low, d.stride, size - d.extent + 1, (0, count), starts)
    return min(low, count), max(high, min(low, count))
