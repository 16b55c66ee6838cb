"""Merge kernels into one that stores the results of all: a fusion whose root is a tuple.

    a = f32[8] exponential(x)               fused { p = f32[8] parameter(0)
    b = f32[8] fusion(x, a), kind=kLoop,            a = f32[8] exponential(p)
        calls=times                 -->             m = f32[8] multiply(p, a)
                                                    ROOT t = (f32[8], f32[8]) tuple(a, m) }
                                            f = (f32[8], f32[8]) fusion(x), kind=kLoop, calls=fused
                                            a = f32[8] get-tuple-element(f), index=0
                                            b = f32[8] get-tuple-element(f), index=1

What only the merged kernels themselves use is not stored.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Computation, Instruction, remake
from tfc.hlo.shape import leaves
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.fusible import is_loop, is_scalar_constant
from tfc.passes.analysis.topological_levels import Levels

_COMPUTED = ("kLoop", "kInput")


@dataclass(frozen=True, eq=False)
class Body:
    """What a kernel computes: `computation` of the values of `operands`."""

    instruction: Instruction
    computation: Computation
    operands: tuple[Instruction, ...]

    @cached_property
    def values(self) -> tuple[Instruction, ...]:
        """The instructions of the computation whose values are stored."""
        root = self.computation.root
        return root.operands if root.opcode == "tuple" else (root,)

    @property
    def read_bytes(self) -> int:
        """How much the kernel reads, each operand counted once."""
        return sum(byte_size(o) for o in set(self.operands))


def byte_size(instruction: Instruction) -> int:
    """The bytes of an array, or of all those of a tuple."""
    return sum(s.byte_size for s in leaves(instruction.shape))


def body_of(instruction: Instruction) -> Body | None:
    """The body of a kernel of loops and reductions; None for anything else."""
    if instruction.opcode == "fusion":
        called = instruction["calls"]
        if instruction["kind"] not in _COMPUTED:
            return None
        body = Body(instruction, called, instruction.operands)
        inside = set(called.instructions) - set(body.values) - {called.root}
        fine = all(_is_part(i) for i in inside) and all(_is_stored(v) for v in body.values)
        return body if fine else None
    if is_alias(instruction) or not _is_stored(instruction):
        return None
    operands = tuple(dict.fromkeys(o for o in instruction.operands if not is_scalar_constant(o)))
    parameters = [builder.parameter(n, o.shape) for n, o in enumerate(operands)]
    inner = dict(zip(operands, parameters))
    root = instruction.with_(
        operands=tuple(inner.get(o, o) for o in instruction.operands), control_predecessors=()
    )
    return Body(instruction, Computation.make(instruction.opcode, parameters, root), operands)


def _is_part(instruction: Instruction) -> bool:
    return (
        instruction.opcode == "parameter" or is_scalar_constant(instruction) or is_loop(instruction)
    )


def _is_stored(value: Instruction) -> bool:
    return is_loop(value) or value.opcode == "reduce"


def merge(
    computation: Computation, merged: Iterable[Sequence[Body]], levels: Levels
) -> Computation:
    """The computation with one kernel for each sequence of several bodies.

    Args:
        levels: those of the computation, with the same instructions merged.
    """
    groups = {b.instruction: group for group in merged if len(group) > 1 for b in group}
    if not groups:
        return computation
    place = {i: n for n, i in enumerate(computation.instructions)}
    new: dict[Instruction, Instruction] = {}
    elements: dict[tuple[Instruction, int], Instruction] = {}  # of merged tuples
    done: set[Instruction] = set()
    for old in levels.ordered(computation.instructions):
        if old in done:
            continue
        if old in groups:
            bodies = sorted(groups[old], key=lambda b: place[b.instruction])
            done.update(b.instruction for b in bodies)
            for body, values in _fuse(computation, bodies, new).items():
                whole = body.computation.root.opcode == "tuple"
                elements.update(((body.instruction, n), v) for n, v in enumerate(values) if whole)
                new[body.instruction] = _tuple(values) if whole else values[0]
        elif old.opcode == "get-tuple-element" and (old.operands[0], old["index"]) in elements:
            new[old] = elements[old.operands[0], old["index"]]
        else:
            new[old] = old.renewed(new)
    return remake(computation, new)


def _fuse(
    computation: Computation, bodies: Sequence[Body], new: Mapping[Instruction, Instruction]
) -> dict[Body, list[Instruction]]:
    """The values of bodies that others use, out of one fusion on operands that `new` has."""
    inside: dict[Instruction, Instruction] = {}
    inputs: list[Instruction] = []
    known: dict[Hashable, Instruction] = {}
    stored: dict[Body, list[int]] = {}
    results: dict[Instruction, int] = {}
    members = {b.instruction for b in bodies}
    for body in bodies:
        for operand in body.operands:
            if operand not in inside:
                inside[operand] = builder.parameter(len(inputs), operand.shape)
                inputs.append(operand)
        values = _copy(body, [inside[o] for o in body.operands], known)
        inside[body.instruction] = values[0]
        used = any(u not in members for u in computation.users[body.instruction])
        if used or body.instruction is computation.root:
            stored[body] = [results.setdefault(v, len(results)) for v in values]
    root = next(iter(results)) if len(results) == 1 else _tuple(list(results))
    called = Computation.make("fused_" + _names(bodies), [inside[o] for o in inputs], root)
    reduces = any(v.opcode == "reduce" for v in results)
    attributes = Attributes(kind="kInput" if reduces else "kLoop", calls=called)
    last = bodies[-1].instruction
    operands = tuple(new[o] for o in inputs)
    fusion = Instruction("fusion", operands, root.shape, attributes, f"{last.name}_and_others")
    if len(results) == 1:
        return {body: [fusion] for body in stored}
    return {
        body: [
            Instruction("get-tuple-element", (fusion,), v.shape, Attributes(index=n), v.name)
            for n, v in zip(numbers, body.values)
        ]
        for body, numbers in stored.items()
    }


def _copy(
    body: Body, arguments: Sequence[Instruction], known: dict[Hashable, Instruction]
) -> list[Instruction]:
    """The stored values of a body on other operands; what is `known` is not made again."""
    new = dict(zip(body.computation.parameters, arguments))
    for old in body.computation.instructions:
        if old not in new and not (old.opcode == "tuple" and old is body.computation.root):
            operands = tuple(new[o] for o in old.operands)
            key = old.opcode, operands, old.attributes, old.shape
            new[old] = known.setdefault(key, old.with_(operands=operands))
    return [new[v] for v in body.values]


def _tuple(parts: Sequence[Instruction]) -> Instruction:
    return builder.instruction("tuple", parts)


def _names(bodies: Sequence[Body]) -> str:
    """What the bodies compute, in words: their roots, each once."""
    roots = dict.fromkeys(v.opcode for b in bodies for v in b.values)
    return "_".join(list(roots)[:3]).replace("-", "_")
