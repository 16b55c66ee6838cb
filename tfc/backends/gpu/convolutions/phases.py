"""What the matrices of a convolution are: results by sums, and sums by features of the result.

With b batches, q places of results, g groups, t places of the window and c features of a group,

    out[b, first + step·q, g, j] = Σ lhs[b, q·stride + t·dilation − low, g, c] · rhs[k(t), c, g, j]

so that lines are b and q, and sums are t and c. Pieces of the array are neighbours in memory: of c,
or of b where these are neighbours, as in the gradient of a kernel, in which features of the array
are in the place of batches. Where an array is dilated, as in the gradient of a
convolution with strides, results fall into *phases*, each of which meets its own places of the
window at elements of the array and the others in its gaps: a phase is a product of its own, and no
product with a gap is ever made. A convolution without that is one phase.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import TypeVar

from tfc.backends.gpu.products.spec import ProductSpec, Side, multiplied, narrow_factor
from tfc.backends.mlir.elements import Indices
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.index_maps import Condition, delinearize, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import canonical_labels

Part = TypeVar("Part")
_FEWEST = 8  # features of a group's result that are worth tiles
_MOST_PHASES = 16  # each is a function of its own
_MOST_BYTES = 1 << 32  # of an array, so that places in it are numbers of 32 bits


@dataclass(frozen=True)
class Slide:
    """How the window goes along one dimension, for the results of one phase.

    first, step, count: the results are those at first + step·q, with q < count.
    first_tap, tap_step, taps: their places of the window, first_tap + tap_step·t with t < taps.
    stride, dilation, low: they meet the array's element q·stride + t·dilation − low, if that is one
        of its `size` elements.
    """

    first: int
    step: int
    count: int
    first_tap: int
    tap_step: int
    taps: int
    stride: int
    dilation: int
    low: int
    size: int

    @property
    def is_inside(self) -> bool:
        """Whether no result meets padding."""
        last = (self.count - 1) * self.stride + (self.taps - 1) * self.dilation - self.low
        return self.low <= 0 and last < self.size


def slides(d: WindowDimension, size: int, count: int) -> Iterator[Slide]:
    """The phases of `count` results along a dimension of an array."""
    step = d.base_dilation // gcd(d.stride, d.base_dilation)
    tap_step = d.base_dilation // gcd(d.window_dilation, d.base_dilation)
    for first in range(min(step, count)):
        met = (
            k for k in range(min(tap_step, d.size))
            if (first * d.stride + k * d.window_dilation - d.low) % d.base_dilation == 0
        )  # fmt: skip
        tap, own = next(met, None), -(-(count - first) // step)
        stride = d.stride * step // d.base_dilation
        if tap is None:  # all of the window is in gaps: one place that is before the array
            yield Slide(first, step, own, 0, 1, 1, stride, 0, own * stride + 1, size)
            continue
        low = (d.low - first * d.stride - tap * d.window_dilation) // d.base_dilation
        dilation = tap_step * d.window_dilation // d.base_dilation
        taps = -(-(d.size - tap) // tap_step)
        yield Slide(first, step, own, tap, tap_step, taps, stride, dilation, low, size)


@dataclass(frozen=True)
class Phase:
    """A product that makes some results of a convolution in canonical form, or all.

    spec: its sizes and sides; the batches of the product are the groups of the convolution.
    slides: of each dimension that the window goes along.
    batch: of the convolution.
    inputs: features of the array that a group has.
    batch_last: whether batches are neighbours in memory, and so among lines.
    """

    spec: ProductSpec
    slides: tuple[Slide, ...]
    batch: int
    inputs: int
    batch_last: bool

    @property
    def line_sizes(self) -> list[int]:
        """What lines are made of: batch, and places of results; or these first."""
        places = [s.count for s in self.slides]
        return [*places, self.batch] if self.batch_last else [self.batch, *places]

    def line_parts(self, parts: Sequence[Part]) -> list[Part]:
        """Batch, and then places of results, of what a line is made of."""
        return [*parts[-1:], *parts[:-1]] if self.batch_last else list(parts)

    @property
    def sum_sizes(self) -> list[int]:
        """What places of the sums are made of: places of the window, and features."""
        return [*(s.taps for s in self.slides), self.inputs]

    @property
    def is_inside(self) -> bool:
        """Whether no result meets padding."""
        return all(s.is_inside for s in self.slides)

    def array_place(self) -> tuple[Indices, list[Condition]]:
        """The element of the array at the group b, the line i and the place p of the sums, and
        when there is one."""
        group, lines, sums = self._variables()
        batch, *places = self.line_parts(delinearize(lines, self.line_sizes))
        *taps, feature = delinearize(sums, self.sum_sizes)
        at = [q * s.stride + t * s.dilation - s.low for s, q, t in zip(self.slides, places, taps)]
        inside = [Condition(a, 0, s.size) for s, a in zip(self.slides, at)]
        return (batch, *at, group * self.inputs + feature), inside

    def window_place(self, column: str = "i") -> Indices:
        """The element of the kernel at the group b, a column and the place p of the sums."""
        group, _, sums = self._variables()
        *taps, feature = delinearize(sums, self.sum_sizes)
        at = (t * s.tap_step + s.first_tap for s, t in zip(self.slides, taps))
        return (*at, feature, group * self.spec.n + variable(column, self.spec.n))

    def result_place(self) -> Indices:
        """The element of the result at the group b, the line i and the column j."""
        group, lines, _ = self._variables()
        batch, *places = self.line_parts(delinearize(lines, self.line_sizes))
        at = (q * s.step + s.first for s, q in zip(self.slides, places))
        return (batch, *at, group * self.spec.n + variable("j", self.spec.n))

    def _variables(self) -> Indices:
        spec = self.spec
        return variable("b", spec.batch), variable("i", spec.m), variable("p", spec.k)


def phases_of(kernel: Kernel) -> list[Phase] | None:
    """The products of a kernel's convolution; None if only other forms are for it."""
    root = kernel.product
    if root is None or root.opcode != "convolution" or not is_canonical(root):
        return None
    groups, _ = group_counts(root.attributes)
    lhs, rhs = (o.array_shape for o in root.operands)
    columns = rhs.dims[-1] // groups
    factors = [narrow_factor(o) for o in root.operands]
    chosen = multiplied(root, *(f.array_shape.element_type for f in factors))
    if (
        len(kernel.results) != 1
        or chosen is None
        or (groups > 1 and columns < _FEWEST)
        or any(x.array_shape.byte_size >= _MOST_BYTES for x in (root, *root.operands))
    ):
        return None
    window, inputs, found = convolution_window(root.attributes), rhs.dims[-2], []
    batch_last = lhs.layout.minor_to_major[0] == 0
    each = zip(window.dimensions, lhs.dims[1:-1], root.array_shape.dims[1:-1])
    along = [list(slides(*dimension)) for dimension in each]
    if prod(map(len, along)) > _MOST_PHASES:
        return None
    for chosen_slides in product(*along):
        rows = lhs.dims[0] * prod(s.count for s in chosen_slides)
        depth = inputs * prod(s.taps for s in chosen_slides)
        left = _array_side(kernel, factors[0], rows, lhs.dims[0] if batch_last else inputs)
        right = _window_side(kernel, factors[1], columns, depth)
        spec = ProductSpec(
            groups, rows, columns, depth, left, right, *chosen, root.array_shape.element_type
        )
        found.append(Phase(spec, chosen_slides, lhs.dims[0], inputs, batch_last))
    return found


