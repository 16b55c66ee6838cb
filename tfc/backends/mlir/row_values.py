"""What kernels of rows have in common, however the elements of a row are shared out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tfc.backends.mlir.accumulations import Accumulation, accumulation
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import leaves
from tfc.passes.analysis.row_plan import RowLoop
from tfc.passes.analysis.row_region import RowRegion


def known_order(region: RowRegion) -> list[Instruction]:
    """The values of a region that belong to a place of it, operands first."""
    return [i for i in region.order if i in region.roles]


def is_of_row(region: RowRegion, instruction: Instruction) -> bool:
    """True if the value is computed once for each row."""
    role, moved = region.roles[instruction], instruction in region.moved
    return role in ("row", "scalar") and bool(instruction.operands) and not moved


def result_buffers(region: RowRegion, buffers: Sequence[Buffer]) -> dict[Instruction, list[Buffer]]:
    """Where each output is stored, of a kernel's buffers."""
    found: dict[Instruction, list[Buffer]] = {}
    for output, buffer in zip(region.outputs, buffers[-len(region.outputs) :]):
        found.setdefault(output, []).append(buffer)
    return found


def reduced_operands(reduce: Instruction) -> tuple[Instruction, ...]:
    """The operands that a reduction goes through."""
    return reduce.operands[: len(reduce.operands) // 2]


@dataclass(frozen=True)
class LoopSums:
    """What one loop along a row accumulates: each reduction, what it goes through, and how."""

    sums: tuple[tuple[Instruction, tuple[Instruction, ...], Accumulation], ...]

    @staticmethod
    def of(loop: RowLoop) -> "LoopSums":
        """Those of a loop."""
        return LoopSums(
            tuple(
                (r, reduced_operands(r), accumulation(r["to_apply"], r in loop.any_zero))
                for r in loop.reduces
            )
        )

    @property
    def symmetric(self) -> bool:
        """Whether the order of two totals makes no difference."""
        roots = [r["to_apply"].root for r, _, _ in self.sums]
        return all(op_named(root.opcode).folds for root in roots)

    @property
    def exact(self) -> bool:
        """Whether the order of the elements makes no difference to the bits."""
        return all(how.exact for _, _, how in self.sums)

    @property
    def operands(self) -> list[Instruction]:
        """What the reductions go through, one after the other."""
        return [o for _, reduced, _ in self.sums for o in reduced]

    def widen(self, elements: Sequence[Scalar]) -> list[Scalar]:
        """Elements of the operands as totals are."""
        left = iter(elements)
        parts = ((how, [*islice(left, len(reduced))]) for _, reduced, how in self.sums)
        return [wide for how, part in parts for wide in how.widen(part)]

    def inits(self, scope: Elements) -> list[Scalar]:
        """What the totals begin with."""
        found: list[Scalar] = []
        for reduce, reduced, how in self.sums:
            inits = [scope.element(i, ()) for i in reduce.operands[len(reduced) :]]
            found += how.widen(inits)
        return found

    def combine(self, totals: Sequence[Scalar], others: Sequence[Scalar]) -> list[Scalar]:
        """The totals of what two have accumulated."""
        found: list[Scalar] = []
        for _, reduced, how in self.sums:
            first, count = len(found), len(reduced)
            part = slice(first, first + count)
            found += how.combine(totals[part], others[part])
        return found

    def known(
        self, totals: Sequence[Scalar], order: Sequence[Instruction]
    ) -> Mapping[Instruction, Scalar]:
        """The values of the reductions, and of what takes one of several."""
        found: dict[Instruction, Scalar] = {}
        left = list(totals)
        for reduce, reduced, how in self.sums:
            own = how.narrow(left[: len(reduced)], list(leaves(reduce.shape)))
            left = left[len(reduced) :]
            found[reduce] = own[0]
            for i in order:
                if i.opcode == "get-tuple-element" and i.operands[0] is reduce:
                    found[i] = own[i["index"]]
        return found
