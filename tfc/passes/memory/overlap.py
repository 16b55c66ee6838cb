"""Begin collectives as early as may be, and wait for them when there is nothing else to do.

    g = f32[9] fusion(x)              g = f32[9] fusion(x)
    s = f32[9] all-reduce(g)          b = ((f32[9]), f32[9]) async-start(g), calls={all-reduce}
    w = f32[9] fusion(p, s)     -->   h = f32[9] fusion(y)
    h = f32[9] fusion(y)              s = f32[9] async-done(b)
                                      w = f32[9] fusion(p, s)

What needs a collective's result waits until other steps have filled the time that it is thought to
take (`_seconds`); then come its end and all that waited for it, in their order. A collective
beside which too little can be done stays as it is, and so does a computation of which one moment
would need much more memory. Effects keep their order: that of collectives is common to all devices.

Runs after `schedule`, whose orders it starts from, and must be the last to move instructions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.replica_groups import is_collective
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.loops.trip_counts import trip_count
from tfc.hlo.op import op_named
from tfc.hlo.ops.outside.asynchronous import wrapped
from tfc.hlo.shape import TupleShape
from tfc.passes.analysis.aliases import kept_leaves, loop_bodies
from tfc.passes.analysis.called import CONTROL, control_computations
from tfc.passes.analysis.cost import has_kernel, kernel_cost
from tfc.passes.memory.execution_graph import Steps
from tfc.passes.memory.schedule import with_callees
from tfc.passes.rewriting.decisions import Decision, Decisions, Refused, Taken

# What is assumed of a processor and of what joins it with others: orders of magnitude.
_OPERATIONS = 5e10  # a second
_BYTES = 1e10  # a second, from and to memory
_SENT = 2e9  # bytes a second
_LATENCY = 2e-5  # seconds of a collective of any size
_WORTH = 5e-5  # seconds of other work from which on a collective is begun and ended apart
_MORE_MEMORY = 1.25  # how many times the memory it may take,
_MORE_BYTES = 1 << 24  # or how many bytes more


class Step(NamedTuple):
    """A step of the new order: an instruction, by number, or the end of one that was begun."""

    number: int
    ends: bool = False


@dataclass(frozen=True)
class Overlap:
    """Begin and end collectives apart where other work can be done meanwhile."""

    name: ClassVar[str] = "overlap"

    def __call__(self, module: Module) -> Module:
        """The module with pairs of async-start and async-done."""
        if device_counts(module) == (1, 1):
            return module
        return module.with_entry(_Module(module).new[module.entry])

    def explain(self, module: Module) -> Decisions:
        """What is begun, and which collectives are not."""
        return () if device_counts(module) == (1, 1) else tuple(_Module(module).decisions)


class _Module:
    """Goes over the computations of a module, callees first.

    new: what each becomes.
    seconds: how long running one is thought to take.
    """

    def __init__(self, module: Module):
        control, bodies = control_computations(module), set(loop_bodies(module))
        self.new: dict[Computation, Computation] = {}
        self.decisions: list[Decision] = []
        self._seconds: dict[Computation, float] = {}
        self._unchanging: dict[Computation, frozenset[int]] = {}
        for computation in module.computations:
            made = with_callees(computation, self.new)
            if computation in control:
                seconds = sum(map(self._of, made.instructions))
                if any(map(is_collective, made.instructions)):
                    made = self._overlapped(made)
                self._seconds[made] = seconds
            if computation in bodies:
                self._unchanging[made] = frozenset(kept_leaves(made, self._unchanging))
            self.new[computation] = made

    def _of(self, instruction: Instruction) -> float:
        """How long an instruction is thought to take."""
        if instruction.opcode in CONTROL:
            called = [self._seconds[c] for c in instruction.called_computations]
            is_loop = instruction.opcode == "while"
            return sum(called) * (trip_count(instruction) or 1) if is_loop else max(called)
        return _seconds(instruction)

    def _overlapped(self, computation: Computation) -> Computation:
        """The computation in its new order."""
        steps = Steps(computation, self._unchanging, {})
        seconds = [self._of(i) for i in steps.instructions]
        every = [n for n, i in enumerate(steps.instructions) if is_collective(i)]
        peak = steps.peak(range(len(seconds)))
        most = max(peak * _MORE_MEMORY, peak + _MORE_BYTES)
        for defers in (True, False):
            trial = _Order(steps, seconds, every, defers)
            begun = [n for n in every if trial.hidden[n] >= _WORTH]
            chosen = _Order(steps, seconds, begun, defers)
            if begun and steps.peak(s.number for s in chosen.steps if not s.ends) <= most:
                break
        else:
            begun = []
        self.decisions += _decisions(steps, every, begun, trial.hidden)
        return _made(steps, chosen.steps, begun) if begun else computation


def _decisions(
    steps: Steps, every: list[int], begun: list[int], hidden: Mapping[int, float]
) -> list[Decision]:
    found: list[Decision] = []
    for n in every:
        collective, beside = steps.instructions[n], f"{hidden[n] * 1e6:.0f} us of other work"
        if n in begun:
            found.append(Taken(f"begun, and waited for after {beside}", collective.name))
        else:
            few = hidden[n] < _WORTH
            reason = f"there is {beside} to do meanwhile" if few else "it would take more memory"
            found.append(Refused.of(collective, reason))
    return found


def _seconds(instruction: Instruction) -> float:
    if not has_kernel(instruction):
        return 0.0
    cost = kernel_cost(instruction)
    if is_collective(instruction):
        return _LATENCY + max(cost.bytes_read, cost.bytes_written) / _SENT
    return max((cost.flops + cost.transcendentals) / _OPERATIONS, cost.bytes_accessed / _BYTES)


class _Order:
    """The order that comes of walking over the steps, of which some collectives are begun.

    steps: the steps, each once, and the ends of what is begun.
    hidden: for each collective that is begun, the seconds of what runs between its two ends.
    left: for each that is under way, the seconds that it is thought to go on for.

    Args:
        seconds: how long each step is thought to take.
        begun: the collectives.
        defers: what needs a result may wait for more than that result.
    """

    def __init__(self, graph: Steps, seconds: list[float], begun: Iterable[int], defers: bool):
        self.graph, self.seconds, self.defers = graph, seconds, defers
        self.begun = frozenset(begun)
        self.steps: list[Step] = []
        self.hidden: dict[int, float] = {}
        self.left: dict[int, float] = {}
        self.placed: set[int] = set()
        self.waiting: list[int] = []
        numbers = graph.numbers
        self.reads = [
            {numbers[o] for o in (*i.operands, *i.control_predecessors) if o in numbers}
            for i in graph.instructions
        ]
        self._walk()

    def _walk(self) -> None:
        for collective in sorted(self.begun):
            if self._can_run(collective):
                self._place(collective)
        for number in range(len(self.graph.instructions)):
            if number in self.placed:
                continue
            if not self.defers:
                self._end(self._needed(number))
            if self._can_run(number):
                self._place(number)
                self._end_what_is_over()
            else:
                self.waiting.append(number)
        while self.left:
            self._end([next(iter(self.left))])
            self._end_what_is_over()

    def _needed(self, number: int) -> list[int]:
        """The collectives under way whose results a step reads."""
        return [c for c in self.left if c in self.reads[number]]

    def _can_run(self, number: int) -> bool:
        return self.placed >= self.graph.before[number] and not self._needed(number)

    def _place(self, number: int) -> None:
        """Run a step, and begin the collectives that can begin then."""
        pending = [number]
        while pending:
            step = pending.pop()
            self.steps.append(Step(step))
            self.placed.add(step)
            if step in self.begun:
                self.left[step], self.hidden[step] = self.seconds[step], 0.0
            else:
                for other in self.left:
                    self.left[other] -= self.seconds[step]
                    self.hidden[other] += self.seconds[step]
            later = self.begun & self.graph.after[step] - self.placed
            pending += [c for c in sorted(later, reverse=True) if self._can_run(c)]

    def _end_what_is_over(self) -> None:
        """Wait for collectives that are thought to be through."""
        while self.defers and (over := [c for c, left in self.left.items() if left <= 0]):
            self._end(over)

    def _end(self, collectives: list[int]) -> None:
        """Wait for collectives, and run what waited for them."""
        for collective in collectives:
            del self.left[collective]
            self.steps.append(Step(collective, ends=True))
        waiting, self.waiting = self.waiting, []
        for number in waiting:  # what one waits for comes before it
            if number not in self.placed:
                if self._can_run(number):
                    self._place(number)
                else:
                    self.waiting.append(number)


def _made(steps: Steps, order: list[Step], begun: list[int]) -> Computation:
    """The computation in an order, with the two ends of what is begun."""
    old = steps.computation
    new: dict[Instruction, Instruction] = {p: p for p in old.parameters}
    made = [*old.parameters]
    starts: dict[int, Instruction] = {}
    for number, ends in order:
        instruction = steps.instructions[number]
        if ends:
            new[instruction] = _done(starts[number], instruction)
            made.append(new[instruction])
        elif number in begun:
            starts[number] = _start(instruction.renewed(new))
            made.append(starts[number])
        else:
            new[instruction] = instruction.renewed(new)
            made.append(new[instruction])
    return replace(old, instructions=tuple(made), root=new[old.root])


def _start(x: Instruction) -> Instruction:
    """The beginning of a collective."""
    shape = TupleShape((TupleShape(tuple(o.shape for o in x.operands)), x.shape))
    attributes = wrapped(op_named(x.opcode), x.operands, shape, dict(x.attributes))
    name = f"{x.name}-start"
    return x.with_(opcode="async-start", shape=shape, attributes=attributes, name=name)


def _done(start: Instruction, x: Instruction) -> Instruction:
    """The end of a collective that was begun."""
    return Instruction("async-done", (start,), x.shape, name=x.name, metadata=x.metadata)
