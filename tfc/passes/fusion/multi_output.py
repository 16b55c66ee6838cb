"""Merge kernels that go over the same elements, so that these are read once.

    s = f32[8] reduce(x, zero)              f = (f32[8], f32[8]) fusion(x), kind=kInput
    m = f32[8] reduce(x, low)       -->     s = f32[8] get-tuple-element(f), index=0
                                            m = f32[8] get-tuple-element(f), index=1

Two kinds of kernels are merged: siblings, which read an array at the same places or compute the
same of it, and a producer with a consumer that reads just the element that the producer stores.
Both must run over one space (loop_spaces.py); a reduction takes in what its pass can store on the
way, where a thread makes more than one result. What only the merged kernels use is not stored.

It stays apart, with a refusal that says why, if a path leads from one to the other through others,
if too little is saved of what the smaller one moves, or if the merged kernel would have more arrays
or code than the limits. Loops with conditions (pieces of a concatenate that its loops cannot part)
and what other passes formed stay as they are.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.fusible import code_size, price
from tfc.passes.analysis.loop_spaces import Indices, LoopSpace, space_of, visits
from tfc.passes.fusion.engine import FusionPass, Kernels
from tfc.passes.fusion.merging import Body, Merging, body_of, byte_size

_MOST_TRIED = 3  # clusters of one space that a kernel is held against, for each array it reads


@dataclass(frozen=True)
class MultiOutput(FusionPass):
    """Merge kernels over the same elements, in every computation that runs as steps.

    max_instructions: the most (instruction, index) pairs of a merged kernel.
    max_arrays: the most operands and results of a merged kernel.
    least_saved: what part of the smaller kernel's bytes must be saved, in percent.
    launch_bytes: the bytes that are moved in the time that starting a kernel takes, which is saved,
        too, where kernels read the same or each other's values.
    reducing_stores: whether a reduction takes in what its pass can store on the way.
    """

    name: ClassVar[str] = "multi-output"
    max_instructions: int = 256
    max_arrays: int = 96
    least_saved: int = 20
    launch_bytes: int = 0
    reducing_stores: bool = True

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        return _Plan(computation, self)


@dataclass(eq=False)
class _Cluster:
    """Kernels merged so far.

    reads: for operands of the kernels, the indices at which they are read, in terms of i0, i1 …
    made: at which index the kernels' values are there while the loops run; a reduction's never.
    moved: the bytes that the kernels read and write.
    computed: what is computed at each point, and what that takes, in bytes moved.
    """

    bodies: list[Body]
    space: LoopSpace
    reads: dict[Instruction, frozenset[Indices]]
    made: dict[Instruction, Indices | None]
    code: int
    moved: int
    computed: dict[Hashable, int]

    @property
    def arrays(self) -> int:
        """How many operands and results there are."""
        return len(self.reads) + len(self.made)

    def absorb(self, other: "_Cluster", space: LoopSpace) -> None:
        """Take in the kernels of another cluster."""
        both = self.reads.keys() & other.reads.keys()
        self.bodies += other.bodies
        self.space = space
        for operand, indices in other.reads.items():
            self.reads[operand] = self.reads.get(operand, frozenset()) | indices
        self.made.update(other.made)
        self.computed.update(other.computed)
        self.code += other.code
        self.moved += other.moved - sum(byte_size(i) for i in both)


class _Plan(Merging):
    """The clusters of one computation."""

    def __init__(self, computation: Computation, limits: MultiOutput):
        super().__init__(computation, limits.max_instructions, limits.max_arrays)
        self.limits = limits
        self.clusters: dict[Instruction, _Cluster] = {}
        numbers: dict[Hashable, int] = {}
        for instruction in computation.instructions:
            cluster = _cluster_of(instruction, numbers)
            if cluster is not None:
                self.clusters[instruction] = cluster
        values = [i for i in computation.instructions if isinstance(i.shape, Shape)]
        for value in sorted(values, key=byte_size, reverse=True):
            self._merge_around(value)
        for cluster in dict.fromkeys(self.clusters.values()):
            self.merge(cluster.bodies)

    def _merge_around(self, value: Instruction) -> None:
        """Merge kernels that read a value with the one that makes it, and with one another."""
        readers = [value, *self.computation.users[value]]
        kernels = [i for i in readers if i in self.clusters]
        found: dict[tuple[int, ...], list[_Cluster]] = {}
        for kernel in kernels:
            cluster = self.clusters[kernel]
            others = found.setdefault(cluster.space.dims, [])
            if cluster in others:
                continue
            if not any(self._try(other, cluster) for other in others[-_MOST_TRIED:]):
                others.append(cluster)
            others[:] = dict.fromkeys(self.clusters[c.bodies[0].instruction] for c in others)

    def _try(self, one: _Cluster, other: _Cluster) -> bool:
        """Merge two clusters if that may be and pays."""
        space = one.space.joined(other.space)
        mixed = (one.space.reduced is None) != (other.space.reduced is None)
        if space is None or (mixed and not self.limits.reducing_stores):
            return False
        reason = self._refuse(one, other)
        first, second = one.bodies[-1].instruction, other.bodies[-1].instruction
        reason = reason or self.levels.merge(first, second)
        if reason is not None:
            self.refuse(second, reason, first)
            return False
        large, small = (one, other) if len(one.bodies) >= len(other.bodies) else (other, one)
        large.absorb(small, space)
        self.clusters.update((b.instruction, large) for b in small.bodies)
        return True

    def _refuse(self, one: _Cluster, other: _Cluster) -> str | None:
        """Why two clusters over one space are not merged; None if they may be."""
        for maker, reader in ((one, other), (other, one)):
            for made in maker.made.keys() & reader.reads.keys():
                # What is read by way of a scalar, at one place for all, is in no such set.
                if reader.reads[made] != {maker.made[made]}:
                    return "it reads other elements than those that are just made"
        arrays = one.arrays + other.arrays - len(one.reads.keys() & other.reads.keys())
        reason = self.too_large(one.code + other.code, arrays)
        if reason is not None:
            return reason
        saved = sum(byte_size(i) for i in _shared(one, other))
        saved += sum(one.computed[x] for x in one.computed.keys() & other.computed.keys())
        smaller, launch = min(one.moved, other.moved), self.limits.launch_bytes
        if (saved + launch) * 100 < smaller * self.limits.least_saved or not saved:
            return f"it would save {saved} of {smaller} bytes"
        return None


def _cluster_of(instruction: Instruction, numbers: dict[Hashable, int]) -> _Cluster | None:
    """A kernel by itself; None for what is not merged.

    Args:
        numbers: of what kernels compute.
    """
    body = body_of(instruction)
    if body is None or body.computation.root.opcode == "tuple":
        return None
    root = body.computation.root
    space = space_of(root)
    index = tuple(variable(f"i{d}", size) for d, size in enumerate(space.dims))
    reads: dict[Instruction, set[Indices]] = {
        o: set() if not isinstance(o.shape, Shape) or o.shape.rank else {()} for o in body.operands
    }
    outer = dict(zip(body.computation.parameters, body.operands))
    code, keys = 0, _keys(body, outer, numbers)
    computed: dict[Hashable, int] = {}
    for inner, at, pieces in visits(body.computation.parameters, _elements(root), index):
        code += code_size(inner)
        if any(p.conditions for p in pieces):
            return None
        if inner in outer:
            reads[outer[inner]].add(at)
        elif at == index:
            computed[keys[inner]] = price(inner) * inner.array_shape.size
    frozen = {operand: frozenset(indices) for operand, indices in reads.items()}
    made = {instruction: index if space.reduced is None else None}
    moved = byte_size(instruction) + sum(byte_size(o) for o in frozen)
    return _Cluster([body], space, frozen, made, code, moved, computed)


def _keys(
    body: Body, outer: Mapping[Instruction, Instruction], numbers: dict[Hashable, int]
) -> dict[Instruction, Hashable]:
    """What tells whether instructions of two kernels compute the same: an operand, or a number."""
    keys: dict[Instruction, Hashable] = {}
    for inner in body.computation.instructions:
        operands = tuple(keys[o] for o in inner.operands)
        own = (inner.opcode, inner.attributes, inner.shape, operands)
        keys[inner] = outer.get(inner) or numbers.setdefault(own, len(numbers))
    return keys


def _elements(root: Instruction) -> Instruction:
    """What a kernel takes an element of at each point of its loops: a value, or a tuple of some."""
    if root.opcode != "reduce":
        return root
    return root.with_(opcode="tuple", operands=root.operands[: len(root.operands) // 2])


def _shared(one: _Cluster, other: _Cluster) -> Iterator[Instruction]:
    """The arrays that both clusters read at the same place, or one makes and the other reads."""
    for maker, reader in ((one, other), (other, one)):
        yield from maker.made.keys() & reader.reads.keys()
    both = one.reads.keys() & other.reads.keys()
    yield from (i for i in both if one.reads[i] & other.reads[i])
