"""Merge small kernels that have nothing to do with one another, so that there are fewer to call.

    a = f32[3] negate(x)                    f = (f32[3], f32[5,2]) fusion(x, y), kind=kLoop
    b = f32[5,2] negate(y)        -->       a = f32[3] get-tuple-element(f), index=0
                                            b = f32[5,2] get-tuple-element(f), index=1

The updates of a network's many parameters are such: the same operations on arrays of their own. The
loops of a merged kernel run in sequence, or side by side on a grid. What is saved is the cost of a
call, so only kernels that move few bytes are merged, with others that have the same operations. It
is for targets where a call is dear (KernelKinds.dear_calls): launching a GPU's kernel takes
microseconds. A call on the CPU takes so little that nothing is gained: 20 updates of one element
each run as fast apart as merged, and equal kernels, if apart, are emitted once.

It stays apart, with a refusal that says why, if one needs the other's result
(topological_levels.py), or if the merged kernel would have too many arrays or too much code.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

from tfc.hlo.ir import Computation, Module
from tfc.passes.analysis.called import control_computations, decided, map_some
from tfc.passes.analysis.fusible import code_size
from tfc.passes.analysis.topological_levels import Levels
from tfc.passes.fusion.merging import Body, body_of, byte_size, merge
from tfc.passes.rewriting.decisions import Decisions, Refused

_MOST_TRIED = 4  # groups of one kind that a kernel is held against


@dataclass(frozen=True)
class Horizontal:
    """Merge small independent kernels, in every computation that runs as steps.

    max_bytes: the most that a kernel moves which is merged.
    max_instructions: the most instructions of a merged kernel.
    max_arrays: the most operands and results of a merged kernel.
    """

    name: ClassVar[str] = "horizontal"
    max_bytes: int = 1 << 18
    max_instructions: int = 256
    max_arrays: int = 96

    def __call__(self, module: Module) -> Module:
        """The module with merged kernels."""
        return map_some(module, control_computations(module), lambda c: _Plan(c, self).apply())

    def explain(self, module: Module) -> Decisions:
        """The refusals that merging the module's kernels meets."""
        return decided(module, lambda c: _Plan(c, self).refusals)


@dataclass(eq=False)
class _Group:
    """Kernels of one kind that are merged."""

    bodies: list[Body] = field(default_factory=list)
    arrays: int = 0
    code: int = 0


class _Plan:
    """The groups of one computation."""

    def __init__(self, computation: Computation, limits: Horizontal):
        self.computation, self.limits = computation, limits
        self.refusals: list[Refused] = []
        self.levels = Levels(computation)
        self.groups: dict[Hashable, list[_Group]] = {}
        for instruction in computation.instructions:
            body = body_of(instruction)
            if body is not None and self._moved(body) <= limits.max_bytes:
                self._place(body)

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
            self.refusals.append(Refused.of(body.instruction, reason, group.bodies[0].instruction))
        else:
            group = _Group()
            groups.append(group)
        group.bodies.append(body)
        group.arrays += len(body.operands) + len(body.values)
        group.code += _code(body)

    def _refuse(self, group: _Group, body: Body) -> str | None:
        """Why a kernel does not join a group; None if it has joined it."""
        limits = self.limits
        if group.arrays + len(body.operands) + len(body.values) > limits.max_arrays:
            return f"the kernel would have more than {limits.max_arrays} arrays"
        if group.code + _code(body) > limits.max_instructions:
            return f"the kernel would exceed {limits.max_instructions} instructions"
        members = {b.instruction for b in group.bodies}
        depends = not members.isdisjoint(body.operands)
        if depends or not self.levels.merge(group.bodies[0].instruction, body.instruction):
            return "a path leads from one to the other, or may"
        return None

    def apply(self) -> Computation:
        """The computation with each group one kernel."""
        groups = [g.bodies for kind in self.groups.values() for g in kind]
        return merge(self.computation, groups, self.levels)


def _code(body: Body) -> int:
    return sum(code_size(i) for i in body.computation.instructions)


def _kind(body: Body) -> Hashable:
    """What kernels of one kind have in common: the operations, whatever the shapes."""
    return tuple(i.opcode for i in body.computation.instructions)
