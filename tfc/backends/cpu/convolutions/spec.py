"""Which convolutions the tiled kernel on CPUs computes, and what it needs to know of them."""

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Literal

from tfc.backends.cpu.products.schedule import even_parts, tile_shape
from tfc.backends.cpu.products.words import Words
from tfc.backends.target import Target
from tfc.hlo.attributes.window import Window
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import canonical_labels, group_stride, tiled_type

Algorithm = Literal[
    "depthwise weight gradient",
    "weight gradient",
    "small channels",
    "tap by tap",
    "depthwise",
    "direct",
]
_MANY = 16  # features of the array, for which adding up what they make costs little
_MOST_SPREAD = 6  # vectors that are in registers for each of two elements at least
_LONG_LINE = 8  # products of a line of the window, for which sums are worth loading
_FEW_BATCHES = 32


@dataclass(frozen=True)
class Spread:
    """How far an element of the array reaches along a line of results, with all their features.

    vectors: how many hold what it adds. start: the first place that element 0 reaches, counted from
    the beginning of the sums, in which the result begins at place `before`.
    """

    vectors: int
    start: int
    before: int


# Rows of a tile that goes tap by tap. Each lies for itself, in the array and in the result: more of
# them take all integer registers.
_MOST_TAP_ROWS = 6
_LEAST_INPUTS = 16  # products that hide what it takes to load and store their sums
_BLOCKS = 4  # at least so many, if they are not too narrow, for threads to share


@dataclass(frozen=True)
class ConvolutionChoice:
    """What of a convolution's code a measurement may choose; None where rules decide.

    tile: the most rows, and vectors per row, of a tile of the direct algorithm.
    chunks: in how many threads share it.
    """

    algorithm: Algorithm | None = None
    tile: tuple[int, int] | None = None
    chunks: int | None = None

    def __str__(self) -> str:
        """What is stated, in words; all that are different have different ones."""
        parts = [self.algorithm] if self.algorithm else []
        if self.tile is not None:
            parts.append(f"tiles of {self.tile[0]} x {self.tile[1]} vectors")
        if self.chunks is not None:
            parts.append(f"{self.chunks} chunks")
        return ", ".join(parts) or "as modelled"


