"""Reductions of what was moved, repeated or reduced before, and windows that are plain: functions
from an instruction to its replacement, or None. Each states itself as before --> after.

Those in REORDERED combine the same elements in another order, as any reduction may; the others are
exact.
"""

from typing import Any

import numpy as np

from tfc.hlo import builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.hlo.ops.movement import common_factors
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import ElementType
from tfc.hlo.traits import Algebra
from tfc.passes.analysis.value_ranges import is_never_minus_zero
from tfc.passes.rewriting.patterns import Function, constant_value, same_bits
from tfc.passes.rewriting.replacing import count, made, reducer, repeated

_MOST_PARTS = 4  # of a concatenation that are reduced apart


def combined(x: Instruction, left: Instruction, right: Instruction) -> Instruction | None:
    """What to_apply of a reduction makes of two arrays of its shape, if it is one operation."""
    body = x["to_apply"].root
    numbers = [o.attributes.get("number", -1) for o in body.operands]
    if not OPS[body.opcode].elementwise or sorted(numbers) != [0, 1]:
        return None
    values = (left, right)
    ordered = tuple(values[n] for n in numbers)
    return body.with_(operands=ordered, shape=left.shape, metadata=x.metadata)


def neutral(opcode: str, element_type: ElementType) -> Any:
    """The value that leaves every other as it is under a reducer; None if the type has none."""
    of_type = OPS[opcode].neutral
    if element_type.is_complex or of_type is None:
        return None
    value = of_type(element_type)
    with np.errstate(all="ignore"):
        array: Any = np.asarray(value).astype(element_type.dtype)
    same = float(array) == value if element_type.is_float else True
    return array[()] if same else None


def rounds_parts(opcode: str, element_type: ElementType) -> bool:
    """True if partial results of a reducer are rounded, coarsely enough to matter."""
    is_narrow = element_type.is_float and element_type.bits <= 16
    return is_narrow and opcode not in ("maximum", "minimum")


def is_neutral(value: Instruction, opcode: str | None, within: Instruction) -> bool:
    """True if a scalar adds nothing to a reduction that starts from the scalar `within`.

    0.0 is neutral in a sum that cannot be -0.0, which one that starts from 0.0 is not.
    """
    constant = constant_value(value)
    if opcode is None or constant is None:
        return False
    element_type = value.array_shape.element_type
    best = neutral(opcode, element_type)
    if best is not None and same_bits(constant, best):
        return True
    zero = opcode == "add" and element_type.is_float and constant == 0
    return zero and is_never_minus_zero(within)


def reduce_of_units(x: Instruction) -> Instruction | None:
    """f32[3] reduce(f32[1,3] a, i, {0}), to_apply=add --> add(broadcast(i), reshape(a))"""
    if len(x.operands) != 2:
        return None
    operand, init = x.operands
    if any(operand.array_shape.dims[d] != 1 for d in x["dimensions"]):
        return None
    flat = builder.reshape(operand, x.array_shape.dims)
    return combined(x, repeated(init, x.array_shape), flat)


def reduce_of_nothing(x: Instruction) -> Instruction | None:
    """f32[3] reduce(f32[0,3] a, i, {0}) --> broadcast(i)"""
    if len(x.operands) != 2 or x.operands[0].array_shape.size:
        return None
    return repeated(x.operands[1], x.array_shape)


def reduce_of_transpose(x: Instruction) -> Instruction | None:
    """f32[3] reduce(f32[3,4] transpose(f32[4,3] a), i, {1}) --> reduce(a, i, {0})"""
    if len(x.operands) != 2 or x.operands[0].opcode != "transpose":
        return None
    inner, init = x.operands
    order, reduced = inner["dimensions"], x["dimensions"]
    kept = [order[d] for d in range(len(order)) if d not in reduced]
    if kept != sorted(kept):
        return None
    dimensions = tuple(sorted(order[d] for d in reduced))
    return made(
        x, "reduce", [inner.operands[0], init], dimensions=dimensions, to_apply=x["to_apply"]
    )


def reduce_of_reshape(x: Instruction) -> Instruction | None:
    """f32[2] reduce(f32[2,12] reshape(f32[2,3,4] a), i, {1}) --> reduce(a, i, {1,2})"""
    if len(x.operands) != 2 or x.operands[0].opcode != "reshape":
        return None
    inner, init = x.operands
    before, after = inner.operands[0].array_shape.dims, inner.array_shape.dims
    if not inner.array_shape.size:
        return None
    dimensions: list[int] = []
    for mine, theirs in common_factors(before, after):
        wide = [d in x["dimensions"] for d in range(theirs.start, theirs.stop) if after[d] > 1]
        if any(wide) and not all(wide):
            return None  # a part of what is reduced
        if any(wide):
            dimensions.extend(range(mine.start, mine.stop))
    if not dimensions:
        return None
    operands = [inner.operands[0], init]
    result = made(x, "reduce", operands, dimensions=tuple(dimensions), to_apply=x["to_apply"])
    return builder.reshape(result, x.array_shape.dims)


