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

from tfc.hlo.ir import Computation, Instruction
from tfc.passes.analysis.fusible import is_scalar_constant
from tfc.passes.analysis.padded_windows import edges_of
from tfc.passes.fusion.engine import FusionPass, Kernel, Kernels


@dataclass(frozen=True)
class WindowEdges(FusionPass):
    """Form the fusions in every computation that runs as steps.

    takes: whether the target has code for a root that is a select-and-scatter or a slice of one.
    """

    name: ClassVar[str] = "window-edges"
    takes: Callable[[Instruction], bool] = field(default_factory=lambda: lambda root: True)

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        plan = Kernels(computation)
        for scatter in computation.instructions:
            if scatter.opcode == "select-and-scatter":
                operand, root = scatter.operands[0], _cut(computation, scatter)
                inside = [operand, scatter] if edges_of(operand)[0] is not operand else [scatter]
                inside += [root] if root is not scatter else []
                if len(inside) > 1 and self.takes(root):
                    read = dict.fromkeys(o for x in inside for o in x.operands)
                    members = (*filter(is_scalar_constant, read), *inside)
                    plan.kernels.append(Kernel("kCustom", members, (root,)))
                elif len(inside) > 1:
                    plan.refuse(scatter, "the target has no code for its edges", root)
        return plan


def _cut(computation: Computation, scatter: Instruction) -> Instruction:
    """The slice that is all that is used of a select-and-scatter; else itself."""
    users = computation.users[scatter]
    if len(users) != 1 or users[0].opcode != "slice" or scatter is computation.root:
        return scatter
    whole = all(stride == 1 for *_, stride in users[0]["slice"])
    return users[0] if whole else scatter
