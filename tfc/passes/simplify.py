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
from typing import ClassVar

from tfc.hlo.ir import Module
from tfc.passes.arithmetic import ARITHMETIC
from tfc.passes.rewriter import Rewriter
from tfc.passes.structure import FUNCTIONS


@dataclass(frozen=True)
class Simplify:
    """Apply the rules until none matches.

    exact: leave out the rules that do not keep every bit.
    """

    name: ClassVar[str] = "simplify"
    exact: bool = True

    def __call__(self, module: Module) -> Module:
        """The module to which no rule applies."""
        return self._rewriter().run(module)

    def explain(self, module: Module) -> tuple[str, ...]:
        """How often each rule is used on the module."""
        rewriter = self._rewriter()
        rewriter.run(module)
        return tuple(f"{count} x {name}" for name, count in rewriter.counts.most_common())

    def _rewriter(self) -> Rewriter:
        rules = [rule for rule in ARITHMETIC if rule.exact or not self.exact]
        return Rewriter(rules, FUNCTIONS)
