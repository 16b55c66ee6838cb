"""Control flow, tuples and calls.

A region of if, case and while may use values from outside. The computations of HLO may not: such
values are passed along with the operands, and through the state of a loop.
"""

from collections.abc import Sequence

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.stablehlo.importer.module import as_one, captured, elements
from tfc.stablehlo.importer.operation import Operation, row


def _branches(operation: Operation, names: Sequence[str]) -> Instruction:
    """A conditional whose branches get what they use from outside."""
    operands, computations = [operation.operands[0]], []
    for region, name in zip(operation.mlir.regions, names):
        captures = captured([region])
        operands.append(as_one([operation.scope.value(c) for c in captures]))
        computations.append(operation.scope.closure(region, name, captures, carried=False))
    if operation.name == "stablehlo.if":
        true, false = computations
        return operation.make(
            "conditional", operands, true_computation=true, false_computation=false
        )
    return operation.make("conditional", operands, branch_computations=tuple(computations))


@row("stablehlo.if")
def _if(operation: Operation) -> Instruction:
    return _branches(operation, ("on_true", "on_false"))


@row("stablehlo.case")
def _case(operation: Operation) -> Instruction:
    return _branches(operation, [f"branch_{n}" for n in range(len(operation.mlir.regions))])


@row("stablehlo.while")
def _while(operation: Operation) -> list[Instruction]:
    condition, body = operation.mlir.regions
    captures = captured([condition, body])
    state = [*operation.operands, *(operation.scope.value(c) for c in captures)]
    loop = builder.instruction(
        "while",
        [as_one(state)],
        metadata=operation.metadata,
        condition=operation.scope.closure(condition, "condition", captures, carried=False),
        body=operation.scope.closure(body, "body", captures, carried=True),
    )
    return elements(loop, len(state))[: len(operation.operands)]


@row("func.call")
def _call(operation: Operation) -> Instruction:
    return operation.make("call", to_apply=operation.scope.function(operation.text("callee")))


@row("stablehlo.tuple")
def _tuple(operation: Operation) -> Instruction:
    return operation.make("tuple")


@row("stablehlo.get_tuple_element")
def _get_tuple_element(operation: Operation) -> Instruction:
    return operation.make("get-tuple-element", index=operation.integer("index"))


@row("stablehlo.optimization_barrier")
def _optimization_barrier(operation: Operation) -> list[Instruction]:
    barrier = builder.instruction(
        "opt-barrier", [as_one(operation.operands)], metadata=operation.metadata
    )
    return elements(barrier, len(operation.operands))
