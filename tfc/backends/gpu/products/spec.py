"""What the dot of a kernel is: its sizes, where its operands lie, and in what they are multiplied.

A conversion that only widens is not done: bf16 that become f32 to be multiplied are multiplied as
bf16, whose products f32 holds exactly, and 8-bit integers as these.
"""

from dataclasses import dataclass
from math import prod

from tfc.backends.gpu.matrices import KINDS, Kind, kind_of
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F16, F32, F64, S8, S32, S64, U8, U32, U64, ElementType
from tfc.passes.analysis.fusible import is_loop
from tfc.passes.analysis.products import DotGroups, dot_groups, group_stride

_WORDS = (F32, S32, U32, S64, U64)  # multiplied one by one
TF32 = "dot_tf32_tf32_f32"
"""The algorithm that lets products of f32 be those of tf32."""


@dataclass(frozen=True)
class Side:
    """An operand of a product.

    lines: the number of rows of the left one, of columns of the right one.
    value: the instruction whose elements are multiplied, once they are converted.
    dimensions: those of the batch, of the lines, and of the sums.
    strides: of these, in elements; None if they have none, or the value is computed.
    parameter: the number of the buffer that holds it; None if it is computed.
    """

    lines: int
    value: Instruction
    dimensions: tuple[tuple[int, ...], ...]
    strides: tuple[int, int, int] | None
    parameter: int | None

    @property
    def stored(self) -> ElementType:
        """The type of the value's elements."""
        return self.value.array_shape.element_type

    @property
    def sums_are_neighbours(self) -> bool:
        """Whether elements that are next to each other in memory are along the sums."""
        stride = group_stride(self.value.array_shape, self.dimensions[2])
        return stride is not None and stride <= 1


@dataclass(frozen=True)
class ProductSpec:
    """A product of `batch` pairs of matrices, m x k and k x n.

    element: the type in which elements lie in shared memory.
    kind: the instruction that multiplies them; None if they are multiplied one by one.
    sums: the type of the sums.
    """

    batch: int
    m: int
    n: int
    k: int
    lhs: Side
    rhs: Side
    element: ElementType
    kind: Kind | None
    sums: ElementType

    def __str__(self) -> str:
        """All of it that decides which schedule is best, alike in every program."""
        kind = f"{self.kind.lhs} and {self.kind.rhs}" if self.kind else "numbers"
        sides = "; ".join(
            f"{s.stored} {s.strides} {'computed' if s.parameter is None else 'in memory'}"
            for s in self.sides
        )
        sizes = f"{self.batch} x {self.m} x {self.n} x {self.k}"
        return f"product on GPU, {sizes}, {self.element} as {kind} to {self.sums}; {sides}"

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both operands."""
        return (self.lhs, self.rhs)


def spec_of(kernel: Kernel) -> ProductSpec | None:
    """What a kernel's dot is; None if it has none, or one that only the plain form is for."""
    dot = kernel.product
    if dot is None or dot.opcode != "dot" or not _is_finished_alone(kernel, dot):
        return None
    groups = dot_groups(dot)
    sizes = _sizes(groups)
    if 0 in sizes:
        return None
    factors = [narrow_factor(o) for o in dot.operands]
    chosen = multiplied(dot, *(f.array_shape.element_type for f in factors))
    if chosen is None:
        return None
    batch, m, n, k = sizes
    (_, (lhs_batch, lhs_lines, lhs_sums)), (_, (rhs_batch, rhs_sums, rhs_lines)), _ = groups
    left = _side(kernel, factors[0], m, (lhs_batch, lhs_lines, lhs_sums))
    right = _side(kernel, factors[1], n, (rhs_batch, rhs_lines, rhs_sums))
    return ProductSpec(batch, m, n, k, left, right, *chosen, dot.array_shape.element_type)


def _is_finished_alone(kernel: Kernel, dot: Instruction) -> bool:
    """Whether results are made of the dot's elements, each by itself; attention has several too."""
    return len(kernel.results) == 1 or all(
        x is dot or is_loop(x) or x.opcode in ("parameter", "constant", "tuple")
        for x in kernel.computation.instructions
    )


def _sizes(groups: DotGroups) -> tuple[int, int, int, int]:
    (lhs, (batch, rows, sums)), (rhs, (*_, columns)), _ = groups
    batches, m, k = (prod(lhs.dims[d] for d in group) for group in (batch, rows, sums))
    return batches, m, prod(rhs.dims[d] for d in columns), k


def is_of_bytes(dot: Instruction) -> bool:
    """Whether a dot is of numbers of 8 bits, which tensor cores only multiply along the sums."""
    stored = [narrow_factor(o).array_shape.element_type for o in dot.operands]
    return all(t.bits == 8 for t in stored) and multiplied(dot, stored[0], stored[1]) is not None


def narrow_factor(x: Instruction) -> Instruction:
    """What is widened to become a factor; itself if nothing is."""
    while x.opcode == "convert" and _is_widening(
        x.operands[0].array_shape.element_type, x.array_shape.element_type
    ):
        x = x.operands[0]
    return x


def _is_widening(narrow: ElementType, wide: ElementType) -> bool:
    if narrow.is_float:
        return (wide.is_float and narrow.bits < wide.bits and narrow != BF16) or (
            narrow == BF16 and wide in (F32, F64))  # fmt: skip
    return narrow in (S8, U8) and wide in (S32, U32)


def multiplied(
    dot: Instruction, left: ElementType, right: ElementType
) -> tuple[ElementType, Kind | None] | None:
    """(type in shared memory, instruction) for factors of these types."""
    sums = dot.array_shape.element_type
    if sums in (S32, U32) and {left, right} <= {S8, U8}:
        return left, kind_of(left, right)
    if sums == F64:
        return F64, kind_of(F64, F64)
    if sums == F32:
        if left == right == BF16:
            return BF16, kind_of(BF16, BF16)
        if all(t == F16 or (t.is_float and t.bits <= 8) for t in (left, right)):
            return F16, kind_of(F16, F16)
        if dot.attributes.get("algorithm") == TF32:
            return F32, KINDS["tf32", "tf32"]
    return (sums, None) if sums in _WORDS else None


def _side(kernel: Kernel, value: Instruction, lines: int, groups: tuple[object, ...]) -> Side:
    dimensions = tuple(tuple(g) for g in groups)  # type: ignore[call-overload]
    parameters = kernel.computation.parameters
    number = next((n for n, p in enumerate(parameters) if p is value), None)
    strides = [group_stride(value.array_shape, d) for d in dimensions]
    known = None if number is None or None in strides else tuple(strides)
    return Side(lines, value, dimensions, known, number)  # type: ignore[arg-type]
