"""Inline calls and fusions, and give every computation that control flow runs a caller of its own.

inline:     y = f32[2] call(x), to_apply=f          y = f32[2] exponential(x)
            f { ROOT e = exponential(p) }     -->

flatten:    a = while(s), condition=c, body=b       a = while(s), condition=c, body=b
            d = while(t), condition=c, body=b -->   d = while(t), condition=c.1, body=b.1

`inline` undoes the fusions of a module that comes from outside, whose kernels were formed for
another compiler; a map of scalars is a call, too. It does nothing to a module without calls and
fusions. `flatten` does nothing when each loop part and branch has one caller and no instruction
sits in two of them; computations that are part of a kernel (a reduce's to_apply, a fusion's calls)
stay shared.

Computations that call one another several times grow exponentially with how deep they are nested,
so what either would make is counted first, and refused beyond `max_instructions`.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Computation, Instruction, Module, calling, holding, rebuild, remake, retarget
from tfc.hlo.shape import Shape
from tfc.passes.analysis.called import CONTROL, clone, control_callees, control_computations

MAX_INSTRUCTIONS = 1_000_000  # what a module may become: some minutes of compiling
_LARGEST, _DEEPEST = 20_000, 32  # instructions, and blocks within blocks, in the code of a kernel
_UNCOUNTED = 1 << 62
_REPLACED = frozenset({"parameter", "call", "fusion"})


def _inlined(instruction: Instruction) -> Computation | None:
    """The computation whose body may stand in the place of an instruction."""
    match instruction.opcode:
        case "call":
            return instruction["to_apply"]
        case "fusion":
            return instruction["calls"]
        case "map" if isinstance(instruction.shape, Shape) and not instruction.shape.rank:
            return instruction["to_apply"]
        case _:
            return None


@dataclass(frozen=True)
class Inline:
    """Replace each call and fusion by the body of what it calls.

    max_instructions: the most that the module may have afterwards, unless it has them before.
    """

    name: ClassVar[str] = "inline"
    max_instructions: int = MAX_INSTRUCTIONS

    def __call__(self, module: Module) -> Module:
        """The module without calls and fusions.

        Raises:
            UnsupportedError: it would have too many instructions, or a kernel control flow that
                nests too deep.
        """
        bodies = {i: b for c in module.computations for i in c.instructions if (b := _inlined(i))}
        if not bodies:
            _require_small_parts(module)
            return module
        kept = _kept(module, bodies)
        sizes = _sizes(module, lambda i: [bodies[i]] if i in bodies else (), _REPLACED)
        size = sum(sizes[c] + len(c.parameters) for c in kept)
        _require(module, size, self.max_instructions, "call")
        new: dict[Computation, Computation] = {}
        for computation in module.computations:
            if computation in kept:
                new[computation] = _expanded(computation, bodies, new)
        inlined = module.with_entry(new[module.entry])
        _require_small_parts(inlined)
        return inlined


def _require_small_parts(module: Module) -> None:
    """Refuse control flow that is too much, or nests too deep, to be part of one kernel.

    Raises:
        UnsupportedError: a computation that is no step of the program has such control flow.
    """
    steps = control_computations(module)
    parts = [c for c in module.computations if c not in steps and c.callees]
    if not parts:
        return
    sizes = _sizes(module, lambda i: i.called_computations)
    depths: dict[Computation, int] = {}
    for computation in module.computations:
        depths[computation] = 1 + max((depths[c] for c in computation.callees), default=-1)
    for part in parts:
        if depths[part] > _DEEPEST or sizes[part] > _LARGEST:
            size = f"is {sizes[part]:,}" if sizes[part] < _UNCOUNTED else "is more than 2^62"
            raise UnsupportedError(
                f"{part.name}, a part of a kernel, {size} instructions with the computations that "
                f"it runs, which nest {depths[part]} deep; the limits are {_LARGEST:,} and "
                f"{_DEEPEST}: compute it outside of the kernel"
            )


def _kept(module: Module, bodies: Mapping[Instruction, Computation]) -> set[Computation]:
    """The entry, and what is called other than to stand in the place of the call."""
    kept = {module.entry}
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction not in bodies:
                kept.update(instruction.called_computations)
    return kept


# A call, what stands for instructions in its body, and those of the body that are left.
_Frame = tuple[Instruction, dict[Instruction, Instruction], Iterator[Instruction]]


def _expanded(
    computation: Computation,
    bodies: Mapping[Instruction, Computation],
    kept: Mapping[Computation, Computation],
) -> Computation:
    """The computation with bodies in the place of calls, and of the calls in those, at any depth.

    Args:
        kept: what to call in place of the computations that are called still.
    """
    if not any(i in bodies for i in computation.instructions):
        return calling(computation, kept)
    new: dict[Instruction, Instruction] = {}
    stack: list[_Frame] = [(computation.root, new, iter(computation.instructions))]
    while stack:
        place, values, rest = stack[-1]
        for old in rest:
            if old in bodies:
                body = bodies[old]
                inside = dict(zip(body.parameters, (values[o] for o in old.operands)))
                stack.append((old, inside, iter(body.instructions)))
                break
            if old not in values:
                made = retarget(old.renewed(values), kept.__getitem__)
                values[old] = old.with_() if made is old and len(stack) > 1 else made
        else:
            stack.pop()
            if stack:
                body = bodies[place]
                effects = [values[e] for e in body.effects]
                stack[-1][1][place] = holding(values[body.root], effects)
    return remake(computation, new)


def _sizes(
    module: Module,
    copied: Callable[[Instruction], Iterable[Computation]],
    replaced: Container[str] = (),
) -> dict[Computation, int]:
    """How many instructions each computation becomes with those that its instructions have copied.

    Args:
        copied: the computations that an instruction gets copies of.
        replaced: the opcodes of instructions that are no part of a copy.
    """
    sizes: dict[Computation, int] = {}
    for computation in module.computations:
        own = sum(i.opcode not in replaced for i in computation.instructions)
        below = sum(sizes[c] for i in computation.instructions for c in copied(i))
        sizes[computation] = min(own + below, _UNCOUNTED)
    return sizes


def _require(module: Module, size: int, limit: int, caller: str) -> None:
    """Refuse a module that would become too large.

    Raises:
        UnsupportedError: it would.
    """
    if size > max(limit, sum(len(c.instructions) for c in module.computations)):
        stated = f"{size:,}" if size < _UNCOUNTED else "more than 2^62"
        raise UnsupportedError(
            f"{module.name} becomes {stated} instructions when each {caller} gets its own copy of "
            f"what it calls; the limit is {limit:,}: repeat computations by a loop instead"
        )


@dataclass(frozen=True)
class Flatten:
    """Clone computations until each that control flow runs has one caller.

    max_instructions: the most that the module may have afterwards, unless it has them before.
    """

    name: ClassVar[str] = "flatten"
    max_instructions: int = MAX_INSTRUCTIONS

    def __call__(self, module: Module) -> Module:
        """The module whose loop parts and branches are a tree.

        Raises:
            UnsupportedError: it would have too many instructions.
        """
        sizes = _sizes(module, lambda i: i.called_computations if i.opcode in CONTROL else ())
        size = sizes[module.entry]
        _require(module, size, self.max_instructions, "loop and conditional")
        control = control_computations(module)
        new: dict[Computation, Computation] = {}
        claimed: set[Computation] = set()
        owned: set[Instruction] = set()

        def claim(callee: Computation) -> Computation:
            made = new[callee]
            if made in claimed:
                made = _clone_tree(made)
            claimed.add(made)
            return made

        for computation in module.computations:  # callees first: what is claimed is final
            if computation not in control:
                new[computation] = computation
                continue
            own = _own_instructions(computation, owned)
            owned.update(own.instructions)
            new[computation] = rebuild(
                own, lambda i: retarget(i, claim) if i.opcode in CONTROL else i
            )
        return module.with_entry(new[module.entry])


def _own_instructions(computation: Computation, taken: set[Instruction]) -> Computation:
    """The computation, with new instructions if another computation holds some of them."""
    shared = any(i in taken for i in computation.instructions)
    return clone(computation) if shared else computation


def _clone_tree(root: Computation) -> Computation:
    """A copy of a computation and of everything that its control flow runs."""
    new: dict[Computation, Computation] = {}
    stack = [(root, False)]
    while stack:
        computation, expanded = stack.pop()
        if expanded:
            new[computation] = clone(computation, lambda c: new.get(c, c))
        else:
            stack.append((computation, True))
            stack.extend((c, False) for c in control_callees(computation))
    return new[root]
