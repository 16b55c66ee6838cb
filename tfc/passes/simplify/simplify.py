"""Simplify: apply the tables of equations and of functions.

    o = f32[8] broadcast(one), dimensions={}
    y = f32[8] multiply(x, o)                   -->    ROOT n = f32[8] negate(x)
    ROOT n = f32[8] negate(y)

By default only exact rules are applied: the module computes the same bits (any NaN being as good as
another). A test evaluates both sides of every rule on special and random values of every element
type and compares. Rules go one way, to code that is no worse; constants go right.

Does nothing to a module that no rule matches; simplifying twice is simplifying once.
"""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from tfc.hlo.ir import Module
from tfc.hlo.op import OPS, Op
from tfc.passes.rewriting.decisions import Decisions, Taken
from tfc.passes.rewriting.patterns import Function
from tfc.passes.rewriting.rewriter import Rewriter, RuleTable
from tfc.passes.simplify.arithmetic import ARITHMETIC
from tfc.passes.simplify.control import CONTROL_FLOW, nothing_to_compute
from tfc.passes.simplify.dots import DOTS, INEXACT
from tfc.passes.simplify.dots import REORDERED as REORDERED_DOTS
from tfc.passes.simplify.elementwise import elementwise
from tfc.passes.simplify.indexed import INDEXED
from tfc.passes.simplify.movement import MOVEMENT
from tfc.passes.simplify.reductions import REDUCTIONS
from tfc.passes.simplify.reductions import REORDERED as REORDERED_REDUCTIONS
from tfc.passes.simplify.slices import SLICES

_TABLES = (MOVEMENT, SLICES, REDUCTIONS, DOTS, INDEXED, CONTROL_FLOW)
REORDERED = REORDERED_REDUCTIONS | REORDERED_DOTS


def functions_of(op: Op) -> tuple[Function, ...]:
    """What is tried at the instructions of an op, in this order."""
    others = (f for table in _TABLES for f in table.get(op.name, ()))
    return (nothing_to_compute, *elementwise(op), *others)


@dataclass(frozen=True)
class Simplify:
    """Apply the rules until none matches.

    exact: leave out the rules that do not keep every bit.
    reorder: apply those that combine the elements of a reduction or dot in another order, too.
    """

    name: ClassVar[str] = "simplify"
    idempotent: ClassVar[bool] = True
    exact: bool = True
    reorder: bool = True

    def __call__(self, module: Module) -> Module:
        """The module to which no rule applies."""
        return self._rewriter().run(module)

    def explain(self, module: Module) -> Decisions:
        """How often each rule is used on the module."""
        rewriter = self._rewriter()
        rewriter.run(module)
        return tuple(Taken(name, count=n) for name, n in rewriter.counts.most_common())

    def _rewriter(self) -> Rewriter:
        return Rewriter(_table(self.exact, self.reorder, tuple(OPS)))


@cache
def _table(exact: bool, reorder: bool, opcodes: tuple[str, ...]) -> RuleTable:
    left_out = (INEXACT if exact else frozenset()) | (frozenset() if reorder else REORDERED)
    functions = {
        opcode: [f for f in functions_of(OPS[opcode]) if f not in left_out] for opcode in opcodes
    }
    return RuleTable([r for r in ARITHMETIC if r.exact or not exact], functions)
