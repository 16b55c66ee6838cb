"""Order instructions so that less memory is needed at one time, and fewer values are copied.

    a = f32[1000] broadcast(x)           a = f32[1000] broadcast(x)
    b = f32[1000] broadcast(y)    -->    c = f32[] reduce(a, …)
    c = f32[] reduce(a, …)               b = f32[1000] broadcast(y)
    d = f32[] reduce(b, …)               d = f32[] reduce(b, …)

The order of a computation's text is that of execution. First, what reads an array moves before what
writes over it (a dynamic-update-slice, or the value that a body returns for an element of its
state), where it does not depend on that: then neither is copied. Of the orders that keep this, the
one with the lowest peak is taken: as it is, the operand that needs most memory first (Sethi and
Ullman), or always the step that frees most. Effects keep their order, and control predecessors come
first.

Does nothing where no other order is better. Must run last of all that changes instructions, since
other passes put them into an order of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, retarget
from tfc.passes.analysis.aliases import kept_leaves, loop_bodies
from tfc.passes.analysis.called import control_computations
from tfc.passes.analysis.donation import donation_of
from tfc.passes.memory.execution_graph import (
    Steps,
    earliest_first,
    most_freed_first,
    most_needed_first,
)
from tfc.passes.rewriting.decisions import Decisions, Taken


@dataclass(frozen=True)
class Schedule:
    """Put every computation that runs as steps into the best order found."""

    name: ClassVar[str] = "schedule"

    def __call__(self, module: Module) -> Module:
        """The module in another order."""
        return module.with_entry(_Scheduler(module).new[module.entry])

    def explain(self, module: Module) -> Decisions:
        """The peak of each computation that changes, before and after."""
        peaks = _Scheduler(module).peaks
        return tuple(
            Taken(f"{before} -> {after} bytes at one time", name)
            for name, (before, after) in peaks.items()
            if before != after
        )


class _Scheduler:
    """Schedules the computations of a module, callees first.

    new: what each computation becomes.
    peaks: for each that runs as steps, the most bytes that its values need, before and after.
    """

    def __init__(self, module: Module):
        control, bodies = control_computations(module), set(loop_bodies(module))
        self.new: dict[Computation, Computation] = {}
        self.peaks: dict[str, tuple[int, int]] = {}
        self._unchanging: dict[Computation, frozenset[int]] = {}
        self._extra: dict[Computation, int] = {}  # what running a computation needs besides
        donated = donation_of(module).aliases
        for computation in module.computations:
            moved = with_callees(computation, self.new)
            if computation in control:
                into = donated if computation is module.entry else {}
                moved = self._schedule(moved, into, computation in bodies)
            if computation in bodies:
                self._unchanging[moved] = frozenset(kept_leaves(moved, self._unchanging))
            self.new[computation] = moved

    def _schedule(
        self, computation: Computation, into: Mapping[int, int], is_body: bool
    ) -> Computation:
        steps = Steps(computation, self._unchanging, self._extra)
        before = steps.peak(range(len(steps.instructions)))
        overwritten = dict(enumerate(steps.sources.of[computation.parameters[0]])) if is_body else {
            k: steps.arguments[n] for k, n in into.items()
        }  # fmt: skip
        steps.read_before_overwriting(overwritten)
        orders = [make(steps) for make in (earliest_first, most_needed_first, most_freed_first)]
        best = min(orders, key=steps.peak)
        self._extra[computation] = after = steps.peak(best)
        self.peaks[computation.name] = before, after
        if best == list(range(len(best))):
            made = computation
        else:
            ordered = [steps.instructions[n] for n in best]
            made = replace(computation, instructions=(*computation.parameters, *ordered))
        self._extra[made] = after
        return made


def with_callees(computation: Computation, new: Mapping[Computation, Computation]) -> Computation:
    """The computation calling the new computations, its instructions in the same order."""
    if all(new[c] is c for c in computation.callees):
        return computation
    made: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        made[old] = retarget(old.renewed(made), lambda c: new[c])
    return replace(
        computation,
        parameters=tuple(made[p] for p in computation.parameters),
        instructions=tuple(made.values()),
        root=made[computation.root],
    )
