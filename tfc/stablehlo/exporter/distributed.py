"""Custom calls and tokens."""

from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.stablehlo.exporter.emission import Emission, i32, row
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
