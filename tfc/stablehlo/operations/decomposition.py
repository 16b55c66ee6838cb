"""Operations of CHLO as what they mean, by the pass that comes with the bindings."""

import io
from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.parser_process import PARSER


def decomposed(operation: Operation) -> Sequence[Instruction]:
    """The results of an operation of CHLO, computed by operations of StableHLO.

    Raises:
        UnsupportedError: the bindings' pass leaves it as it is.
    """
    module = _decompose(operation.mlir)
    return operation.scope.inline(module.body.operations[0].regions[0], operation.operands)


def _decompose(mlir: Any) -> Any:
    """A module with a function of StableHLO that does what an operation of CHLO does.

    Raises:
        UnsupportedError: the bindings' pass leaves it as it is.
    """
    with mlir.context, ir.Location.unknown():
        module = ir.Module.parse("module {}")
        types = [o.type for o in mlir.operands], [r.type for r in mlir.results]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("decomposition"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(*types)),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*types[0])
        with ir.InsertionPoint(block):
            clone = mlir.clone()
            for position, argument in enumerate(block.arguments):
                clone.operands[position] = argument
            ir.Operation.create("func.return", operands=list(clone.results))
        written = io.BytesIO()
        module.operation.write_bytecode(written)
    passes = "builtin.module(func.func(chlo-legalize-to-stablehlo,canonicalize,cse))"
    reply = PARSER.parse("bytecode", written.getvalue(), passes)
    if reply.refused:
        raise UnsupportedError(f"{mlir.name} is not supported: {reply.refused[0][1]}")
    module = ir.Module.parse(reply.content, mlir.context)
    block = module.body.operations[0].regions[0].blocks[0]
    if any(o.operation.name == mlir.name for o in block.operations):
        raise UnsupportedError(f"{mlir.name} is not supported for {', '.join(map(str, types[0]))}")
    return module
