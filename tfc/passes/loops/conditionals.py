"""Conditionals with less to pass, and none where both branches are as well computed.

    c = (f32[], f32[8]) conditional(p, s, s), f, g        a = f32[] …      both small: f(s)
    a = f32[] get-tuple-element(c), index=0         -->   b = f32[] …                  g(s)
                                                          c = f32[] select(p, a, b)

Branches that are the same computation of the same value become that; branches of few cheap
operations on little data become selects, since a branch splits kernels. Otherwise what nobody uses
of the result goes, and what is the same value whichever branch is taken is used directly; branches
are not passed what they do not read, and make constants themselves.

A branch with effects runs exactly when it did. A conditional stays one, with a reason, if a branch
has effects, loops or expensive operations, is long, or makes more than `max_bytes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, has_side_effect, holding, postorder
from tfc.hlo.loops.loop_state import (
    Numbers,
    apply,
    dependences,
    elements,
    is_from_nothing,
    made_again,
    packed,
    remade,
    rewrite_each,
)
from tfc.hlo.op import op_named
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import Shape, TupleShape, leaves
from tfc.hlo.traits import Cost
from tfc.passes.analysis.fusible import is_cheap, is_loop
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label
from tfc.passes.simplify.cse import same_computations

_MOST_BRANCHES = 4


@dataclass(frozen=True)
class Conditionals:
    """Make conditionals smaller, or selects.

    max_instructions: the most operations of a branch that becomes a part of a select.
    max_bytes: the most that the values a branch makes may take for that.
    """

    name: ClassVar[str] = "conditionals"
    max_instructions: int = 16
    max_bytes: int = 1 << 12

    def __call__(self, module: Module) -> Module:
        """The module with simpler conditionals."""
        return rewrite_each(module, "conditional", self._simplified)

    def explain(self, module: Module) -> Decisions:
        """Which conditionals would become selects, and which not, and why."""
        found = (i for c in module.computations for i in c.instructions)
        return tuple(
            self.can_select(x) or Taken("a select", label(x))
            for x in found if x.opcode == "conditional"
        )  # fmt: skip

    def can_select(self, conditional: Instruction) -> Refused | None:
        """None if a conditional is to become selects, else why not."""
        called = branches(conditional)
        if len(called) > _MOST_BRANCHES:
            return Refused.of(conditional, f"it has more than {_MOST_BRANCHES} branches")
        if not all(isinstance(s, Shape) for s in _parts(conditional)):
            return Refused.of(conditional, "it has a tuple or token among its results")
        reasons = (self._keeps_apart(branch) for branch in called)
        reason = next((r for r in reasons if r), None)
        return Refused.of(conditional, reason) if reason else None

    def _keeps_apart(self, branch: Computation) -> str | None:
        """Why a branch is computed only where it is taken."""
        steps = [x for x in branch.instructions if op_named(x.opcode).cost is not Cost.FREE]
        for x in steps:
            if has_side_effect(x):
                return f"{branch.name} has effects"
            if not is_loop(x) or not is_cheap(x):
                return f"{branch.name} has an expensive operation, {x.opcode}"
        if len(steps) > self.max_instructions:
            return f"{branch.name} has more than {self.max_instructions} operations"
        results = leaves(branch.root.shape)
        made = sum(s.byte_size for s in (*(x.array_shape for x in steps), *results))
        return f"{branch.name} makes {made} bytes" if made > self.max_bytes else None

    def _simplified(self, conditional: Instruction, used: Numbers) -> Instruction:
        called, operands = branches(conditional), conditional.operands[1:]
        if all(o is operands[0] for o in operands) and same_computations(called):
            applied = apply(called[0], elements(operands[0]))
            return holding(packed(conditional.shape, applied.results), applied.effects)
        if any(c.root.shape != conditional.shape for c in called) or any(
            c.parameters[0].shape != o.shape for c, o in zip(called, operands)
        ):
            return conditional  # a layout that somebody chose
        if self.can_select(conditional) is None:
            return _selected(conditional)
        return _reduced(conditional, used)


def _parts(value: Instruction):
    return value.shape.elements if isinstance(value.shape, TupleShape) else (value.shape,)


def _selected(conditional: Instruction) -> Instruction:
    """The results of all branches, and selects of one of them."""
    called = branches(conditional)
    results = [apply(c, elements(o)).results for c, o in zip(called, conditional.operands[1:])]
    chosen = results[-1]
    for number in reversed(range(len(called) - 1)):
        test = conditional.operands[0]
        if "branch_computations" in conditional.attributes:
            index = builder.constant(number, test.array_shape.element_type)
            test = builder.compare("EQ", test, index)
        pairs = zip(results[number], chosen)
        chosen = [builder.instruction("select", [test, a, b], metadata=conditional.metadata)
                  for a, b in pairs]  # fmt: skip
    return packed(conditional.shape, chosen)


def _reduced(conditional: Instruction, used: Numbers) -> Instruction:
    """The conditional without results that need no branch, and operands that no branch reads."""
    called, operands = branches(conditional), conditional.operands[1:]
    given = {o: elements(o) for o in operands}
    applied = [apply(c, given[o]) for c, o in zip(called, operands)]
    common = [_common(values) for values in zip(*(a.results for a in applied))]
    # What nobody uses only completes the tuple.
    others = [value or any_result for value, any_result in zip(common, applied[0].results)]
    has_effects = has_side_effect(conditional)
    # What an effect made is used by nobody outside, or the effect would be there, too.
    bound = [has_effects and _has_effects(value) for value in applied[0].results]
    kept = [n for n, value in enumerate(common) if value is None and (n in used or bound[n])]
    if not kept and not has_effects:
        return packed(conditional.shape, others)
    if not isinstance(conditional.shape, TupleShape):
        kept = [0]
    made = [_restricted(c, o, given[o], kept) for c, o in zip(called, operands)]
    if all(new is old for (new, _), old in zip(made, called)):
        return conditional
    result = _with_branches(conditional, made)
    if len(kept) == len(common):
        return result
    place = {n: k for k, n in enumerate(kept)}
    parts = elements(result)
    state = [parts[place[n]] if n in place else other for n, other in enumerate(others)]
    return holding(packed(conditional.shape, state), [result] if has_effects else [])


def _has_effects(value: Instruction) -> bool:
    """True if a value is made by an effect, or of what one makes."""
    return any(map(has_side_effect, postorder([value])))


def _common(values: Sequence[Instruction]) -> Instruction | None:
    """The value that every branch returns, if it is one from outside or a constant."""
    first = values[0]
    if first.opcode == "constant":
        same = all(v.opcode == "constant" and v["literal"] == first["literal"] for v in values)
    else:
        same = all(v is first for v in values)  # what a branch makes is its own
    return first if same else None


def _restricted(
    branch: Computation, operand: Instruction, given: Sequence[Instruction], kept: Sequence[int]
) -> tuple[Computation, Instruction]:
    """A branch with some of its results, and what to pass it: the elements that it then reads."""
    results, effects = dependences(branch)
    needed = effects
    for number in kept:
        needed |= results[number]
    is_tuple = isinstance(operand.shape, TupleShape)
    read = [n for n, value in enumerate(given)
            if not is_tuple or (needed >> n & 1 and not is_from_nothing(value))]  # fmt: skip
    if len(read) == len(given) and len(kept) == len(results):
        return branch, operand
    passed = packed(operand.shape, [given[n] for n in read])
    parameter = builder.parameter(0, passed.shape, branch.parameters[0].name)
    place = dict(zip(read, elements(parameter)))
    values = [place[n] if n in place else made_again(value) for n, value in enumerate(given)]
    applied = apply(branch, values)
    root = packed(branch.root.shape, [applied.results[n] for n in kept])
    return remade(branch, parameter, root, applied), passed


def _with_branches(
    conditional: Instruction, made: Sequence[tuple[Computation, Instruction]]
) -> Instruction:
    """A conditional of these branches, each with what it is passed."""
    called = tuple(branch for branch, _ in made)
    if "branch_computations" in conditional.attributes:
        named = conditional.attributes.with_(branch_computations=called)
    else:
        on_true, on_false = called
        named = conditional.attributes.with_(true_computation=on_true, false_computation=on_false)
    return conditional.with_(
        operands=(conditional.operands[0], *(operand for _, operand in made)),
        shape=called[0].root.shape,
        attributes=named,
    )
