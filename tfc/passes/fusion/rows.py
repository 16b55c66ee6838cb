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

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Computation, Instruction, Module, remake
from tfc.hlo.shape import TupleShape
from tfc.passes.analysis.called import control_computations, decided, map_some
from tfc.passes.analysis.row_region import row_region
from tfc.passes.fusion.row_growth import Growth, Region
from tfc.passes.rewriting.decisions import Decisions


@dataclass(frozen=True)
class RowFusion:
    """Fuse along rows, in every computation that runs as steps.

    max_instructions: the most instructions of one kernel.
    """

    name: ClassVar[str] = "rows"
    max_instructions: int = 128

    def __call__(self, module: Module) -> Module:
        """The module with fusions."""
        return map_some(module, control_computations(module), self._fuse)

    def explain(self, module: Module) -> Decisions:
        """The refusals that fusing the module meets."""
        return decided(module, lambda c: _Plan(c, self.max_instructions).growth.refusals)

    def _fuse(self, computation: Computation) -> Computation:
        return _Plan(computation, self.max_instructions).apply()


@dataclass(frozen=True)
class _Made:
    """The computation of a region, and the instructions that are its operands and results."""

    computation: Computation
    inputs: tuple[Instruction, ...]
    outputs: tuple[Instruction, ...]


class _Plan:
    """The fusions of one computation."""

    def __init__(self, computation: Computation, max_instructions: int):
        self.computation = computation
        self.growth = Growth(computation, max_instructions)
        self.made: dict[Region, _Made] = {}
        for region in self.growth.regions():
            self._make(region)

    def _make(self, region: Region) -> None:
        """Make the computation of a region that is worth it; dissolve another."""
        reason = "nothing else is computed from its rows"
        if region.is_worth_it():
            made = self._made(region)
            if row_region(made.computation.root) is not None:
                self.made[region] = made
                return
            reason = "other places of its rows are needed"
        for reduce in [m for m in region.members if m.opcode == "reduce"]:
            self.growth.refuse(reduce.operands[0], reduce, reason)
        self.growth.dissolve(region)

    def _made(self, region: Region) -> _Made:
        inside: dict[Instruction, Instruction] = {}
        inputs: dict[Instruction, Instruction] = {}  # operand -> parameter
        for member in region.members:
            for operand in member.operands:
                if operand not in inside:
                    inputs[operand] = inside[operand] = builder.parameter(
                        len(inputs), operand.shape
                    )
            operands = tuple(inside[o] for o in member.operands)
            inside[member] = member.with_(operands=operands, control_predecessors=())
        outputs = [m for m in region.members if m not in region.copies and self._is_read(m, region)]
        root = inside[outputs[-1]]
        if len(outputs) > 1:
            root = builder.instruction("tuple", [inside[o] for o in outputs])
        name = f"fused_{outputs[-1].opcode.replace('-', '_')}_rows"
        return _Made(
            Computation.make(name, list(inputs.values()), root), tuple(inputs), tuple(outputs)
        )

    def _is_read(self, member: Instruction, region: Region) -> bool:
        """True if the member's value is wanted outside."""
        if isinstance(member.shape, TupleShape):
            return False
        users = self.computation.users[member]
        return member is self.computation.root or any(
            self.growth.is_outside(u, region) for u in users
        )

    def apply(self) -> Computation:
        """The computation with each region made a fusion."""
        if not self.made:
            return self.computation
        new: dict[Instruction, Instruction] = {}
        inside = self.growth.region_of
        # At equal stamps what is outside comes first, since it uses no region of that stamp.
        order = sorted(
            self.computation.instructions,
            key=lambda i: (self.growth.stamp(i), i in inside, self.growth.position[i]),
        )
        for old in order:
            region = inside.get(old)
            if region is None:
                new[old] = old.renewed(new)
            elif old not in new:
                new |= _results(self.made[region], new)
        return remake(self.computation, new)


def _results(made: _Made, new: dict[Instruction, Instruction]) -> dict[Instruction, Instruction]:
    """The instructions that stand for a region's outputs."""
    root, last = made.computation.root, made.outputs[-1]
    attributes = Attributes(kind="kInput", calls=made.computation)
    operands = tuple(new[i] for i in made.inputs)
    name = f"{last.name}_fusion"
    fusion = Instruction("fusion", operands, root.shape, attributes, name, last.metadata)
    if len(made.outputs) == 1:
        return {last: fusion}
    return {
        o: builder.instruction("get-tuple-element", [fusion], index=n, name=o.name)
        for n, o in enumerate(made.outputs)
    }
