"""Merge small kernels that have nothing to do with one another, so that there are fewer to call.

    a = f32[3] negate(x)                    f = (f32[3], f32[5,2]) fusion(x, y), kind=kLoop
    b = f32[5,2] negate(y)        -->       a = f32[3] get-tuple-element(f), index=0
                                            b = f32[5,2] get-tuple-element(f), index=1

The updates of a network's many parameters are such: the same operations on arrays of their own. The
loops of a merged kernel run in sequence, or side by side on a grid. What is saved is the cost of a
call, so only kernels that move few bytes are merged, with others that have the same operations. It
is for targets where a launch costs (KernelKinds.launch_overhead): launching a GPU's kernel takes
microseconds. A call on the CPU takes so little that nothing is gained: 20 updates of one element
each run as fast apart as merged, and equal kernels, if apart, are emitted once.

It stays apart, with a refusal that says why, if one needs the other's result, or if the merged
kernel would have too many arrays or too much code.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

from tfc.hlo.ir import Computation
from tfc.passes.analysis.fusible import code_size
from tfc.passes.analysis.topological_levels import DEPENDENT
from tfc.passes.fusion.engine import FusionPass, Kernels
from tfc.passes.fusion.merging import Body, Merging, body_of, byte_size

_MOST_TRIED = 4  # groups of one kind that a kernel is held against


@dataclass(frozen=True)
class Horizontal(FusionPass):
    """Merge small independent kernels, in every computation that runs as steps.

    max_bytes: the most that a kernel moves which is merged.
    max_instructions: the most instructions of a merged kernel.
    max_arrays: the most operands and results of a merged kernel.
    """

    name: ClassVar[str] = "horizontal"
    max_bytes: int = 1 << 18
    max_instructions: int = 256
    max_arrays: int = 96

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        return _Plan(computation, self)


@dataclass(eq=False)
class _Group:
    """Kernels of one kind that are merged."""

    bodies: list[Body] = field(default_factory=list)
    arrays: int = 0
    code: int = 0


class _Plan(Merging):
    """The groups of one computation."""

    def __init__(self, computation: Computation, limits: Horizontal):
        super().__init__(computation, limits.max_instructions, limits.max_arrays)
        self.groups: dict[Hashable, list[_Group]] = {}
        for instruction in computation.instructions:
            body = body_of(instruction)
            if body is not None and self._moved(body) <= limits.max_bytes:
                self._place(body)
        for group in (g for kind in self.groups.values() for g in kind):
            self.merge(group.bodies)

    def _moved(self, body: Body) -> int:
        arrays = {*body.operands, body.instruction}
        return sum(byte_size(a) for a in arrays)

    def _place(self, body: Body) -> None:
        """Merge a kernel with others of its kind, or begin a group."""
        groups = self.groups.setdefault(_kind(body), [])
        for group in groups[-_MOST_TRIED:]:
            reason = self._refuse(group, body)
            if reason is None:
                break
            self.refuse(body.instruction, reason, group.bodies[0].instruction)
        else:
            group = _Group()
            groups.append(group)
        group.bodies.append(body)
        group.arrays += len(body.operands) + len(body.values)
        group.code += _code(body)

    def _refuse(self, group: _Group, body: Body) -> str | None:
        """Why a kernel does not join a group; None if it has joined it."""
        arrays = group.arrays + len(body.operands) + len(body.values)
        reason = self.too_large(group.code + _code(body), arrays)
        if reason is not None:
            return reason
        members = {b.instruction for b in group.bodies}
        if not members.isdisjoint(body.operands):
            return DEPENDENT
        return self.levels.merge(group.bodies[0].instruction, body.instruction)


def _code(body: Body) -> int:
    return sum(code_size(i) for i in body.computation.instructions)


def _kind(body: Body) -> Hashable:
    """What kernels of one kind have in common: the operations, whatever the shapes."""
    return tuple(i.opcode for i in body.computation.instructions)
