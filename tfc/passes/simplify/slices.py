"""Slices, paddings and concatenations that meet: functions from an instruction to its replacement,
or None. Each states itself as before --> after; all are exact.
"""

from itertools import pairwise

from tfc.hlo.ir import Instruction
from tfc.passes.rewriting.patterns import Function, constant_value, same_bits
from tfc.passes.rewriting.replacing import MOST_PARTS, made, repeated, splat

Bounds = tuple[int, int, int]


def concatenate_of_parts(x: Instruction) -> Instruction | None:
    """concatenate(a, f32[0] e, concatenate(b, c)) --> concatenate(a, b, c)"""
    (dimension,) = x["dimensions"]
    parts: list[Instruction] = []
    for operand in x.operands:
        nested = operand.opcode == "concatenate" and operand["dimensions"] == x["dimensions"]
        candidates = operand.operands if nested else (operand,)
        parts.extend(p for p in candidates if p.array_shape.dims[dimension])
    if not parts or tuple(parts) == x.operands:
        return None
    if len(parts) > max(MOST_PARTS, len(x.operands)):
        return None
    return made(x, "concatenate", parts, dimensions=x["dimensions"])


def slice_of_pad(x: Instruction) -> Instruction | None:
    """slice(f32[9] pad(f32[5] a, v, 2_2), [0:4]) --> pad(slice(a, [0:2]), v, 2_0)"""
    inner = x.operands[0]
    if inner.opcode != "pad" or not x.array_shape.size:
        return None
    operand, value = inner.operands
    bounds: list[Bounds] = []
    padding: list[Bounds] = []
    for n, (low, high, interior), cut in zip(
        operand.array_shape.dims, inner["padding"], x["slice"]
    ):
        if interior:
            return None
        found = _cut(n, low, high, *cut)
        if found is None:
            return None
        bounds.append(found[0])
        padding.append(found[1])
    part = made(x, "slice", [operand], slice=tuple(bounds))
    return made(x, "pad", [part, value], padding=tuple(padding))


def _cut(
    n: int, low: int, high: int, start: int, limit: int, stride: int
) -> tuple[Bounds, Bounds] | None:
    """(bounds of the array, padding) of a slice of n padded elements; None with strides into both,
    and of padding alone, which is a repeated scalar.
    """
    first, last = max(start - low, 0), min(limit - low, n)
    before, after = max(low - start, 0), max(limit - low - n, 0)
    if first >= last or (stride > 1 and (before or after)):
        return None
    return (first, last, stride), (before, after, 0)


def pad_that_cuts(x: Instruction) -> Instruction | None:
    """f32[4] pad(f32[5] a, v, -2_1) --> pad(slice(a, [2:5]), v, 0_1)"""
    dims, padding = x.operands[0].array_shape.dims, x["padding"]
    if all((low >= 0 and high >= 0) or interior for low, high, interior in padding):
        return None
    bounds, rest = [], []
    for n, (low, high, interior) in zip(dims, padding):
        if interior:
            bounds.append((0, n, 1))
            rest.append((low, high, interior))
            continue
        first, last = max(-low, 0), n - max(-high, 0)
        if first > last:
            return None  # one end cuts into the padding of the other
        bounds.append((first, last, 1))
        rest.append((max(low, 0), max(high, 0), 0))
    part = made(x, "slice", x.operands[:1], slice=tuple(bounds))
    return made(x, "pad", [part, x.operands[1]], padding=tuple(rest))


def pad_of_pad(x: Instruction) -> Instruction | None:
    """pad(pad(a, v, 1_0x0_2), v, 3_0x0_0) --> pad(a, v, 4_0x0_2)"""
    inner = x.operands[0]
    if inner.opcode != "pad" or not _same_scalar(inner.operands[1], x.operands[1]):
        return None
    if any(interior for _, _, interior in x["padding"]):
        return None
    pairs = [(i[end], o[end]) for i, o in zip(inner["padding"], x["padding"]) for end in range(2)]
    if any(first < 0 or second < 0 for first, second in pairs):
        return None
    padding = tuple(
        (i[0] + o[0], i[1] + o[1], i[2]) for i, o in zip(inner["padding"], x["padding"])
    )
    return made(x, "pad", [inner.operands[0], x.operands[1]], padding=padding)


def _same_scalar(a: Instruction, b: Instruction) -> bool:
    values = constant_value(a), constant_value(b)
    return a is b or (
        values[0] is not None and values[1] is not None and same_bits(values[0], values[1])
    )


def pad_of_splat(x: Instruction) -> Instruction | None:
    """pad(broadcast(v), v) --> broadcast(v); so is a padding of no elements"""
    operand, value = x.operands
    scalar = splat(operand) if operand.array_shape.rank else operand
    same = scalar is not None and _same_scalar(scalar, value)
    return repeated(value, x.array_shape) if same or not operand.array_shape.size else None


def concatenate_of_splats(x: Instruction) -> Instruction | None:
    """concatenate(broadcast(s), broadcast(s)) --> broadcast(s)"""
    scalars = [splat(o) for o in x.operands]
    first = scalars[0]
    if first is None or any(s is None or not _same_scalar(first, s) for s in scalars):
        return None
    return repeated(first, x.array_shape)


def concatenate_of_neighbours(x: Instruction) -> Instruction | None:
    """concatenate(slice(a, [0:2]), slice(a, [2:5]), b) --> concatenate(slice(a, [0:5]), b)"""
    (dimension,) = x["dimensions"]
    for number, (left, right) in enumerate(pairwise(x.operands)):
        whole = _joined(left, right, dimension)
        if whole is not None:
            rest = x.operands[number + 2 :]
            parts = (*x.operands[:number], made(x, "slice", left.operands, slice=whole), *rest)
            return made(x, "concatenate", parts, dimensions=x["dimensions"])
    return None


def _joined(left: Instruction, right: Instruction, dimension: int) -> tuple[Bounds, ...] | None:
    """The bounds of two slices of one array that lie beside one another."""
    if left.opcode != "slice" or right.opcode != "slice" or left.operands != right.operands:
        return None
    bounds = list(left["slice"])
    (start, limit, stride), (begin, end, step) = left["slice"][dimension], right["slice"][dimension]
    bounds[dimension] = right["slice"][dimension]
    follows = limit == begin and stride == step == 1
    if not follows or tuple(bounds) != right["slice"]:
        return None
    bounds[dimension] = (start, end, 1)
    return tuple(bounds)


SLICES: dict[str, tuple[Function, ...]] = {
    "slice": (slice_of_pad,),
    "pad": (pad_of_splat, pad_that_cuts, pad_of_pad),
    "concatenate": (concatenate_of_parts, concatenate_of_splats, concatenate_of_neighbours),
}
