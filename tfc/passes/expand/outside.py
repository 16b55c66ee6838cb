"""Expansions of tokens, asynchronous pairs and custom calls.

    s = (f32[8], f32[8], u32[]) copy-start(x)              y = f32[8] copy(x)
    y = f32[8] copy-done(s)                          -->

    y = f32[2,3]{1,0} custom-call(f32[2,3]{0,1} x)   -->   y = custom-call(f32[2,3]{1,0} copy(x))

Effects are kept in the order of the text, so a dependency on a token says nothing more.
"""

from collections.abc import Callable

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Instruction, inline, laid_out
from tfc.hlo.ops.outside.asynchronous import contexts, packed, sync
from tfc.hlo.ops.outside.custom_call import is_annotation, require_callable
from tfc.hlo.ops.outside.tokens import require_full_size
from tfc.hlo.shape import S32, AnyShape, Shape, TupleShape, row_major


def _operand(x: Instruction) -> Instruction:
    """domain(a) --> a; likewise add-dependency, async-update, all-reduce-done"""
    return laid_out(x.operands[0], x.shape)


def _element(index: int) -> Callable[[Instruction], Instruction]:
    """all-gather-done(s) --> get-tuple-element(s), index=1; likewise the others"""
    return lambda x: laid_out(
        builder.instruction("get-tuple-element", [x.operands[0]], index=index), x.shape
    )


def _get_size(x: Instruction) -> Instruction:
    """get-dimension-size(f32[2,3] a), dimensions={1} --> 3"""
    return builder.constant(x.operands[0].array_shape.dims[x["dimensions"][0]], S32)


def _set_size(x: Instruction) -> Instruction:
    """set-dimension-size(f32[2,3] a, 3), dimensions={1} --> a"""
    size = x.operands[1]
    require_full_size(x, int(size["literal"].array) if size.opcode == "constant" else None)
    return _operand(x)


def _zeros(shape: AnyShape) -> Instruction:
    """A value of a shape that nothing depends on."""
    if isinstance(shape, Shape):
        return laid_out(builder.full(0, Shape(shape.element_type, shape.dims)), shape)
    if isinstance(shape, TupleShape):
        return builder.instruction("tuple", [_zeros(e) for e in shape.elements])
    return builder.instruction("after-all", [])


def _tuple(*parts: Instruction) -> Instruction:
    return builder.instruction("tuple", parts)


def _async_start(x: Instruction) -> Instruction:
    """async-start(a), calls=f --> ((a), f(a), contexts)"""
    result = inline(x["calls"], x.operands)
    made = _tuple(_tuple(*x.operands), result, *map(_zeros, contexts(x)))
    return laid_out(made, x.shape)


def _all_reduce_start(x: Instruction) -> Instruction:
    """all-reduce-start(a) --> all-reduce(a)"""
    return sync(x)


def _collective_start(x: Instruction) -> Instruction:
    """all-gather-start(a) --> (a, all-gather(a), contexts); likewise collective-permute-start"""
    operands = packed(x.operands, lambda several: _tuple(*several))
    return laid_out(_tuple(operands, sync(x), *map(_zeros, contexts(x))), x.shape)


def _copy_start(x: Instruction) -> Instruction:
    """copy-start(a) --> (copy(a), a, 0)"""
    (operand,) = x.operands
    context = builder.constant(np.uint32(0))
    return laid_out(_tuple(builder.unary("copy", operand), operand, context), x.shape)


def _custom_call(x: Instruction) -> Instruction:
    """The call on operands in the layouts that its target expects (CC-1); of a sharding, a."""
    if is_annotation(x):
        return _operand(x)
    require_callable(x)
    shapes = [row_major(o.shape) for o in x.operands]
    stated = x.attributes.get("operand_layout_constraints")
    operands = tuple(laid_out(o, s) for o, s in zip(x.operands, stated or shapes))
    result = x.shape if stated is not None else row_major(x.shape)
    if operands == x.operands and result == x.shape:
        return x
    return laid_out(x.with_(operands=operands, shape=result), x.shape)


RUNTIME: dict[str, Callable[[Instruction], Instruction]] = {
    "add-dependency": _operand,
    "domain": _operand,
    "get-dimension-size": _get_size,
    "set-dimension-size": _set_size,
    "send-done": lambda x: builder.instruction("after-all", []),
    "async-start": _async_start,
    "async-update": _operand,
    "async-done": _element(1),
    "copy-start": _copy_start,
    "copy-done": _element(0),
    "all-reduce-start": _all_reduce_start,
    "all-reduce-done": _operand,
    "all-gather-start": _collective_start,
    "all-gather-done": _element(1),
    "collective-permute-start": _collective_start,
    "collective-permute-done": _element(1),
    "custom-call": _custom_call,
}
