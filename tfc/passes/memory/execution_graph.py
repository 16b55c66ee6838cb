"""The steps of a computation as a graph, the orders that they may run in, and what each needs.

A step is an instruction that is no parameter, known by its number. Memory is counted for values
made by the steps; arguments and constants have theirs throughout.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import leaves
from tfc.passes.analysis.aliases import Leaf, is_alias, own_leaves, resolve
from tfc.passes.analysis.fusible import is_elementwise
from tfc.passes.analysis.in_place import overwritable

UPDATES = ("dynamic-update-slice", "scatter")
_MOST_VISITED = 1_000_000  # steps looked at to find what depends on what


class Steps:
    """The graph.

    before: for each step, those that must run earlier; after: the converse.
    reads: for each step, the values (by number) that it reads; reading them last frees them.
    sizes: of each value, in bytes.
    returned: the values that the root is made of.

    Args:
        unchanging: for the bodies of whiles, the state that they hand on as it is.
        extra: for computations that steps run, the bytes that running them needs.
    """

    def __init__(
        self,
        computation: Computation,
        unchanging: Mapping[Computation, frozenset[int]],
        extra: Mapping[Computation, int],
    ):
        self.computation = computation
        self.sources = resolve(computation, unchanging)
        self.arguments = [leaf for p in computation.parameters for leaf in own_leaves(p)]
        self.instructions = [i for i in computation.instructions if i.opcode != "parameter"]
        self.numbers = {i: n for n, i in enumerate(self.instructions)}
        self.before: list[set[int]] = [set() for _ in self.instructions]
        self.after: list[set[int]] = [set() for _ in self.instructions]
        self.extra = [max((extra.get(c, 0) for c in i.called_computations), default=0)
                      for i in self.instructions]  # fmt: skip
        self._number_values()
        self._overwrites = [_writes_over(i) for i in self.instructions]
        effects = computation.effects
        for first, second in pairwise(effects):
            self._add_edge(self.numbers[first], self.numbers[second])
        for number, instruction in enumerate(self.instructions):
            for other in (*instruction.operands, *instruction.control_predecessors):
                if other in self.numbers:
                    self._add_edge(self.numbers[other], number)

    def _number_values(self) -> None:
        """Number the leaves that steps make, and note who reads them."""
        self.values: dict[Leaf, int] = {}
        self.sizes: list[int] = []
        self.made: list[range] = []  # for each step the values that it makes
        for instruction in self.instructions:
            owners = self.sources.of[instruction]
            first = len(self.sizes)
            if instruction.opcode != "constant" and not is_alias(instruction):
                for leaf, shape in zip(owners, leaves(instruction.shape)):
                    if leaf[0] is instruction:
                        self.values[leaf] = len(self.sizes)
                        self.sizes.append(shape.byte_size)
            self.made.append(range(first, len(self.sizes)))
        self.reads: list[list[int]] = []
        self.uses = [0] * len(self.sizes)
        for instruction in self.instructions:
            read = [] if is_alias(instruction) else self._values_of(instruction.operands)
            self.reads.append(read)
            for value in read:
                self.uses[value] += 1
        self.returned = self._values_of([self.computation.root])
        for value in self.returned:
            self.uses[value] += 1  # so that it is never freed

    def _values_of(self, some: Iterable[Instruction]) -> list[int]:
        found = (self.values.get(leaf) for i in some for leaf in self.sources.of[i])
        return [v for v in dict.fromkeys(found) if v is not None]

    def _add_edge(self, first: int, second: int) -> None:
        self.before[second].add(first)
        self.after[first].add(second)

    def read_before_overwriting(self, overwritten: Mapping[int, Leaf]) -> None:
        """Let what reads an array come before what writes over it, where that may be.

        Args:
            overwritten: for leaves of the root, by number, the value that they are to replace.
        """
        wanted: list[tuple[Leaf, Instruction]] = []
        for instruction in self.instructions:
            whole = instruction if instruction.opcode != "fusion" else instruction["calls"].root
            if whole.opcode in UPDATES:
                wanted += [(leaf, instruction) for n, _ in overwritable(instruction)
                           for leaf in self.sources.of[instruction.operands[n]]]  # fmt: skip
        returned = self.sources.of[self.computation.root]
        wanted += [(leaf, returned[k][0]) for k, leaf in overwritten.items() if returned[k] != leaf]
        readers: dict[Leaf, list[int]] = {}
        for number, instruction in enumerate(self.instructions):
            if not is_alias(instruction):
                for operand in instruction.operands:
                    for leaf in self.sources.of[operand]:
                        readers.setdefault(leaf, []).append(number)
        visited = 0
        for leaf, writer in wanted:
            if writer not in self.numbers or leaf in returned or visited > _MOST_VISITED:
                continue
            last = self.numbers[writer]
            others = {n for n in readers.get(leaf, ()) if n != last}
            if others:
                dependent = self._dependents(last)
                visited += len(dependent)
                if not others & dependent:
                    for number in others:
                        self._add_edge(number, last)

    def _dependents(self, number: int) -> set[int]:
        """The steps that cannot run before a step."""
        found, stack = {number}, [number]
        while stack:
            for after in self.after[stack.pop()]:
                if after not in found:
                    found.add(after)
                    stack.append(after)
        return found

    def set_overwrites(self, number: int, overwrites: bool) -> None:
        """Say whether a step's results may lie where what it is the last to read did."""
        self._overwrites[number] = overwrites

    def peak(self, order: Iterable[int]) -> int:
        """The most bytes that are needed at one time if the steps run in an order."""
        return max(self.profile(order), default=0)

    def profile(self, order: Iterable[int]) -> list[int]:
        """The bytes that are needed while each step runs, in the order given."""
        uses = list(self.uses)
        profile: list[int] = []
        alive = 0
        for number in order:
            made = sum(self.sizes[v] for v in self.made[number])
            freed = 0
            for value in self.reads[number]:
                uses[value] -= 1
                if not uses[value]:
                    freed += self.sizes[value]
            over = min(made, freed) if self._overwrites[number] else 0
            profile.append(alive + made - over + self.extra[number])
            alive += made - freed
            alive -= sum(self.sizes[v] for v in self.made[number] if not uses[v])
        return profile


