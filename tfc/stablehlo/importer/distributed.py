"""Custom calls, tokens, the host's side of a program, and collectives."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.backends.mlir import provider
from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.lexer import quote
from tfc.hlo.ops.outside.custom_call import ANNOTATIONS
from tfc.hlo.shape import U32, AnyShape, Shape, TupleShape
from tfc.stablehlo.importer.module import as_one, elements
from tfc.stablehlo.importer.operation import Operation, flag_of, integer_in, row
from tfc.stablehlo.importer.shardings import same

# How routines of LAPACK, BLAS and their like are named, and others that only JAX's runtime has.
LIBRARIES = ("lapack_", "blas_", "cusolver_", "cublas_", "cu_", "hip", "xla_python_", "xla_ffi_",
             "Qr", "Eigh", "ProductOfElementary", "LuDecomposition")  # fmt: skip
API_VERSIONS = {
    1: "API_VERSION_ORIGINAL",
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}


@row("stablehlo.custom_call")
def _custom_call(operation: Operation) -> Instruction | list[Instruction]:
    target = operation.text("call_target_name")
    if target in ANNOTATIONS:
        return same(operation)
    if target in KNOWN_CALLS:
        return KNOWN_CALLS[target](operation)
    if target.startswith(LIBRARIES):
        raise UnsupportedError(
            f"{target} is a routine of a library that comes with JAX, which tfc has no code for: "
            "compute it outside of the program, and pass what it gives as an argument"
        )
    attributes: dict[str, Any] = {"custom_call_target": target}
    if operation.flag("has_side_effect"):
        attributes["custom_call_has_side_effect"] = True
    version = operation.integer("api_version", 1)
    if version != 1:
        attributes["api_version"] = API_VERSIONS.get(version, f"API_VERSION_{version}")
    call = operation.make("custom-call", **attributes)
    if operation.has("backend_config"):
        return call.with_(annotations=(("backend_config", _backend_config(operation)),))
    return call


def _backend_config(operation: Operation) -> str:
    """A string as it is; a dictionary as MLIR prints it, which is what XLA keeps."""
    attribute = operation.attribute("backend_config")
    return quote(attribute.value) if hasattr(attribute, "value") else str(attribute)


def _known_top_k(operation: Operation) -> Instruction:
    given = operation.attribute("mhlo.attributes")
    count = integer_in(given, "k")
    largest = "largest" not in given or flag_of(given["largest"], "largest")
    return operation.make("topk", k=count, largest=largest)


KNOWN_CALLS = {
    "mhlo.erf": lambda operation: operation.make("erf"),
    "mhlo.tan": lambda operation: operation.make("tan"),
    "mhlo.topk": _known_top_k,
}


@row("stablehlo.after_all", "stablehlo.create_token")
def _after_all(operation: Operation) -> Instruction:
    return operation.make("after-all")


@row("stablehlo.partition_id", "stablehlo.replica_id")
def _device_id(operation: Operation) -> Instruction:
    return operation.make(operation.name.partition(".")[2].replace("_", "-"))


@row("stablehlo.infeed")
def _infeed(operation: Operation) -> list[Instruction]:
    """HLO has the infeed's values in one tuple, beside the token."""
    *values, token = operation.shapes
    shape = TupleShape((TupleShape(tuple(values)), token))
    made = operation.make("infeed", shape=shape, **_config(operation, "infeed_config"))
    inner, done = (builder.instruction("get-tuple-element", [made], index=n) for n in (0, 1))
    return [*elements(inner, len(values), always=True), done]


@row("stablehlo.outfeed")
def _outfeed(operation: Operation) -> Instruction:
    *values, token = operation.operands
    made = builder.instruction("tuple", values)
    return operation.make("outfeed", [made, token], outfeed_shape=made.shape,
                          **_config(operation, "outfeed_config"))  # fmt: skip


def _config(operation: Operation, name: str) -> dict[str, Any]:
    text = operation.text(name)
    return {name: text} if text else {}


