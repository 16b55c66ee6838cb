"""A kernel of a convolution as parts: for each phase, blocks that make tiles of its product."""

from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.convolutions.depthwise import depthwise_of
from tfc.backends.gpu.convolutions.padding import mending
from tfc.backends.gpu.convolutions.phases import Phase, phases_of
from tfc.backends.gpu.convolutions.shares import shares_of
from tfc.backends.gpu.convolutions.sources import source_of
from tfc.backends.gpu.convolutions.warpgroups import convolution_by_warpgroups
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.choice import schedule_for
from tfc.backends.gpu.products.finishing import Mend
from tfc.backends.gpu.products.kernels import Block, parts_of_blocks, shared_sums
from tfc.backends.gpu.products.persistent import is_sooner_in_small_tiles, persistent_parts
from tfc.backends.gpu.products.pieces import Computed, Copied
from tfc.backends.gpu.products.spec import TF32, ProductSpec, Side, is_of_bytes, spec_of
from tfc.backends.gpu.products.tiles import tiles_for
from tfc.backends.mlir.elements import Indices
from tfc.backends.mlir.kernels import Kernel, kernel_of
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import has_one_stride_a_direction

# Of tf32, that warpgroups do sooner than `mma.sync` by what launching a copy takes.
_LEAST_PRODUCTS = 1 << 29


def warpgroup_convolution_parts(kernel: Kernel) -> list[Part] | None:
    """The parts of a convolution on GPUs with warpgroups; None if only the plain form is for it."""
    product = convolution_by_warpgroups(kernel)
    if product is None or is_sooner_in_small_tiles(product.spec, product.tiles):
        return convolution_parts(kernel, in_clusters=True)
    return persistent_parts(product)


def convolution_parts(kernel: Kernel, in_clusters: bool = False) -> list[Part] | None:
    """The parts of a kernel whose product is a convolution; None if only the plain form is for it.

    Args:
        in_clusters: whether blocks that share sums are clusters.
    """
    phases = phases_of(kernel)
    if phases is None:
        shares = shares_of(kernel)
        if shares is not None:
            return shares.parts()
        depthwise = depthwise_of(kernel)
        return [depthwise.part()] if depthwise else None
    parts = []
    for phase in phases:
        schedule = schedule_for(phase.spec, in_clusters=in_clusters)
        parts += parts_of_blocks(ConvolutionBlock(kernel, phase.spec, schedule, phase))
    return parts


def convolution_sums(kernel: Kernel) -> Shape | None:
    """The sums of shares that second steps add up, those of one phase at a time, if there are: for
    all GPUs, as the plan is."""
    phases = phases_of(kernel)
    if phases is None:
        shares = shares_of(kernel)
        return shares.sums if shares else None
    found = [shared_sums(p.spec, schedule_for(p.spec)) for p in phases]
    by_warpgroups = convolution_by_warpgroups(kernel)
    if by_warpgroups is not None:
        found.append(by_warpgroups.sums)
    return max((s for s in found if s is not None), key=lambda s: s.byte_size, default=None)


def takes_layouts(x: Instruction) -> bool:
    """Whether a dot or convolution is read and written as its arrays lie, whole pieces at once."""
    if x.opcode == "convolution" and phases_of(kernel_of(x)) is not None:
        return True
    return has_one_stride_a_direction(x)


def takes_sums_together(x: Instruction) -> bool:
    """Whether a dot or convolution is faster because what is summed lies together: one of 8-bit
    numbers; and a large one of tf32 that goes by warpgroups then."""
    if x.opcode == "dot" and is_of_bytes(x):
        return True
    if x.attributes.get("algorithm") != TF32:
        return False
    kernel = kernel_of(x)
    if x.opcode == "convolution":
        product = convolution_by_warpgroups(kernel)
        return product is not None and _is_large(product.spec)
    spec = spec_of(kernel)
    return spec is not None and _is_large(spec) and tiles_for(kernel, spec) is not None


def _is_large(spec: ProductSpec) -> bool:
    return spec.batch * spec.m * spec.n * spec.k >= _LEAST_PRODUCTS


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
        """What makes sums right where there is padding."""
        made = mending(self.kernel, self.phase)
        return None if made is None else made(work, batch)
