"""Custom calls, tokens, the host's side of a program, and collectives."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir import provider
from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import TOKEN, U32, Shape, TupleShape
from tfc.stablehlo.operations.custom_calls import CUSTOM_CALL
from tfc.stablehlo.operations.emission import Emission, matrix
from tfc.stablehlo.operations.fields import flag, listed, regions, single, unit
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.operations.row import Field, Row, Values, row
from tfc.stablehlo.operations.values import as_one, elements


def _config(name: str) -> Field:
    """What a feed says to its queue; HLO leaves it out where it says nothing."""

    def read(operation: Operation) -> Values:
        text = operation.text(name)
        return {name: text} if text else {}

    return Field(read, lambda e: {name: e.get(name, "")})


def _make_infeed(operation: Operation, opcode: str, attributes: Values) -> list[Instruction]:
    """HLO has the infeed's values in one tuple, beside the token."""
    *values, token = operation.shapes
    shape = TupleShape((TupleShape(tuple(values)), token))
    made = operation.make(opcode, shape=shape, **attributes)
    inner, done = (builder.instruction("get-tuple-element", [made], index=n) for n in (0, 1))
    return [*elements(inner, len(values), always=True), done]


def _make_outfeed(operation: Operation, opcode: str, attributes: Values) -> Instruction:
    *values, token = operation.operands
    made = builder.instruction("tuple", values)
    return operation.make(opcode, [made, token], outfeed_shape=made.shape, **attributes)


def _channel(to_host: int = 1) -> Field:
    """The channel's number, of which none is 0; its kind is 1 from device to device."""

    def read(operation: Operation) -> Values:
        if not operation.has("channel_handle"):
            return {}
        handle = provider.stablehlo().ChannelHandle(operation.attribute("channel_handle")).handle
        return {"channel_id": int(handle)} if handle > 0 else {}

    def write(e: Emission) -> Values:
        number, kind = e.get("channel_id"), to_host if e.get("is_host_transfer") else 1
        if number is None:
            return {}
        text = f"#stablehlo.channel_handle<handle = {number}, type = {kind}>"
        return {"channel_handle": ir.Attribute.parse(text)}

    return Field(read, write)


# StableHLO sends and receives in one operation, HLO in two with a context between them.
def _make_send(operation: Operation, opcode: str, attributes: Values) -> Instruction:
    *values, token = operation.operands
    data = as_one(values)
    shape = TupleShape((data.shape, Shape(U32), token.shape))
    sent = operation.make(opcode, [data, token], shape, **attributes)
    return operation.make(f"{opcode}-done", [sent], **attributes)


def _create_send(e: Emission, name: str, said: Values) -> Any:
    token = e.create(name, shape=TOKEN, **said)
    return e.operands[0], e.constant(0, Shape(U32)), token


def _make_recv(operation: Operation, opcode: str, attributes: Values) -> list[Instruction]:
    *values, token = operation.shapes
    data = values[0] if len(values) == 1 else TupleShape(tuple(values))
    shape = TupleShape((data, Shape(U32), token))
    received = operation.make(opcode, shape=shape, **attributes)
    done = operation.make(f"{opcode}-done", [received], TupleShape((data, token)), **attributes)
    got, after = elements(done, 2)
    return [*elements(got, len(values)), after]


def _create_recv(e: Emission, name: str, said: Values) -> Any:
    shape = e.instruction.shape
    assert isinstance(shape, TupleShape)
    data, token = e.create(name, shape=TupleShape((shape.elements[0], TOKEN)), **said)
    return data, e.constant(0, Shape(U32)), token


def _write_groups(e: Emission) -> Values:
    groups = e["replica_groups"].groups
    width = max(map(len, groups), default=0)
    filled = [(*group, *[-1] * (width - len(group))) for group in groups]
    return {"replica_groups": matrix(filled, width)}


def _make_each(operation: Operation, opcode: str, attributes: Values) -> Sequence[Instruction]:
    """A collective of several operands as one of each, which is what it means."""
    return [
        operation.make(opcode, [operand], shape, **attributes)
        for operand, shape in zip(operation.operands, operation.shapes)
    ]


def _create_collective(e: Emission, name: str, said: Values) -> Any:
    """StableHLO has no collectives of empty arrays."""
    shape = e.instruction.shape
    if isinstance(shape, Shape) and shape.size == 0:
        return e.constant(0, shape)
    return e.create(name, **said)


def _make_all_to_all(operation: Operation, opcode: str, attributes: Values) -> list[Instruction]:
    """HLO's form for arrays splits and joins along one dimension, the blocks side by side.

    The blocks that come back lie along the split dimension; from there they are moved in front of
    the dimension that they are joined along.
    """
    split, joined = operation.integer("split_dimension"), operation.integer("concat_dimension")
    count, results = operation.integer("split_count"), []
    for operand, shape in zip(operation.operands, operation.shapes):
        made = operation.make(opcode, [operand], operand.shape, dimensions=(split,), **attributes)
        if split == joined:
            results.append(made)
            continue
        dims = list(operand.array_shape.dims)
        blocks = builder.reshape(
            made, [*dims[:split], count, dims[split] // count, *dims[split + 1 :]]
        )
        order = [d for d in range(len(dims) + 1) if d != split]
        order.insert(joined, split)
        moved = builder.instruction("transpose", [blocks], dimensions=tuple(order))
        assert isinstance(shape, Shape)
        results.append(builder.reshape(moved, shape.dims))
    return results


def _create_all_to_all(e: Emission, name: str, said: Values) -> Any:
    if "dimensions" not in e.instruction.attributes:
        raise UnsupportedError("all-to-all of a tuple has no counterpart in StableHLO")
    (dimension,), groups = e["dimensions"], e["replica_groups"].groups
    split = {"split_dimension": dimension, "concat_dimension": dimension,
             "split_count": len(groups[0]) if groups else e.functions.replicas}  # fmt: skip
    return _create_collective(e, name, {**said, **split})


_HOST = flag("is_host_transfer")
_GROUPS = Field(
    lambda operation: {"replica_groups": ReplicaGroups(listed(operation, "replica_groups"))},
    _write_groups,
)
_AMONG = (_GROUPS, _channel())
_EVERYWHERE = unit("use_global_device_ids")
_PAIRS = Field(
    lambda operation: {"source_target_pairs": listed(operation, "source_target_pairs")},
    lambda e: {"source_target_pairs": matrix(e["source_target_pairs"], 2)},
)
_REDUCER = regions(to_apply="reducer")


def _collective(opcode: str, *fields: Field) -> Row:
    return row(opcode, *_AMONG, *fields, make=_make_each, create=_create_collective)


ROWS = (
    CUSTOM_CALL,
    row("after-all"),
    row("partition-id"),
    row("replica-id"),
    row("infeed", _config("infeed_config"), make=_make_infeed),
    row("outfeed", _config("outfeed_config"), make=_make_outfeed),
    row("send", _HOST, _channel(to_host=2), make=_make_send, create=_create_send),
    row("recv", _HOST, _channel(to_host=3), make=_make_recv, create=_create_recv),
    _collective("all-gather", single("dimensions", "all_gather_dim"), _EVERYWHERE),
    _collective("all-reduce", _EVERYWHERE, _REDUCER),
    _collective("reduce-scatter", single("dimensions", "scatter_dimension"), _EVERYWHERE, _REDUCER),
    _collective("collective-broadcast"),
    row("all-to-all", *_AMONG, make=_make_all_to_all, create=_create_all_to_all),
    row("collective-permute", _PAIRS, _channel()),
)
