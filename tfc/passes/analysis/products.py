"""Dots and convolutions: where kernels have them, how arrays lie, and what becomes of results."""

from collections.abc import Sequence
from itertools import pairwise

from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.index_maps import Index, delinearize, linearize
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.contraction import dot_dimensions, free_dimensions
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.shape import F32, F64, S8, S32, U8, U32, ElementType, Shape
from tfc.passes.analysis.fusible import REDUCTIONS, is_loop

PRODUCTS = frozenset({"dot", "convolution"})


def product_in(computation: Computation) -> Instruction | None:
    """The dot or convolution of a kernel's computation, if it has one."""
    return next((i for i in computation.instructions if i.opcode in PRODUCTS), None)


def makes_operands(user: Instruction) -> bool:
    """True if the kernel of an instruction can compute what it reads, element by element."""
    return is_loop(user) or user.opcode in (*PRODUCTS, *REDUCTIONS)


def epilogue_path(computation: Computation) -> list[Instruction]:
    """The instructions on a way from the product to the root, the product left out.

    They are elementwise, reshapes and transposes, and any way moves elements as all others do.
    """
    product = product_in(computation)
    dependent = {product}
    for instruction in computation.instructions:
        if any(o in dependent for o in instruction.operands):
            dependent.add(instruction)
    path, at = [], computation.root
    while at is not product:
        path.append(at)
        at = next(o for o in at.operands if o in dependent)
    return path[::-1]


def root_index(computation: Computation, index: Sequence[Index]) -> tuple[Index, ...]:
    """Where the root has the element that is made from the product's at an index."""
    result = tuple(index)
    for instruction in epilogue_path(computation):
        result = moved_index(instruction, result)
    return result


def moved_index(instruction: Instruction, index: tuple[Index, ...]) -> tuple[Index, ...]:
    """Where a reshape or a transpose has what its operand has at an index; others move nothing."""
    if instruction.opcode == "reshape":
        before = instruction.operands[0].array_shape
        return delinearize(linearize(index, before.dims), instruction.array_shape.dims)
    if instruction.opcode == "transpose":
        return tuple(index[d] for d in instruction["dimensions"])
    return index


def tiled_type(product: Instruction) -> ElementType | None:
    """The one type of a product's operands and result, if tiled code exists for it."""
    first, *rest = (x.array_shape.element_type for x in (product, *product.operands))
    tiled = first in (F32, F64) or (first.is_integer and first.bits >= 32)
    return first if tiled and all(t == first for t in rest) else None


def is_narrow_factor(x: Instruction, users: Sequence[Instruction], floats: bool = False) -> bool:
    """True for a conversion of integers of up to 16 bits that products multiply.

    They are to find it right before them: kernels multiply several narrow integers at once.

    Args:
        floats: whether that holds for floats, too.
    """
    if x.opcode != "convert":
        return False
    wide, narrow = x.array_shape.element_type, x.operands[0].array_shape.element_type
    both = (wide.is_integer and narrow.is_integer) or (floats and wide.is_float and narrow.is_float)
    return both and narrow.bits <= 16 and any(u.opcode in PRODUCTS for u in users)


def is_byte_convolution(x: Instruction) -> bool:
    """True for a canonical convolution of bytes whose features come in fours.

    Kernels multiply four of them at once, and read them where they lie.
    """
    if x.opcode != "convolution" or not all(o.opcode == "convert" for o in x.operands):
        return False
    arrays = [o.operands[0].array_shape for o in x.operands]
    features = x.operands[1].array_shape.dims[x["dim_labels"].rhs[1]]
    _, batch_groups = group_counts(x.attributes)
    return (
        all(a.element_type in (S8, U8) and a.has_default_layout and a.size for a in arrays)
        and all(i.array_shape.has_default_layout for i in (x, *x.operands))
        and x.array_shape.element_type in (S32, U32)
        and x["dim_labels"] == canonical_labels(x["dim_labels"].spatial)
        and features % 4 == 0
        and x["dim_labels"].spatial > 0
        and batch_groups == 1
        and not any(d.reversal for d in convolution_window(x.attributes).dimensions)
    )


def canonical_labels(spatial: int) -> ConvolutionDimensionNumbers:
    """b01f_01io->b01f, for that many spatial dimensions."""
    places = tuple(range(spatial))
    array = (0, spatial + 1, *(d + 1 for d in places))
    return ConvolutionDimensionNumbers(array, (spatial + 1, spatial, *places), array)


def group_stride(shape: Shape, dimensions: Sequence[int]) -> int | None:
    """The stride, in elements, of dimensions taken as one in the order given, or None.

    Dimensions of size one do not matter; an empty group has stride 0.
    """
    wide = [d for d in dimensions if shape.dims[d] != 1]
    for major, minor in pairwise(wide):
        if shape.strides[major] != shape.strides[minor] * shape.dims[minor]:
            return None
    return shape.strides[wide[-1]] if wide else 0


# An array, and the dimensions that form each of its directions.
DotGroups = tuple[tuple[Shape, tuple[Sequence[int], ...]], ...]


def dot_groups(dot: Instruction) -> DotGroups:
    """For lhs, rhs and the result of a dot: the shape, and the dimensions that form each direction.

    The directions are batch, rows and sums; batch, sums and columns; batch, rows and columns.
    """
    lhs, rhs = (o.array_shape for o in dot.operands)
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(dot.attributes)
    lhs_free = free_dimensions(lhs.rank, lhs_batch, lhs_contracting)
    rhs_free = free_dimensions(rhs.rank, rhs_batch, rhs_contracting)
    batch, rows = len(lhs_batch), len(lhs_batch) + len(lhs_free)
    result = dot.array_shape
    out = (range(batch), range(batch, rows), range(rows, result.rank))
    return (
        (lhs, (lhs_batch, lhs_free, lhs_contracting)),
        (rhs, (rhs_batch, rhs_contracting, rhs_free)),
        (result, out),
    )


def has_one_stride_a_direction(x: Instruction) -> bool:
    """True if a kernel of matrix products reads and writes the arrays of a dot where they are.

    The columns of the result must be neighbours. A convolution's arrays must be row-major.
    """
    if x.opcode != "dot":
        return all(i.array_shape.has_default_layout for i in (x, *x.operands))
    strides = [tuple(group_stride(s, g) for g in groups) for s, groups in dot_groups(x)]
    return strides[2][2] in (0, 1) and all(None not in each for each in strides)


def summed_dimensions(x: Instruction, number: int) -> tuple[int, ...]:
    """The dimensions of an operand that sums go along: of what a kernel slides over, all."""
    if x.opcode == "dot":
        return dot_dimensions(x.attributes)[2 * number + 1]
    labels, rank = x["dim_labels"], x.operands[number].array_shape.rank
    return tuple(d for d in range(rank) if not number or d != labels.rhs[0])


def channel_dimensions(x: Instruction, number: int) -> tuple[int, ...]:
    """Where in the result the dimensions of an operand are that sums do not go along."""
    if x.opcode == "convolution":
        return (x["dim_labels"].out[1],)
    lhs_batch, lhs_summed, rhs_batch, rhs_summed = dot_dimensions(x.attributes)
    left = free_dimensions(x.operands[0].array_shape.rank, lhs_batch, lhs_summed)
    batch, summed = ((lhs_batch, lhs_summed), (rhs_batch, rhs_summed))[number]
    free = free_dimensions(x.operands[number].array_shape.rank, batch, summed)
    first = len(batch) + (len(left) if number else 0)
    places = {d: n for n, d in enumerate(batch)} | {d: first + n for n, d in enumerate(free)}
    return tuple(places[d] for d in sorted(places))
