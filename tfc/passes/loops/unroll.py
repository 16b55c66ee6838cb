"""Unroll short loops with small bodies.

    w = … while((0, x)), 3 iterations, x + i       -->   a = add(x, 0), b = add(a, 1), …

The counter becomes a constant in each copy of the body, which then folds, and what one iteration
makes fuses with the next. A loop stays a loop, with a reason, if it is not known how often it runs,
runs often, has a long body (counted with all that it calls), or has effects.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, callees_first, has_side_effect
from tfc.hlo.loops.loop_state import repeated, rewrite_each
from tfc.hlo.loops.trip_counts import trips_of, whiles
from tfc.hlo.op import op_named
from tfc.hlo.traits import Cost
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label


@dataclass(frozen=True)
class Unroll:
    """Replace short loops by their iterations.

    max_trips: the most iterations.
    max_instructions: the most instructions that the iterations become together.
    """

    name: ClassVar[str] = "unroll"
    max_trips: int = 8
    max_instructions: int = 128

    def __call__(self, module: Module) -> Module:
        """The module without short loops."""
        return rewrite_each(module, "while", lambda loop, _: self._unrolled(loop))

    def explain(self, module: Module) -> Decisions:
        """Which loops would be unrolled, and which not, and why."""
        return tuple(self.can_unroll(x) or Taken("unrolled", label(x)) for x in whiles(module))

    def can_unroll(self, loop: Instruction) -> Refused | None:
        """None if a while is to be replaced by its iterations, else why not."""
        count = trips_of(loop).exact
        reason = None
        if count is None:
            reason = "the number of its iterations is not known"
        elif count > self.max_trips:
            reason = f"it runs {count} iterations, more than {self.max_trips}"
        elif has_side_effect(loop):
            reason = "it has effects"
        elif (total := count * _length(loop["body"])) > self.max_instructions:
            reason = f"it would be {total} instructions, more than {self.max_instructions}"
        return Refused.of(loop, reason) if reason else None

    def _unrolled(self, loop: Instruction) -> Instruction:
        if self.can_unroll(loop) is not None:
            return loop
        return repeated(loop, trips_of(loop).exact or 0)


def _length(body: Computation) -> int:
    """How many instructions with code of their own a body has, with what it calls."""
    lengths: dict[Computation, int] = {}
    for each in callees_first(body):
        own = sum(op_named(x.opcode).cost is not Cost.FREE for x in each.instructions)
        lengths[each] = own + sum(lengths[callee] for callee in each.callees)
    return lengths[body]
