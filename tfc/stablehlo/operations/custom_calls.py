"""Custom calls: annotations vanish, some are operations of HLO."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import ShapeError, UnsupportedError
from tfc.hlo import builder
from tfc.hlo.attributes.sharding import Sharding, is_sharding, parse_sharding, with_sharding
from tfc.hlo.ir import Instruction
from tfc.hlo.lexer import quote
from tfc.hlo.ops.outside.custom_call import ANNOTATIONS
from tfc.hlo.shape import AnyShape, TupleShape
from tfc.stablehlo.operations.emission import Emission, i32
from tfc.stablehlo.operations.operation import (
    Operation,
    flag_of,
    integer_in,
    integer_of,
    text_of,
)
from tfc.stablehlo.operations.row import Field, Values, row
from tfc.stablehlo.operations.values import elements

API_VERSIONS = {
    1: "API_VERSION_ORIGINAL",
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}
_NUMBERS = {name: number for number, name in API_VERSIONS.items()}


def same(operation: Operation) -> list[Instruction]:
    """The operands of an operation that on one device gives them as they are.

    Raises:
        UnsupportedError: its results have other shapes, of parts that lie on several devices.
    """
    if len(operation.operands) < len(operation.shapes):
        raise UnsupportedError(f"{_title(operation)} must have an operand for each result")
    for operand, shape in zip(operation.operands, operation.shapes):
        require_same(operation, operand, shape)
    return list(operation.operands[: len(operation.shapes)])


def call_of_sharding(
    target: str, operand: Instruction, shape: AnyShape, sharding: Sharding
) -> Instruction:
    """A custom call that says how its result is sharded."""
    made = builder.instruction("custom-call", [operand], shape=shape, custom_call_target=target)
    return with_sharding(made, sharding)


def sharding_from(attribute: Any) -> Sharding:
    """The sharding of an array that a text in XLA's notation says.

    Raises:
        UnsupportedError: it says none.
        ShapeError: its devices do not make a sharding.
    """
    text = text_of(attribute)
    found = parse_sharding(text) if is_sharding(text) else None
    if not isinstance(found, Sharding):
        raise UnsupportedError(
            f"mhlo.sharding must look like {{devices=[2,1]<=[2]}} for an array, got {text}"
        )
    return found


def partitions_of(mlir: Any) -> int:
    """For how many partitions the module of an operation is."""
    while mlir.parent is not None:
        mlir = mlir.parent
    name = "mhlo.num_partitions"
    found = mlir.attributes
    return integer_of(found[name], name) if name in found else 1


def _title(operation: Operation) -> str:
    return operation.text("call_target_name") or operation.name


def require_same(operation: Operation, operand: Instruction, shape: object) -> None:
    """Check that an operation makes of an operand what it is already.

    Raises:
        UnsupportedError: it makes another shape, of parts that lie on several devices.
    """
    if operand.shape != shape:
        raise UnsupportedError(
            f"{_title(operation)} makes {shape} of {operand.shape}, which is for several devices: "
            "export the program for one"
        )


def _read_target(operation: Operation) -> Values:
    effect = {"custom_call_has_side_effect": True} if operation.flag("has_side_effect") else {}
    version = operation.integer("api_version", 1)
    stated = API_VERSIONS.get(version, f"API_VERSION_{version}")
    return {
        "custom_call_target": operation.text("call_target_name"),
        **effect,
        **({"api_version": stated} if version != 1 else {}),
    }


def _write_target(e: Emission) -> Values:
    config = dict(e.instruction.annotations).get("backend_config", '""')
    sharding = dict(e.instruction.annotations).get("sharding")
    return {
        **({"mhlo.sharding": ir.StringAttr.get(sharding)} if sharding else {}),
        "call_target_name": e["custom_call_target"],
        "has_side_effect": e.get("custom_call_has_side_effect", False),
        "api_version": i32(_NUMBERS.get(e.get("api_version", API_VERSIONS[1]), 1)),
        "backend_config": ir.Attribute.parse(config),
    }


def _make(
    operation: Operation, opcode: str, attributes: Values
) -> Instruction | Sequence[Instruction]:
    target = attributes["custom_call_target"]
    if target in ANNOTATIONS:
        if not operation.has("mhlo.sharding") or partitions_of(operation.mlir) == 1:
            return same(operation)
        (operand,), stated = operation.operands, sharding_from(operation.attribute("mhlo.sharding"))
        return call_of_sharding(target, operand, operation.shape, stated)
    if target in KNOWN_CALLS:
        return KNOWN_CALLS[target](operation)
    call = operation.make(opcode, **attributes)
    if operation.has("backend_config"):
        return call.with_(annotations=(("backend_config", _backend_config(operation)),))
    return call


def _backend_config(operation: Operation) -> str:
    """A string as it is; a dictionary as MLIR prints it, which is what XLA keeps."""
    attribute = operation.attribute("backend_config")
    return quote(attribute.value) if hasattr(attribute, "value") else str(attribute)


def _top_k(operation: Operation) -> Instruction:
    given = operation.attribute("mhlo.attributes")
    count = integer_in(given, "k")
    largest = "largest" not in given or flag_of(given["largest"], "largest")
    return operation.make("topk", k=count, largest=largest)


def _approximate_top_k(operation: Operation) -> list[Instruction]:
    """The largest elements, or the smallest, in the order of the program's own comparator."""
    given = operation.attribute("mhlo.backend_config")
    dimension, count = (integer_in(given, name) for name in ("reduction_dim", "top_k"))
    compared = operation.scope.function(text_of(operation.attribute("called_computations")[0]))
    keys, places = operation.operands[:2]
    shape = TupleShape((keys.shape, places.shape))
    ordered = operation.make("sort", [keys, places], shape, dimensions=(dimension,), is_stable=True,
                             to_apply=compared)  # fmt: skip
    limits = [count if d == dimension else n for d, n in enumerate(keys.array_shape.dims)]
    bounds = tuple((0, limit, 1) for limit in limits)
    return [builder.instruction("slice", [e], slice=bounds) for e in elements(ordered, 2)]


def _shape_assertion(operation: Operation) -> list[Instruction]:
    """Nothing, where what JAX asks of sizes holds.

    Raises:
        ShapeError: it does not hold, in JAX's words.
        UnsupportedError: the sizes are not known when compiling.
    """
    if not bool(operation.constant(0)):
        sizes = [int(operation.constant(n)) for n in range(1, len(operation.operands))]
        message = operation.text("error_message")
        for number, size in enumerate(sizes):
            message = message.replace(f"{{{number}}}", str(size))
        raise ShapeError(message)
    return []


KNOWN_CALLS = {
    "shape_assertion": _shape_assertion,
    "ApproxTopK": _approximate_top_k,
    "mhlo.erf": lambda operation: operation.make("erf"),
    "mhlo.tan": lambda operation: operation.make("tan"),
    "mhlo.topk": _top_k,
}

CUSTOM_CALL = row("custom-call", Field(_read_target, _write_target), make=_make)
