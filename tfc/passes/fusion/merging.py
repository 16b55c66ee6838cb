"""What kernels compute, by which they are merged into one that stores the results of all.

What only the merged kernels themselves use is not stored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import leaves
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.fusible import is_loop, is_scalar_constant
from tfc.passes.analysis.topological_levels import Levels
from tfc.passes.fusion.engine import Kernel, Kernels, too_much

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
    def members(self) -> tuple[Instruction, ...]:
        """What a kernel that computes this, too, has inside: the instruction and its constants."""
        if self.instruction.opcode == "fusion":
            return (self.instruction,)
        return (*filter(is_scalar_constant, self.instruction.operands), self.instruction)


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


class Merging(Kernels):
    """A policy that merges kernels which do not need each other's results through others.

    max_instructions: the most code of a merged kernel.
    max_arrays: its most operands and results.
    """

    def __init__(self, computation: Computation, max_instructions: int, max_arrays: int):
        super().__init__(computation)
        self.max_instructions, self.max_arrays = max_instructions, max_arrays
        self.levels = Levels(computation)

    def too_large(self, code: int, arrays: int) -> str | None:
        """Why a kernel would be too large; None if it would not."""
        if code > self.max_instructions:
            return too_much(self.max_instructions)
        if arrays > self.max_arrays:
            return f"the kernel would have more than {self.max_arrays} arrays"
        return None

    def merge(self, bodies: Iterable[Body]) -> None:
        """Form the kernel that computes what several do, if they are several."""
        bodies = sorted(bodies, key=lambda b: self.position[b.instruction])
        inside = {b.instruction for b in bodies}
        stored = [b for b in bodies if self.is_read_outside(b.instruction, inside)]
        if len(bodies) > 1 and stored:
            members = tuple(dict.fromkeys(m for b in bodies for m in b.members))
            reduces = any(v.opcode == "reduce" for b in stored for v in b.values)
            kind, outputs = "kInput" if reduces else "kLoop", [b.instruction for b in stored]
            self.kernels.append(Kernel(kind, members, outputs, _title(bodies), merges=True))


def _title(bodies: Sequence[Body]) -> str:
    """What the bodies compute, in words: their roots, each once."""
    roots = dict.fromkeys(v.opcode for b in bodies for v in b.values)
    return "_".join(list(roots)[:3]).replace("-", "_")
