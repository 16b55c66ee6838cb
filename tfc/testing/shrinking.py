"""Making a program that fails small: fewer instructions, parameters and layouts, failing still.

Each step tries the programs that are one change simpler than the best so far, the boldest first,
and goes on from the first that still fails.
"""

import time
from collections.abc import Callable, Iterator, Mapping

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, retarget
from tfc.hlo.shape import AnyShape, Shape, TupleShape, row_major

SECONDS = 60.0  # for making one program small


def shrink(module: Module, fails: Callable[[Module], bool], seconds: float = SECONDS) -> Module:
    """The smallest module found in the time given that still fails.

    Args:
        fails: whether a module, which may be malformed, fails as the first does.
    """
    end = time.monotonic() + seconds
    while True:
        for smaller in _simpler(module):
            if time.monotonic() > end:
                return module
            if fails(smaller):
                module = smaller
                break
        else:
            return module


def shrink_lines(text: str, fails: Callable[[str], bool], seconds: float = SECONDS) -> str:
    """A text that is no module, without the lines that its failure does not need."""
    end = time.monotonic() + seconds
    lines = text.split("\n")
    for at in reversed(range(len(lines))):
        rest = lines[:at] + lines[at + 1 :]
        if time.monotonic() < end and fails("\n".join(rest)):
            lines = rest
    return "\n".join(lines)


def _simpler(module: Module) -> Iterator[Module]:
    entry = module.entry
    for changed in (
        _with_earlier_root(entry),
        _with_parameters(entry),
        _with_less_in_tuples(entry),
        _with_operands(entry),
        _row_major_all(entry),
        _row_major_each(entry),
    ):
        for computation in changed:
            yield module.with_entry(_trimmed(computation))
    for called in module.computations[:-1]:
        for change in (_with_operands, _row_major_all, _row_major_each):
            for computation in change(called):
                yield _with_called(module, called, computation)


def _replaced(
    computation: Computation, instead: Mapping[Instruction, Instruction | None]
) -> Computation:
    """The computation with other instructions in place of some; an operand if None is given.

    Whatever refers to a value that changed its layout is made again as it was.
    """
    new: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        if old not in instead:
            new[old] = old.renewed(new)
            continue
        given = instead[old]
        new[old] = given.renewed(new) if given is not None else new[_alike(old)]
    parameters = [new[p] for p in computation.parameters]
    return Computation.make(computation.name, parameters, new[computation.root])


def _alike(instruction: Instruction) -> Instruction:
    """The first operand whose shape is that of the result."""
    return next(o for o in instruction.operands if o.shape.is_compatible(instruction.shape))


def _with_earlier_root(entry: Computation) -> Iterator[Computation]:
    for instruction in entry.instructions:
        if instruction is not entry.root and instruction.opcode != "parameter":
            yield Computation.make(entry.name, entry.parameters, instruction)


def _with_parameters(entry: Computation) -> Iterator[Computation]:
    """A parameter in place of each instruction, the last ones first, which need the most."""
    for instruction in reversed(entry.instructions):
        if instruction.opcode in ("parameter", "tuple") or instruction is entry.root:
            continue
        if not isinstance(instruction.shape, Shape):
            continue
        added = builder.parameter(len(entry.parameters), instruction.shape)
        changed = _replaced(entry, {instruction: added})
        yield Computation.make(entry.name, [*changed.parameters, added], changed.root)


def _with_less_in_tuples(entry: Computation) -> Iterator[Computation]:
    root = entry.root
    if root.opcode == "tuple" and isinstance(root.shape, TupleShape) and len(root.operands) > 1:
        shapes = root.shape.elements
        for n in range(len(shapes)):
            shape = TupleShape(shapes[:n] + shapes[n + 1 :])
            rest = root.operands[:n] + root.operands[n + 1 :]
            made = root.with_(operands=rest, shape=shape)
            yield Computation.make(entry.name, entry.parameters, made)


def _with_operands(computation: Computation) -> Iterator[Computation]:
    for instruction in computation.instructions:
        if any(o.shape.is_compatible(instruction.shape) for o in instruction.operands):
            yield _replaced(computation, {instruction: None})


def _row_major_all(computation: Computation) -> Iterator[Computation]:
    plain = {i: p for i in computation.instructions if (p := _plain(i)) is not i}
    if plain:
        yield _replaced(computation, plain)


def _row_major_each(computation: Computation) -> Iterator[Computation]:
    for instruction in computation.instructions:
        plain = _plain(instruction)
        if plain is not instruction:
            yield _replaced(computation, {instruction: plain})


def _plain(instruction: Instruction) -> Instruction:
    shape: AnyShape = row_major(instruction.shape)
    return instruction if shape == instruction.shape else instruction.with_(shape=shape)


def _trimmed(entry: Computation) -> Computation:
    """The entry without what its root does not need, parameters numbered anew."""
    needed = Computation.make(entry.name, [], entry.root)
    kept = [p for p in entry.parameters if p in set(needed.instructions)]
    renumbered = {
        p: p.with_(attributes=p.attributes.with_(number=n), name=f"p{n}")
        for n, p in enumerate(kept)
        if p["number"] != n
    }
    base = Computation.make(entry.name, kept, entry.root)
    return _replaced(base, renumbered) if renumbered else base


def _with_called(module: Module, called: Computation, instead: Computation) -> Module:
    """The module that calls one computation in place of another."""
    done: dict[Computation, Computation] = {}
    for computation in module.computations:
        if computation is called:
            done[computation] = instead
            continue
        new: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            new[old] = retarget(old.renewed(new), done.__getitem__)
        parameters = [new[p] for p in computation.parameters]
        root = new[computation.root]
        done[computation] = Computation.make(computation.name, parameters, root)
    return module.with_entry(done[module.entry])
