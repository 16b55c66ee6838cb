"""Which convolutions the tiled kernel on CPUs computes, and what it needs to know of them."""

from dataclasses import dataclass
from math import prod

from tfc.backends.target import Target
from tfc.hlo.convolution import convolution_window, group_counts
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.hlo.window import Window
from tfc.passes.convolutions import canonical_labels
from tfc.passes.dots import group_stride
from tfc.passes.sum_types import tiled_type

_LONG_LINE = 16  # products of a line of the window, for which sums are worth loading


@dataclass(frozen=True)
class ConvolutionSpec:
    """out[b, p…, g·O + o] = Σ lhs[b, at(p, k)…, g·I + i] · rhs[k…, i, g·O + o] over k… and i < I.

    The shapes have one element type, at least one element each, and dimensions in that order; rhs
    is dense up to its last dimension, along which rhs and out have neighbours.

    apart: sums are made in memory apart, and the result from them (an epilogue).
    alone: nothing follows them.
    """

    lhs: Shape
    rhs: Shape
    out: Shape
    window: Window
    groups: int
    apart: bool = False
    alone: bool = True

    @property
    def depthwise(self) -> bool:
        """True if each feature of the result is made from its own feature of the array."""
        return self.groups > 1 and self.rhs.dims[-2:] == (1, self.groups)

    @property
    def columns(self) -> int:
        """The features of the result that the same features of the array are used for."""
        return self.rhs.dims[-1] // (1 if self.depthwise else self.groups)

    @property
    def depth(self) -> int:
        """The number of products in a sum, padding counted."""
        return prod(self.rhs.dims[:-1])

    @property
    def has_wide_window(self) -> bool:
        """True for few results, each from its own feature: sums over much of the array."""
        plain = all(d.base_dilation == 1 for d in self.window.dimensions)
        places = prod(self.out.dims[1:-1])
        return self.depthwise and plain and self.depth >= 4 * places

    @property
    def is_kernel_gradient(self) -> bool:
        """True for few results over long lines of a window, each from all features."""
        plain = all(d.base_dilation == 1 for d in self.window.dimensions)
        window, places = prod(self.window.size), prod(self.out.dims[1:-1])
        long = window >= 4 * places and self.window.size[-1] >= _LONG_LINE
        return self.groups == 1 and plain and long

    def workspace_size(self, target: Target) -> int:
        """The number of elements of the workspace that the emitted code wants."""
        if self.has_wide_window:
            return prod(self.out.dims[1:]) if self.apart else 1
        if self.is_kernel_gradient:
            return self.out.size if self.apart else 1
        if self.depthwise:
            return prod(self.out.dims[-2:]) if self.apart else 1
        return self.packed_size(target) + (self.members * self.columns if self.apart else 0)

    def packed_size(self, target: Target) -> int:
        """The number of elements of the packed kernel, with slack."""
        lanes = target.lanes(self.lhs.element_type.bits)
        return self.depth * -(-self.columns // lanes) * lanes + lanes

    @property
    def members(self) -> int:
        """The most results that have the same places of the window inside."""
        return max(self.out.dims[0], self.out.dims[-2])


def convolution_spec(root: Instruction) -> ConvolutionSpec | None:
    """The convolution that a root is, or None if it is not one for the code here."""
    if root.opcode != "convolution":
        return None
    (lhs, rhs), out = (o.array_shape for o in root.operands), root.array_shape
    window, spatial = convolution_window(root.attributes), root["dim_labels"].spatial
    groups, batch_groups = group_counts(root.attributes)
    if (
        tiled_type(root) is None
        or spatial == 0
        or root["dim_labels"] != canonical_labels(spatial)
        or batch_groups > 1
    ):
        return None
    if any(d.reversal for d in window.dimensions) or 0 in (lhs.size, rhs.size, out.size):
        return None
    spec = ConvolutionSpec(lhs, rhs, out, window, groups)
    dense = group_stride(rhs, range(rhs.rank - 1)) in (0, rhs.dims[-1])
    neighbours = [rhs, out, *([lhs] if spec.depthwise else [])]
    if spec.is_kernel_gradient:
        dense = True  # each line is read where it lies
    if not dense or any(s.strides[-1] != 1 for s in neighbours):
        return None
    return spec
