"""Fuse the padding before a select-and-scatter and the slice after it into its kernel.

    p = f32[10] pad(x, low), padding=1_1        fused { p = f32[10] pad(p0, low)
    s = f32[10] select-and-scatter(p, g, zero)          s = f32[10] select-and-scatter(p, p1, zero)
    y = f32[8] slice(s), slice={[1:9]}       -->        ROOT y = f32[8] slice(s) }
                                                y = f32[8] fusion(x, g), kind=kCustom

So JAX states the gradient of a padded max-pool. Padding of the window is something else: it is
passed over, where an element of the pad may be the one that is selected.

Does nothing where the target has no code for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.analysis.fusible import is_scalar_constant
from tfc.passes.analysis.padded_windows import edges_of
from tfc.passes.fusion.make_fusion import make_fusion


@dataclass(frozen=True)
class WindowEdges:
    """Form the fusions in every computation that runs as steps.

    takes: whether the target has code for a root that is a select-and-scatter or a slice of one.
    """

    name: ClassVar[str] = "window-edges"
    takes: Callable[[Instruction], bool] = field(default_factory=lambda: lambda root: True)

    def __call__(self, module: Module) -> Module:
        """The module with fusions of kind kCustom."""
        return map_some(module, control_computations(module), self._fuse)

    def _fuse(self, computation: Computation) -> Computation:
        fusions: dict[Instruction, list[Instruction]] = {}
        for x in computation.instructions:
            if x.opcode == "select-and-scatter":
                members = self._members(computation, x)
                if len(members) > 1:
                    fusions[members[-1]] = members
        if not fusions:
            return computation
        new: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            members = fusions.get(old)
            new[old] = make_fusion("kCustom", members, new) if members else old.renewed(new)
        return remake(computation, new)

    def _members(self, computation: Computation, scatter: Instruction) -> list[Instruction]:
        """What becomes one kernel, operands first."""
        root = _cut(computation, scatter)
        if not self.takes(root):
            return [scatter]
        operand = scatter.operands[0]
        inside = [operand, scatter] if edges_of(operand)[0] is not operand else [scatter]
        inside += [root] if root is not scatter else []
        if len(inside) == 1:
            return inside
        constants = dict.fromkeys(o for x in inside for o in x.operands if is_scalar_constant(o))
        return [*constants, *inside]


def _cut(computation: Computation, scatter: Instruction) -> Instruction:
    """The slice that is all that is used of a select-and-scatter; else itself."""
    users = computation.users[scatter]
    if len(users) != 1 or users[0].opcode != "slice" or scatter is computation.root:
        return scatter
    whole = all(stride == 1 for *_, stride in users[0]["slice"])
    return users[0] if whole else scatter
