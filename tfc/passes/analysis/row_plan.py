"""How a kernel goes along a row: in which loop what is accumulated, computed, stored and loaded.

A reduction is of level 1 if it needs no other, of level 2 if it needs those of level 1, and so on.
A loop accumulates those of a level; one more accumulates those among them that go element by
element, which would keep the others from being vectorised. The last loop stores what needs all.

    softmax:   1  m = max(x)      2  e = exp(x - m), kept; s = sum(e)      3  y = e / s, stored

A value of full rows that several loops want is computed anew in each (nothing is contracted, so it
is the same to the bit), unless that takes more than loading it: then the first keeps it, in the
rows of a result that is stored only later, or in scratch memory of one row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import BF16, Shape
from tfc.passes.analysis.fusible import is_cheap, is_elementwise
from tfc.passes.analysis.row_region import RowRegion, row_region, wants
from tfc.passes.analysis.zero_signs import sees_zero_sign

_MOST_RECOMPUTED = 6  # about what a store and a load take, in cheap operations
_EXPENSIVE = 20
_AFTER = 1 << 30  # all loops: when what belongs to a row as a whole is stored
_SCATTERED = 8  # a load of elements that do not follow each other
# A result of so many bytes is written past the caches: half of what those of processors with two
# cores hold. Nothing is kept in its rows meanwhile.
STREAMED_BYTES = 16 << 20


@dataclass(frozen=True)
class RowLoop:
    """One loop along the row: what it accumulates, and the full values that it stores.

    It needs what is known when all loops of lower levels are done.

    work: how much it takes for each element, in cheap operations.
    any_zero: the reductions whose zeros may have either sign.
    """

    level: int
    reduces: tuple[Instruction, ...]
    stored: tuple[Instruction, ...]
    work: int
    any_zero: frozenset[Instruction]


@dataclass(frozen=True)
class RowPlan:
    """What a kernel does with a row.

    levels: for each instruction, the highest level of the reductions that it is or needs.
    kept: for each stored value that is no result, the result whose row it lies in, or the number of
        the scratch array.
    scratch: one array for each number, of a row's length.
    overwritable: pairs of a parameter and an output that may share memory: nothing is read of the
        parameter's row after a loop that stores in the output's.
    """

    region: RowRegion
    loops: tuple[RowLoop, ...]
    levels: Mapping[Instruction, int]
    kept: Mapping[Instruction, Instruction | int]
    scratch: tuple[Shape, ...]
    overwritable: frozenset[tuple[Instruction, Instruction]]


def row_plan(root: Instruction) -> RowPlan | None:
    """The plan of the kernel with a root; None if it is no row region."""
    region = row_region(root)
    if region is None or any(o.opcode == "parameter" for o in region.outputs):
        return None
    demand = _Demand(region)
    demand.choose()
    loops = []
    for number in sorted({*demand.first.values(), *demand.loop_of.values()}):
        reduces = [r for r, n in demand.loop_of.items() if n == number]
        stored = [v for v in demand.full if demand.first.get(v) == number]
        free = (r for r in reduces if not sees_zero_sign(r, region.order, region.outputs))
        work = demand.work(number)
        loops.append(RowLoop(number // 2, tuple(reduces), tuple(stored), work, frozenset(free)))
    kept, scratch = _places(demand)
    free = frozenset(_overwritable(demand, kept))
    return RowPlan(region, tuple(loops), demand.levels, kept, scratch, free)


def vectorises(reduce: Instruction) -> bool:
    """True if several elements are combined at a time."""
    root = reduce["to_apply"].root
    if not op_named(root.opcode).folds or set(root.operands) != set(reduce["to_apply"].parameters):
        return False
    wide = not root.array_shape.element_type.is_float or root.array_shape.element_type.bits > 16
    return wide or root.opcode in ("maximum", "minimum")


class _Demand:
    """In which loops each full value is wanted, and which values are kept from one to the next.

    Loops have numbers: that of vectorised reductions of level n is 2n, that of others 2n + 1.

    full: the full values that are computed, operands first.
    users: for each, the reductions and full values that want it.
    wanted: the loops that want it; first: of the stored ones, the loop that computes it.
    """

    def __init__(self, region: RowRegion):
        self.region = region
        self.levels: dict[Instruction, int] = {}
        for i in region.order:
            below = max((self.levels[o] for o in i.operands), default=0)
            self.levels[i] = below + (i.opcode == "reduce")
        self.loop_of = {
            i: 2 * self.levels[i] + (not vectorises(i))
            for i in region.order
            if i.opcode == "reduce"
        }
        roles = region.roles
        self.full = [i for i in region.order if roles.get(i) == "full" and i.opcode != "parameter"]
        self.users: dict[Instruction, list[Instruction]] = {v: [] for v in self.full}
        for user in region.order:
            if roles.get(user) == "full" or user.opcode == "reduce":
                for operand in dict.fromkeys(user.operands):
                    if operand in self.users:
                        self.users[operand].append(user)
        self.results = {o for o in region.outputs if roles[o] == "full"}
        self.kept: set[Instruction] = set()
        self.wanted: dict[Instruction, set[int]] = {}
        self.first: dict[Instruction, int] = {}
        self._update()

    def _update(self) -> None:
        """Find the loops anew."""
        self.first = {}
        for value in reversed(self.full):
            loops: set[int] = set()
            for user in self.users[value]:
                if user.opcode == "reduce":
                    loops.add(self.loop_of[user])
                else:
                    loops |= {self.first[user]} if user in self.first else self.wanted[user]
            if value in self.results:
                loops.add(2 * (self.levels[value] + 1))
            self.wanted[value] = loops
            if loops and (value in self.results or value in self.kept):
                self.first[value] = min(loops)

    def choose(self) -> None:
        """Keep what several loops want and what takes more than loading it."""
        while (value := self._next()) is not None:
            self.kept.add(value)
            self._update()
        # What was kept for the sake of a value that is now kept itself is of no use any more.
        for value in self.full:
            if value in self.kept and len(self.wanted[value]) < 2:
                self.kept.remove(value)
                self._update()

    def _next(self) -> Instruction | None:
        work: dict[Instruction, int] = {}
        for value in self.full:
            work[value] = own_work(value) + sum(self._load(o, work) for o in value.operands)
            again = value not in self.first and len(self.wanted[value]) > 1
            if again and own_work(value) and work[value] > _MOST_RECOMPUTED:
                return value
        return None

    def work(self, loop: int) -> int:
        """How much a loop takes for each element, in cheap operations."""
        here = [v for v in self.full if self.first.get(v, loop) == loop and loop in self.wanted[v]]
        return sum(map(own_work, here))

    def _load(self, operand: Instruction, work: Mapping[Instruction, int]) -> int:
        """What it takes to have an element of an operand."""
        if operand in self.first or operand.opcode == "parameter":
            return int(self.region.roles.get(operand) == "full")
        return work.get(operand, 0)

    def last_read(self, parameter: Instruction) -> int | None:
        """The last loop that reads a parameter's elements; None if that of another row may."""
        region, last = self.region, 0
        role = region.roles.get(parameter)
        for user in (i for i in region.order if parameter in i.operands):
            own = region.roles.get(user) if user not in region.moved else None
            found = wants(user, own, region.space) if own else ""
            if isinstance(found, str) or any(
                w.role != role for w in found if w.operand is parameter
            ):
                return None
            reads = {self.loop_of[user]} if user.opcode == "reduce" else self.wanted.get(user, ())
            last = max(last, self.first[user] if user in self.first else max(reads, default=0))
        return last


