"""Which convolutions the tiled kernel on CPUs computes, and what it needs to know of them."""

from dataclasses import dataclass
from functools import cache
from math import prod

from tfc.backends.mlir.matmul_schedule import tile_shape
from tfc.backends.target import Target
from tfc.hlo.convolution import convolution_window, group_counts
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.hlo.window import Window
from tfc.passes.convolutions import canonical_labels
from tfc.passes.dots import group_stride
from tfc.passes.sum_types import tiled_type

_LEAST_INPUTS = 16  # products that hide what it takes to load and store their sums
_BLOCKS = 4  # at least so many, if they are not too narrow, for threads to share


@dataclass(frozen=True)
class ConvolutionSpec:
    """out[b, p…, g·O + o] = Σ lhs[b, at(p, k)…, g·I + i] · rhs[k…, i, g·O + o] over k… and i < I.

    The shapes have one element type, at least one element each, and dimensions in that order; rhs
    is dense up to its last dimension, along which rhs and out have neighbours.

    apart: sums are made in memory apart, and the result from them (an epilogue).
    """

    lhs: Shape
    rhs: Shape
    out: Shape
    window: Window
    groups: int
    apart: bool = False

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

    def tap_plan(self, target: Target) -> "TapPlan | None":
        """How to compute it tap by tap, or None if that is not the way to."""
        return _tap_plan(self, target)

    def workspace_size(self, target: Target) -> int:
        """The number of elements of the workspace that the emitted code wants."""
        plan = self.tap_plan(target)
        if plan is not None:
            return plan.packed_size + (prod(self.out.dims) if self.apart else 0)
        if self.has_wide_window:
            return prod(self.out.dims[1:]) if self.apart else 1
        return self.packed_size(target) + (self.members * self.columns if self.apart else 0)

    def packed_size(self, target: Target) -> int:
        """The number of elements of the packed kernel, with slack."""
        lanes = target.lanes(self.lhs.element_type.bits)
        return self.depth * -(-self.columns // lanes) * lanes + lanes

    @property
    def members(self) -> int:
        """The most results that have the same places of the window inside."""
        return max(self.out.dims[0], self.out.dims[-2])


@dataclass(frozen=True)
class TapPlan:
    """The plan for a convolution tap by tap; see tap_convolution.py.

    columns, inputs: how many features of the result and of the array make a block.
    tile_rows, tile_columns: the tile of sums that is kept in registers.
    """

    columns: int
    inputs: int
    tile_rows: int
    tile_columns: int

    @property
    def packed_size(self) -> int:
        """The number of elements of a block of the kernel."""
        return self.columns * self.inputs


@cache
def _tap_plan(spec: ConvolutionSpec, target: Target) -> TapPlan | None:
    """The plan: for arrays smaller than the kernel, with lines of few places, and few batches."""
    size, (inputs, columns) = spec.lhs.element_type.bytes, spec.rhs.dims[-2:]
    lanes = target.lanes(spec.lhs.element_type.bits)
    rows, vectors = tile_shape(prod(spec.out.dims[1:-1]), columns, target, lanes)
    width = vectors * lanes
    if (
        spec.groups > 1
        or any(d.base_dilation > 1 for d in spec.window.dimensions)
        or spec.lhs.strides[-1] != 1
        or columns % width
        or inputs < _LEAST_INPUTS
        or spec.lhs.size > spec.rhs.size
        or spec.out.dims[0] >= rows
    ):
        return None
    # A panel of the kernel stays in half of L1, and a block of it in a quarter of L2.
    inputs = _largest_divisor(inputs, target.l1_bytes // 2 // (width * size), 1)
    most = min(target.l2_bytes // 4 // (inputs * size), columns // _BLOCKS)
    return TapPlan(_largest_divisor(columns, most, width), inputs, rows, width)


def _largest_divisor(size: int, most: int, step: int) -> int:
    """The largest divisor of a size up to `most` that is a multiple of `step`, which divides it."""
    return next((n for n in range(most // step * step, step, -step) if size % n == 0), step)


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
    if not dense or any(s.strides[-1] != 1 for s in neighbours):
        return None
    return spec
