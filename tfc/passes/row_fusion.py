"""Row fusion: reductions along rows become one kernel with what is computed from and for them.

    m = f32[4,8] → f32[4] reduce max (x)             fused { x = f32[4,8] parameter(0)
    e = f32[4,8] exponential(x - broadcast(m))               m = f32[4] reduce(x), …
    s = f32[4] reduce sum (e)                   -->          …
    ROOT y = f32[4,8] divide(e, broadcast(s))                ROOT y = f32[4,8] divide(e, …) }
                                                     ROOT f = f32[4,8] fusion(x), kind=kInput

A reduction that removes the last dimensions begins a region. What uses values of the region joins
it if it needs the same row of them only: elementwise ops, scalars of a row repeated along it, more
reductions along the same rows, single elements picked from the row. Then producers go in whose
values only the region needs, or that read no more than they write. Values that others use are
stored; several make the result a tuple.

A lone reduction with its producers stays to `fusion`, and nothing happens to reductions along other
dimensions. Order is kept by stamps: an instruction's is at least its operands', and greater than
that of a region that it uses from outside; so what leaves a region never comes back to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Computation, Instruction, Module, remake
from tfc.hlo.shape import Shape, TupleShape
from tfc.passes.aliases import is_bitcast
from tfc.passes.called import control_computations, map_some
from tfc.passes.fusible import (
    Refusal,
    Sources,
    is_elementwise,
    is_loop,
    is_movement,
    is_scalar_constant,
    sources,
)
from tfc.passes.row_region import Elsewhere, Role, RowSpace, Want, row_region, row_space, wants


@dataclass(frozen=True)
class RowFusion:
    """Fuse along rows, in every computation that runs as steps.

    max_instructions: the most instructions of one kernel.
    """

    name: ClassVar[str] = "rows"
    max_instructions: int = 128

    def __call__(self, module: Module) -> Module:
        """The module with fusions."""
        return map_some(module, control_computations(module), self._fuse)

    def explain(self, module: Module) -> tuple[str, ...]:
        """The refusals that fusing the module meets, as text."""
        control = control_computations(module)
        plans = [_Plan(c, self.max_instructions) for c in module.computations if c in control]
        return tuple(f"refused {refusal}" for plan in plans for refusal in plan.refusals)

    def _fuse(self, computation: Computation) -> Computation:
        return _Plan(computation, self.max_instructions).apply()


@dataclass(eq=False)
class _Region:
    """A fusion in the making.

    members: what is computed inside, with its role; None where only single elements are wanted.
    wanted: the roles in which members want their operands.
    copies: members that are computed outside, too.
    stamp: that of all members; exit: the least of a user outside.
    joined: how many members make it more than a reduction with its producers.
    """

    space: RowSpace
    stamp: int
    members: dict[Instruction, Role | None] = field(default_factory=dict)
    wanted: dict[Instruction, set[Role | None]] = field(default_factory=dict)
    copies: set[Instruction] = field(default_factory=set)
    exit: float = float("inf")

    def add(self, member: Instruction, role: Role | None, found: Iterable[Want]) -> None:
        """Compute an instruction inside, which wants elements of its operands."""
        self.members[member] = role
        for want in found:
            self.wanted.setdefault(want.operand, set()).add(want.role)

    def inputs(self) -> list[Instruction]:
        """What members want from outside."""
        return [o for o in self.wanted if o not in self.members]

    def is_worth_it(self) -> bool:
        """True if reductions share their row with others or with what uses their values."""
        plain = ("reduce", "get-tuple-element", "reshape")
        reduced: set[Instruction] = set()
        for member in self.members:
            if member.opcode == "reduce" or not reduced.isdisjoint(member.operands):
                if reduced and member.opcode not in plain[1:]:
                    return True
                reduced.add(member)
        return False


@dataclass(frozen=True)
class _Made:
    """The computation of a region, and the instructions that are its operands and results."""

    computation: Computation
    inputs: tuple[Instruction, ...]
    outputs: tuple[Instruction, ...]


class _Plan:
    """The regions of one computation, found in one walk from operands to users."""

    def __init__(self, computation: Computation, max_instructions: int):
        self.computation, self.max_instructions = computation, max_instructions
        self.position = {i: n for n, i in enumerate(computation.instructions)}
        self.stamps: dict[Instruction, int] = {}
        self.region_of: dict[Instruction, _Region] = {}
        self.refusals: list[Refusal] = []
        self.made: dict[_Region, _Made] = {}
        self.sources: Sources | None = None
        for instruction in computation.instructions:
            self._visit(instruction)
        regions = self._regions()
        if regions:
            self.sources = sources(computation)
            self._finish(regions)

    def _regions(self) -> list[_Region]:
        return list(dict.fromkeys(self.region_of.values()))

    def _stamp(self, instruction: Instruction) -> int:
        """The least stamp of what uses the instruction from outside of its region."""
        region = self.region_of.get(instruction)
        return region.stamp + 1 if region else self.stamps[instruction]

    def _refuse(self, producer: Instruction, consumer: Instruction, reason: str) -> None:
        self.refusals.append(Refusal(producer, consumer, reason))

    # --- from operands to users -------------------------------------------------------------------

    def _visit(self, instruction: Instruction) -> None:
        """Let an instruction join the region of operands, or begin one, or stay outside."""
        used = dict.fromkeys(r for o in instruction.operands if (r := self.region_of.get(o)))
        if any(self._joins(instruction, space, used) for space in {r.space: 0 for r in used}):
            return
        stamp = max((self._stamp(o) for o in instruction.operands), default=0)
        for region in used:
            region.exit = min(region.exit, stamp)
        self.stamps[instruction] = stamp
        if instruction.opcode == "reduce":
            space = self._space(instruction)
            if isinstance(space, str):
                self._refuse(instruction.operands[0], instruction, space)
                return
            region = self.region_of[instruction] = _Region(space, stamp)
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

    def _joins(self, instruction: Instruction, space: RowSpace, used: Iterable[_Region]) -> bool:
        """Join the regions of a space that the instruction uses, which become one; False if not."""
        regions = [r for r in used if r.space == space]
        inside: dict[Instruction, Role | None] = {}
        for region in regions:
            inside |= region.members
        fit = self._fit(instruction, space, inside)
        first = next(o for o in instruction.operands if o in inside)
        if isinstance(fit, str):
            if is_loop(instruction) or instruction.opcode == "reduce":
                self._refuse(first, instruction, fit)
            return False
        outside = [self._stamp(o) for o in instruction.operands if o not in inside]
        stamp = max([*outside, *(r.stamp for r in regions)])
        reason = None
        if any(r.stamp < stamp and r.exit <= stamp for r in regions):
            reason = "it needs a value that needs the region's results"
        elif len(inside) >= self.max_instructions and instruction.opcode != "get-tuple-element":
            reason = f"the kernel would exceed {self.max_instructions} instructions"
        if reason:
            self._refuse(first, instruction, reason)
            return False
        region = self._merge(regions)
        region.stamp = stamp
        region.add(instruction, *fit)
        self.region_of[instruction] = region
        for other in used:
            if other not in regions:
                other.exit = min(other.exit, stamp)
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

    def _merge(self, regions: Sequence[_Region]) -> _Region:
        """One region of several."""
        region, *others = sorted(regions, key=lambda r: -len(r.members))
        for other in others:
            region.members |= other.members
            region.copies |= other.copies
            region.stamp, region.exit = max(region.stamp, other.stamp), min(region.exit, other.exit)
            for operand, roles in other.wanted.items():
                region.wanted.setdefault(operand, set()).update(roles)
            for member in other.members:
                if member not in other.copies:
                    self.region_of[member] = region
        return region

    # --- from users to operands -------------------------------------------------------------------

    def _finish(self, regions: Sequence[_Region]) -> None:
        """Give each region its producers, join those that read the same rows, and make them."""
        for region in regions:
            self._absorb(region)
        reading: dict[tuple[Instruction, RowSpace, int], _Region] = {}
        for region in regions:
            for operand in [o for o in region.inputs() if region.wanted[o] == {"full"}]:
                other = reading.setdefault((operand, region.space, region.stamp), region)
                self._join_siblings(self._current(other), self._current(region))
        for region in self._regions():
            self._absorb(region)
            self._trim(region)
            self._make(region)

    def _current(self, region: _Region) -> _Region:
        """What a region has become a part of."""
        return self.region_of[next(m for m in region.members if m not in region.copies)]

    def _join_siblings(self, one: _Region, other: _Region) -> None:
        """One region of two of equal stamps, which never depend on each other."""
        if one is not other and len(one.members) + len(other.members) <= self.max_instructions:
            self._merge([one, other])

    def _absorb(self, region: _Region) -> None:
        """Compute producers inside that need not be in memory, or that cost less inside."""
        pending = [-self.position[o] for o in region.inputs()]
        heapify(pending)
        seen: set[Instruction] = set()
        while pending:
            producer = self.computation.instructions[-heappop(pending)]
            if producer in seen or producer in self.region_of:
                continue
            seen.add(producer)
            full = len(region.members) >= self.max_instructions and bool(producer.operands)
            if full and is_loop(producer):
                reason = f"the kernel would exceed {self.max_instructions} instructions"
                self._refuse(producer, next(iter(region.members)), reason)
            taken = None if full else self._taken(region, producer)
            if taken is None:
                continue
            region.add(producer, *taken)
            for operand in producer.operands:
                heappush(pending, -self.position[operand])

    def _taken(
        self, region: _Region, producer: Instruction
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
        outside = [u for u in self.computation.users[producer] if self._is_outside(u, region)]
        if outside or producer is self.computation.root:
            if self.sources.duplicable(producer, 1 + len(outside)):
                region.copies.add(producer)
                return role, found
            # It is stored anyway, so computing it here saves reading it.
            late = all(self._user_stamp(u) > region.stamp for u in outside)
            if moves or role == "scalar" or not late:
                return None
            region.exit = min([region.exit, *map(self._user_stamp, outside)])
        self.region_of[producer] = region
        return role, found

    def _is_outside(self, user: Instruction, region: _Region) -> bool:
        return self.region_of.get(user) is not region

    def _user_stamp(self, user: Instruction) -> int:
        region = self.region_of.get(user)
        return region.stamp if region else self.stamps[user]

    def _trim(self, region: _Region) -> None:
        """Leave out what is better done outside: reshapes of operands, repetition of results."""
        order = sorted(region.members, key=self.position.__getitem__)
        for member in order:
            begins = not any(o in region.members for o in member.operands)
            if begins and member.opcode == "reshape" and is_bitcast(member):
                self._leave(region, member)
        for member in reversed(order):
            if member.opcode in ("reshape", "broadcast") and member not in region.copies:
                users = self.computation.users[member]
                if member in region.members and not any(u in region.members for u in users):
                    self._leave(region, member)
                    self.stamps[member] = region.stamp + 1

    def _leave(self, region: _Region, member: Instruction) -> None:
        del region.members[member]
        region.copies.discard(member)
        if self.region_of.get(member) is region:
            del self.region_of[member]

    # --- the fusions ------------------------------------------------------------------------------

    def _make(self, region: _Region) -> None:
        """Make the computation of a region that is worth it; dissolve another."""
        order = sorted(region.members, key=self.position.__getitem__)
        region.members = {m: region.members[m] for m in order}
        reason = "nothing else is computed from its rows"
        if region.is_worth_it():
            made = self._made(region)
            if row_region(made.computation.root) is not None:
                self.made[region] = made
                return
            reason = "other places of its rows are needed"
        for member in order:
            if member in region.copies:
                continue
            if member.opcode == "reduce":
                self._refuse(member.operands[0], member, reason)
            self.stamps[member] = region.stamp
            del self.region_of[member]

    def _made(self, region: _Region) -> _Made:
        inside: dict[Instruction, Instruction] = {}
        inputs: dict[Instruction, Instruction] = {}  # operand -> parameter
        for member in region.members:
            for operand in member.operands:
                if operand not in inside:
                    inputs[operand] = inside[operand] = builder.parameter(
                        len(inputs), operand.shape
                    )
            operands = tuple(inside[o] for o in member.operands)
            inside[member] = member.with_(operands=operands, control_predecessors=())
        outputs = [m for m in region.members if m not in region.copies and self._is_read(m, region)]
        root = inside[outputs[-1]]
        if len(outputs) > 1:
            root = builder.instruction("tuple", [inside[o] for o in outputs])
        name = f"fused_{outputs[-1].opcode.replace('-', '_')}_rows"
        return _Made(
            Computation.make(name, list(inputs.values()), root), tuple(inputs), tuple(outputs)
        )

    def _is_read(self, member: Instruction, region: _Region) -> bool:
        """True if the member's value is wanted outside."""
        if isinstance(member.shape, TupleShape):
            return False
        users = self.computation.users[member]
        return member is self.computation.root or any(self._is_outside(u, region) for u in users)

    def apply(self) -> Computation:
        """The computation with each region made a fusion."""
        if not self.made:
            return self.computation
        new: dict[Instruction, Instruction] = {}
        # At equal stamps what is outside comes first, since it uses no region of that stamp.
        order = sorted(
            self.computation.instructions,
            key=lambda i: (self._user_stamp(i), i in self.region_of, self.position[i]),
        )
        for old in order:
            region = self.region_of.get(old)
            if region is None:
                new[old] = old.renewed(new)
            elif old not in new:
                new |= _results(self.made[region], new)
        return remake(self.computation, new)


def _results(made: _Made, new: dict[Instruction, Instruction]) -> dict[Instruction, Instruction]:
    """The instructions that stand for a region's outputs."""
    root, last = made.computation.root, made.outputs[-1]
    attributes = Attributes(kind="kInput", calls=made.computation)
    operands = tuple(new[i] for i in made.inputs)
    name = f"{last.name}_fusion"
    fusion = Instruction("fusion", operands, root.shape, attributes, name, last.metadata)
    if len(made.outputs) == 1:
        return {last: fusion}
    return {
        o: builder.instruction("get-tuple-element", [fusion], index=n, name=o.name)
        for n, o in enumerate(made.outputs)
    }
