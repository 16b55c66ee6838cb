"""Control flow and calls.

A region of if, case and while may use values from outside. The computations of HLO may not: such
values are passed along with the operands, and through the state of a loop; in what is written,
branches see the values around them. The tuples of HLO vanish, as operations have several results.
"""

from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.stablehlo.operations.emission import Emission, flat
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.operations.row import Field, Values, row
from tfc.stablehlo.operations.values import as_one, captured, elements


def _make_conditional(operation: Operation, opcode: str, _: Values) -> Instruction:
    """A conditional whose branches get what they use from outside."""
    is_if = operation.name == "stablehlo.if"
    operands, computations = [operation.operands[0]], []
    for n, region in enumerate(operation.mlir.regions):
        name = ("on_true", "on_false")[n] if is_if else f"branch_{n}"
        captures = captured([region])
        operands.append(as_one([operation.scope.value(c) for c in captures]))
        computations.append(operation.scope.closure(region, name, captures, carried=False))
    if is_if:
        true, false = computations
        return operation.make(opcode, operands, true_computation=true, false_computation=false)
    return operation.make(opcode, operands, branch_computations=tuple(computations))


def _create_conditional(e: Emission, name: str, _: Values) -> Any:
    by_index = "branch_computations" in e.instruction.attributes
    called = e["branch_computations"] if by_index else (
        e["true_computation"], e["false_computation"])  # fmt: skip
    branches = [(c, [operand]) for c, operand in zip(called, e.operands[1:])]
    return e.create(name if by_index else "stablehlo.if", e.operands[:1], regions=branches)


def _make_while(operation: Operation, opcode: str, _: Values) -> list[Instruction]:
    condition, body = operation.mlir.regions
    captures = captured([condition, body])
    state = [*operation.operands, *(operation.scope.value(c) for c in captures)]
    loop = builder.instruction(
        opcode,
        [as_one(state)],
        metadata=operation.metadata,
        condition=operation.scope.closure(condition, "condition", captures, carried=False),
        body=operation.scope.closure(body, "body", captures, carried=True),
    )
    return elements(loop, len(state))[: len(operation.operands)]


def _create_while(e: Emission, name: str, _: Values) -> Any:
    if not flat(e.operands):
        raise UnsupportedError("a while without state has no counterpart in StableHLO")
    return e.create(name, regions=[e["condition"], e["body"]])


def _make_barrier(operation: Operation, opcode: str, _: Values) -> list[Instruction]:
    barrier = builder.instruction(opcode, [as_one(operation.operands)], metadata=operation.metadata)
    return elements(barrier, len(operation.operands))


def _create_barrier(e: Emission, name: str, _: Values) -> Any:
    return e.create(name) if flat(e.operands) else e.operands[0]


_CALLEE = Field(
    lambda operation: {"to_apply": operation.scope.function(operation.text("callee"))},
    lambda e: {"callee": ir.FlatSymbolRefAttr.get(e.functions.symbol(e["to_apply"]))},
)

ROWS = (
    row(
        "conditional",
        name="stablehlo.case",
        also=("stablehlo.if",),
        make=_make_conditional,
        create=_create_conditional,
    ),
    row("while", make=_make_while, create=_create_while),
    row("call", _CALLEE, name="func.call"),
    row(
        "opt-barrier",
        name="stablehlo.optimization_barrier",
        make=_make_barrier,
        create=_create_barrier,
    ),
)
