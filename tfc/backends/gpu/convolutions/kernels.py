"""A kernel of a convolution as parts: for each phase, blocks that make tiles of its product."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.convolutions.phases import Phase, phases_of
from tfc.backends.gpu.convolutions.shares import shares_of
from tfc.backends.gpu.convolutions.sources import source_of
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.choice import schedule_for
from tfc.backends.gpu.products.finishing import Mend
from tfc.backends.gpu.products.kernels import Block, parts_of_blocks, shared_sums
from tfc.backends.gpu.products.pieces import Computed, Copied
from tfc.backends.gpu.products.spec import Side
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import Kernel, add_product, kernel_of, nest, sources
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.windows import guarded
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import has_one_stride_a_direction


def convolution_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a kernel whose product is a convolution; None if only the plain form is for
    it."""
    phases = phases_of(kernel)
    if phases is None:
        shares = shares_of(kernel)
        return shares.parts() if shares else None
    blocks = (ConvolutionBlock(kernel, p.spec, schedule_for(p.spec), p) for p in phases)
    return [part for block in blocks for part in parts_of_blocks(block)]


def convolution_sums(kernel: Kernel) -> Shape | None:
    """The sums of shares that second steps add up, those of one phase at a time, if there are."""
    phases = phases_of(kernel)
    if phases is None:
        shares = shares_of(kernel)
        return shares.sums if shares else None
    found = (shared_sums(p.spec, schedule_for(p.spec)) for p in phases)
    return max((s for s in found if s is not None), key=lambda s: s.byte_size, default=None)


def takes_layouts(x: Instruction) -> bool:
    """Whether a dot or convolution is read and written as its arrays lie, whole pieces at once."""
    if x.opcode == "convolution" and phases_of(kernel_of(x)) is not None:
        return True
    return has_one_stride_a_direction(x)


@dataclass(frozen=True)
class ConvolutionBlock(Block):
    """A block of a phase of a convolution."""

    phase: Phase

    @property
    def index(self) -> Indices:
        """The index of the convolution's element."""
        return self.phase.result_place()

    def source(self, work: Work, side: Side, batch: Any, end: Any) -> Copied | Computed:
        """What brings a side's tiles."""
        return source_of(work, self.phase, side, self.schedule, batch, end)

    def mend(self, work: Work, batch: Any) -> Mend | None:
        """What makes sums right where there is padding.

        There is no product there, where a tile has one with zero: they differ if the kernel is
        infinite or NaN there, and then the sum is NaN. So a sum that is NaN is made again.
        """
        if self.phase.is_inside or not self.spec.sums.is_float:
            return None

        def mended(row: Any, column: Any, total: Scalar) -> Scalar:
            wrong = scf.IfOp(total.ne(total).value, [mlir_type(self.spec.sums)], has_else=True)
            with ir.InsertionPoint(wrong.then_block):
                scf.yield_([self._sum(work, {"b": batch, "i": row, "j": column}).value])
            with ir.InsertionPoint(wrong.else_block):
                scf.yield_([total.value])
            return Scalar(wrong.result, self.spec.sums)

        return mended

    def _sum(self, work: Work, at: dict[str, Any]) -> Scalar:
        """The sum of the products that there are, one by one."""
        product = self.kernel.product
        assert product is not None
        array, inside = self.phase.array_place()
        window = self.phase.window_place("j")
        left, right = product.operands
        outer = Elements(sources(work.kernel, work.buffers), at)

        def step(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
            def add(there: Elements) -> list[Scalar]:
                factors = there.element(left, array), there.element(right, window)
                return [add_product(total[0], *factors)]

            return guarded(scope, inside, add, total)

        sums = [constant(self.spec.sums, 0)]
        return nest(outer, [variable("p", self.spec.k)], [self.spec.k], sums, step)[0]
