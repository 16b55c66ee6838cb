"""Liveness: when each value of a flat module is needed, over the order of execution.

    time 2   p = f32[8] parameter(0)
    time 4   a = f32[8] exponential(p)     a  [5, 11]     written at 5, last read by d
    time 6   b = f32[8] negate(a)          b  [7, 9]
    time 8   c = f32[8] tanh(b)            c  [9, 11]     may share memory with b, at 9
    time 10  ROOT d = f32[8] add(a, c)

Time runs through nested computations as they execute. Each step has an even time t: it reads at t
and t+1, and writes at t+1, so that what it reads and what it writes overlap, in that one moment.
Where a kernel may write over an operand, or one value becomes another (a body's results the state
of its loop, a branch's those of the conditional, the root's those of the entry), this is noted as a
CopyPair: if their overlap is that moment alone, the two may have one place. What is begun and ended
apart reads its operands until its end, and has its result from its beginning on.

A value may be needed in several live intervals: a loop's state from where the loop begins until the
body reads it last, and again from where the body ends; what a branch reads, only there.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from tfc.errors import InternalError
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import leaves
from tfc.hlo.structure import structure
from tfc.passes.analysis.aliases import Leaf, Sources, own_leaves, unchanging_leaves
from tfc.passes.analysis.called import Walk, control_computations, run_walk
from tfc.passes.analysis.donation import Donation, donation_of
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.analysis.views import views_of

Workspace = Callable[[Instruction], int]
_PER_LOOP = 16  # how much more often a loop's body is taken to run than what is around it


@dataclass(frozen=True)
class CopyPair:
    """Two values that may share memory though they meet at one moment.

    gain: how many bytes need not be copied if they do, weighed by how often.
    """

    old: Leaf
    new: Leaf
    time: int
    gain: int


@dataclass
class LiveIntervals:
    """When one value is needed: pairs of first and last time.

    contexts: (how many intervals are complete, where the next one begins), innermost last: inside
        a branch a new one begins, which what comes after the conditional makes part of the old.
    """

    times: list[tuple[int, int]] = field(default_factory=list)
    contexts: list[tuple[int, int]] = field(default_factory=list)

    def define(self, time: int) -> None:
        """Begin an interval, however many there are before."""
        self.contexts = [(len(self.times), time)]
        self.times.append((time, time + 1))

    def read(self, time: int) -> None:
        """Prolong the current interval."""
        complete, start = self.contexts[-1]
        del self.times[complete:]
        self.times.append((start, time))


class Liveness:
    """One walk over the steps of a program.

    outcome: stands for what the caller gets: its leaves are the entry's results.
    views: the slices that are parts of other values, and where in these they begin.
    scratch: for the instructions whose kernels want scratch memory, its bytes and the time.
    """

    def __init__(self, module: Module, workspace: Workspace = lambda _: 0, view_alignment: int = 1):
        self.entry, self._workspace = module.entry, workspace
        self.donation: Donation = donation_of(module)
        unchanging = unchanging_leaves(module)
        self.views = {view: begin for c in control_computations(module)
                      for view, begin in views_of(c, unchanging, view_alignment).items()
                      }  # fmt: skip
        self.sources = Sources(unchanging, self.views)
        self.outcome = Instruction("tuple", (), module.entry.root.shape, name="result")
        self.intervals: dict[Leaf, LiveIntervals] = {}
        self.copy_pairs: list[CopyPair] = []
        self.scratch: dict[Instruction, tuple[int, int]] = {}
        self.time = 0
        self._depth = 0
        self._sizes: dict[Instruction, list[int]] = {}
        self._run: set[Computation] = set()
        self._overwritable: dict[Hashable, list[tuple[int, int]]] = {}
        self.arguments = [leaf for p in module.entry.parameters for leaf in own_leaves(p)]
        donated = self.donation.arguments
        self.fixed = {leaf for n, leaf in enumerate(self.arguments) if n not in donated}
        run_walk(self._program())

    def _program(self) -> Walk:
        self._define(self.arguments)
        yield self._computation(self.entry)
        self._tick()
        results = self.sources.of[self.entry.root]
        self._become(results, own_leaves(self.outcome))

    def _tick(self) -> None:
        self.time += 2

    def _computation(self, computation: Computation) -> Walk:
        if computation in self._run:
            raise InternalError(f"{computation.name} has two callers: run flatten first")
        self._run.add(computation)
        for instruction in computation.instructions:
            if instruction.opcode == "while":
                yield self._while(instruction)
            elif instruction.opcode == "conditional":
                yield self._conditional(instruction)
            else:
                self._step(instruction)

    def _step(self, instruction: Instruction) -> None:
        if instruction.opcode == "call":
            raise InternalError(f"{instruction.name} is a call: run inline first")
        if instruction.opcode not in ("parameter", "constant") and instruction in self.sources.of:
            raise InternalError(f"{instruction.name} is in two computations: run flatten first")
        owners = self.sources.visit(instruction)
        own = [leaf for leaf in owners if leaf[0] is instruction]
        if owners and not own and instruction.opcode != "async-done":
            return  # an alias: nothing runs, and only a read of its value keeps that alive
        self._tick()
        if instruction.opcode == "constant":
            self.fixed.update(owners)
        for operand in instruction.operands:
            self._read(self.sources.of[operand])
        self._define(own)
        self._overwrite(instruction)
        wanted = self._workspace(instruction)
        if wanted:
            self.scratch[instruction] = (wanted, self.time)

    def _overwrite(self, instruction: Instruction) -> None:
        """Note which operands' memory may become the results'."""
        pairs = self._pairs(instruction)
        if not pairs:
            return
        operands = [self.sources.of[o] for o in instruction.operands]
        whole = instruction if instruction.opcode != "fusion" else instruction["calls"].root
        # These copy the array that they change, if it cannot be theirs.
        copies = whole.opcode in ("dynamic-update-slice", "scatter", "copy")
        for number, result in pairs:
            (leaf,) = operands[number]
            same = (n for n, other in enumerate(operands) if leaf in other)
            if all((n, result) in pairs for n in same):
                self._touch(leaf, (instruction, result), 1 if copies else 0)

    def _pairs(self, instruction: Instruction) -> list[tuple[int, int]]:
        if instruction.opcode != "fusion":
            return overwritable(instruction)
        key = structure(instruction["calls"])
        if key not in self._overwritable:
            self._overwritable[key] = overwritable(instruction)
        return self._overwritable[key]

    def _while(self, loop: Instruction) -> Walk:
        self._tick()
        condition, body = loop["condition"], loop["body"]
        initial, state = self.sources.of[loop.operands[0]], self.sources.visit(loop)
        carried = [leaf for leaf in state if leaf[0] is loop]
        self._become(initial, state)
        for called in (condition, body):
            self.sources.bind(called.parameters[0], state)
        self._depth += 1
        yield self._computation(condition)
        self._tick()
        # The state may be the result, which the condition decides.
        self._read([*self.sources.of[condition.root], *carried])
        yield self._computation(body)
        self._tick()
        self._become(self.sources.of[body.root], state)
        self._depth -= 1
        self._read([leaf for leaf in state if leaf[0] is not loop])  # by the next iteration

    def _conditional(self, instruction: Instruction) -> Walk:
        self._tick()
        for operand in instruction.operands:
            self._read(self.sources.of[operand])
        results = self.sources.visit(instruction)
        for called, operand in zip(branches(instruction), instruction.operands[1:]):
            self._tick()
            owners = self.sources.of[operand]
            entered = [self.intervals[leaf] for leaf in dict.fromkeys(owners)]
            for intervals in entered:
                intervals.contexts.append((len(intervals.times), self.time + 1))
            self.sources.bind(called.parameters[0], owners)
            yield self._computation(called)
            self._tick()
            self._become(self.sources.of[called.root], results)
            for intervals in entered:
                intervals.contexts.pop()
        self._tick()
        self._define(results)

    def _become(self, old: Sequence[Leaf], new: Sequence[Leaf]) -> None:
        """Values become those of another instruction, all at once, unless they are the same."""
        self._read(old)
        pairs = [(a, b) for a, b in zip(old, new) if a != b]
        self._define([b for _, b in pairs])
        for a, b in pairs:
            self._touch(a, b, 1)

    def _touch(self, old: Leaf, new: Leaf, copies: int) -> None:
        size = self.size(new)
        if old not in self.fixed and size and size == self.size(old):
            gain = copies * size * _PER_LOOP ** min(self._depth, 8)
            self.copy_pairs.append(CopyPair(old, new, self.time + 1, gain))

    def _read(self, owners: Sequence[Leaf]) -> None:
        for leaf in owners:
            self.intervals[leaf].read(self.time + 1)

    def _define(self, owners: Sequence[Leaf]) -> None:
        for leaf in owners:
            self.intervals.setdefault(leaf, LiveIntervals()).define(self.time + 1)

    def size(self, leaf: Leaf) -> int:
        """The bytes of a leaf."""
        owner, number = leaf
        if owner not in self._sizes:
            self._sizes[owner] = [shape.byte_size for shape in leaves(owner.shape)]
        return self._sizes[owner][number]