def reduce_of_broadcast(x: Instruction) -> Instruction | None:
    """f32[4] reduce(f32[4,3] broadcast(f32[4] a), i, {1}), maximum --> maximum(broadcast(i), a)"""
    if (
        len(x.operands) != 2
        or x.operands[0].opcode != "broadcast"
        or not x.operands[0].array_shape.size
    ):
        return None
    inner, init = x.operands
    operand, placed = inner.operands[0], inner.attributes.get("dimensions", ())
    fresh = [d for d in x["dimensions"] if d not in placed]
    opcode, element_type = reducer(x["to_apply"]), operand.array_shape.element_type
    sums = opcode == "add" and element_type.is_integer
    idempotent = opcode is not None and Algebra.IDEMPOTENT in OPS[opcode].algebra
    if not fresh or list(placed) != sorted(placed) or not (idempotent or sums):
        return None
    if sums:
        times = count(inner.array_shape, fresh) % (1 << element_type.bits)
        wrapped: Any = np.asarray(times, np.uint64).astype(element_type.dtype)
        operand = builder.binary(
            "multiply", operand, builder.full(wrapped[()], operand.array_shape)
        )
    reduced = tuple(k for k, d in enumerate(placed) if d in x["dimensions"])
    if reduced:
        small = made(x, "reduce", [operand, init], dimensions=reduced, to_apply=x["to_apply"])
    else:
        small = combined(x, repeated(init, operand.array_shape), operand)
    if small is None:
        return None
    kept = [d for d in range(inner.array_shape.rank) if d not in x["dimensions"]]
    places = [kept.index(d) for d in placed if d in kept]
    return builder.broadcast(small, x.array_shape.dims, places)


def reduce_of_reduce(x: Instruction) -> Instruction | None:
    """f32[] reduce(f32[2] reduce(f32[2,3] a, 0, {1}), i, {0}) --> reduce(a, i, {0,1})"""
    inner = x.operands[0]
    if len(x.operands) != 2 or inner.opcode != "reduce" or len(inner.operands) != 2:
        return None
    opcode, init = reducer(x["to_apply"]), x.operands[1]
    if opcode != reducer(inner["to_apply"]) or not is_neutral(inner.operands[1], opcode, init):
        return None
    operand, first = inner.operands[0], inner["dimensions"]
    left = [d for d in range(operand.array_shape.rank) if d not in first]
    dimensions = tuple(sorted((*first, *(left[d] for d in x["dimensions"]))))
    return made(x, "reduce", [operand, init], dimensions=dimensions, to_apply=x["to_apply"])


def reduce_of_pad(x: Instruction) -> Instruction | None:
    """reduce(f32[9] pad(f32[5] a, 0, 2_2), 0, {0}), to_apply=add --> reduce(a, 0, {0})"""
    inner = x.operands[0]
    if len(x.operands) != 2 or inner.opcode != "pad":
        return None
    operand, value = inner.operands
    if not is_neutral(value, reducer(x["to_apply"]), x.operands[1]):
        return None
    for d, (low, high, _) in enumerate(inner["padding"]):
        if low < 0 or high < 0:
            return None
        if d not in x["dimensions"] and inner["padding"][d] != (0, 0, 0):
            return None
    dimensions = x["dimensions"]
    return made(
        x, "reduce", [operand, x.operands[1]], dimensions=dimensions, to_apply=x["to_apply"]
    )


def reduce_of_concatenate(x: Instruction) -> Instruction | None:
    """reduce(concatenate(a, b), i, {0}), to_apply=add --> add(reduce(a, i, {0}), reduce(b, -0))"""
    inner = x.operands[0]
    if len(x.operands) != 2 or inner.opcode != "concatenate":
        return None
    opcode, element_type = reducer(x["to_apply"]), x.array_shape.element_type
    if inner["dimensions"][0] not in x["dimensions"] or len(inner.operands) > _MOST_PARTS:
        return None
    start = neutral(opcode, element_type) if opcode else None
    if start is None:
        return None
    result: Instruction | None = None
    for part in inner.operands:
        init = x.operands[1] if result is None else builder.constant(start, element_type)
        dimensions, to_apply = x["dimensions"], x["to_apply"]
        one = made(x, "reduce", [part, init], dimensions=dimensions, to_apply=to_apply)
        result = one if result is None else combined(x, result, one)
        if result is None:
            return None
    return result


