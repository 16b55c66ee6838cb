"""The rules about movement, types, tuples and control flow: functions from an instruction to its
replacement, or None. Each states itself as before --> after; all are exact.

They are the second half of `simplify`; its equations about arithmetic are in simplify.py.
"""

from collections.abc import Sequence
from typing import Any

from tfc.hlo import builder
from tfc.hlo.control import branches
from tfc.hlo.ir import Instruction, inline
from tfc.hlo.op import OPS
from tfc.hlo.shape import ElementType, Shape, TupleShape
from tfc.passes.rewrite import COMMUTATIVE, Function, constant_value

_FLIPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


def _made(old: Instruction, opcode: str, operands: Sequence[Instruction], **attributes):
    """An instruction in the place of `old`, with its shape unless the op infers one."""
    shape = old.shape if OPS[opcode].needs_shape else None
    return builder.instruction(opcode, operands, shape=shape, metadata=old.metadata, **attributes)


def _splat(x: Instruction) -> Instruction | None:
    """The scalar that an array repeats, or None."""
    if x.opcode == "broadcast" and x.operands[0].array_shape.rank == 0:
        return x.operands[0]
    return None


def _repeat(scalar: Instruction, old: Instruction) -> Instruction:
    if not old.array_shape.rank:
        return scalar
    return _made(old, "broadcast", [scalar], dimensions=())


# --- movement -------------------------------------------------------------------------------------


def reshape_of_reshape(x: Instruction) -> Instruction | None:
    """reshape(reshape(a)) --> reshape(a)"""
    inner = x.operands[0]
    return _made(x, "reshape", inner.operands) if inner.opcode == "reshape" else None


def same_shape(x: Instruction) -> Instruction | None:
    """f32[2,3] reshape(f32[2,3] a) --> a; likewise copy, convert, bitcast-convert and full slice"""
    return x.operands[0] if x.operands[0].shape == x.shape else None


def movement_of_splat(x: Instruction) -> Instruction | None:
    """reshape(broadcast(s)) --> broadcast(s) for a scalar s; likewise other movements"""
    scalar = _splat(x.operands[0])
    return None if scalar is None else _repeat(scalar, x)


def transpose_of_transpose(x: Instruction) -> Instruction | None:
    """transpose(transpose(a, {1,2,0}), {1,2,0}) --> transpose(a, {2,0,1})"""
    inner = x.operands[0]
    if inner.opcode != "transpose":
        return None
    order = tuple(inner["dimensions"][d] for d in x["dimensions"])
    return _made(x, "transpose", inner.operands, dimensions=order)


def transpose_in_place(x: Instruction) -> Instruction | None:
    """f32[3,1,4] transpose(f32[1,3,4] a) --> reshape(a): what is larger than one stays in order"""
    operand = x.operands[0]
    moved = [d for d in x["dimensions"] if operand.array_shape.dims[d] != 1]
    if moved != sorted(moved):
        return None
    return operand if operand.shape == x.shape else _made(x, "reshape", [operand])


def transpose_of_broadcast(x: Instruction) -> Instruction | None:
    """transpose(f32[2,3] broadcast(f32[3] a, {1}), {1,0}) --> f32[3,2] broadcast(a, {0})"""
    inner = x.operands[0]
    if inner.opcode != "broadcast":
        return None
    place = {d: k for k, d in enumerate(x["dimensions"])}
    dimensions = tuple(place[d] for d in inner.attributes.get("dimensions", ()))
    if list(dimensions) != sorted(dimensions):
        return None
    return _made(x, "broadcast", inner.operands, dimensions=dimensions)


def broadcast_of_broadcast(x: Instruction) -> Instruction | None:
    """f32[2,3,4] broadcast(f32[3,4] broadcast(f32[4] a, {1}), {1,2}) --> broadcast(a, {2})"""
    inner = x.operands[0]
    if inner.opcode != "broadcast":
        return None
    outer = x.attributes.get("dimensions", ())
    dimensions = tuple(outer[d] for d in inner.attributes.get("dimensions", ()))
    return _made(x, "broadcast", inner.operands, dimensions=dimensions)


