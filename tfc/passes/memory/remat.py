"""Compute values again where they are needed late, rather than keep them, under a limit of memory.

    b = f32[1000] broadcast(x)                 b = f32[1000] broadcast(x)
    c = f32[1000] add(b, y)                    c = f32[1000] add(b, y)
    d = f32[] reduce(big(c), …)       -->      d = f32[] reduce(big(c), …)
    e = f32[1000] multiply(b, d)               b.again = f32[1000] broadcast(x)
                                               e = f32[1000] multiply(b.again, d)

While more bytes than the limit are needed at one time, a value that is only kept there is given up
and computed again before its next use: one that a loop makes element by element (a broadcast, a
convert, an elementwise fusion) from values that are there at that use anyway. Cheap ones go first,
then the largest. Each round must lower the peak, or the number of steps that have it.

Does nothing without a limit, or where it is kept. Where it cannot be reached the module is compiled
all the same, and `explain` says how much is needed. The bytes are those of the values that steps
make, the results among them; scratch memory of kernels comes on top. Must run after `schedule`.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, has_side_effect
from tfc.hlo.shape import Shape
from tfc.passes.analysis.aliases import is_alias, kept_leaves, loop_bodies
from tfc.passes.analysis.called import control_computations
from tfc.passes.analysis.fusible import is_cheap, is_loop
from tfc.passes.memory.execution_graph import Steps
from tfc.passes.memory.schedule import with_callees
from tfc.passes.rewriting.decisions import Decisions, Refused

_MOST_ROUNDS = 256


@dataclass(frozen=True)
class Remat:
    """Recompute values until at most `limit` bytes are needed at one time; 0 is no limit."""

    name: ClassVar[str] = "remat"
    limit: int = 0

    def __call__(self, module: Module) -> Module:
        """The module with the values computed again."""
        return _Rematerialiser(module, self.limit).module if self.limit else module

    def explain(self, module: Module) -> Decisions:
        """The computations whose peak is above the limit, as it becomes."""
        if not self.limit:
            return ()
        peaks = _Rematerialiser(module, self.limit).peaks
        return tuple(
            Refused(
                name,
                f"it needs {peak} bytes at one time, more than the limit of {self.limit}: nothing "
                "else that is kept can be computed again",
            )
            for name, peak in peaks.items()
            if peak > self.limit
        )


class _Rematerialiser:
    """Goes through the computations of a module, callees first."""

    def __init__(self, module: Module, limit: int):
        self.limit = limit
        self.peaks: dict[str, int] = {}
        self._unchanging: dict[Computation, frozenset[int]] = {}
        self._extra: dict[Computation, int] = {}
        control, bodies = control_computations(module), set(loop_bodies(module))
        new: dict[Computation, Computation] = {}
        for computation in module.computations:
            made = with_callees(computation, new)
            if computation in control:
                made = self._reduce(made)
            if computation in bodies:
                self._unchanging[made] = frozenset(kept_leaves(made, self._unchanging))
            new[computation] = made
        self.module = module.with_entry(new[module.entry])

    def _reduce(self, computation: Computation) -> Computation:
        """The computation with values computed again until it keeps the limit or none is left."""
        best, profile = computation, self._profile(computation)
        for _ in range(_MOST_ROUNDS):
            peak = max(profile, default=0)
            if peak <= self.limit:
                break
            made = _give_up(best, profile.index(peak), peak - self.limit, self._unchanging)
            if made is best:
                break
            after = self._profile(made)
            if (max(after), after.count(max(after))) >= (peak, profile.count(peak)):
                break
            best, profile = made, after
        self._extra[best] = self.peaks[computation.name] = max(profile, default=0)
        return best

    def _profile(self, computation: Computation) -> list[int]:
        steps = Steps(computation, self._unchanging, self._extra)
        return steps.profile(range(len(steps.instructions)))


def _give_up(
    computation: Computation,
    place: int,
    wanted: int,
    unchanging: dict[Computation, frozenset[int]],
) -> Computation:
    """The computation with values not kept over a step, worth `wanted` bytes or what there is."""
    steps = Steps(computation, unchanging, {})
    place_of = {i: n for n, i in enumerate(steps.instructions)}
    last_read: dict[int, int] = {v: len(place_of) for v in steps.returned}
    for number, read in enumerate(steps.reads):
        for value in read:
            last_read[value] = max(last_read.get(value, 0), number)
    chosen: dict[Instruction, int] = {}  # and before which step each is computed again
    needed_again: set[Instruction] = set()
    candidates = [i for i in steps.instructions[:place] if _is_made_anew(i)]
    candidates.sort(key=lambda i: (not _costs_little(i), -i.array_shape.byte_size))
    for instruction in candidates:
        users = computation.users[instruction]
        later = [place_of[u] for u in users if place_of[u] > place]
        early = [u for u in users if place_of[u] <= place]
        kept = any(place_of[u] == place or is_alias(u) for u in early)
        near = chosen.keys() & set(instruction.operands) or instruction in needed_again
        if kept or not later or near:
            continue
        again = min(later)
        sources = [leaf for o in instruction.operands for leaf in steps.sources.of[o]]
        needed = [steps.values[leaf] for leaf in sources if leaf in steps.values]
        if all(last_read.get(value, 0) >= again for value in needed):
            chosen[instruction] = again
            needed_again.update(instruction.operands)
            wanted -= instruction.array_shape.byte_size
            if wanted <= 0:
                break
    return _computed_again(computation, chosen) if chosen else computation


def _is_made_anew(instruction: Instruction) -> bool:
    """True if a loop makes the array, element by element."""
    if not isinstance(instruction.shape, Shape) or is_alias(instruction):
        return False
    if has_side_effect(instruction) or instruction.control_predecessors:
        return False
    whole = instruction["calls"].root if instruction.opcode == "fusion" else instruction
    return isinstance(whole.shape, Shape) and is_loop(whole)


def _costs_little(instruction: Instruction) -> bool:
    if instruction.opcode != "fusion":
        return is_cheap(instruction)
    return all(is_cheap(i) for i in instruction["calls"].instructions if is_loop(i))


def _computed_again(computation: Computation, chosen: dict[Instruction, int]) -> Computation:
    """The computation in which some instructions have a second one, before the step of a number."""
    before: dict[int, list[Instruction]] = {}
    for instruction, number in chosen.items():
        before.setdefault(number, []).append(instruction)
    new: dict[Instruction, Instruction] = {}
    instructions: list[Instruction] = []
    number = 0
    for old in computation.instructions:
        if old.opcode != "parameter":
            for again in before.get(number, ()):
                new[again] = new[again].with_(name=f"{again.name}.again")
                instructions.append(new[again])
            number += 1
        new[old] = old.renewed(new)
        instructions.append(new[old])
    parameters, root = tuple(new[p] for p in computation.parameters), new[computation.root]
    return replace(computation, parameters=parameters, instructions=tuple(instructions), root=root)
