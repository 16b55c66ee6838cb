"""Reshapes, transposes, broadcasts and reversals that meet: functions from an instruction to its
replacement, or None. Each states itself as before --> after; all are exact.
"""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.movement import common_factors
from tfc.passes.rewriting.patterns import Function
from tfc.passes.rewriting.replacing import made, repeated, splat


def reshape_of_reshape(x: Instruction) -> Instruction | None:
    """reshape(reshape(a)) --> reshape(a)"""
    inner = x.operands[0]
    return made(x, "reshape", inner.operands) if inner.opcode == "reshape" else None


def same_shape(x: Instruction) -> Instruction | None:
    """f32[2,3] reshape(f32[2,3] a) --> a; likewise copy, convert, bitcast-convert and full slice"""
    return x.operands[0] if x.operands[0].shape == x.shape else None


def movement_of_splat(x: Instruction) -> Instruction | None:
    """reshape(broadcast(s)) --> broadcast(s) for a scalar s; likewise transpose, slice, reverse"""
    scalar = splat(x.operands[0])
    return None if scalar is None else repeated(scalar, x.array_shape)


def transpose_of_transpose(x: Instruction) -> Instruction | None:
    """transpose(transpose(a, {1,2,0}), {1,2,0}) --> transpose(a, {2,0,1})"""
    inner = x.operands[0]
    if inner.opcode != "transpose":
        return None
    order = tuple(inner["dimensions"][d] for d in x["dimensions"])
    return made(x, "transpose", inner.operands, dimensions=order)


def transpose_in_place(x: Instruction) -> Instruction | None:
    """f32[3,1,4] transpose(f32[1,3,4] a) --> reshape(a): what is larger than one stays in order"""
    operand = x.operands[0]
    moved = [d for d in x["dimensions"] if operand.array_shape.dims[d] != 1]
    if moved != sorted(moved):
        return None
    return operand if operand.shape == x.shape else made(x, "reshape", [operand])


def transpose_of_broadcast(x: Instruction) -> Instruction | None:
    """transpose(f32[2,3] broadcast(f32[3] a, {1}), {1,0}) --> f32[3,2] broadcast(a, {0})"""
    inner = x.operands[0]
    if inner.opcode != "broadcast":
        return None
    place = {d: k for k, d in enumerate(x["dimensions"])}
    dimensions = tuple(place[d] for d in inner.attributes.get("dimensions", ()))
    if list(dimensions) != sorted(dimensions):
        return None
    return made(x, "broadcast", inner.operands, dimensions=dimensions)


def broadcast_of_broadcast(x: Instruction) -> Instruction | None:
    """f32[2,3,4] broadcast(f32[3,4] broadcast(f32[4] a, {1}), {1,2}) --> broadcast(a, {2})"""
    inner = x.operands[0]
    if inner.opcode != "broadcast":
        return None
    outer = x.attributes.get("dimensions", ())
    dimensions = tuple(outer[d] for d in inner.attributes.get("dimensions", ()))
    return made(x, "broadcast", inner.operands, dimensions=dimensions)


def broadcast_that_adds_nothing(x: Instruction) -> Instruction | None:
    """f32[1,3] broadcast(f32[3] a, {1}) --> reshape(a); the same dimensions --> a"""
    operand, dimensions = x.operands[0], x.attributes.get("dimensions", ())
    new = [n for d, n in enumerate(x.array_shape.dims) if d not in dimensions]
    if operand.opcode == "constant" and not dimensions and x.array_shape.rank:
        return None  # a repeated scalar is the form that constants of one value have
    if any(n != 1 for n in new) or list(dimensions) != sorted(dimensions):
        return None
    return operand if operand.shape == x.shape else made(x, "reshape", [operand])


def broadcast_of_unit_dimensions(x: Instruction) -> Instruction | None:
    """f32[1,3,4] broadcast(f32[1,3] reshape(f32[3] a), {0,1}) --> broadcast(a, {1})"""
    inner, dimensions = x.operands[0], x.attributes.get("dimensions", ())
    if inner.opcode != "reshape" or 1 not in inner.array_shape.dims:
        return None
    kept = [(d, n) for d, n in zip(dimensions, inner.array_shape.dims) if n != 1]
    squeezed = builder.reshape(inner.operands[0], [n for _, n in kept])
    return made(x, "broadcast", [squeezed], dimensions=tuple(d for d, _ in kept))


def reverse_of_units(x: Instruction) -> Instruction | None:
    """reverse(f32[1,3] a, {0,1}) --> reverse(a, {1}); nothing left to reverse --> a"""
    dims, dimensions = x.array_shape.dims, x["dimensions"]
    kept = tuple(d for d in dimensions if dims[d] > 1)
    if not kept:
        return x.operands[0]
    return None if kept == dimensions else made(x, "reverse", x.operands, dimensions=kept)


