"""Insert the copies without which a loop's state would be overwritten while it is still needed.

    body { s = (f32[], f32[]) parameter(0)            body { …
           a = f32[] get-tuple-element(s), index=0           c = f32[] copy(b)
           b = f32[] get-tuple-element(s), index=1  -->      d = f32[] copy(a)
           ROOT r = (f32[], f32[]) tuple(b, a) }             ROOT r = … tuple(c, d) }

After an iteration a backend copies the leaves of the body's root to the state one by one. Each leaf
must then be the same leaf of the state, or a value that the body made for this leaf alone: another
leaf of the state, a constant, or a value that is returned twice is copied here first. Selects and
copies of whole tuples, which no kernel computes, become those of their elements.

Does nothing to a module whose loop bodies return values of their own. Must run after `simplify`,
which removes copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, map_computations, rebuild
from tfc.hlo.shape import AnyShape, Shape, TokenShape, TupleShape
from tfc.passes.aliases import Leaf, Sources
from tfc.passes.called import map_some


@dataclass(frozen=True)
class Copies:
    """Make every loop body return values that can be copied to the state one by one."""

    name: ClassVar[str] = "copies"

    def __call__(self, module: Module) -> Module:
        """The module with the copies."""
        module = map_computations(module, lambda c: rebuild(c, _split_tuples))
        bodies = {i["body"] for c in module.computations for i in c.instructions
                  if i.opcode == "while"}  # fmt: skip
        return map_some(module, bodies, _protect)


def _protect(body: Computation) -> Computation:
    """The body with a copy of each leaf of its root that needs one."""
    sources = Sources()
    for instruction in body.instructions:
        sources.visit(instruction)
    returned = sources.of[body.root]
    state = sources.of[body.parameters[0]]
    wanted = _needs_copy(returned, state)
    if not any(wanted):
        return body
    parts = _elements(body.root)
    copied = [builder.unary("copy", p) if w else p for p, w in zip(parts, wanted)]
    root = _pack(body.root.shape, iter(copied)).with_(name=body.root.name)
    made = Computation.make(body.name, body.parameters, root, body.effects)
    return replace(made, annotations=body.annotations)


def _needs_copy(returned: Sequence[Leaf], state: Sequence[Leaf]) -> list[bool]:
    seen: set[Leaf] = set()
    wanted = []
    for leaf, mine in zip(returned, state):
        owner = leaf[0]
        fixed = owner.opcode in ("parameter", "constant") or leaf in seen
        wanted.append(leaf != mine and fixed)
        seen.add(leaf)
    return wanted


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
