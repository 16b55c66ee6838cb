"""Move out of loops what is the same in every iteration.

    body { … w = f32[64,64] get-tuple-element(s), index=1        e = f32[64,64] exponential(w0)
             e = f32[64,64] exponential(w)                 -->   body { … e = … index=2
             r = … dot(x, e) … }                                          r = … dot(x, e) … }

What depends on unchanging elements only is computed before the loop and becomes an element that is
passed on. Every operation without effects may run though the loop might not: HLO has no operation
that fails. What might not end (a loop of unknown length, a custom call) must be known to run.

Stays inside, with a reason: what costs nothing in a kernel (constants, broadcasts, iota, reshapes);
what is larger than what it is made of and cheap to make, so that loading it would take longer; and
what would take more than `max_bytes` of memory beyond its operands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Instruction, Module, callees_first, has_side_effect
from tfc.hlo.loops.loop_state import (
    Loop,
    Replace,
    apply,
    extended,
    loop_of,
    rewrite_each,
)
from tfc.hlo.loops.trip_counts import trip_count, trips_of, whiles
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape, leaves
from tfc.hlo.traits import Cost
from tfc.passes.analysis.fusible import Sources, is_cheap, is_producer, sources
from tfc.passes.rewriting.decisions import Decision, Decisions, Refused, Taken, label

_KEPT = frozenset({"add-dependency", "domain", "opt-barrier"})  # which are there to be in the way


def _is_inside(x: Instruction) -> bool:
    """True for what is made where it is wanted, in another kernel or with no code at all."""
    return op_named(x.opcode).cost is Cost.FREE or x.opcode in ("broadcast", "iota", "reshape")


@dataclass(frozen=True)
class Licm:
    """Compute before a loop what its iterations have in common.

    max_bytes: the most memory that a value may take beyond that of what it is made of.
    """

    name: ClassVar[str] = "licm"
    max_bytes: int = 1 << 24

    def __call__(self, module: Module) -> Module:
        """The module with what does not change before its loops."""
        return rewrite_each(module, "while", lambda x, _: self._hoisted(x))

    def explain(self, module: Module) -> Decisions:
        """What would be moved out of each loop, and what not, and why."""
        decisions: list[Decision] = []
        for instruction in whiles(module):
            loop = loop_of(instruction)
            if loop is not None:
                plan = _Plan(loop, self.max_bytes)
                decisions += [Taken(f"out of {loop.body.name}", label(x)) for x in plan.moved]
                decisions += plan.refusals
        return tuple(decisions)

    def _hoisted(self, instruction: Instruction) -> Instruction:
        loop = loop_of(instruction)
        moved = _Plan(loop, self.max_bytes).moved if loop else []
        if loop is None or not moved:
            return instruction
        outside = apply(loop.body, loop.inits).new
        return extended(
            loop,
            [outside[x] for x in moved],
            lambda parts: _known(dict(zip(moved, parts))),
        )


def _known(made: Mapping[Instruction, Instruction]) -> Replace:
    return lambda old, _: made.get(old)


class _Plan:
    """What to move out of a loop."""

    def __init__(self, loop: Loop, max_bytes: int):
        self.loop, self.max_bytes = loop, max_bytes
        self.moved: list[Instruction] = []
        self.refusals: list[Refused] = []
        unchanging = self._unchanging()
        if all(map(_is_inside, unchanging)):
            return
        self.sources: Sources = sources(loop.body)
        self.costly: dict[Instruction, bool] = {}
        for x in loop.body.instructions:
            above = is_producer(x) and any(self.costly[o] for o in x.operands)
            self.costly[x] = above or not is_cheap(x)
        self._choose(unchanging)

    def _unchanging(self) -> dict[Instruction, None]:
        """What depends on unchanging elements and constants only, operands first."""
        found: dict[Instruction, None] = {}
        runs = bool(trips_of(self.loop.instruction).exact)
        for x in self.loop.body.instructions:
            number = self.loop.number_in(self.loop.body, x)
            if number is not None:
                if self.loop.invariant[number]:
                    found[x] = None
            elif x.opcode != "parameter" and all(o in found for o in x.operands):
                if has_side_effect(x) or op_named(x.opcode).on_host or x.opcode in _KEPT:
                    continue
                if not runs and _may_not_end(x):
                    reason = "it may not end, and the loop may run no iteration"
                    self.refusals.append(Refused.of(x, reason))
                    continue
                found[x] = None
        return found

    def _choose(self, unchanging: dict[Instruction, None]) -> None:
        """Walk from what changes into what does not, as far as it stays inside."""
        pending = list(self.loop.body.root.operands)
        for x in self.loop.body.instructions:
            if x not in unchanging:
                pending += x.operands
        seen: set[Instruction] = set()
        while pending:
            x = pending.pop()
            if x not in unchanging or x in seen:
                continue
            seen.add(x)
            reason = None if _is_inside(x) else self._refuse(x)
            if reason is None and self._is_worth(x):
                self.moved.append(x)
                continue
            if reason is not None:
                self.refusals.append(Refused.of(x, reason))
            pending += x.operands
        place = {x: k for k, x in enumerate(self.loop.body.instructions)}
        self.moved.sort(key=place.__getitem__)

    def _is_worth(self, x: Instruction) -> bool:
        is_part = x.opcode == "get-tuple-element" and self.loop.number_in(self.loop.body, x) is None
        return isinstance(x.shape, Shape) and (is_part or not _is_inside(x))

    def _refuse(self, x: Instruction) -> str | None:
        """Why an unchanging value is computed in every iteration; None if it is not."""
        if not isinstance(x.shape, Shape):
            return None
        made_of = sum(s.byte_size for o in x.operands for s in leaves(o.shape))
        read = self.sources.read[x] if is_producer(x) else made_of
        more = x.shape.byte_size - read
        if more > self.max_bytes:
            return f"it takes {more} bytes more than what it is made of"
        if more > 0 and is_producer(x) and not self.costly[x]:
            return "it is larger than what it is made of, and cheap to make"
        return None


def _may_not_end(x: Instruction) -> bool:
    """True for custom calls and loops of unknown length, and what calls one."""
    inside = (i for c in x.called_computations for callee in callees_first(c)
              for i in callee.instructions)  # fmt: skip
    return any(
        i.opcode == "custom-call" or (i.opcode == "while" and trip_count(i) is None)
        for i in (x, *inside)
    )