def reverse_of_reverse(x: Instruction) -> Instruction | None:
    """reverse(reverse(a, {0,1}), {1}) --> reverse(a, {0})"""
    inner = x.operands[0]
    if inner.opcode != "reverse":
        return None
    once = tuple(sorted(set(x["dimensions"]) ^ set(inner["dimensions"])))
    return made(x, "reverse", inner.operands, dimensions=once)


def iota_of_unit(x: Instruction) -> Instruction | None:
    """f32[1,3] iota(), iota_dimension=0 --> broadcast(0)"""
    shape = x.array_shape
    return builder.full(0, shape) if shape.dims[x["iota_dimension"]] == 1 else None


def reshape_of_broadcast(x: Instruction) -> Instruction | None:
    """f32[6,5] reshape(f32[2,3,5] broadcast(f32[5] a, {2})) --> broadcast(a, {1})"""
    inner = x.operands[0]
    if inner.opcode != "broadcast" or not x.array_shape.size:
        return None
    dimensions = inner.attributes.get("dimensions", ())
    if list(dimensions) != sorted(dimensions):
        return None
    before, after = inner.array_shape.dims, x.array_shape.dims
    placed: list[int] = []
    for mine, theirs in common_factors(before, after):
        wide = [d in dimensions for d in range(mine.start, mine.stop) if before[d] > 1]
        if any(wide) and not all(wide):
            return None  # a part that is repeated meets one that is not
        if any(wide):
            placed.extend(d for d in range(theirs.start, theirs.stop) if after[d] > 1)
    operand = builder.reshape(inner.operands[0], [after[d] for d in placed])
    return made(x, "broadcast", [operand], dimensions=tuple(placed))


def broadcast_into_units(x: Instruction) -> Instruction | None:
    """f32[1,3,4] broadcast(f32[3] reshape(f32[1,3] a), {1}) --> broadcast(a, {0,1})"""
    inner, dimensions = x.operands[0], x.attributes.get("dimensions", ())
    if inner.opcode != "reshape" or list(dimensions) != sorted(dimensions):
        return None
    operand = inner.operands[0].array_shape
    if 1 in inner.array_shape.dims or inner.array_shape.dims != _wide(operand.dims):
        return None
    placed: list[int] = []
    ahead = iter((*dimensions, x.array_shape.rank))
    following = next(ahead)
    for n in operand.dims:
        if n != 1:
            placed.append(following)
            following = next(ahead)
            continue
        first = placed[-1] + 1 if placed else 0
        free = [d for d in range(first, following) if x.array_shape.dims[d] == 1]
        if not free:
            return None
        placed.append(free[0])
    return made(x, "broadcast", inner.operands, dimensions=tuple(placed))


def _wide(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in dims if n != 1)


def iota_moved(x: Instruction) -> Instruction | None:
    """f32[5,3] broadcast(f32[3] iota(), {1}) --> iota(); likewise transpose, and reshape by ones"""
    inner = x.operands[0]
    if inner.opcode != "iota":
        return None
    dimension, before, after = inner["iota_dimension"], inner.array_shape.dims, x.array_shape.dims
    match x.opcode:
        case "broadcast":
            place = x["dimensions"][dimension]
        case "transpose":
            place = x["dimensions"].index(dimension)
        case _:
            if before[dimension] == 1 or _wide(before) != _wide(after):
                return None
            wide = [d for d, n in enumerate(after) if n != 1]
            place = wide[len(_wide(before[:dimension]))]
    return made(x, "iota", [], iota_dimension=place)


def reverse_of_broadcast(x: Instruction) -> Instruction | None:
    """reverse(f32[2,3] broadcast(f32[3] a, {1}), {0}) --> broadcast(a, {1})"""
    inner = x.operands[0]
    if inner.opcode != "broadcast":
        return None
    kept = tuple(d for d in x["dimensions"] if d in inner.attributes.get("dimensions", ()))
    if kept == x["dimensions"]:
        return None
    return made(x, "reverse", [inner], dimensions=kept) if kept else inner


_MOVED = (movement_of_splat, iota_moved)
MOVEMENT: dict[str, tuple[Function, ...]] = {
    "reshape": (same_shape, reshape_of_reshape, *_MOVED, reshape_of_broadcast),
    "transpose": (
        transpose_of_transpose,
        transpose_in_place,
        transpose_of_broadcast,
        *_MOVED,
    ),
    "broadcast": (
        broadcast_that_adds_nothing,
        broadcast_of_broadcast,
        iota_moved,
        broadcast_of_unit_dimensions,
        broadcast_into_units,
    ),
    "reverse": (reverse_of_units, reverse_of_reverse, movement_of_splat, reverse_of_broadcast),
    "copy": (same_shape,),
    "iota": (iota_of_unit,),
}
