"""Fuse producers into the loops that consume them, so that values between them need no memory.

    e = f32[8] exponential(x)              fused { p = f32[8] parameter(0)
    n = f32[8] negate(e)                           e = f32[8] exponential(p)
    ROOT d = f32[] dot(n, n)      -->              ROOT n = f32[8] negate(e) }
                                           f = f32[8] fusion(x), kind=kLoop, calls=fused
                                           ROOT d = f32[] dot(f, f)

The root of a fusion is elementwise, movement, iota or a reduction (kind=kInput); what is inside are
producers that make one element at a time: elementwise, movement, iota, scalar constants.

What goes in is a matter of cost, in bytes moved; arithmetic has a price in bytes (fusible.price). A
producer whose users are all in one fusion saves being stored and loaded. If they are in several,
computing it in each must cost no more than storing it once and loading it. Inside one fusion, too,
an element may be computed several times: a loop body computes it once for each distinct index at
which it is wanted, and those are counted symbolically. A producer stays out, with a refusal that
says why, if that costs more than storing and loading it would, or if the code would grow beyond
`max_instructions`.

Does nothing inside computations that are part of a kernel, nor to a module without a producer that
may go into a consumer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from tfc.hlo.index_maps import Index, variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.windows import window_of
from tfc.passes.analysis.fusible import (
    REDUCTIONS,
    Sources,
    can_fuse,
    code_size,
    is_consumer,
    is_elementwise,
    is_producer,
    is_scalar_constant,
    price,
    sources,
)
from tfc.passes.fusion.engine import FusionPass, Kernel, Kernels, too_much
from tfc.passes.rewriting.decisions import Refused

_LONGEST_INDEX = 64  # nodes of one index expression
_MOST_RECOMPUTED = 16  # what a fusion may cost more for each step of its loop by recomputing

Region = int  # what is emitted under one nest of conditions; 0 is the loop body itself
Access = tuple[tuple[Index, ...], Region]
Accesses = dict[Access, int]  # how often each is executed, over the whole loop


@dataclass(frozen=True)
class Fusion(FusionPass):
    """Fuse producers into consumers, in every computation that runs as steps.

    max_instructions: the most (instruction, index) pairs that one loop body computes, those that
        are much code counted as several.
    instructions_a_byte: how many instructions take as long as moving a byte, where that is to
        decide what several kernels compute each; 0 for the prices of a CPU.
    """

    name: ClassVar[str] = "fusion"
    max_instructions: int = 128
    instructions_a_byte: int = 0

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        return _Plan(computation, self.max_instructions, self.instructions_a_byte)


@dataclass(eq=False)
class _Group:
    """A fusion in the making: its root, and what is computed inside at which indices.

    demand: for operands of members, the accesses that members make to them.
    recomputed: what computing elements more than once costs, in bytes moved.
    """

    root: Instruction
    members: dict[Instruction, Accesses] = field(default_factory=dict)
    demand: dict[Instruction, Accesses] = field(default_factory=dict)
    regions: dict[tuple[object, ...], Region] = field(default_factory=dict)
    count: int = 0
    recomputed: int = 0

    def add(self, member: Instruction, accesses: Accesses, wanted: Iterable["_Wanted"]) -> None:
        """Compute `member` inside, at the given accesses, which make those in `wanted`."""
        self.members[member] = accesses
        self.count += 0 if is_scalar_constant(member) else code_size(member) * len(accesses)
        self.recomputed += _repeated(member, accesses) * price(member)
        for operand, access, executed in wanted:
            into = self.demand.setdefault(operand, {})
            # Made once however many members want it there.
            into[access] = max(into.get(access, 0), executed)

    def wanted(self, member: Instruction, accesses: Accesses) -> list["_Wanted"]:
        """The accesses to its operands that computing `member` makes."""
        op = op_named(member.opcode)
        if op.index_map is None:
            return [
                (operand, (() if operand.array_shape.rank == 0 else index, region), executed)
                for operand in dict.fromkeys(member.operands)
                for (index, region), executed in accesses.items()
            ]
        found: list[_Wanted] = []
        for (index, region), executed in accesses.items():
            for number, piece in enumerate(op.index_map(member, index)):
                operand, inside, part = member.operands[piece.operand], region, executed
                if not all(c.always for c in piece.conditions):
                    # Under a condition the piece runs for its share of the elements only.
                    key = (region, id(member), index, number)
                    inside = self.regions.setdefault(key, len(self.regions) + 1)
                    whole = max(member.array_shape.size, 1)
                    part = min(executed, executed * operand.array_shape.size // whole)
                found.append((operand, (tuple(piece.index), inside), part))
                # Which piece holds is found outside of it, where its index is.
                found += [(array, (at, region), executed) for array, at in piece.sources()]
        return found


_Wanted = tuple[Instruction, Access, int]


class _Plan(Kernels):
    """The groups of one computation, found by walking it from users to operands.

    stored: the instructions whose values are in memory (or need none): they stay in the
        computation, as the root of a fusion if their group has members.
    """

    def __init__(self, computation: Computation, max_instructions: int, instructions_a_byte: int):
        super().__init__(computation)
        self.max_instructions = max_instructions
        self.sources: Sources = sources(computation, instructions_a_byte)
        self.groups: dict[Instruction, _Group] = {}
        self.groups_of: dict[Instruction, list[_Group]] = {}
        self.stored: set[Instruction] = set()
        for instruction in reversed(computation.instructions):
            if self._goes_inside(instruction):
                continue
            self.stored.add(instruction)
            if is_consumer(instruction):
                self._start_group(instruction)
        for root, group in self.groups.items():
            if len(group.members) > 1:
                kind = "kInput" if root.opcode in REDUCTIONS else "kLoop"
                self.kernels.append(Kernel(kind, tuple(reversed(group.members)), (root,)))

    def _start_group(self, root: Instruction) -> None:
        group = _Group(root)
        accesses: Accesses = {(loop_index(root), 0): loop_count(root)}
        group.add(root, accesses, group.wanted(root, accesses))
        self.groups[root] = group
        self.groups_of.setdefault(root, []).append(group)

    def _goes_inside(self, producer: Instruction) -> bool:
        """Fuse a producer where that may be; True if its value need not be in memory."""
        users = self.computation.users[producer]
        groups = list(dict.fromkeys(g for u in users for g in self.groups_of.get(u, ())))
        if not groups or not is_producer(producer):
            return False
        read_elsewhere = any(u in self.stored and u not in self.groups for u in users)
        stored = read_elsewhere or producer is self.computation.root
        alone = len(groups) == 1 and not stored
        if not alone and not self._may_duplicate(producer, len(groups), stored):
            reason = "it is used elsewhere too, and computing it again costs more than loading it"
            self.refuse(producer, reason, groups[0].root)
            return False
        inside = [self._fuse_into(group, producer, users) for group in groups]
        return all(inside) and not stored

    def _may_duplicate(self, producer: Instruction, kernels: int, stored: bool) -> bool:
        if stored:
            return self.sources.shrinks(producer)
        return self.sources.duplicable(producer, kernels)

    def _fuse_into(
        self, group: _Group, producer: Instruction, users: Sequence[Instruction]
    ) -> bool:
        accesses = group.demand.get(producer, {})  # none: an empty operand of a concatenate
        refusal = self._refuse(group, producer, users, accesses)
        if refusal is None:
            wanted = group.wanted(producer, accesses)
            if is_elementwise(producer) or not _is_too_long(wanted):
                group.add(producer, accesses, wanted)
                self.groups_of.setdefault(producer, []).append(group)
                return True
            refusal = Refused.of(producer, "the index arithmetic would be too long", group.root)
        self.refusals.append(refusal)
        return False

    def _refuse(
        self,
        group: _Group,
        producer: Instruction,
        users: Sequence[Instruction],
        accesses: Accesses,
    ) -> Refused | None:
        """Why a producer does not go into a group; None if it may."""
        for user in users:
            refusal = can_fuse(producer, user) if user in group.members else None
            if refusal is not None:
                return refusal
        if is_scalar_constant(producer):
            return None
        reason = None
        extra = _repeated(producer, accesses) * price(producer)
        if group.count + code_size(producer) * len(accesses) > self.max_instructions:
            reason = too_much(self.max_instructions, "loop body")
        elif extra > _traffic(producer, accesses):
            reason = "it is expensive and its elements would be computed more than once"
        elif extra and group.recomputed + extra > _MOST_RECOMPUTED * loop_count(group.root):
            reason = "too much of the fusion would be computed more than once"
        return Refused.of(producer, reason, group.root) if reason else None


def loop_count(root: Instruction) -> int:
    """How often the loop of a fusion with this root takes elements.

    A reduction goes over its operand, a reduce-window over the elements of every window.
    """
    if root.opcode not in REDUCTIONS:
        return root.array_shape.size
    operand = root.operands[0].array_shape
    if _is_sliding(root):
        window = window_of(root)
        return prod(window.counts(operand.dims)) * prod(window.size)
    return operand.size


def loop_index(root: Instruction) -> tuple[Index, ...]:
    """The index variables of the loop: d0, d1 … and for the dimensions a reduce removes r0, r1 …

    For a window that slides, its places in terms of d0, d1 … and of r0, r1 … inside the window.
    """
    dims = (root.operands[0] if root.opcode in REDUCTIONS else root).array_shape.dims
    if _is_sliding(root):
        window = window_of(root)
        index = zip(window.dimensions, window.counts(dims), window.size)
        return tuple(
            w.place(variable(f"d{d}", n), variable(f"r{d}", k)) for d, (w, n, k) in enumerate(index)
        )
    removed = root["dimensions"] if root.opcode == "reduce" else ()
    kept = iter(range(len(dims)))
    gone = iter(range(len(dims)))
    names = [f"r{next(gone)}" if d in removed else f"d{next(kept)}" for d in range(len(dims))]
    return tuple(variable(name, size) for name, size in zip(names, dims))


def _is_sliding(root: Instruction) -> bool:
    """True for a reduce-window that is not cumulative."""
    if root.opcode != "reduce-window":
        return False
    return window_of(root).cumulative(root.operands[0].array_shape.dims) is None


def _repeated(instruction: Instruction, accesses: Accesses) -> int:
    """How many elements of the instruction are computed that were computed before."""
    if not is_elementwise(instruction):
        return 0
    return max(sum(accesses.values()) - instruction.array_shape.size, 0)


def _traffic(producer: Instruction, accesses: Accesses) -> int:
    """The bytes that storing a producer and loading its elements would move."""
    moved = producer.array_shape.size + sum(accesses.values())
    return moved * producer.array_shape.element_type.dtype.itemsize


def _is_too_long(wanted: Iterable[_Wanted]) -> bool:
    return any(_nodes(i) > _LONGEST_INDEX for _, (index, _), _ in wanted for i in index)


def _nodes(index: Index) -> int:
    """The number of nodes of an expression, counted to just beyond the longest allowed."""
    count, stack = 0, [index]
    while stack and count <= _LONGEST_INDEX:
        node = stack.pop()
        count += 1
        stack.extend(node.terms)
        if node.left is not None:
            stack.append(node.left)
    return count
