"""Infeed, outfeed, and send and recv over channels.

Semantics: section 1.25, 1.28 and CH-1, CH-2 of section 1.38 of the operation semantics. The host's
side of the queues is tfc.transfers.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Value,
    always,
    describe,
    require,
    require_array,
)
from tfc.hlo.ops.outside.family import outside
from tfc.hlo.ops.outside.tokens import require_token
from tfc.hlo.shape import TOKEN, U32, AnyShape, Shape, TokenShape, TupleShape
from tfc.hlo.specs import spec_of
from tfc.runtime.arrays import ArraySpec, check, copied
from tfc.runtime.replicas import current
from tfc.runtime.transfers import (
    CHANNEL,
    FROM_PROGRAM,
    INFEED,
    OUTFEED,
    TO_PROGRAM,
    Key,
    expect,
    expected,
    put,
    request,
    take,
)


def require_item(op: str, shape: AnyShape) -> None:
    """Check that a shape is an array, or a tuple of arrays: tuples do not nest (1.25).

    Raises:
        ShapeError: it is something else.
    """
    parts = shape.elements if isinstance(shape, TupleShape) else (shape,)
    require(
        all(isinstance(p, Shape) for p in parts), op, "an array or a tuple of arrays", shape, "1.25"
    )


def _infer_infeed(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> AnyShape:
    require_token("infeed", shapes[0])
    require(
        isinstance(stated, TupleShape)
        and len(stated.elements) == 2
        and isinstance(stated.elements[1], TokenShape),
        "infeed",
        "a stated result (what is read, token[])",
        stated,
    )
    assert isinstance(stated, TupleShape)
    require_item("infeed", stated.elements[0])
    return stated


def _evaluate_infeed(x: Instruction, _: Sequence[Value], __: Call) -> Value:
    assert isinstance(x.shape, TupleShape)
    item = x.shape.elements[0]
    if item == TupleShape():
        return (), ()  # an empty tuple reads nothing (1.25)
    key = (INFEED, 0, current().device)
    value = take(key, request(key), x.name)
    check(value, spec_of(item), f"the infeed of {x.name}")
    return value, ()


def _infer_outfeed(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    require_item("outfeed", shapes[0])
    require_token("outfeed", shapes[1])
    stated = a.get("outfeed_shape", shapes[0])
    require(
        stated.is_compatible(shapes[0]),
        "outfeed",
        "an outfeed_shape that is the operand's",
        describe([stated, shapes[0]]),
    )
    return TOKEN


def _evaluate_outfeed(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    if x.operands[0].shape != TupleShape():  # an empty tuple writes nothing (1.25)
        put((OUTFEED, 0, current().device), copied(values[0]))
    return ()


def _is_of_host(x: Instruction) -> bool:
    return x.attributes.get("is_host_transfer", False)


def _channel(x: Instruction, host: str) -> Key:
    number = x.attributes.get("channel_id", 0)
    if _is_of_host(x):
        return host, number, current().device
    return CHANNEL, number, 0


_PAIRS = re.compile(r'_xla_send_recv_source_target_pairs="?\{((?:\{\d+,\d+\},?)*)\}')


def device_pairs(x: Instruction) -> list[tuple[int, int]] | None:
    """The pairs (source, target) between which a send or recv says that it is; None if it does not.

    They are partitions, or replicas where there is one partition.
    """
    found = _PAIRS.search(dict(x.annotations).get("frontend_attributes", ""))
    if found is None:
        return None
    pairs = re.findall(r"\{(\d+),(\d+)\}", found[1])
    return [(int(source), int(target)) for source, target in pairs]


def _peer(x: Instruction, mine: int) -> tuple[bool, int | None]:
    """Whether a send or recv says between which devices, and the other end for this one, if any.

    XLA says it as an annotation, by partitions, or by replicas where there is one partition.

    Args:
        mine: which of a pair this device is: 0 the source, 1 the target.

    Raises:
        UnsupportedError: it does not say so, and the devices are processes.
    """
    here = current()
    pairs = device_pairs(x)
    if pairs is None:
        if here.engine is not None and here.engine.messages is not None:
            raise UnsupportedError(
                f"{x.opcode} {x.name} must say between which devices, as processes run them: "
                "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}"
            )
        return False, None
    own = here.partition if here.partitions > 1 else here.replica
    others = [pair[1 - mine] for pair in pairs if pair[mine] == own]
    if not others:
        return True, None
    return True, here.replica * here.partitions + others[0] if here.partitions > 1 else others[0]


def _answer(x: Instruction, source: int | None, data: Shape) -> Callable[[], Value]:
    """What waits for the value that a device sends to this one; zeros if none does."""
    if source is None:
        return lambda: np.zeros(data.dims, data.element_type.dtype)
    here, channel = current(), x.attributes.get("channel_id", 0)
    messages = here.joined(x.name, (source, here.device)).messages
    if messages is not None:
        return messages.receive(
            x.name, channel, ArraySpec(data.element_type.dtype, data.dims), source
        )
    key = (CHANNEL, channel, 1 + here.device)
    number = request(key)
    return lambda: take(key, number, x.name)


def _context(shape: AnyShape) -> TupleShape:
    """What send and recv give to their -done: the data, the request's number, a token."""
    return TupleShape((shape, Shape(U32), TOKEN))