def own_work(instruction: Instruction) -> int:
    """How much an element takes besides its operands."""
    if not is_elementwise(instruction):
        return {"transpose": _SCATTERED, "reverse": _SCATTERED, "gather": 1}.get(
            instruction.opcode, 0
        )
    types = {o.array_shape.element_type for o in (instruction, *instruction.operands)}
    # Narrow floats are converted to f32 and back, all but bf16 in many steps.
    narrow = [3 if t is BF16 else 8 for t in types if t.is_float and t.bits <= 16]
    return (1 if is_cheap(instruction) else _EXPENSIVE) * max(narrow, default=1)


def _places(
    demand: _Demand,
) -> tuple[dict[Instruction, Instruction | int], tuple[Shape, ...]]:
    """Where the values lie that are kept: each place holds one at a time."""
    kept: dict[Instruction, Instruction | int] = {}
    scratch: list[Shape] = []
    results = [r for r in demand.full if r in demand.results]
    busy: dict[Instruction | int, int] = {}  # until which loop a place is read
    for value in sorted((v for v in demand.full if v in demand.kept), key=demand.first.__getitem__):
        shape, first, last = value.array_shape, demand.first[value], max(demand.wanted[value])
        # At one point of a loop all loads come before all stores.
        rows = [
            r for r in results
            if demand.first[r] >= last and _lie_alike(r.array_shape, shape)
            and r.array_shape.byte_size < STREAMED_BYTES
        ]  # fmt: skip
        same = [n for n, s in enumerate(scratch) if s.element_type == shape.element_type]
        free: Sequence[Instruction | int] = [p for p in (*rows, *same) if busy.get(p, 0) <= first]
        if not free:
            free = [len(scratch)]
            scratch.append(Shape(shape.element_type, (demand.region.space.length,)))
        kept[value] = free[0]
        busy[free[0]] = last
    return kept, tuple(scratch)


def _overwritable(
    demand: _Demand, kept: Mapping[Instruction, Instruction | int]
) -> Iterator[tuple[Instruction, Instruction]]:
    """The parameters that are read for the last time before what stores in an output's rows, or at
    the same points of the same loop."""
    roles = demand.region.roles
    written = {r: demand.first.get(r, _AFTER) for r in demand.region.outputs}
    for value, place in kept.items():
        if isinstance(place, Instruction):
            written[place] = min(written[place], demand.first[value])
    for parameter in (i for i in demand.region.order if i.opcode == "parameter"):
        last = demand.last_read(parameter)
        for result, first in written.items():
            alike = roles.get(parameter) == roles[result] and parameter.shape == result.shape
            if alike and last is not None and last <= first:
                yield parameter, result


def _lie_alike(one: Shape, other: Shape) -> bool:
    """True if elements of equal row-major position lie at the same place in memory."""
    plain = one.has_default_layout and other.has_default_layout
    return plain and one.element_type == other.element_type
