"""Operands of products that come in boxes: how a stage's part of one lies, and where it begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tfc.backends.gpu.driver.interface import Boxes
from tfc.backends.gpu.products.spec import ProductSpec, Side
from tfc.backends.gpu.warpgroups import ROW_BYTES, Matrix
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.kernels import Kernel


@dataclass(frozen=True)
class Corner:
    """Where a box begins, innermost first; and how far the window of pixels is moved, if it has."""

    place: Sequence[Scalar]
    moved: Sequence[Scalar] = ()


@dataclass(frozen=True)
class BoxOperand:
    """An operand of which boxes are copied.

    buffer: its number.
    boxes: how they are copied; rows in shared memory have 128 bytes.
    form: how its part of a stage lies.
    corner: (stage, line, batch) -> where a box begins.
    """

    buffer: int
    boxes: Boxes
    form: Matrix
    corner: Callable[[Scalar, Scalar, Scalar], Corner] = field(compare=False)

    @property
    def box_bytes(self) -> int:
        """Shared memory of a box."""
        return self.boxes.box[1] * ROW_BYTES

    @property
    def box_lines(self) -> int:
        """Lines of the operand that a box has."""
        return self.boxes.box[1 if self.form.along else 0]


def matrix_operand(kernel: Kernel, spec: ProductSpec, side: Side, lines: int) -> BoxOperand | None:
    """An operand that is matrices, of which `lines` lines are in a stage; None if it does not lie
    so that copies of boxes bring it."""
    if side.strides is None or side.parameter not in kernel.arguments:
        return None
    size = side.stored.bits // 8
    batch, line, sums = side.strides
    depth = ROW_BYTES // size
    if sums == 1:
        dims, outer, box = (spec.k, side.lines), line, (depth, lines)
    elif line == 1 and size == 2:
        dims, outer, box = (side.lines, spec.k), sums, (depth, depth)
    else:
        return None
    boxes = matrix_boxes(size, (*dims, spec.batch), (outer, batch), box)
    if boxes is None:
        return None
    form = Matrix(sums == 1, depth)

    def corner(stage: Scalar, line: Scalar, batch: Scalar) -> Corner:
        place = [stage * depth, line] if form.along else [line, stage * depth]
        return Corner([*place, batch][: len(boxes.dims)])

    return BoxOperand(kernel.arguments.index(side.parameter), boxes, form, corner)


def matrix_boxes(
    size: int, dims: Sequence[int], strides: Sequence[int], box: tuple[int, int]
) -> Boxes | None:
    """Boxes of a matrix, or of a batch of them, with strides in elements of `size` bytes; None if
    there are none."""
    rank = 3 if dims[2] > 1 else 2
    in_bytes = tuple(s * size for s in strides[: rank - 1])
    if not are_strides(in_bytes):
        return None
    return Boxes(size, tuple(dims[:rank]), in_bytes, (*box, 1)[:rank], ROW_BYTES)


def are_strides(in_bytes: Sequence[int]) -> bool:
    """Whether arrays of which boxes are copied may have these strides."""
    return all(s > 0 and s % 16 == 0 for s in in_bytes)
