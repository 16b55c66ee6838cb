"""Insert the copies without which values that change places would overwrite each other.

    body { s = (f32[], f32[]) parameter(0)            body { …
           a = f32[] get-tuple-element(s), index=0           c = f32[] copy(b)
           b = f32[] get-tuple-element(s), index=1  -->      ROOT r = … tuple(c, a) }
           ROOT r = (f32[], f32[]) tuple(b, a) }

After an iteration the leaves of the body's root become those of the state, in an order in which
none is overwritten before it has been read (BufferAssignment.moves). There is no such order for
leaves that change places in a circle: one of each circle is copied here first. Likewise results of
the entry that go into the memory of donated arguments. Whether anything else is copied follows from
when values are needed, and is buffer assignment's to find out. Selects and copies of whole tuples,
which no kernel computes, become those of their elements.

Does nothing to a module in which no values change places. Must run after `simplify`, which removes
copies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, map_computations, rebuild
from tfc.hlo.shape import AnyShape, Shape, TokenShape, TupleShape
from tfc.passes.analysis.aliases import Leaf, kept_leaves, loop_bodies, own_leaves, resolve
from tfc.passes.analysis.called import map_some
from tfc.passes.analysis.donation import donation_of


@dataclass(frozen=True)
class Copies:
    """Break the circles of values that change places."""

    name: ClassVar[str] = "copies"

    def __call__(self, module: Module) -> Module:
        """The module with the copies."""
        module = map_computations(module, lambda c: rebuild(c, _split_tuples))
        unchanging: dict[Computation, frozenset[int]] = {}

        def protect(body: Computation) -> Computation:
            sources = resolve(body, unchanging)
            state = dict(enumerate(sources.of[body.parameters[0]]))
            made = _copy_leaves(body, _circles(sources.of[body.root], state))
            unchanging[made] = frozenset(kept_leaves(made, unchanging))
            return made

        module = map_some(module, set(loop_bodies(module)), protect)
        aliases = donation_of(module).aliases
        if not aliases:
            return module
        entry = module.entry
        arguments = [leaf for p in entry.parameters for leaf in own_leaves(p)]
        returned = resolve(entry, unchanging).of[entry.root]
        wanted = _circles(returned, {k: arguments[n] for k, n in aliases.items()})
        return module.with_entry(_copy_leaves(entry, wanted))


def _circles(returned: Sequence[Leaf], into: Mapping[int, Leaf]) -> set[int]:
    """One number of each circle among leaves that go where another of them is.

    Args:
        into: for numbers of leaves, the leaf in whose memory they are to be.
    """
    holder = {leaf: k for k, leaf in into.items()}
    found: set[int] = set()
    done: set[int] = set()
    for start in into:
        path: set[int] = set()
        number: int | None = start
        while number is not None and number not in done:
            done.add(number)
            path.add(number)
            number = holder.get(returned[number])
        if number in path and returned[number] != into[number]:
            found.add(number)
    return found


def _copy_leaves(computation: Computation, wanted: set[int]) -> Computation:
    """The computation with copies of some of the leaves of its root; itself if of none."""
    if not wanted:
        return computation
    root = computation.root
    parts = [
        builder.unary("copy", part) if number in wanted else part
        for number, part in enumerate(_elements(root))
    ]
    new_root = _pack(root.shape, iter(parts)).with_(name=root.name)
    made = Computation.make(computation.name, computation.parameters, new_root, computation.effects)
    return replace(made, annotations=computation.annotations)


def _split_tuples(instruction: Instruction) -> Instruction:
    """select(p, (a, b), (c, d)) --> (select(p, a, c), select(p, b, d)); likewise copy((a, b))."""
    if instruction.opcode not in ("select", "copy") or isinstance(instruction.shape, Shape):
        return instruction
    if instruction.opcode == "copy":
        made = [builder.unary("copy", e) for e in _elements(instruction.operands[0])]
    else:
        pred, on_true, on_false = instruction.operands
        pairs = zip(_elements(on_true), _elements(on_false))
        made = [builder.instruction("select", [pred, a, b]) for a, b in pairs]
    packed = _pack(instruction.shape, iter(made))
    return packed.with_(name=instruction.name, metadata=instruction.metadata)


def _elements(value: Instruction) -> list[Instruction]:
    """An instruction for each leaf of a value, in order."""
    found, stack = [], [value]
    while stack:
        part = stack.pop()
        if isinstance(part.shape, Shape):
            found.append(part)
        elif part.opcode == "tuple":
            stack.extend(reversed(part.operands))
        else:
            stack.extend(
                builder.instruction("get-tuple-element", [part], index=i)
                for i in reversed(range(len(part.shape.elements)))
            )
    return found


def _pack(shape: AnyShape, leaves) -> Instruction:
    """A value of the shape from its leaves."""
    if isinstance(shape, TupleShape):
        return builder.instruction("tuple", [_pack(e, leaves) for e in shape.elements])
    if isinstance(shape, TokenShape):
        return builder.instruction("after-all", [])
    return next(leaves)
