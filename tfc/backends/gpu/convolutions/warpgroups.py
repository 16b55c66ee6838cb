"""Convolutions of 16-bit floats and tf32 by warpgroups (sm_90a): copies of pixels bring tiles.

A tile's part of the array is pixels of images, which the window is moved over: a copy goes through
a window of each image in steps (`Pixels`), from the pixel that the tile begins with, and the place
of the kernel says how far that window is moved. Beyond the images there are zeros.

                       lines of the product      a stage of its sums       the window is moved by
    convolution        images, results           features of a place       the place of the kernel
    kernel's gradient  places, features          pixels of the images      the place of the kernel

A box has 64 features or pixels, of tf32 32. Those are multiplied along the sums only: so there the
kernel has features of the array side by side, and gradients of kernels are none of these.

The gradient of a kernel is a convolution whose batches are features, and whose kernel is as large
as an image: so what the window is moved by is a place of its results.
"""

from collections.abc import Sequence
from math import prod

from tfc.backends.gpu.convolutions.padding import mending
from tfc.backends.gpu.convolutions.phases import Phase, Slide, has_inputs_together, phases_of
from tfc.backends.gpu.convolutions.sources import parts_of_number
from tfc.backends.gpu.driver.interface import Boxes, Pixels
from tfc.backends.gpu.products.box_operands import BoxOperand, Corner, are_strides, matrix_boxes
from tfc.backends.gpu.products.roles import Persistent
from tfc.backends.gpu.products.spec import Side
from tfc.backends.gpu.products.tiles import tiles_of
from tfc.backends.gpu.warpgroups import ROW_BYTES, Matrix
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import group_stride

_MOST_STEP = 8
_CORNERS = {1: 1 << 15, 2: 1 << 7, 3: 1 << 4}  # beyond the largest of a window, by its dimensions


def convolution_by_warpgroups(kernel: Kernel) -> Persistent | None:
    """The product of a kernel's convolution by blocks that stay; None if other forms are for it."""
    phases = phases_of(kernel)
    if phases is None or len(phases) != 1:
        return None
    (phase,) = phases
    operands = _Operands(kernel, phase)
    if not operands.are_possible:
        return None
    index = phase.result_place()
    # What copies of a kernel's gradient need takes all registers of the threads that ask for them.
    may_add = not operands.is_gradient
    tiles = tiles_of(kernel, phase.spec, index, operands.turns, operands.operand, may_add)
    if tiles is None:
        return None
    return Persistent(kernel, phase.spec, tiles, index, mending(kernel, phase))