def is_canonical(root: Instruction) -> bool:
    """Whether a convolution is in canonical form, and lies so that neighbours are used together."""
    lhs, rhs = (o.array_shape for o in root.operands)
    return (
        root["dim_labels"] == canonical_labels(root["dim_labels"].spatial)
        and root.array_shape.has_default_layout
        and lhs.layout.minor_to_major[0] in (0, lhs.rank - 1)
        and (rhs.layout.minor_to_major[0] == rhs.rank - 1 or has_inputs_together(rhs))
        and all(x.size for x in (lhs, rhs, root.array_shape))
        and group_counts(root.attributes)[1] == 1
        and not any(d.reversal for d in convolution_window(root.attributes).dimensions)
    )


def has_inputs_together(rhs: Shape) -> bool:
    """Whether in a kernel features of the array are neighbours, not those of the result."""
    return rhs.layout.minor_to_major[0] == rhs.rank - 2 and rhs.dims[-2] > 1


def _array_side(kernel: Kernel, value: Instruction, rows: int, together: int) -> Side:
    """The array, of which so many elements lie together: all other strides are multiples of it."""
    shape, number = value.array_shape, _parameter(kernel, value)
    batch_last = shape.layout.minor_to_major[0] == 0
    whole = rows > 1 or together * shape.element_type.bits % 128 == 0
    steps = (together, 1, together) if batch_last else (together, together, 1)
    strides = steps if number is not None and whole else None
    return Side(rows, value, ((), (), (shape.rank - 1,)), strides, number)


def _window_side(kernel: Kernel, value: Instruction, columns: int, depth: int) -> Side:
    """The kernel, whose pieces go across the sums: of one column, or one sum, there are none; or
    along them, over the features of a place: from a place to the next there are multiples of these.
    """
    shape, number = value.array_shape, _parameter(kernel, value)
    in_pieces = number is not None and shape.dims[-1] > 1 and depth > 1
    inputs, outputs = shape.dims[-2:]
    steps = (inputs, inputs, 1) if has_inputs_together(shape) else (columns, 1, outputs)
    strides = steps if in_pieces else None
    last = shape.rank - 1
    return Side(columns, value, ((), (last,), tuple(range(last))), strides, number)


def _parameter(kernel: Kernel, value: Instruction) -> int | None:
    parameters: Sequence[Instruction] = kernel.computation.parameters
    return next((n for n, p in enumerate(parameters) if p is value), None)
