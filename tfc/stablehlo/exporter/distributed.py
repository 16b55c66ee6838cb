"""Custom calls, tokens, the host's side of a program, and collectives."""

from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.shape import TOKEN, U32, Shape, TupleShape
from tfc.stablehlo.exporter.emission import Emission, i32, matrix, row
from tfc.stablehlo.importer.distributed import API_VERSIONS

_VERSIONS = {name: number for number, name in API_VERSIONS.items()}


@row("custom-call")
def _custom_call(e: Emission) -> Any:
    config = dict(e.instruction.annotations).get("backend_config", '""')
    version = _VERSIONS.get(e.get("api_version", "API_VERSION_ORIGINAL"), 1)
    return e.create(
        "stablehlo.custom_call",
        call_target_name=e["custom_call_target"],
        has_side_effect=e.get("custom_call_has_side_effect", False),
        api_version=i32(version),
        backend_config=ir.Attribute.parse(config),
    )


@row("after-all")
def _after_all(e: Emission) -> Any:
    return e.create("stablehlo.after_all")


@row("partition-id", "replica-id")
def _device_id(e: Emission) -> Any:
    return e.create(f"stablehlo.{e.instruction.opcode.replace('-', '_')}")


def _channel(e: Emission, kind: int = 1) -> Any:
    """The attribute channel_handle, where the instruction has one; 1 is from device to device."""
    number = e.get("channel_id")
    if number is None:
        return None
    return ir.Attribute.parse(f"#stablehlo.channel_handle<handle = {number}, type = {kind}>")


@row("infeed")
def _infeed(e: Emission) -> Any:
    return e.create("stablehlo.infeed", infeed_config=e.get("infeed_config", ""))


@row("outfeed")
def _outfeed(e: Emission) -> Any:
    return e.create("stablehlo.outfeed", outfeed_config=e.get("outfeed_config", ""))


# StableHLO sends and receives in one operation, HLO in two with a context between them.
@row("send")
def _send(e: Emission) -> Any:
    host = e.get("is_host_transfer", False)
    token = e.create(
        "stablehlo.send", shape=TOKEN, channel_handle=_channel(e, 2 if host else 1),
        is_host_transfer=host,
    )  # fmt: skip
    return e.operands[0], e.constant(0, Shape(U32)), token


@row("send-done")
def _send_done(e: Emission) -> Any:
    return e.operands[0][2]


@row("recv")
def _recv(e: Emission) -> Any:
    shape = e.instruction.shape
    assert isinstance(shape, TupleShape)
    host = e.get("is_host_transfer", False)
    data, token = e.create(
        "stablehlo.recv", shape=TupleShape((shape.elements[0], TOKEN)),
        channel_handle=_channel(e, 3 if host else 1), is_host_transfer=host,
    )  # fmt: skip
    return data, e.constant(0, Shape(U32)), token


@row("recv-done")
def _recv_done(e: Emission) -> Any:
    data, _, token = e.operands[0]
    return data, token


def _collective(e: Emission, name: str, **attributes: Any) -> Any:
    """A collective; short groups are filled up with -1. StableHLO has none of empty arrays."""
    shape = e.instruction.shape
    if isinstance(shape, Shape) and shape.size == 0:
        return e.constant(0, shape)
    groups = e["replica_groups"].groups
    width = max(map(len, groups), default=0)
    filled = [(*group, *[-1] * (width - len(group))) for group in groups]
    everywhere = ir.UnitAttr.get() if e.get("use_global_device_ids") else None
    return e.create(
        name, replica_groups=matrix(filled, width), channel_handle=_channel(e),
        use_global_device_ids=everywhere, **attributes,
    )  # fmt: skip


@row("all-gather")
def _all_gather(e: Emission) -> Any:
    return _collective(e, "stablehlo.all_gather", all_gather_dim=e["dimensions"][0])


@row("all-reduce")
def _all_reduce(e: Emission) -> Any:
    return _collective(e, "stablehlo.all_reduce", regions=[e["to_apply"]])


@row("reduce-scatter")
def _reduce_scatter(e: Emission) -> Any:
    return _collective(
        e, "stablehlo.reduce_scatter", regions=[e["to_apply"]], scatter_dimension=e["dimensions"][0]
    )


@row("all-to-all")
def _all_to_all(e: Emission) -> Any:
    if "dimensions" not in e.instruction.attributes:
        raise UnsupportedError("all-to-all of a tuple has no counterpart in StableHLO")
    (dimension,) = e["dimensions"]
    groups = e["replica_groups"].groups
    return _collective(
        e, "stablehlo.all_to_all", split_dimension=dimension, concat_dimension=dimension,
        split_count=len(groups[0]) if groups else e.functions.replicas,
    )  # fmt: skip


@row("collective-broadcast")
def _collective_broadcast(e: Emission) -> Any:
    return _collective(e, "stablehlo.collective_broadcast")


@row("collective-permute")
def _collective_permute(e: Emission) -> Any:
    pairs = matrix(e["source_target_pairs"], 2)
    return e.create(
        "stablehlo.collective_permute", source_target_pairs=pairs, channel_handle=_channel(e)
    )
