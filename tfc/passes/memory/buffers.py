"""Assign memory: where every value of a module lives, by liveness over the order of execution.

    a = f32[1024] exponential(p)      a   arena [0, 4096)
    b = f32[1024] negate(a)           b   arena [0, 4096)      over a, which nothing needs any more
    ROOT c = f32[1024] dot(b, w)      c   result 0

The module must be flat: no calls (`inline`), one caller for each loop part and branch (`flatten`),
and loop bodies whose results can be copied back one by one (`copies`). Liveness says when values
are needed and which may share memory (liveness.py), sharing makes buffers of them (sharing.py), and
packing lays the buffers into the arena (packing.py). Arguments are never written, unless they are
donated (donation.py).
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal as OneOf

from tfc.errors import InternalError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.literal import Literal
from tfc.hlo.shape import to_memory
from tfc.passes.analysis.aliases import Leaf, is_bitcast, own_leaves
from tfc.passes.analysis.liveness import Liveness, Workspace
from tfc.passes.memory.copy_coalescing import SharedBuffer, share
from tfc.passes.memory.packing import Block, aligned, lower_bound, pack

_MOST_LENT = 1_000_000  # pairs of a result and a buffer that are looked at
_TIES: tuple[Callable[[SharedBuffer], int], ...] = (lambda b: b.first, lambda b: -b.last)
Space = OneOf["parameter", "result", "constant", "arena"]


@dataclass(frozen=True)
class Slice:
    """A range of bytes.

    space: what it is a part of: an argument, a result, the pool of constants, or the arena.
    index: which flat parameter or result leaf; 0 in the other spaces.
    offset, size: in bytes; the offset is 0 in a parameter or result, unless it is a view's.
    """

    space: Space
    index: int = 0
    offset: int = 0
    size: int = 0


@dataclass(frozen=True)
class Placement:
    """A piece of the arena and the steps, both included, from which to which it is in use.

    leaf: which array of the instruction's value lies there first; None for its scratch memory.
    """

    instruction: Instruction
    leaf: int | None
    offset: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class BufferAssignment:
    """Where every value lives.

    slices: for every instruction of every computation that runs as steps (the entry, loop parts,
        branches), one slice for each leaf of its shape. Those of an alias (aliases.is_alias: tuple,
        get-tuple-element, reshapes and transposes that move nothing) are its operands': it needs no
        code.
    views: the slices whose memory is a part of their operand's: they need no code either.
    result_slices: where each leaf of the entry's root must end up. If its slice is another
        (a parameter, a constant, a value returned twice), it is copied there at the end.
    constants: (offset in the pool, literal): the literal's row-major bytes go there.
    workspace: the scratch memory of the instructions that asked for some.
    lower_bound: the most bytes of the arena that are needed at one time, values that share memory
        counted once; no arena can be smaller.
    placements: what lies in the arena, and when.

    An operand and a result of one instruction may have the same slice: then its kernel writes the
    result over the operand (see in_place.py). A while's leaves are its state, and the parameters of
    its condition and body alias them: the backend copies the operand's leaves there first and the
    body root's leaves after each iteration. A conditional's operands are what its branches'
    parameters alias; the chosen branch's root leaves are copied to the conditional's own. `moves`
    says what of this is left to copy.
    """

    slices: Mapping[Instruction, tuple[Slice, ...]]
    arena_size: int
    constant_size: int
    constants: tuple[tuple[int, Literal], ...]
    result_slices: tuple[Slice, ...]
    workspace: Mapping[Instruction, Slice]
    lower_bound: int
    placements: tuple[Placement, ...] = ()
    views: frozenset[Instruction] = frozenset()

    def in_place(
        self, instruction: Instruction, operands: Sequence[Instruction]
    ) -> tuple[tuple[int, int], ...]:
        """(operand, result) by number, for each operand in whose memory a result lies."""
        results = {piece: n for n, piece in enumerate(self.slices[instruction]) if piece.size}
        places = (self.slices[operand][0] for operand in operands)
        return tuple((n, results[s]) for n, s in enumerate(places) if s in results)

    def moves(self, source: Instruction, targets: Sequence[Slice]) -> list[int]:
        """The leaves of a value that must be copied to be at their targets, in a safe order.

        Raises:
            InternalError: each is to go where another one is: `copies` breaks such circles.
        """
        sources = self.slices[source]
        waiting = {k: t for k, t in enumerate(targets) if t.size and sources[k] != t}
        order: list[int] = []
        readers = Counter(sources[k] for k in waiting)
        ready = [k for k, target in waiting.items() if not readers[target]]
        while ready:
            number = ready.pop()
            order.append(number)
            del waiting[number]
            freed = sources[number]
            readers[freed] -= 1
            if not readers[freed]:
                ready += [k for k, target in waiting.items() if target == freed]
        if waiting:
            raise InternalError(f"{source.name} returns values in a circle: run copies first")
        return order


def assign_buffers(
    module: Module, workspace: Workspace = lambda _: 0, view_alignment: int = 1
) -> BufferAssignment:
    """The memory of a flat module.

    Args:
        workspace: the bytes of scratch memory that an instruction's kernel wants while it runs.
        view_alignment: the bytes of which slices that are read where they lie begin at a multiple.

    Raises:
        InternalError: the module has calls or a loop part with two callers.
        UnsupportedError: it donates arguments that there are not.
    """
    live = Liveness(module, workspace, view_alignment)
    constants, constant_size, places = _place_constants(live)
    result_slices, together = [], []
    for number, leaf in enumerate(live.arguments):
        places[leaf] = Slice("parameter", number, 0, live.size(leaf))
    for number, leaf in enumerate(own_leaves(live.outcome)):
        argument = live.donation.aliases.get(number)
        if argument is None:
            places[leaf] = Slice("result", number, 0, live.size(leaf))
        else:
            places[leaf] = places[live.arguments[argument]]
            together.append((live.arguments[argument], leaf))
        result_slices.append(places[leaf])
    buffers = share(live.intervals, live.copy_pairs, places, together)
    distinct = list(dict.fromkeys(buffers.values()))
    packed = min(
        (_Packed(live, distinct, _lend_results(live, distinct, tie)) for tie in _TIES),
        key=lambda p: p.size,
    )
    return BufferAssignment(
        slices=MappingProxyType(_slices(live, lambda leaf: packed.slices[buffers[leaf]])),
        arena_size=packed.size,
        constant_size=constant_size,
        constants=constants,
        result_slices=tuple(result_slices),
        workspace=MappingProxyType(packed.workspace),
        lower_bound=packed.lower_bound,
        placements=tuple(packed.placements),
        views=frozenset(live.views),
    )


def _slices(
    live: Liveness, memory: Callable[[Leaf], Slice]
) -> dict[Instruction, tuple[Slice, ...]]:
    """Where every value lies, given where their owners do."""
    found: dict[Instruction, tuple[Slice, ...]] = {}
    parts = dict(live.views)  # and what they are reshaped to
    for instruction, owners in live.sources.of.items():
        if is_bitcast(instruction) and instruction.operands[0] in parts:
            parts[instruction] = parts[instruction.operands[0]]
        found[instruction] = tuple(memory(leaf) for leaf in owners)
        if instruction in parts:
            (whole,), size = found[instruction], instruction.array_shape.byte_size
            part = replace(whole, offset=whole.offset + parts[instruction], size=size)
            found[instruction] = (part,)
    return found


def _place_constants(
    live: Liveness,
) -> tuple[tuple[tuple[int, Literal], ...], int, dict[Leaf, Slice]]:
    """Lay out the distinct literals; equal ones share their place."""
    offsets: dict[Literal, int] = {}
    places: dict[Leaf, Slice] = {}
    end = 0
    for instruction in live.sources.of:
        if instruction.opcode != "constant":
            continue
        shape, literal = instruction.array_shape, instruction["literal"]
        if not shape.has_default_layout:
            literal = Literal.of_own(to_memory(literal.array, shape))
        if literal not in offsets:
            offsets[literal] = end
            end += aligned(shape.byte_size)
        places[instruction, 0] = Slice("constant", 0, offsets[literal], shape.byte_size)
    return tuple((offset, literal) for literal, offset in offsets.items()), end, places


def _lend_results(
    live: Liveness, buffers: Sequence[SharedBuffer[Slice]], tie: Callable[[SharedBuffer], int]
) -> dict[SharedBuffer[Slice], Slice]:
    """Which buffers lie in the memory of results that are not written yet.

    The largest first, each into the smallest result that it fits into.

    Args:
        tie: of those of one size, which goes first.
    """
    taken: dict[Slice, list[tuple[int, int]]] = {}  # when each host is in use, in order
    for buffer in buffers:
        if buffer.place is not None and buffer.place.space == "result":
            taken[buffer.place] = [(buffer.first, live.time + 1)]
    hosts = sorted(taken, key=lambda place: place.size)
    waiting = [b for b in buffers if b.place is None and live.size(b.values[0])]
    lent: dict[SharedBuffer[Slice], Slice] = {}
    if len(hosts) * len(waiting) > _MOST_LENT:
        return lent
    for buffer in sorted(waiting, key=lambda b: (-live.size(b.values[0]), tie(b))):
        size, first, last = live.size(buffer.values[0]), buffer.first, buffer.last
        for host in hosts:
            others = taken[host]
            place = bisect(others, (first, last))
            after_others = place == 0 or others[place - 1][1] < first
            before_others = place == len(others) or last < others[place][0]
            if host.size >= size and after_others and before_others:
                others.insert(place, (first, last))
                lent[buffer] = Slice("result", host.index, 0, size)
                break
    return lent


class _Packed:
    """The arena: buffers, and the scratch memory of kernels, laid out by when they are needed.

    slices: where every buffer lies: in its place, in a result that it is lent, or in the arena.
    """

    def __init__(
        self,
        live: Liveness,
        buffers: Sequence[SharedBuffer[Slice]],
        lent: Mapping[SharedBuffer[Slice], Slice],
    ):
        # What is empty takes no room.
        self.slices = {b: b.place or lent.get(b) or Slice("arena") for b in buffers}
        filled = [b for b, at in self.slices.items() if at.space == "arena"]
        filled = [b for b in filled if live.size(b.values[0])]
        blocks = [Block(live.size(b.values[0]), b.first, b.last) for b in filled]
        blocks += [Block(size, time + 1, time + 1) for size, time in live.scratch.values()]
        packing = pack(blocks)
        arena = [Slice("arena", 0, at, b.size) for at, b in zip(packing.offsets, blocks)]
        self.size = packing.size
        self.slices.update(zip(filled, arena))
        self.workspace = dict(zip(live.scratch, arena[len(filled) :]))
        # Between its intervals a buffer's memory holds nothing that is needed.
        needed = [Block(live.size(b.values[0]), *s) for b in filled for s in b.joined()]
        self.lower_bound = lower_bound([*needed, *blocks[len(filled) :]])
        owners: list[tuple[Instruction, int | None]] = [b.values[0] for b in filled]
        owners += [(instruction, None) for instruction in live.scratch]
        self.placements = [
            Placement(owner, leaf, at.offset, at.size, b.start // 2, b.end // 2)
            for (owner, leaf), at, b in zip(owners, arena, blocks)
        ]
