"""Growing the regions of row fusion: which instructions go along the same rows.

One walk from operands to users finds what needs values of a region, one from users to operands what
is computed for it alone. Order is kept by levels: an instruction's is at least its operands' and,
for an effect, that of the effect before it; and it is greater than that of a region that it uses
from outside; so what leaves a region never comes back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape, TupleShape
from tfc.passes.analysis.aliases import is_bitcast
from tfc.passes.analysis.fusible import (
    Sources,
    code_size,
    is_elementwise,
    is_loop,
    is_movement,
    is_scalar_constant,
    is_widening,
    sources,
)
from tfc.passes.analysis.products import makes_operands
from tfc.passes.analysis.row_region import Elsewhere, Role, RowSpace, Want, row_space, wants
from tfc.passes.fusion.engine import Kernels, too_much


@dataclass(eq=False)
class Region:
    """A fusion in the making.

    members: what is computed inside, with its role; None where only single elements are wanted.
    wanted: the roles in which members want their operands.
    copies: members that are computed outside, too.
    level: that of all members; exit: the least of a user outside.
    """

    space: RowSpace
    level: int
    members: dict[Instruction, Role | None] = field(default_factory=dict)
    wanted: dict[Instruction, set[Role | None]] = field(default_factory=dict)
    copies: set[Instruction] = field(default_factory=set)
    exit: float = float("inf")

    def add(self, member: Instruction, role: Role | None, found: Iterable[Want]) -> None:
        """Compute an instruction inside, which wants elements of its operands."""
        self.members[member] = role
        for operand in member.operands:  # that of a start index may be of no consequence
            self.wanted.setdefault(operand, set())
        for want in found:
            self.wanted.setdefault(want.operand, set()).add(want.role)

    def inputs(self) -> list[Instruction]:
        """What members want from outside."""
        return [o for o in self.wanted if o not in self.members]

    def is_worth_it(self) -> bool:
        """True if reductions share their row with others or with what uses their values."""
        reduced: set[Instruction] = set()  # reductions, and what is merely another form of them
        for member in self.members:
            if member.opcode == "reduce" or not reduced.isdisjoint(member.operands):
                if reduced and member.opcode not in ("get-tuple-element", "reshape"):
                    return True
                reduced.add(member)
        return False


class Growth(Kernels):
    """The regions of one computation, which become kernels.

    region_of: of each instruction that is computed inside of one only.
    levels: of those that are outside.
    """

    def __init__(
        self,
        computation: Computation,
        max_instructions: int,
        narrow_floats: bool,
        instructions_a_byte: int,
    ):
        super().__init__(computation)
        self.max_instructions, self.narrow_floats = max_instructions, narrow_floats
        self.levels: dict[Instruction, int] = {}
        self.region_of: dict[Instruction, Region] = {}
        self.sources: Sources | None = None
        for instruction in computation.instructions:
            self._visit(instruction)
        if self.regions():
            self.sources = sources(computation, instructions_a_byte)
            self._finish(self.regions())

    def regions(self) -> list[Region]:
        """The regions, in the order of their first instructions."""
        return list(dict.fromkeys(self.region_of.values()))

    def level(self, instruction: Instruction) -> int:
        """The instruction's level."""
        region = self.region_of.get(instruction)
        return region.level if region else self.levels[instruction]

    def is_outside(self, user: Instruction, region: Region) -> bool:
        """True unless the user is computed only inside of the region."""
        return self.region_of.get(user) is not region

    def is_output(self, member: Instruction, region: Region) -> bool:
        """True if a member's value is stored, since it is wanted outside."""
        if member in region.copies or isinstance(member.shape, TupleShape):
            return False
        users = self.computation.users[member]
        return member is self.computation.root or any(self.is_outside(u, region) for u in users)

    def _least(self, operand: Instruction) -> int:
        """The least level of what uses an operand from outside of its region."""
        return self.level(operand) + (operand in self.region_of)

    # --- from operands to users -------------------------------------------------------------------

    def _visit(self, instruction: Instruction) -> None:
        """Let an instruction join the region of operands, or begin one, or stay outside."""
        used = dict.fromkeys(r for o in instruction.operands if (r := self.region_of.get(o)))
        if any(self._joins(instruction, space, used) for space in {r.space: 0 for r in used}):
            return
        before = instruction.operands
        if instruction in self.earlier_effects:
            before = (*before, self.earlier_effects[instruction])
        level = max(map(self._least, before), default=0)
        for region in used:
            region.exit = min(region.exit, level)
        self.levels[instruction] = level
        if instruction.opcode == "reduce":
            space = self._space(instruction)
            if isinstance(space, str):
                self.refuse(instruction.operands[0], space, instruction)
                return
            region = self.region_of[instruction] = Region(space, level)
            found = wants(instruction, "row", space)
            assert not isinstance(found, str)
            region.add(instruction, "row", found)

    def _space(self, reduce: Instruction) -> RowSpace | str:
        users = self.computation.users[reduce]
        taken_apart = all(u.opcode == "get-tuple-element" for u in users)
        if isinstance(reduce.shape, TupleShape) and (
            not taken_apart or reduce is self.computation.root
        ):
            return "its results are used as a tuple"
        return row_space(reduce)

    def _joins(self, instruction: Instruction, space: RowSpace, used: Iterable[Region]) -> bool:
        """Join the regions of a space that the instruction uses, which become one; False if not."""
        regions = [r for r in used if r.space == space]
        first = next(o for r in regions for o in instruction.operands if o in r.members)
        while regions:
            inside: dict[Instruction, Role | None] = {}
            for region in regions:
                inside |= region.members
            fit = self._fit(instruction, space, inside)
            if isinstance(fit, str):
                if is_loop(instruction) or instruction.opcode == "reduce":
                    self.refuse(first, fit, instruction)
                return False
            outside = [self._least(o) for o in instruction.operands if o not in inside]
            level = max([*outside, *(r.level for r in regions)])
            joined = [r for r in regions if r.level == level or r.exit > level]
            if joined == regions:
                break
            regions = joined  # what others have made it reads from memory
        else:
            self.refuse(first, "it needs a value that needs the region's results", instruction)
            return False
        if self._is_full(inside, instruction) and instruction.opcode != "get-tuple-element":
            self.refuse(first, too_much(self.max_instructions), instruction)
            return False
        region = self._merge(regions)
        region.level = level
        region.add(instruction, *fit)
        self.region_of[instruction] = region
        for other in used:
            if other not in regions:
                other.exit = min(other.exit, level)
        return True

    def _fit(
        self, instruction: Instruction, space: RowSpace, inside: dict[Instruction, Role | None]
    ) -> tuple[Role, list[Want]] | str:
        """An instruction's role in a region and what it wants, or why it cannot be inside."""
        shape = instruction.shape
        if instruction.opcode == "reduce":
            own = self._space(instruction)
            role: Role | None = "row"
            if own != space:
                return own if isinstance(own, str) else "it goes along other rows"
        elif instruction.opcode == "get-tuple-element":
            role = "row"
        elif not isinstance(shape, Shape) or not shape.has_default_layout:
            return "it does not lie in row-major order"
        else:
            role = space.role(shape)
        if role is None:
            return "it is no value of the same rows"
        found = wants(instruction, role, space)
        if isinstance(found, str):
            return found
        for want in found:
            if want.operand not in inside or want.role == inside[want.operand]:
                continue
            walk = Elsewhere(space.place, inside)
            if want.role or role != "row" or walk.of_row(want.operand, want.index) is None:
                return "it takes elements of other places of the rows"
        return role, found

    def _merge(self, regions: Sequence[Region]) -> Region:
        """One region of several."""
        region, *others = sorted(regions, key=lambda r: -len(r.members))
        for other in others:
            region.members |= other.members
            region.copies |= other.copies
            region.level, region.exit = max(region.level, other.level), min(region.exit, other.exit)
            for operand, roles in other.wanted.items():
                region.wanted.setdefault(operand, set()).update(roles)
            for member in other.members:
                if member not in other.copies:
                    self.region_of[member] = region
        return region

    # --- from users to operands -------------------------------------------------------------------

    def _finish(self, regions: Sequence[Region]) -> None:
        """Give each region its producers, join those that read the same rows, and trim them."""
        for region in regions:
            self._absorb(region)
        reading: dict[tuple[Instruction, RowSpace, int], Region] = {}
        for region in regions:
            for operand in [o for o in region.inputs() if region.wanted[o] == {"full"}]:
                other = reading.setdefault((operand, region.space, region.level), region)
                self._join_siblings(self._current(other), self._current(region))
        for region in self.regions():
            self._absorb(region)
            self._trim(region)

    def _current(self, region: Region) -> Region:
        """What a region has become a part of."""
        return self.region_of[next(m for m in region.members if m not in region.copies)]

    def _join_siblings(self, one: Region, other: Region) -> None:
        """One region of two of equal levels, which never depend on each other."""
        if one is not other and not self._is_full({**one.members, **other.members}):
            self._merge([one, other])

    def _is_full(self, members: Iterable[Instruction], *more: Instruction) -> bool:
        """True if these are too much code for one kernel."""
        return sum(map(code_size, (*members, *more))) > self.max_instructions

    def _absorb(self, region: Region) -> None:
        """Compute producers inside that need not be in memory, or that cost less inside."""
        pending = [-self.position[o] for o in region.inputs()]
        heapify(pending)
        seen: set[Instruction] = set()
        while pending:
            producer = self.computation.instructions[-heappop(pending)]
            if producer in seen or producer in self.region_of:
                continue
            seen.add(producer)
            full = bool(producer.operands) and self._is_full(region.members, producer)
            if full and is_loop(producer):
                reason = too_much(self.max_instructions)
                self.refuse(producer, reason, next(iter(region.members)))
            taken = None if full else self._taken(region, producer)
            if taken is None:
                continue
            region.add(producer, *taken)
            for operand in producer.operands:
                heappush(pending, -self.position[operand])

    def _taken(
        self, region: Region, producer: Instruction
    ) -> tuple[Role | None, list[Want]] | None:
        """The role of a producer inside, and what it wants; None if it stays outside."""
        roles = region.wanted[producer]
        (role,) = roles if len(roles) == 1 else (None,)
        if is_scalar_constant(producer) or producer.opcode == "iota":
            region.copies.add(producer)
            return role, []
        moves = is_movement(producer)
        if not (moves or (is_elementwise(producer) and role)):
            return None
        found = wants(producer, role, region.space) if role else None
        if found is None:  # whatever the index, nothing but movement may be below
            found = [Want(o, None) for o in producer.operands]
        assert self.sources is not None
        if isinstance(found, str) or not producer.array_shape.has_default_layout:
            return None
        outside = [u for u in self.computation.users[producer] if self.is_outside(u, region)]
        if outside or producer is self.computation.root:
            if self.sources.duplicable(producer, 1 + len(outside)):
                region.copies.add(producer)
                return role, found
            # It is stored anyway, so computing it here saves reading it.
            late = all(self.level(u) > region.level for u in outside)
            if moves or role == "scalar" or not late:
                return None
            region.exit = min([region.exit, *map(self.level, outside)])
        self.region_of[producer] = region
        return role, found

    def _trim(self, region: Region) -> None:
        """Leave out what is better done outside: reshapes of operands, repetition of results."""
        order = sorted(region.members, key=self.position.__getitem__)
        for member in order:
            begins = not any(o in region.members for o in member.operands)
            if begins and member.opcode == "reshape" and is_bitcast(member):
                self._leave(region, member)
        for member in reversed(order):
            again = self._is_made_again(member, region)
            left = member.opcode in ("reshape", "broadcast") or again
            if not left or member in region.copies or member not in region.members:
                continue
            if not any(u in region.members for u in self.computation.users[member]):
                self._leave(region, member)
                self.levels[member] = region.level + 1
            elif again and self.is_output(member, region):
                region.copies.add(member)
                del self.region_of[member]
                self.levels[member] = region.level + 1
        region.members = {m: region.members[m] for m in order if m in region.members}

    def _is_made_again(self, member: Instruction, region: Region) -> bool:
        """True for what its readers can make of less than it is: a repetition, a wider form."""
        assert self.sources is not None
        if member is self.computation.root or not is_loop(member):
            return False
        users = self.computation.users[member]
        if not all(makes_operands(u) for u in users):
            return False
        if member.opcode == "broadcast" or (self.narrow_floats and is_elementwise(member)):
            stored = is_widening(member) and self.is_output(member.operands[0], region)
            return stored or self.sources.shrinks(member)
        return False

    def _leave(self, region: Region, member: Instruction) -> None:
        del region.members[member]
        region.copies.discard(member)
        if self.region_of.get(member) is region:
            del self.region_of[member]

    def dissolve(self, region: Region) -> None:
        """Leave all of a region outside."""
        for member in region.members:
            if member not in region.copies:
                self.levels[member] = region.level
                del self.region_of[member]