def broadcast_that_adds_nothing(x: Instruction) -> Instruction | None:
    """f32[1,3] broadcast(f32[3] a, {1}) --> reshape(a); the same dimensions --> a"""
    operand, dimensions = x.operands[0], x.attributes.get("dimensions", ())
    new = [n for d, n in enumerate(x.array_shape.dims) if d not in dimensions]
    if operand.opcode == "constant" and not dimensions and x.array_shape.rank:
        return None  # a repeated scalar is the form that constants of one value have
    if any(n != 1 for n in new) or list(dimensions) != sorted(dimensions):
        return None
    return operand if operand.shape == x.shape else _made(x, "reshape", [operand])


def broadcast_of_unit_dimensions(x: Instruction) -> Instruction | None:
    """f32[1,3,4] broadcast(f32[1,3] reshape(f32[3] a), {0,1}) --> broadcast(a, {1})"""
    inner, dimensions = x.operands[0], x.attributes.get("dimensions", ())
    if inner.opcode != "reshape" or 1 not in inner.array_shape.dims:
        return None
    kept = [(d, n) for d, n in zip(dimensions, inner.array_shape.dims) if n != 1]
    squeezed = builder.reshape(inner.operands[0], [n for _, n in kept])
    return _made(x, "broadcast", [squeezed], dimensions=tuple(d for d, _ in kept))


def slice_of_slice(x: Instruction) -> Instruction | None:
    """slice(slice(a, [2:10:2]), [1:3]) --> slice(a, [4:7:2])"""
    inner = x.operands[0]
    if inner.opcode != "slice" or not x.array_shape.size:
        return None
    bounds = tuple(
        (first + start * step, first + (limit - 1) * step + 1, step * stride)
        for (first, _, step), (start, limit, stride) in zip(inner["slice"], x["slice"])
    )
    return _made(x, "slice", inner.operands, slice=bounds)


def slice_of_concatenate(x: Instruction) -> Instruction | None:
    """slice(concatenate(f32[2] a, f32[3] b), [2:4]) --> slice(b, [0:2])"""
    inner = x.operands[0]
    if inner.opcode != "concatenate" or not x.array_shape.size:
        return None
    (dimension,) = inner["dimensions"]
    start, limit, stride = x["slice"][dimension]
    begin = 0
    for operand in inner.operands:
        end = begin + operand.array_shape.dims[dimension]
        if begin <= start and limit <= end:
            bounds = list(x["slice"])
            bounds[dimension] = (start - begin, limit - begin, stride)
            return _made(x, "slice", [operand], slice=tuple(bounds))
        begin = end
    return None


def pad_by_nothing(x: Instruction) -> Instruction | None:
    """pad(a, v, 0_0x0_0) --> a"""
    return x.operands[0] if all(p == (0, 0, 0) for p in x["padding"]) else None


def reverse_of_units(x: Instruction) -> Instruction | None:
    """reverse(f32[1,3] a, {0,1}) --> reverse(a, {1}); nothing left to reverse --> a"""
    dims, dimensions = x.array_shape.dims, x["dimensions"]
    kept = tuple(d for d in dimensions if dims[d] > 1)
    if not kept:
        return x.operands[0]
    return None if kept == dimensions else _made(x, "reverse", x.operands, dimensions=kept)


def reverse_of_reverse(x: Instruction) -> Instruction | None:
    """reverse(reverse(a, {0,1}), {1}) --> reverse(a, {0})"""
    inner = x.operands[0]
    if inner.opcode != "reverse":
        return None
    once = tuple(sorted(set(x["dimensions"]) ^ set(inner["dimensions"])))
    return _made(x, "reverse", inner.operands, dimensions=once)


def concatenate_of_parts(x: Instruction) -> Instruction | None:
    """concatenate(a) --> a; concatenate(a, f32[0] e, concatenate(b, c)) --> concatenate(a, b, c)"""
    (dimension,) = x["dimensions"]
    parts: list[Instruction] = []
    for operand in x.operands:
        nested = operand.opcode == "concatenate" and operand["dimensions"] == x["dimensions"]
        candidates = operand.operands if nested else (operand,)
        parts.extend(p for p in candidates if p.array_shape.dims[dimension])
    if len(parts) == 1:
        return parts[0]
    if not parts or tuple(parts) == x.operands:
        return None
    return _made(x, "concatenate", parts, dimensions=x["dimensions"])


