"""Assign memory: where every value of a module lives, by liveness over the order of execution.

    a = f32[1024] exponential(p)      a   arena [0, 4096)
    b = f32[1024] negate(a)           b   arena [4096, 8192)
    ROOT c = f32[1024] tanh(b)        c   result 0

The module must be flat: no calls (`inline`), one caller for each loop part and branch (`flatten`),
and loop bodies whose results survive being copied back one by one (`copies`). Time runs through
nested computations in the order in which they execute. Values alive at one time never overlap, and
neither do the operands and results of one instruction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal as OneOf

from tfc.errors import InternalError
from tfc.hlo.control import branches
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.literal import Literal
from tfc.hlo.shape import to_memory
from tfc.passes.aliases import Leaf, Sources, leaf_shapes, own_leaves
from tfc.passes.called import CONTROL
from tfc.passes.packing import Block, aligned, pack

Space = OneOf["parameter", "result", "constant", "arena"]
Workspace = Callable[[Instruction], int]


@dataclass(frozen=True)
class Slice:
    """A range of bytes.

    space: what it is a part of: an argument, a result, the pool of constants, or the arena.
    index: which flat parameter or result leaf; 0 in the other spaces.
    offset, size: in bytes; the offset is 0 in a parameter or result.
    """

    space: Space
    index: int = 0
    offset: int = 0
    size: int = 0


@dataclass(frozen=True)
class Placement:
    """A piece of the arena and the steps, both included, from which to which it is in use.

    leaf: which array of the instruction's value lies there; None for its scratch memory.
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
        get-tuple-element, row-major reshape) are its operands': it needs no code.
    result_slices: where each leaf of the entry's root must end up. If its slice is another
        (a parameter, a constant, a value returned twice), it is copied there at the end.
    constants: (offset in the pool, literal): the literal's row-major bytes go there.
    workspace: the scratch memory of the instructions that asked for some.
    lower_bound: the most bytes of the arena alive at one time; no assignment can be smaller.
    placements: the pieces of the arena over time.

    A while's leaves are its state, and the parameters of its condition and body alias them: the
    backend copies the operand's leaves there first and the body root's leaves after each iteration,
    except where the slices are the same. A conditional's operands are what its branches' parameters
    alias; the chosen branch's root leaves are copied to the conditional's own.
    """

    slices: Mapping[Instruction, tuple[Slice, ...]]
    arena_size: int
    constant_size: int
    constants: tuple[tuple[int, Literal], ...]
    result_slices: tuple[Slice, ...]
    workspace: Mapping[Instruction, Slice]
    lower_bound: int
    placements: tuple[Placement, ...] = ()


def assign_buffers(module: Module, workspace: Workspace = lambda _: 0) -> BufferAssignment:
    """The memory of a flat module.

    Args:
        workspace: the bytes of scratch memory that an instruction's kernel wants while it runs.

    Raises:
        InternalError: the module has calls or a loop part with two callers.
    """
    live = _Liveness(module.entry, workspace)
    live.run()
    placed: dict[Leaf, Slice] = {}
    shapes = leaf_shapes(live.ranges)
    sizes = {leaf: shapes[leaf].byte_size for leaf in live.ranges}
    result_slices = _place_results(module.entry, live, sizes, placed)
    _place_parameters(module.entry, placed)
    constants, constant_size = _place_constants(live, placed)
    scratch = list(live.scratch.items())
    for leaf in live.ranges:
        if not sizes[leaf]:  # takes no room, and must not split a gap
            placed.setdefault(leaf, Slice("arena"))
    floating = [leaf for leaf in live.ranges if leaf not in placed]
    blocks = [Block(sizes[leaf], *live.ranges[leaf]) for leaf in floating]
    blocks += [Block(size, time, time) for _, (size, time) in scratch]
    packing = pack(blocks)
    arena = [Slice("arena", 0, o, b.size) for o, b in zip(packing.offsets, blocks)]
    placed.update(zip(floating, arena))
    owners: list[tuple[Instruction, int | None]] = [*floating, *((i, None) for i, _ in scratch)]
    return BufferAssignment(
        slices=MappingProxyType(
            {i: tuple(placed[leaf] for leaf in owners) for i, owners in live.sources.of.items()}
        ),
        arena_size=packing.size,
        constant_size=constant_size,
        constants=constants,
        result_slices=result_slices,
        workspace=MappingProxyType({i: s for (i, _), s in zip(scratch, arena[len(floating) :])}),
        lower_bound=packing.lower_bound,
        placements=tuple(
            Placement(i, leaf, s.offset, b.size, b.start, b.end)
            for (i, leaf), s, b in zip(owners, arena, blocks)
        ),
    )


def _place_results(
    entry: Computation, live: "_Liveness", sizes: Mapping[Leaf, int], placed: dict[Leaf, Slice]
) -> tuple[Slice, ...]:
    """Put what the entry returns straight into the results, each value into at most one."""
    own = set(entry.instructions)
    results = []
    for number, leaf in enumerate(live.sources.of[entry.root]):
        owner = leaf[0]
        slice_ = Slice("result", number, 0, sizes[leaf])
        if owner in own and owner.opcode not in ("parameter", "constant"):
            placed.setdefault(leaf, slice_)
        results.append(slice_)
    return tuple(results)


def _place_parameters(entry: Computation, placed: dict[Leaf, Slice]) -> None:
    every = [leaf for parameter in entry.parameters for leaf in own_leaves(parameter)]
    shapes = leaf_shapes(every)
    for number, leaf in enumerate(every):
        placed[leaf] = Slice("parameter", number, 0, shapes[leaf].byte_size)


def _place_constants(
    live: "_Liveness", placed: dict[Leaf, Slice]
) -> tuple[tuple[tuple[int, Literal], ...], int]:
    """Lay out the distinct literals; equal ones share their place."""
    offsets: dict[Literal, int] = {}
    end = 0
    for instruction in live.sources.of:
        if instruction.opcode != "constant":
            continue
        shape, literal = instruction.array_shape, instruction["literal"]
        if not shape.has_default_layout:
            literal = Literal(to_memory(literal.array, shape))
        if literal not in offsets:
            offsets[literal] = end
            end += aligned(shape.byte_size)
        placed[instruction, 0] = Slice("constant", 0, offsets[literal], shape.byte_size)
    return tuple((offset, literal) for literal, offset in offsets.items()), end


class _Liveness:
    """One walk over the steps of a program in execution order, noting when each leaf is alive."""

    def __init__(self, entry: Computation, workspace: Workspace):
        self.entry, self.workspace = entry, workspace
        self.sources = Sources()
        self.ranges: dict[Leaf, tuple[int, int]] = {}
        self.scratch: dict[Instruction, tuple[int, int]] = {}  # bytes, time
        self.time = 0
        self._run: set[Computation] = set()

    def run(self) -> None:
        """Walk; a stack of steps stands for the nesting, so any depth works."""
        for parameter in self.entry.parameters:
            self._define(own_leaves(parameter))
        stack: list[tuple[Callable[[], None] | None, Computation | Instruction]] = []
        stack.append((None, self.entry))
        while stack:
            action, what = stack.pop()
            self.time += 1
            if action is not None:
                action()
            elif isinstance(what, Computation):
                self._enter(what)
                stack.append((lambda c=what: self._read(c.root), what))
                stack.extend((None, i) for i in reversed(what.instructions))
            elif what.opcode in CONTROL:
                self._start_control(what)
                leave = (lambda i=what: self._define(self.sources.of[i]), what)
                stack.append(leave)
                stack.extend((None, c) for c in reversed(what.called_computations))
            else:
                self._step(what)

    def _enter(self, computation: Computation) -> None:
        if computation in self._run:
            raise InternalError(f"{computation.name} has two callers: run flatten first")
        self._run.add(computation)

    def _step(self, instruction: Instruction) -> None:
        if instruction.opcode == "call":
            raise InternalError(f"{instruction.name} is a call: run inline first")
        if instruction.opcode not in ("parameter", "constant") and instruction in self.sources.of:
            raise InternalError(f"{instruction.name} is in two computations: run flatten first")
        owners = self.sources.visit(instruction)
        if owners and owners[0][0] is not instruction:
            return  # an alias: nothing runs, and only a read of its value keeps that alive
        for operand in instruction.operands:
            self._read(operand)
        self._define(owners)
        wanted = self.workspace(instruction)
        if wanted:
            self.scratch[instruction] = (wanted, self.time)

    def _start_control(self, instruction: Instruction) -> None:
        """Read the operands, define the results, and bind the parameters of what will run."""
        for operand in instruction.operands:
            self._read(operand)
        owners = self.sources.visit(instruction)
        self._define(owners)
        if instruction.opcode == "while":
            for called in (instruction["condition"], instruction["body"]):
                self.sources.bind(called.parameters[0], owners)
        else:
            for called, operand in zip(branches(instruction), instruction.operands[1:]):
                self.sources.bind(called.parameters[0], self.sources.of[operand])

    def _read(self, value: Instruction) -> None:
        for leaf in self.sources.of[value]:
            self.ranges[leaf] = (self.ranges[leaf][0], self.time)

    def _define(self, owners: tuple[Leaf, ...]) -> None:
        """Begin the life of leaves, or prolong it to now."""
        for leaf in owners:
            self.ranges[leaf] = (self.ranges.get(leaf, (self.time,))[0], self.time)
