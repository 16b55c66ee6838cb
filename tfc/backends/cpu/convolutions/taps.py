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
    minimum,
    multiply,
    round_down,
    subtract,
)
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
    if d.base_dilation == 1 and d.low <= 0 and last + d.extent <= size:
        return Taps(d.size, 0, 1, start, d.window_dilation)
    shared = gcd(d.window_dilation, d.base_dilation)
    step, move = d.base_dilation // shared, d.window_dilation // shared
    dilated = (size - 1) * d.base_dilation + 1
    lower = divide_up(maximum(subtract(0, start), 0), d.window_dilation)
    upper = divide_up(maximum(subtract(dilated, start), 0), d.window_dilation)
    upper = minimum(upper, d.size)
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
    low = min(max(-(-d.low // d.stride), 0), count)
    return low, max(min((size + d.low - d.extent) // d.stride + 1, count), low)