@dataclass(frozen=True)
class ConvolutionSpec:
    """out[b, p…, g·O + o] = Σ lhs[b, at(p, k)…, g·I + i] · rhs[k…, i, g·O + o] over k… and i < I.

    The shapes have one element type, at least one element each, and dimensions in that order; rhs
    is dense up to its last dimension, along which rhs and out have neighbours.

    apart: sums are made in memory apart, and the result from them (an epilogue).
    alone: nothing follows them.
    panels: rhs lies in panels of so many features of the result.
    words: the operands are bytes in memory, of which lhs and rhs here count four neighbours along I
        as one element.
    choice: what was measured to be best; rules decide the rest.
    """

    lhs: Shape
    rhs: Shape
    out: Shape
    window: Window
    groups: int
    apart: bool = False
    alone: bool = True
    words: Words | None = None
    panels: int = 0
    choice: ConvolutionChoice = ConvolutionChoice()

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
    def is_depthwise_weight_gradient(self) -> bool:
        """True for few results, each from its own feature: sums over much of the array."""
        plain = all(d.base_dilation == 1 for d in self.window.dimensions)
        places = prod(self.out.dims[1:-1])
        return self.depthwise and plain and self.depth >= 4 * places

    def tap_plan(self, target: Target) -> "TapPlan | None":
        """How to compute it tap by tap, or None if that is not the way to."""
        return _tap_plan(self, target)

    @property
    def is_weight_gradient(self) -> bool:
        """True for few results over long lines of a window, each from all features.

        Of many batches, tiles use what they load of the kernel often enough without lines.
        """
        plain = all(d.base_dilation == 1 for d in self.window.dimensions)
        wide = prod(self.window.size) >= 4 * prod(self.out.dims[1:-1])
        line = self.window.size[-1]
        few = line >= _LONG_LINE and self.out.dims[0] <= min(2 * line, _FEW_BATCHES)
        return self.groups == 1 and plain and wide and few

    def has_small_channels(self, target: Target) -> bool:
        """True for results whose features leave most lanes of a vector empty, and from so many
        features that places of the window are better beside them."""
        d, lanes = self.window.dimensions[-1], target.lanes(self.lhs.element_type.bits)
        plain = self.groups == 1 and d.stride == d.window_dilation == 1 < d.size
        lies = self.out.strides[-2:] == (self.columns, 1)
        few = 2 * self.columns <= lanes and self.spread(target).vectors <= _MOST_SPREAD
        return plain and lies and few and self.rhs.dims[-2] >= _MANY

    def spread(self, target: Target) -> "Spread":
        """What an element of the array adds to the sums of a line, if channels are small."""
        d, lanes = self.window.dimensions[-1], target.lanes(self.lhs.element_type.bits)
        first = d.low - (d.size - 1)  # the first place that element 0 reaches
        before = max(-first, 0)
        return Spread(-(-d.size * self.columns // lanes), first + before, before)

    def line_sums(self, target: Target) -> int:
        """The elements of the workspace that hold the sums of a line, whole vectors."""
        d, lanes = self.window.dimensions[-1], target.lanes(self.lhs.element_type.bits)
        spread = self.spread(target)
        last = spread.start + (self.lhs.dims[-2] - 1) * d.base_dilation
        size = max(last * self.columns + spread.vectors * lanes,
                   (spread.before + self.out.dims[-2]) * self.columns + lanes)  # fmt: skip
        return -(-size // lanes) * lanes

    def algorithm(self, target: Target) -> Algorithm:
        """The code that computes it fastest."""
        if self.choice.algorithm is not None:
            return self.choice.algorithm
        if self.words is not None:
            return "direct"
        if self.is_depthwise_weight_gradient:
            return "depthwise weight gradient"
        if self.is_weight_gradient:
            return "weight gradient"
        if self.has_small_channels(target):
            return "small channels"
        if self.tap_plan(target) is not None:
            return "tap by tap"
        return "depthwise" if self.depthwise else "direct"

    def workspace_size(self, target: Target) -> int:
        """The number of elements of the workspace that the emitted code wants."""
        plan = self.tap_plan(target)
        match self.algorithm(target):
            case "depthwise weight gradient":
                return prod(self.out.dims[1:]) if self.apart else 1
            case "weight gradient":
                return self.out.size if self.apart else 1
            case "tap by tap" if plan is not None:
                return plan.packed_size + (prod(self.out.dims) if self.apart else 0)
            case "depthwise":
                return prod(self.out.dims[-2:]) if self.apart else 1
            case "small channels":
                rows = prod(self.rhs.dims[:-3]) * self.rhs.dims[-2]
                width = self.spread(target).vectors * target.lanes(self.lhs.element_type.bits)
                return self.line_sums(target) + rows * width
            case _:
                apart = self.members * self.columns if self.apart else 0
                return self.packed_size(target) + apart

    def packed_size(self, target: Target) -> int:
        """The number of elements of the packed kernel, with slack; none if it lies so."""
        if self.panels:
            return 0
        lanes = target.lanes(self.lhs.element_type.bits)
        return self.depth * -(-self.columns // lanes) * lanes + lanes

    @property
    def members(self) -> int:
        """The most results that have the same places of the window inside."""
        return max(self.out.dims[0], self.out.dims[-2])


@dataclass(frozen=True)
class TapPlan:
    """The plan for a convolution tap by tap; see cpu/convolutions/tap_by_tap.py.

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
    places = prod(spec.out.dims[1:-1])
    rows, vectors = tile_shape(places, columns, target, lanes)
    tile_rows = rows
    if rows > _MOST_TAP_ROWS:
        vectors = next((v for v in (4, 3) if columns % (v * lanes) == 0), vectors)
        tile_rows = even_parts(places, _MOST_TAP_ROWS)
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
    return TapPlan(_largest_divisor(columns, most, width), inputs, tile_rows, width)


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
    if spec.is_weight_gradient:
        dense = True  # each line is read where it lies
    if not dense or any(s.strides[-1] != 1 for s in neighbours):
        return None
    return spec