class _Operands:
    """Of a convolution, or of one that is the gradient of a kernel."""

    def __init__(self, kernel: Kernel, phase: Phase):
        self.kernel, self.phase, self.spec = kernel, phase, phase.spec
        self.is_gradient = phase.batch_last
        self.size = self.spec.lhs.stored.bits // 8
        self.depth = ROW_BYTES // self.size  # features or pixels of a stage, and of a box
        # Along each dimension: how many pixels a window has, and how far they are from each other.
        self.walk = [_taps(s) if self.is_gradient else _results(s) for s in phase.slides]
        # How often the window is moved, and by how much.
        self.moves = [_results(s) if self.is_gradient else _taps(s) for s in phase.slides]
        self.blocks = -(-phase.inputs // self.depth)  # of the features of a group

    @property
    def are_possible(self) -> bool:
        """Whether copies bring them."""
        spec, phase = self.spec, self.phase
        most = _CORNERS.get(len(phase.slides), 0)
        pixels = self.pixels
        return (
            self.size in (2, 4)
            and all(s.stored.bits == 8 * self.size and s.parameter in self.kernel.arguments
                    for s in spec.sides)
            and all(s.step == s.tap_step == 1 and s.dilation > 0 for s in phase.slides)
            and all(step <= _MOST_STEP for step in pixels.steps)
            and all(-most <= corner < most for corner in (*pixels.lower, *pixels.upper))
            and all(count * by < 2 * most for count, by in self.moves)
            and (self._gradient_fits if self.is_gradient else self._convolution_fits)
        )  # fmt: skip

    @property
    def _gradient_fits(self) -> bool:
        """Whether a box of features has one place of the kernel, and pixels are a matrix's rows."""
        whole = self.spec.batch == 1 and self.phase.batch % self.depth == 0
        return whole and self.size == 2 and bool(self._gradient_row)

    @property
    def _gradient_row(self) -> int | None:
        """From a pixel of the gradient of the results to the next; None if there is no such."""
        shape = self.spec.rhs.value.array_shape
        return group_stride(shape, (shape.rank - 2, *range(shape.rank - 2)))

    @property
    def _convolution_fits(self) -> bool:
        """Whether features of a group are not much less than the boxes that have them."""
        inputs = self.phase.inputs
        return 2 * inputs >= self.blocks * self.depth and (
            self.spec.batch == 1 or inputs % self.depth == 0
        )

    @property
    def turns(self) -> int:
        """The stages of the sums."""
        if self.is_gradient:
            return -(-self.phase.inputs * prod(count for count, _ in self.walk) // self.depth)
        return prod(count for count, _ in self.moves) * self.blocks

    @property
    def pixels(self) -> Pixels:
        """The window of each image."""
        slides = self.phase.slides
        ends = ((count - 1) * step - s.low for s, (count, step) in zip(slides, self.walk))
        return Pixels(
            tuple(-s.low for s in reversed(slides)),
            tuple([end - (s.size - 1) for s, end in zip(slides, ends)][::-1]),
            tuple(step for _, step in reversed(self.walk)),
        )

    def operand(self, side: Side, lines: int) -> BoxOperand | None:
        """How a side's part of a stage is copied."""
        if side is self.spec.lhs:
            return self._array(lines)
        return self._gradient_rows() if self.is_gradient else self._window(lines)

    # --- The array --------------------------------------------------------------------------------

    def _array(self, lines: int) -> BoxOperand | None:
        shape = self.spec.lhs.value.array_shape
        order = [*range(1, shape.rank - 1)][::-1]
        order = [0, *order, shape.rank - 1] if self.is_gradient else [shape.rank - 1, *order, 0]
        box = (self.depth, self.depth if self.is_gradient else lines)
        boxes = self._boxes(shape, order, box, self.pixels)
        if boxes is None:
            return None
        corner = self._gradient_corner if self.is_gradient else self._corner
        form = Matrix(not self.is_gradient, self.depth)
        return BoxOperand(self._buffer(self.spec.lhs), boxes, form, corner)

    def _corner(self, stage: Scalar, line: Scalar, batch: Scalar) -> Corner:
        feature = batch * self.phase.inputs + stage % self.blocks * self.depth
        return self._pixels(line, stage / self.blocks, feature)

    def _gradient_corner(self, stage: Scalar, line: Scalar, batch: Scalar) -> Corner:
        features = self.phase.batch
        return self._pixels(stage * self.depth, line / features, line % features)

    def _pixels(self, number: Scalar, move: Scalar, feature: Scalar) -> Corner:
        """The pixel of a number, with the window moved to a place of the kernel."""
        images = self.phase.inputs if self.is_gradient else self.phase.batch
        image, *at = parts_of_number(number, [images, *(count for count, _ in self.walk)])
        moved = self._places(move)
        # What is before the image is a large number, which copies take as negative.
        place = [x * step - s.low % 2**32
                 for x, (_, step), s in zip(at, self.walk, self.phase.slides)]  # fmt: skip
        by = [x * step for x, (_, step) in zip(moved, self.moves)]
        return Corner([feature, *place[::-1], image], by[::-1])

    def _places(self, number: Scalar) -> list[Scalar]:
        """The place of the kernel of a number."""
        return parts_of_number(number, [count for count, _ in self.moves])

    # --- What it is multiplied by -----------------------------------------------------------------

    def _window(self, lines: int) -> BoxOperand | None:
        """The kernel: of each place, a matrix of features of the array by those of results."""
        shape, depth = self.spec.rhs.value.array_shape, self.depth
        along = has_inputs_together(shape)
        if not along and self.size != 2:
            return None
        places = range(shape.rank - 2)[::-1]
        inner = (shape.rank - 2, shape.rank - 1) if along else (shape.rank - 1, shape.rank - 2)
        boxes = self._boxes(shape, [*inner, *places], (depth, lines if along else depth), None)
        if boxes is None:
            return None

        def corner(stage: Scalar, line: Scalar, batch: Scalar) -> Corner:
            feature, column = stage % self.blocks * depth, batch * self.spec.n + line
            taps = self._places(stage / self.blocks)
            return Corner([*((feature, column) if along else (column, feature)), *taps[::-1]])

        return BoxOperand(self._buffer(self.spec.rhs), boxes, Matrix(along, depth), corner)

    def _gradient_rows(self) -> BoxOperand | None:
        """The gradient of the results: pixels by features."""
        shape = self.spec.rhs.value.array_shape
        dims, strides = (shape.dims[-1], self.spec.k, 1), (self._gradient_row or 0, 0)
        boxes = matrix_boxes(self.size, dims, strides, (self.depth, self.depth))
        if boxes is None:
            return None

        def corner(stage: Scalar, line: Scalar, batch: Scalar) -> Corner:
            return Corner([line, stage * self.depth])

        return BoxOperand(self._buffer(self.spec.rhs), boxes, Matrix(False, self.depth), corner)

    def _boxes(
        self, shape: Shape, order: Sequence[int], box: tuple[int, int], pixels: Pixels | None
    ) -> Boxes | None:
        """Boxes of an array, the innermost of whose dimensions is the first in order; None if there
        are none."""
        dims = tuple(shape.dims[d] for d in order)
        strides = tuple(shape.strides[d] * self.size for d in order[1:])
        if shape.strides[order[0]] != 1 or not are_strides(strides):
            return None
        whole = box if pixels is not None else (*box, *[1] * (len(dims) - 2))
        return Boxes(self.size, dims, strides, whole, ROW_BYTES, pixels)

    def _buffer(self, side: Side) -> int:
        assert side.parameter is not None
        return self.kernel.arguments.index(side.parameter)


def _results(slide: Slide) -> tuple[int, int]:
    return slide.count, slide.stride


def _taps(slide: Slide) -> tuple[int, int]:
    return slide.taps, slide.dilation
