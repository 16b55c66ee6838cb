"""Control flow, tuples and calls; tuples vanish, and branches see the values around them."""

from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.stablehlo.exporter.emission import Emission, flat, row


@row("tuple")
def _tuple(e: Emission) -> Any:
    return tuple(e.operands)


@row("get-tuple-element")
def _get_tuple_element(e: Emission) -> Any:
    return e.operands[0][e["index"]]


@row("opt-barrier")
def _opt_barrier(e: Emission) -> Any:
    return e.create("stablehlo.optimization_barrier") if flat(e.operands) else e.operands[0]


@row("while")
def _while(e: Emission) -> Any:
    if not flat(e.operands):
        raise UnsupportedError("a while without state has no counterpart in StableHLO")
    return e.create("stablehlo.while", regions=[e["condition"], e["body"]])


@row("conditional")
def _conditional(e: Emission) -> Any:
    by_index = "branch_computations" in e.instruction.attributes
    called = e["branch_computations"] if by_index else (
        e["true_computation"], e["false_computation"])  # fmt: skip
    regions = [(c, [operand]) for c, operand in zip(called, e.operands[1:])]
    name = "stablehlo.case" if by_index else "stablehlo.if"
    return e.create(name, e.operands[:1], regions=regions)


@row("call")
def _call(e: Emission) -> Any:
    symbol = ir.FlatSymbolRefAttr.get(e.functions.symbol(e["to_apply"]))
    return e.create("func.call", callee=symbol)


@row("fusion")
def _fusion(e: Emission) -> Any:
    symbol = ir.FlatSymbolRefAttr.get(e.functions.symbol(e["calls"]))
    return e.create("func.call", callee=symbol)