def _groups(operation: Operation, name: str = "replica_groups") -> str:
    """XLA's notation of a matrix of device numbers; -1 fills short rows."""
    rows = np.array(operation.attribute(name))
    listed = (",".join(str(n) for n in group if n >= 0) for group in rows)
    return "{" + ",".join(f"{{{group}}}" for group in listed) + "}"


def _channel(operation: Operation) -> dict[str, Any]:
    """The channel's number; none is 0."""
    if not operation.has("channel_handle"):
        return {}
    handle = provider.stablehlo().ChannelHandle(operation.attribute("channel_handle")).handle
    return {"channel_id": int(handle)} if handle > 0 else {}


def _collective(
    operation: Operation,
    opcode: str,
    operands: Sequence[Instruction],
    shape: AnyShape | None,
    **attributes: Any,
) -> Instruction:
    """An instruction among groups of replicas."""
    groups = operation.parsed(opcode, "replica_groups", _groups(operation))
    channel = _channel(operation)
    if operation.has("use_global_device_ids"):
        attributes["use_global_device_ids"] = True
    return operation.make(opcode, operands, shape, replica_groups=groups, **channel, **attributes)


def _each(operation: Operation, opcode: str, **attributes: Any) -> list[Instruction]:
    """A collective of several operands as one of each, which is what it means."""
    return [
        _collective(operation, opcode, [operand], shape, **attributes)
        for operand, shape in zip(operation.operands, operation.shapes)
    ]


@row("stablehlo.all_gather")
def _all_gather(operation: Operation) -> list[Instruction]:
    return _each(operation, "all-gather", dimensions=(operation.integer("all_gather_dim"),))


@row("stablehlo.all_reduce")
def _all_reduce(operation: Operation) -> list[Instruction]:
    return _each(operation, "all-reduce", to_apply=operation.region(0, "reducer"))


@row("stablehlo.reduce_scatter")
def _reduce_scatter(operation: Operation) -> list[Instruction]:
    return _each(
        operation,
        "reduce-scatter",
        dimensions=(operation.integer("scatter_dimension"),),
        to_apply=operation.region(0, "reducer"),
    )


@row("stablehlo.collective_broadcast")
def _collective_broadcast(operation: Operation) -> list[Instruction]:
    return _each(operation, "collective-broadcast")


@row("stablehlo.all_to_all")
def _all_to_all(operation: Operation) -> list[Instruction]:
    """HLO's form for arrays splits and joins along one dimension, the blocks side by side.

    The blocks that come back lie along the split dimension; from there they are moved in front of
    the dimension that they are joined along.
    """
    split, joined = operation.integer("split_dimension"), operation.integer("concat_dimension")
    count, results = operation.integer("split_count"), []
    for operand, shape in zip(operation.operands, operation.shapes):
        made = _collective(operation, "all-to-all", [operand], operand.shape, dimensions=(split,))
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


@row("stablehlo.collective_permute")
def _collective_permute(operation: Operation) -> Instruction:
    text = _groups(operation, "source_target_pairs")
    pairs = operation.parsed("collective-permute", "source_target_pairs", text)
    return operation.make("collective-permute", source_target_pairs=pairs, **_channel(operation))


@row("stablehlo.send")
def _send(operation: Operation) -> Instruction:
    *values, token = operation.operands
    host = operation.flag("is_host_transfer")
    data = as_one(values)
    shape = TupleShape((data.shape, Shape(U32), token.shape))
    sent = operation.make(
        "send", [data, token], shape, is_host_transfer=host, **_channel(operation)
    )
    return operation.make("send-done", [sent], is_host_transfer=host, **_channel(operation))


@row("stablehlo.recv")
def _recv(operation: Operation) -> list[Instruction]:
    *values, token = operation.shapes
    host = operation.flag("is_host_transfer")
    data = values[0] if len(values) == 1 else TupleShape(tuple(values))
    shape = TupleShape((data, Shape(U32), token))
    received = operation.make("recv", shape=shape, is_host_transfer=host, **_channel(operation))
    done = operation.make("recv-done", [received], TupleShape((data, token)),
                          is_host_transfer=host, **_channel(operation))  # fmt: skip
    got, after = elements(done, 2)
    return [*elements(got, len(values)), after]
