"""Row fusion: reductions along rows become one kernel with what is computed from and for them.

    m = f32[4,8] → f32[4] reduce max (x)             fused { x = f32[4,8] parameter(0)
    e = f32[4,8] exponential(x - broadcast(m))               m = f32[4] reduce(x), …
    s = f32[4] reduce sum (e)                   -->          …
    ROOT y = f32[4,8] divide(e, broadcast(s))                ROOT y = f32[4,8] divide(e, …) }
                                                     ROOT f = f32[4,8] fusion(x), kind=kInput

A reduction that removes the last dimensions begins a region. What uses values of the region joins
it if it needs the same row of them only: elementwise ops, scalars of a row repeated along it, more
reductions along the same rows, single elements picked from the row. Then producers go in whose
values only the region needs, or that read no more than they write. Values that others use are
stored; several make the result a tuple.

A lone reduction with its producers stays to `fusion`, and nothing happens to reductions along other
dimensions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from tfc.hlo.ir import Computation
from tfc.passes.analysis.row_plan import RowPlan, row_plan
from tfc.passes.analysis.row_region import row_region
from tfc.passes.fusion.engine import FusionPass, Kernel, Kernels
from tfc.passes.fusion.row_growth import Growth, Region


@dataclass(frozen=True)
class RowFusion(FusionPass):
    """Fuse along rows, in every computation that runs as steps.

    max_instructions: the most instructions of one kernel.
    longest: the most elements of a row; 0 for any.
    takes_longer: whether longer rows with such a plan are taken all the same.
    narrow_floats: whether those who read a wider form of what is stored make it for themselves.
    instructions_a_byte: how many instructions take as long as moving a byte, where that is to
        decide what is computed inside and outside; 0 for the prices of a CPU.
    """

    name: ClassVar[str] = "rows"
    max_instructions: int = 128
    longest: int = 0
    takes_longer: Callable[[RowPlan], bool] = field(default_factory=lambda: lambda plan: False)
    narrow_floats: bool = False
    instructions_a_byte: int = 0

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        growth = Growth(
            computation, self.max_instructions, self.narrow_floats, self.instructions_a_byte
        )
        for region in growth.regions():
            reason = self._form(growth, region)
            if reason is not None:
                for reduce in [m for m in region.members if m.opcode == "reduce"]:
                    growth.refuse(reduce.operands[0], reason, reduce)
                growth.dissolve(region)
        return growth

    def _form(self, growth: Growth, region: Region) -> str | None:
        """Make a kernel of a region; why not if it is not worth it."""
        if not region.is_worth_it():
            return "nothing else is computed from its rows"
        outputs = tuple(m for m in region.members if growth.is_output(m, region))
        title = f"{outputs[-1].opcode.replace('-', '_')}_rows"
        kernel = Kernel("kInput", tuple(region.members), outputs, title)
        if row_region(kernel.body.root) is None:
            return "other places of its rows are needed"
        if self.longest and region.space.length > self.longest:
            plan = row_plan(kernel.body.root)
            if plan is None or not self.takes_longer(plan):
                return f"its rows have more than {self.longest} elements"
        growth.kernels.append(kernel)
        return None