def _infer_send(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    require_array("send", shapes[0])
    require_token("send", shapes[1])
    return _context(shapes[0])


def _evaluate_send(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    is_between, target = (False, None) if _is_of_host(x) else _peer(x, 0)
    if not is_between:
        put(_channel(x, FROM_PROGRAM), copied(values[0]))
    elif target is not None:
        here, channel = current(), x.attributes.get("channel_id", 0)
        messages = here.joined(x.name, (here.device, target)).messages
        if messages is not None:
            messages.send(x.name, channel, copied(values[0]), target)
        else:
            put((CHANNEL, channel, 1 + target), copied(values[0]))
    return values[0], np.uint32(0), ()


def _require_context(op: str, shape: AnyShape) -> Shape:
    fits = isinstance(shape, TupleShape) and len(shape.elements) == 3
    data = shape.elements[0] if fits and isinstance(shape, TupleShape) else None
    require(
        isinstance(data, Shape) and shape.is_compatible(_context(data)),
        op,
        "the result (data, u32[], token[]) of what it waits for",
        shape,
    )
    assert isinstance(data, Shape)
    return data


def _infer_send_done(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    _require_context("send-done", shapes[0])
    return TOKEN


def _infer_recv(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> AnyShape:
    require_token("recv", shapes[0])
    require(stated is not None, "recv", "a stated result (data, u32[], token[])", stated)
    assert stated is not None
    _require_context("recv", stated)
    return stated


def _evaluate_recv(x: Instruction, _: Sequence[Value], __: Call) -> Value:
    assert isinstance(x.shape, TupleShape)
    data = x.shape.elements[0]
    assert isinstance(data, Shape)
    is_between, source = (False, None) if _is_of_host(x) else _peer(x, 1)
    if is_between:
        number = expect(_answer(x, source, data))
    else:
        number = request(_channel(x, TO_PROGRAM))
    return np.zeros(data.dims, data.element_type.dtype), np.uint32(number), ()


def _infer_recv_done(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    return TupleShape((_require_context("recv-done", shapes[0]), TOKEN))


def _evaluate_recv_done(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    assert isinstance(x.shape, TupleShape)
    number = int(values[0][1])
    answer = expected(number)
    value = take(_channel(x, TO_PROGRAM), number, x.name) if answer is None else answer()
    check(value, spec_of(x.shape.elements[0]), f"what {x.name} receives")
    return value, ()


_CHANNEL = (Attribute("channel_id", "int", required=False),
            Attribute("is_host_transfer", "bool", required=False, default=False))  # fmt: skip

# fmt: off
outside("infeed", 1, _infer_infeed, _evaluate_infeed,
        (Attribute("infeed_config", "string", required=False, default=""),),
        needs_shape=True, side_effect=always, on_host=True)
outside("outfeed", 2, _infer_outfeed, _evaluate_outfeed,
        (Attribute("outfeed_shape", "shape", required=False),
         Attribute("outfeed_config", "string", required=False, default="")),
        side_effect=always, on_host=True)
outside("send", 2, _infer_send, _evaluate_send, _CHANNEL, side_effect=always, on_host=True)
# What is sent lies in the channel already, so nothing is left to wait for.
outside("send-done", 1, _infer_send_done, lambda x, values, call: (), _CHANNEL)
outside("recv", 1, _infer_recv, _evaluate_recv, _CHANNEL, needs_shape=True,
        side_effect=always, on_host=True)
outside("recv-done", 1, _infer_recv_done, _evaluate_recv_done, _CHANNEL,
        side_effect=always, on_host=True)
# fmt: on