def _writes_over(instruction: Instruction) -> bool:
    """True for most of what can write over an operand; in_place.py knows, but takes longer."""
    whole = instruction if instruction.opcode != "fusion" else instruction["calls"].root
    results = whole.operands if whole.opcode == "tuple" else (whole,)
    return whole.opcode in UPDATES or any(map(is_elementwise, results))


def earliest_first(steps: Steps) -> list[int]:
    """The order of the text, as far as the graph allows."""
    return _by_priority(steps, lambda number: number, lambda _: ())


def most_freed_first(steps: Steps) -> list[int]:
    """Of the steps that can run, always one that frees most bytes beyond those it makes."""
    uses = list(steps.uses)
    readers: list[list[int]] = [[] for _ in steps.sizes]
    for number, read in enumerate(steps.reads):
        for value in read:
            readers[value].append(number)
    made = [sum(steps.sizes[v] for v in values) for values in steps.made]

    def priority(number: int) -> int:
        freed = sum(steps.sizes[v] for v in steps.reads[number] if uses[v] == 1)
        return made[number] - freed

    def run(number: int) -> list[int]:
        changed = []
        for value in steps.reads[number]:
            uses[value] -= 1
            if uses[value] == 1:
                changed += readers[value]
        return changed

    return _by_priority(steps, priority, run)


def _by_priority(
    steps: Steps, priority: Callable[[int], int], run: Callable[[int], Sequence[int]]
) -> list[int]:
    """List scheduling: the step of least priority among those that can run, then the earliest.

    Args:
        run: notes that a step runs; gives the steps whose priority that changes.
    """
    missing = [len(b) for b in steps.before]
    ready = [(priority(n), n) for n, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    done = [False] * len(missing)
    while ready:
        _, number = heapq.heappop(ready)
        if done[number]:
            continue  # it was there twice, since its priority has changed
        done[number] = True
        order.append(number)
        for after in steps.after[number]:
            missing[after] -= 1
            if not missing[after]:
                heapq.heappush(ready, (priority(after), after))
        for other in run(number):
            if not missing[other] and not done[other]:
                heapq.heappush(ready, (priority(other), other))
    return order


def most_needed_first(steps: Steps) -> list[int]:
    """What each step waits for one after the other, what needs most memory beyond its value first.

    As if the graph were a tree, for which that is the best order (Sethi and Ullman).
    """
    total = sum(steps.sizes)
    made = [sum(steps.sizes[v] for v in values) for values in steps.made]
    need = list(made)
    for number in earliest_first(steps):
        held = 0
        for other in sorted(steps.before[number], key=lambda n: (made[n] - need[n], n)):
            need[number] = max(need[number], held + need[other])
            held += made[other]
        need[number] = min(total, max(need[number], held + made[number]))
    order: list[int] = []
    begun = [False] * len(need)
    ends = [n for n, after in enumerate(steps.after) if not after]
    stack = [(n, False) for n in reversed(ends)]
    while stack:
        number, expanded = stack.pop()
        if expanded:
            order.append(number)
        elif not begun[number]:
            begun[number] = True
            stack.append((number, True))
            waited = sorted(steps.before[number], key=lambda n: (need[n] - made[n], -n))
            stack.extend((n, False) for n in waited if not begun[n])
    return order