def window_of_single_elements(x: Instruction) -> Instruction | None:
    """reduce-window(a, i), window={size=1 stride=2} --> add(broadcast(i), slice(a, [0:9:2]))"""
    if len(x.operands) != 2:
        return None
    operand, init = x.operands
    window = window_of(x).dimensions
    if any((d.size, d.low, d.high, d.base_dilation) != (1, 0, 0, 1) for d in window):
        return None
    bounds = tuple((0, n, d.stride) for n, d in zip(operand.array_shape.dims, window))
    if any(stride != 1 for _, _, stride in bounds):
        operand = builder.instruction("slice", [operand], slice=bounds, metadata=x.metadata)
    return combined(x, repeated(init, x.array_shape), operand)


def window_of_everything(x: Instruction) -> Instruction | None:
    """f32[2,1] reduce-window(f32[2,5] a, i), window={size=1x5} --> reshape(reduce(a, i, {1}))"""
    if len(x.operands) != 2:
        return None
    dims = x.operands[0].array_shape.dims
    reduced: list[int] = []
    for number, (d, n) in enumerate(zip(window_of(x).dimensions, dims)):
        if d == WindowDimension(n, d.stride) and n > 1:
            reduced.append(number)
        elif d != WindowDimension(1):
            return None
    if not reduced:
        return None
    result = builder.reduce(*x.operands, reduced, x["to_apply"])
    return builder.reshape(result, x.array_shape.dims)


def window_of_pad(x: Instruction) -> Instruction | None:
    """reduce-window(pad(a, -inf, 1_1), i), {size=3}, maximum --> reduce-window(a, i), {pad=1_1}"""
    inner = x.operands[0]
    if len(x.operands) != 2 or inner.opcode != "pad":
        return None
    if not is_neutral(inner.operands[1], reducer(x["to_apply"]), x.operands[1]):
        return None
    dimensions = padded_window(window_of(x).dimensions, inner["padding"])
    if dimensions is None:
        return None
    window, operands = Window(dimensions), [inner.operands[0], x.operands[1]]
    return made(x, "reduce-window", operands, window=window, to_apply=x["to_apply"])


def padded_window(
    window: tuple[WindowDimension, ...], padding: tuple[tuple[int, int, int], ...]
) -> tuple[WindowDimension, ...] | None:
    """A window over a padded array as one over the array itself; None if that cannot be said."""
    dimensions = []
    for d, (low, high, interior) in zip(window, padding):
        plain = d.base_dilation == 1 and min(d.low, d.high, low, high) >= 0
        if (low, high, interior) != (0, 0, 0) and not plain:
            return None
        dilation = d.base_dilation * (interior + 1)
        ends = d.low + low, d.high + high
        dimensions.append(
            WindowDimension(d.size, d.stride, *ends, dilation, d.window_dilation, d.reversal)
        )
    return tuple(dimensions)


def window_of_nothing(x: Instruction) -> Instruction | None:
    """f32[3] reduce-window(f32[0] a, i), window={size=1 pad=1_2} --> broadcast(i)"""
    if len(x.operands) != 2 or x.operands[0].array_shape.size:
        return None
    return repeated(x.operands[1], x.array_shape)


def scatter_of_no_windows(x: Instruction) -> Instruction | None:
    """select-and-scatter(a, f32[0] source, i) --> broadcast(i)"""
    _, source, init = x.operands
    return None if source.array_shape.size else repeated(init, x.array_shape)


REORDERED: frozenset[Function] = frozenset({
    reduce_of_transpose, reduce_of_reshape, reduce_of_reduce, reduce_of_pad, reduce_of_concatenate,
    window_of_everything,
})  # fmt: skip
REDUCTIONS: dict[str, tuple[Function, ...]] = {
    "reduce": (
        reduce_of_nothing,
        reduce_of_units,
        reduce_of_broadcast,
        reduce_of_transpose,
        reduce_of_reshape,
        reduce_of_reduce,
        reduce_of_pad,
        reduce_of_concatenate,
    ),
    "reduce-window": (
        window_of_nothing,
        window_of_single_elements,
        window_of_everything,
        window_of_pad,
    ),
    "select-and-scatter": (scatter_of_no_windows,),
}
