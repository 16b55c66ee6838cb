"""Instructions that are written only: what HLO has for tuples and memory, and StableHLO lacks.

Tuples are taken apart, and a fusion is a call of a function.
"""

from collections.abc import Callable
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.stablehlo.operations.emission import Emission


def _fusion(e: Emission) -> Any:
    symbol = ir.FlatSymbolRefAttr.get(e.functions.symbol(e["calls"]))
    return e.create("func.call", callee=symbol)


WRITERS: dict[str, Callable[[Emission], Any]] = {
    "tuple": lambda e: tuple(e.operands),
    "get-tuple-element": lambda e: e.operands[0][e["index"]],
    "copy": lambda e: e.operands[0],
    "fusion": _fusion,
    # The value of a send or recv has its context between the data and the token.
    "send-done": lambda e: e.operands[0][2],
    "recv-done": lambda e: (e.operands[0][0], e.operands[0][2]),
}