def iota_of_unit(x: Instruction) -> Instruction | None:
    """f32[1,3] iota(), iota_dimension=0 --> broadcast(0)"""
    shape = x.array_shape
    return builder.full(0, shape) if shape.dims[x["iota_dimension"]] == 1 else None


def constant_of_splat(x: Instruction) -> Instruction | None:
    """f32[3] constant({7, 7, 7}) --> f32[3] broadcast(7)"""
    literal = x["literal"]
    if not literal.shape.rank or literal.shape.size <= 1:
        return None  # one element is as short as can be; `fold` makes these of reshapes
    flat = literal.array.reshape(-1)
    # Most arrays show in their first elements that they are no splat, without comparing them all.
    start = flat[:256]
    if start.tobytes() != flat[:1].tobytes() * start.size or not literal.is_splat():
        return None
    return _repeat(builder.constant(flat[0]), x)


# --- elementwise ----------------------------------------------------------------------------------


def constant_goes_right(x: Instruction) -> Instruction | None:
    """add(1, a) --> add(a, 1); compare(1, a), direction=LT --> compare(a, 1), direction=GT"""
    left, right = x.operands
    value = constant_value(left)
    if value is None or constant_value(right) is not None:
        return None
    if x.opcode in ("maximum", "minimum") and value == 0 and x.array_shape.element_type.is_float:
        return None  # which of -0.0 and 0.0 is greater depends on the order
    if x.opcode != "compare":
        return x.with_(operands=(right, left))
    flipped = x.attributes.with_(direction=_FLIPPED[x["direction"]])
    return x.with_(operands=(right, left), attributes=flipped)


def elementwise_of_splats(x: Instruction) -> Instruction | None:
    """add(broadcast(s), broadcast(t)) --> broadcast(add(s, t)) for scalars s and t"""
    if not isinstance(x.shape, Shape) or not x.shape.rank:
        return None
    if x.opcode == "bitcast-convert" and x.operands[0].array_shape.dims != x.shape.dims:
        return None  # the parts of an element differ from one another
    scalars = []
    for operand in x.operands:
        scalar = operand if not operand.array_shape.rank else _splat(operand)
        if scalar is None:
            return None
        scalars.append(scalar)
    inner = x.with_(operands=tuple(scalars), shape=Shape(x.shape.element_type))
    return _repeat(inner, x)


def widens(narrow: ElementType, wide: ElementType) -> bool:
    """True if every value of `narrow` is one of `wide`, of the same kind or a pred's 0 and 1."""
    if narrow.kind == "pred":
        return wide.kind != "pred"
    if narrow.is_float and wide.is_float:
        return wide.bits >= 32 and narrow.bits < wide.bits
    if narrow.is_integer and wide.is_integer and narrow.bits < wide.bits:
        return narrow.kind == "unsigned" or wide.kind == "signed"
    return False


def convert_of_convert(x: Instruction) -> Instruction | None:
    """bf16[2] convert(f32[2] convert(bf16[2] a)) --> a: what widens keeps the value"""
    inner = x.operands[0]
    if inner.opcode != "convert":
        return None
    first = inner.operands[0]
    if not widens(first.array_shape.element_type, inner.array_shape.element_type):
        return None
    return first if first.shape == x.shape else _made(x, "convert", [first])


def bitcast_of_bitcast(x: Instruction) -> Instruction | None:
    """f32[2] bitcast-convert(s32[2] bitcast-convert(u32[2] a)) --> bitcast-convert(a)"""
    inner = x.operands[0]
    first = inner.operands[0] if inner.opcode == x.opcode else x
    same = first.array_shape.dims in (inner.array_shape.dims, x.array_shape.dims)
    if inner.opcode != x.opcode or not same:
        return None
    return _made(x, x.opcode, inner.operands)


