"""How the order of dimensions in memory goes through an instruction.

    t = f32[3,2] transpose(x), dimensions={1,0}      x in {1,0} --> t in {0,1}: no byte moves
    r = f32[2,3,4] reshape(t)                        t = f32[2,12] in {0,1} --> r in {0,2,1}

An order is a `minor_to_major` in one form for all that put every element at the same place:
row-major if that does, else with the dimensions of size one last. What `forward` and `backward` say
is the order of the other side under which no element changes its place among its neighbours.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.movement import common_factors
from tfc.hlo.shape import Layout, Shape, canonical_order

Order = tuple[int, ...]


@lru_cache(maxsize=64)
def row_major(rank: int) -> Order:
    """The order of a row-major array."""
    return Layout.default(rank).minor_to_major


def settled(dims: Sequence[int], order: Iterable[int]) -> Order:
    """The one form of an order of an array's dimensions."""
    return canonical_order(tuple(dims), tuple(order))


def order_of(shape: Shape) -> Order:
    """The order in which an array lies."""
    return shape.order


def is_alike(x: Instruction, number: int) -> bool:
    """True if an operand has the dimensions of the result, and best lies as it does."""
    shape, operand = x.shape, x.operands[number].shape
    if not isinstance(shape, Shape) or not isinstance(operand, Shape):
        return False
    if len(operand.dims) != len(shape.dims) or not operand.dims:
        return False
    op = op_named(x.opcode)
    return operand.dims == shape.dims if op.elementwise else number < op.aligned


def forward(x: Instruction, number: int, order: Order) -> Order | None:
    """The order of the result when an operand lies in `order`; None if that says nothing."""
    if is_alike(x, number):
        return settled(x.array_shape.dims, order)
    match x.opcode:
        case "transpose":
            place = {d: k for k, d in enumerate(x["dimensions"])}
            return settled(x.array_shape.dims, [place[d] for d in order])
        case "reshape":
            return _reshaped(x.operands[0].array_shape.dims, x.array_shape.dims, order)
        case "reduce" if isinstance(x.shape, Shape) and number == 0:
            kept = [d for d in range(len(order)) if d not in x["dimensions"]]
            return settled(x.shape.dims, [kept.index(d) for d in order if d in kept])
    return None


def backward(x: Instruction, number: int, order: Order) -> Order | None:
    """The order of an operand when the result lies in `order`; None if that says nothing."""
    operand = x.operands[number].shape
    if not isinstance(operand, Shape):
        return None
    dims = operand.dims
    if is_alike(x, number):
        return settled(dims, order)
    match x.opcode:
        case "transpose":
            return settled(dims, [x["dimensions"][d] for d in order])
        case "reshape":
            return _reshaped(x.array_shape.dims, dims, order)
        case "broadcast":
            place = {d: k for k, d in enumerate(x.attributes.get("dimensions", ()))}
            return settled(dims, [place[d] for d in order if d in place])
    return None


def _reshaped(source: Sequence[int], target: Sequence[int], order: Order) -> Order | None:
    """The order of `target` in which its elements follow each other as those of `source` do.

    Dimensions that are split or joined must be neighbours in memory, the first the most major.
    """
    if 0 in source:
        return row_major(len(target))
    mine, theirs = ([d for d, n in enumerate(dims) if n != 1] for dims in (source, target))
    major = [d for d in reversed(order) if source[d] != 1]
    place = {d: n for n, d in enumerate(major)}
    parts = {}
    runs = common_factors([source[d] for d in mine], [target[d] for d in theirs])
    for taken, made in runs:
        places = [place[d] for d in mine[taken]]
        if places != list(range(places[0], places[0] + len(places))):
            return None
        parts[places[0]] = theirs[made]
    wide = [d for first in sorted(parts) for d in parts[first]]
    units = [d for d in reversed(range(len(target))) if target[d] == 1]
    return settled(target, (*reversed(wide), *units))
