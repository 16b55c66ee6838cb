"""Composites, and the operations of CHLO: HLO's own operation if there is one, else what they mean.

A composite brings the function that says what it means; an operation of CHLO is decomposed by the
pass that comes with the bindings. HLO's operations are quicker and more accurate than either.
"""

import io
from collections.abc import Callable
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.lexer import quote
from tfc.hlo.op import OPS
from tfc.hlo.shape import Shape
from tfc.stablehlo.importer.operation import Operation, integer_in, row
from tfc.stablehlo.parser_process import PARSER

PLAIN = (
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan",
)  # fmt: skip


def _plain(operation: Operation) -> Instruction:
    return operation.make(_short(operation).replace("_", "-"))


def _atan(operation: Operation) -> Instruction:
    return operation.make("atan2", [operation.operands[0], builder.full(1, operation.shape)])


def _square(operation: Operation) -> Instruction:
    return operation.make("multiply", [operation.operands[0]] * 2)


def _top_k(operation: Operation) -> Instruction:
    if operation.name == "stablehlo.composite":
        given = operation.attribute("composite_attributes")
        return operation.make("topk", k=integer_in(given, "k"), largest=True)
    return operation.make("topk", k=operation.integer("k"), largest=True)


KNOWN: dict[str, Callable[[Operation], Instruction]] = {
    **{f"chlo.{name}": _plain for name in PLAIN},
    "chlo.atan": _atan,
    "chlo.square": _square,
    "chlo.top_k": _top_k,
}


def _short(operation: Operation) -> str:
    """The name without its dialect; of a composite, its own name."""
    name = operation.name if operation.name != "stablehlo.composite" else operation.text("name")
    return name.partition(".")[2]


def _is_defined(operation: Operation) -> bool:
    """Whether HLO's operation is defined for the type of the first operand."""
    shape = operation.operands[0].shape if operation.operands else None
    opcode = _short(operation).replace("_", "-")
    kinds = OPS[opcode].domain if opcode in PLAIN else {"float"}
    return isinstance(shape, Shape) and shape.element_type.kind in kinds


@row("stablehlo.composite")
def _composite(operation: Operation) -> Instruction:
    known = KNOWN.get(operation.text("name"))
    if known is not None and _is_defined(operation):
        return known(operation)
    called = operation.scope.function(operation.text("decomposition"))
    call = operation.make("call", to_apply=called, is_composite=True)
    named = {
        "composite.attributes": str(operation.attribute("composite_attributes"))
        if operation.has("composite_attributes")
        else "{}",
        "composite.name": quote(operation.text("name")),
        "composite.version": quote(str(operation.integer("version"))),
    }
    text = ",".join(f"{key}={value}" for key, value in named.items())
    return call.with_(annotations=(("frontend_attributes", f"{{{text}}}"),))


@row("chlo.*")
def _chlo(operation: Operation) -> Instruction | list[Instruction]:
    known = KNOWN.get(operation.name)
    if known is not None and _is_defined(operation):
        return known(operation)
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