# --- reduce, tuples and control flow --------------------------------------------------------------


def reduce_of_units(x: Instruction) -> Instruction | None:
    """f32[3] reduce(f32[1,3] a, i, {0}), to_apply=add --> add(broadcast(i), reshape(a))"""
    if len(x.operands) != 2:
        return None
    operand, init = x.operands
    body = x["to_apply"].root
    if any(operand.array_shape.dims[d] != 1 for d in x["dimensions"]):
        return None
    if not OPS[body.opcode].elementwise or sorted(
        o.attributes.get("number", -1) for o in body.operands
    ) != [0, 1]:
        return None
    values = (_repeat(init, x), builder.reshape(operand, x.array_shape.dims))
    ordered = tuple(values[o["number"]] for o in body.operands)
    return body.with_(operands=ordered, shape=x.shape, metadata=x.metadata)


def element_of_tuple(x: Instruction) -> Instruction | None:
    """get-tuple-element(tuple(a, b)), index=1 --> b"""
    operand = x.operands[0]
    return operand.operands[x["index"]] if operand.opcode == "tuple" else None


def tuple_of_elements(x: Instruction) -> Instruction | None:
    """tuple(get-tuple-element(t, 0), get-tuple-element(t, 1)) --> t, if t has two elements"""
    if any(o.opcode != "get-tuple-element" or o["index"] != k for k, o in enumerate(x.operands)):
        return None
    wholes = {o.operands[0] for o in x.operands}
    if len(wholes) != 1:
        return None
    (whole,) = wholes
    assert isinstance(whole.shape, TupleShape)
    return whole if len(whole.shape.elements) == len(x.operands) else None


def conditional_on_constant(x: Instruction) -> Instruction | None:
    """conditional(true, a, b), true_computation=f, false_computation=g --> f(a)"""
    chosen: Any = constant_value(x.operands[0])
    if chosen is None:
        return None
    called = branches(x)
    if "branch_computations" in x.attributes:
        number = int(chosen) if 0 <= chosen < len(called) else len(called) - 1
    else:
        number = 0 if chosen else 1
    return inline(called[number], [x.operands[1 + number]])


def while_never(x: Instruction) -> Instruction | None:
    """while(a), condition={ROOT f = constant(false)} --> a"""
    runs = constant_value(x["condition"].root)
    never = runs is not None and not runs and not x["condition"].effects
    return x.operands[0] if never else None


_BY_OPCODE: dict[str, tuple[Function, ...]] = {
    "reshape": (same_shape, reshape_of_reshape, movement_of_splat),
    "transpose": (
        transpose_of_transpose,
        transpose_in_place,
        transpose_of_broadcast,
        movement_of_splat,
    ),
    "broadcast": (
        broadcast_that_adds_nothing,
        broadcast_of_broadcast,
        broadcast_of_unit_dimensions,
    ),
    "slice": (same_shape, slice_of_slice, slice_of_concatenate, movement_of_splat),
    "pad": (pad_by_nothing,),
    "dynamic-slice": (movement_of_splat,),
    "reverse": (reverse_of_units, reverse_of_reverse, movement_of_splat),
    "concatenate": (concatenate_of_parts,),
    "copy": (same_shape,),
    "iota": (iota_of_unit,),
    "constant": (constant_of_splat,),
    "convert": (same_shape, convert_of_convert),
    "bitcast-convert": (same_shape, bitcast_of_bitcast),
    "reduce": (reduce_of_units,),
    "get-tuple-element": (element_of_tuple,),
    "tuple": (tuple_of_elements,),
    "conditional": (conditional_on_constant,),
    "while": (while_never,),
    **dict.fromkeys((*COMMUTATIVE, "compare"), (constant_goes_right,)),
}


def functions_for(opcode: str) -> tuple[Function, ...]:
    """The functions to try at instructions of an opcode, in order."""
    general = (elementwise_of_splats,) if OPS[opcode].elementwise else ()
    return (*_BY_OPCODE.get(opcode, ()), *general)


FUNCTIONS: dict[str, tuple[Function, ...]] = {name: functions_for(name) for name in OPS}
