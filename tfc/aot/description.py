"""What a program says of itself to other programs: NAME.json, and an object file that holds it."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfc.aot.placing import place
from tfc.aot.signature import Leaf, Signature
from tfc.backends.interfaces import ObjectCode
from tfc.backends.target import Target
from tfc.runtime.later import later

if TYPE_CHECKING:
    from tfc.backends.cpu.runtime import abi
    from tfc.backends.llvm import compilation
else:
    abi = later("tfc.backends.cpu.runtime.abi")
    compilation = later("tfc.backends.llvm.compilation")


def description(signature: Signature, made: ObjectCode) -> str:
    """The signature, sizes, target and digest of an object file, as JSON."""
    target, code = made.target, made.code
    fed, fetched = signature.fed, signature.fetched
    placing = place(signature)
    found = {
        "class": str(signature.cpp_class),
        "entry_point": signature.entry_point,
        "program": str(signature),
        "arguments": _leaves(fed),
        "results": _leaves(fetched),
        "variables": [
            {
                **_leaf(signature.arguments[v.argument], v.argument),
                "name": v.name,
                "readonly": v.result is None,
                "result": v.result,
            }
            for v in signature.variables
        ],
        "aliases": [{"result": r, "argument": a} for r, a in signature.aliases],
        "memory": {
            "arena_bytes": signature.arena_size,
            "constant_bytes": signature.constant_size,
            "block_bytes": placing.block_bytes,
        },
        "batch": _batch(signature),
        "weights": {
            "place": signature.constants.name.lower(),
            "checksum": f"{signature.constant_sum:016x}" if signature.constant_sum else None,
        },
        "threads": signature.threads,
        "symbols": list(signature.symbols),
        "target": {"triple": target.triple, "cpu": target.cpu, "features": str(target.features)},
        "cpus": list(signature.cpus),
        "checks_processor": signature.is_checked,
        "object": {"bytes": len(code), "sha256": hashlib.sha256(code).hexdigest()},
    }
    return json.dumps(found, indent=2) + "\n"


def _batch(signature: Signature) -> dict[str, Any] | None:
    """The sizes of batch, and which arrays have rows; null without any."""
    batch = signature.batch
    if batch is None:
        return None
    return {
        "sizes": list(batch.sizes),
        "takes_any": batch.takes_any,
        "arguments": [n for n, count in enumerate(batch.arguments) if count],
        "results": [n for n, count in enumerate(batch.results) if count],
    }


def _leaves(found: Sequence[Leaf]) -> list[dict[str, Any]]:
    return [_leaf(leaf, number) for number, leaf in enumerate(found)]


def _leaf(leaf: Leaf, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "name": leaf.name,
        "method": leaf.called,
        "element_type": str(leaf.shape.element_type),
        "dims": list(leaf.shape.dims),
        "bytes": leaf.shape.byte_size,
    }


def constants_object(entry_point: str, made: ObjectCode) -> bytes:
    """An object file with the constants of another, which refers to them by name."""
    pool = abi.constant_pool(abi.linked_constants(entry_point), made.constants, "")
    made_of_pool = compilation.compile_ir(pool, made.target).object_code
    return abi.with_constants(made_of_pool, [made.constants])


def metadata_object(entry_point: str, text: str, target: Target) -> bytes:
    """An object file with a text as `ENTRY_metadata`, and its size as `ENTRY_metadata_size`."""
    data = text.encode()
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    ir = (
        f'@"{entry_point}_metadata" = constant [{len(data) + 1} x i8] c"{escaped}\\00"\n'
        f'@"{entry_point}_metadata_size" = constant i64 {len(data)}\n'
    )
    return compilation.compile_ir(ir, target).object_code
