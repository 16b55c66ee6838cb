"""Composites, and operations of CHLO that HLO says in other words.

A composite brings the function that says what it means; HLO's own operation, if there is one, is
quicker and more accurate.
"""

from collections.abc import Callable, Sequence, Set
from functools import partial

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.lexer import quote
from tfc.hlo.op import OPS
from tfc.stablehlo.operations.chlo import PLAIN, is_defined
from tfc.stablehlo.operations.decomposition import decomposed
from tfc.stablehlo.operations.operation import Operation, Reader, integer_in


def _atan(operation: Operation) -> Instruction:
    return operation.make("atan2", [operation.operands[0], builder.full(1, operation.shape)])


def _square(operation: Operation) -> Instruction:
    return operation.make("multiply", [operation.operands[0]] * 2)


def _top_k(operation: Operation) -> Instruction:
    given = operation.attribute("composite_attributes")
    return operation.make("topk", k=integer_in(given, "k"), largest=True)


def _plain(opcode: str, operation: Operation) -> Instruction:
    return operation.make(opcode)


# What HLO has an operation for, and the kinds of element types that it takes.
Known = tuple[Set[str], Callable[[Operation], Instruction]]
_FLOAT = frozenset({"float"})
OTHER_WORDS: dict[str, Known] = {
    "chlo.atan": (_FLOAT, _atan),
    "chlo.square": (_FLOAT, _square),
    "chlo.tan": (OPS["tan"].domain, partial(_plain, "tan")),
}
KNOWN: dict[str, Known] = {
    **{f"chlo.{name}": (OPS[name].domain, partial(_plain, name)) for name in PLAIN},
    "chlo.top_k": (OPS["topk"].domain, _top_k),
    **OTHER_WORDS,
}


def _composite(operation: Operation) -> Instruction:
    kinds, make = KNOWN.get(operation.text("name"), (frozenset(), None))
    if make is not None and is_defined(operation, kinds):
        return make(operation)
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


def _other(operation: Operation) -> Instruction | Sequence[Instruction]:
    kinds, make = OTHER_WORDS.get(operation.name, (frozenset(), None))
    if make is not None and is_defined(operation, kinds):
        return make(operation)
    return decomposed(operation)


READERS: dict[str, Reader] = {"stablehlo.composite": _composite, "chlo.*": _other}
