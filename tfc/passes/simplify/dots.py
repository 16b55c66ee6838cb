"""Dots and convolutions of what was transposed, repeated or padded, and dots that are none:
functions from an instruction to its replacement, or None. Each states itself as before --> after.

Those in REORDERED sum the same products in another order, as any dot may, which also decides the
sign of a zero. Those in INEXACT differ where numbers are not finite.
"""

from collections.abc import Sequence

from tfc.hlo import builder
from tfc.hlo.attributes.window import Window
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.contraction import DOT_DIMENSIONS, dot_dimensions, free_dimensions
from tfc.hlo.ops.convolution import convolution_window
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import group_stride
from tfc.passes.rewriting.patterns import Function, constant_value
from tfc.passes.rewriting.replacing import count, repeated
from tfc.passes.simplify.elementwise import widens
from tfc.passes.simplify.reductions import padded_window

_Groups = tuple[Sequence[int], Sequence[int], Sequence[int]]


def _groups(x: Instruction) -> tuple[_Groups, _Groups]:
    """(batch, free, contracting) dimensions of either operand of a dot."""
    lhs_batch, lhs_summed, rhs_batch, rhs_summed = dot_dimensions(x.attributes)
    lhs, rhs = (o.array_shape.rank for o in x.operands)
    return (
        (lhs_batch, free_dimensions(lhs, lhs_batch, lhs_summed), lhs_summed),
        (rhs_batch, free_dimensions(rhs, rhs_batch, rhs_summed), rhs_summed),
    )


def _dot(old: Instruction, operands: Sequence[Instruction], lhs: _Groups, rhs: _Groups):
    """A dot of other operands with the precision and the element type of `old`."""
    numbers = dict(zip(DOT_DIMENSIONS, map(tuple, (lhs[0], lhs[2], rhs[0], rhs[2]))))
    for name in DOT_DIMENSIONS[::2]:
        if not numbers[name]:
            del numbers[name]  # as text leaves them out
    rest = {k: v for k, v in old.attributes.items() if k not in DOT_DIMENSIONS}
    stated = Shape(old.array_shape.element_type)
    return builder.instruction(
        "dot", operands, shape=stated, metadata=old.metadata, **numbers, **rest
    )


def dot_of_nothing(x: Instruction) -> Instruction | None:
    """f32[2,3] dot(f32[2,0] a, f32[0,3] b) --> broadcast(0)"""
    empty = any(not o.array_shape.size for o in x.operands)
    return builder.full(0, x.array_shape) if empty else None


def dot_of_single_products(x: Instruction) -> Instruction | None:
    """f32[2,3] dot(f32[2,1] a, f32[1,3] b) --> multiply(broadcast(a), broadcast(b))"""
    result, summed = x.array_shape, x.attributes.get("lhs_contracting_dims", ())
    if count(x.operands[0].array_shape, summed) != 1 or result.element_type.kind == "pred":
        return None
    if not _holds_products(x):
        return None
    lhs, rhs = _groups(x)
    batch, rows = len(lhs[0]), len(lhs[0]) + len(lhs[1])
    places = (range(rows), [*range(batch), *range(rows, result.rank)])
    spread = []
    for operand, (first, free, _), place in zip(x.operands, (lhs, rhs), places):
        part = _arranged(operand, (*first, *free))
        part = builder.convert(part, result.element_type)
        spread.append(builder.broadcast(part, result.dims, place))
    return builder.instruction("multiply", spread, metadata=x.metadata)


def _holds_products(x: Instruction) -> bool:
    """True if converting the operands to the result's type keeps their values."""
    wide = x.array_shape.element_type
    types = [o.array_shape.element_type for o in x.operands]
    return all(t == wide or widens(t, wide) for t in types)


def _arranged(operand: Instruction, dimensions: Sequence[int]) -> Instruction:
    """An array with its dimensions in this order; those left out have size one."""
    left_out = [d for d in range(operand.array_shape.rank) if d not in dimensions]
    sizes = [operand.array_shape.dims[d] for d in dimensions]
    return builder.reshape(operand, sizes, (*dimensions, *left_out))


def dot_of_pairs(x: Instruction) -> Instruction | None:
    """f32[8] dot(f32[8,4] a, f32[8,4] b), batch {0}, sums {1} --> reduce(multiply(a, b), 0, {1})"""
    shapes = [o.array_shape for o in x.operands]
    element_type = x.array_shape.element_type
    if {s.element_type for s in shapes} != {element_type}:
        return None
    if not element_type.is_integer and element_type.name not in ("f32", "f64"):
        return None  # sums are taken in a wider type
    batches = count(shapes[0], x.attributes.get("lhs_batch_dims", ()))
    if batches == 1 or x.array_shape.size != batches:
        return None
    lhs, rhs = _groups(x)
    left, right = (
        _arranged(o, (*batch, *summed)) for o, (batch, _, summed) in zip(x.operands, (lhs, rhs))
    )
    products = builder.instruction("multiply", [left, right], metadata=x.metadata)
    zero, add = builder.constant(0, element_type), builder.scalar_computation("add", element_type)
    batches = len(lhs[0])
    sums = builder.reduce(products, zero, range(batches, products.array_shape.rank), add)
    return builder.reshape(sums, x.array_shape.dims)


def dot_of_transpose(x: Instruction) -> Instruction | None:
    """dot(f32[4,2] transpose(f32[2,4] a), b), sums {1} --> dot(a, b), sums {0}"""
    for side, operand in enumerate(x.operands):
        if operand.opcode != "transpose":
            continue
        source, groups = operand.operands[0], _groups(x)[side]
        moved = [[operand["dimensions"][d] for d in group] for group in groups]
        if moved[1] != sorted(moved[1]) or not _is_matrix(source.array_shape, moved):
            continue
        both = list(_groups(x))
        both[side] = (moved[0], moved[1], moved[2])
        operands = [source if n == side else o for n, o in enumerate(x.operands)]
        return _dot(x, operands, both[0], both[1])
    return None


def dot_of_transposes(x: Instruction) -> Instruction | None:
    """dot(transpose(a, {1,0,2}), transpose(b, {1,0,2})), sums {0,1} --> dot(a, b), sums {1,0}

    Sums are taken in the order in which what is transposed lies, if that is one for both.
    """
    if all(o.opcode != "transpose" for o in x.operands):
        return None
    sides = []
    for operand, groups in zip(x.operands, _groups(x)):
        source, order = operand, range(operand.array_shape.rank)
        if operand.opcode == "transpose":
            source, order = operand.operands[0], operand["dimensions"]
        sides.append((source, [[order[d] for d in group] for group in groups]))
    (lhs, (*_, summed)), _ = sides
    places = sorted(range(len(summed)), key=lambda n: -lhs.array_shape.strides[summed[n]])
    for source, moved in sides:
        moved[2] = [moved[2][n] for n in places]
        if moved[1] != sorted(moved[1]) or not _is_matrix(source.array_shape, moved):
            return None
    operands, (left, right) = [s for s, _ in sides], [(m[0], m[1], m[2]) for _, m in sides]
    return None if operands == list(x.operands) else _dot(x, operands, left, right)


def _is_matrix(shape: Shape, groups: Sequence[Sequence[int]]) -> bool:
    """True if each group of dimensions has one stride, and neighbours are in one matrix."""
    wide = [d for d in shape.layout.minor_to_major if shape.dims[d] != 1]
    one_stride = all(group_stride(shape, group) is not None for group in groups)
    return one_stride and not (wide and wide[0] in groups[0])


def transpose_of_dot(x: Instruction) -> Instruction | None:
    """transpose(f32[2,3] dot(a, b), {1,0}) --> f32[3,2] dot(b, a)"""
    inner = x.operands[0]
    if inner.opcode != "dot":
        return None
    lhs, rhs = _groups(inner)
    batch, rows = len(lhs[0]), len(lhs[0]) + len(lhs[1])
    swapped = (*range(batch), *range(rows, inner.array_shape.rank), *range(batch, rows))
    if x["dimensions"] != swapped:
        return None
    precision = inner.attributes.get("operand_precision")
    if precision is not None:
        other = inner.attributes.with_(operand_precision=precision[::-1])
        inner = inner.with_(attributes=other)
    return _dot(inner, inner.operands[::-1], rhs, lhs)


def dot_of_broadcast(x: Instruction) -> Instruction | None:
    """f32[5,2,3] dot(f32[5,2,4] broadcast(a, {1,2}), b) --> broadcast(f32[2,3] dot(a, b), {1,2})"""
    for side, operand in enumerate(x.operands):
        placed = operand.attributes.get("dimensions", ())
        if operand.opcode != "broadcast" or list(placed) != sorted(placed):
            continue
        batch, free, summed = _groups(x)[side]
        fresh = [d for d in free if d not in placed]
        if not fresh or any(d not in placed for d in (*batch, *summed)):
            continue
        both = list(_groups(x))
        left = [[placed.index(d) for d in g if d in placed] for g in (batch, free, summed)]
        both[side] = (left[0], left[1], left[2])
        operands = [operand.operands[0] if n == side else o for n, o in enumerate(x.operands)]
        small = _dot(x, operands, both[0], both[1])
        before = len(batch) if side == 0 else x.array_shape.rank - len(free)
        gone = {before + free.index(d) for d in fresh}
        kept = [d for d in range(x.array_shape.rank) if d not in gone]
        return builder.broadcast(small, x.array_shape.dims, kept)
    return None


def convolution_of_pad(x: Instruction) -> Instruction | None:
    """convolution(pad(a, 0, 1_1), k), window={size=3} --> convolution(a, k), window={pad=1_1}"""
    inner = x.operands[0]
    if inner.opcode != "pad":
        return None
    value, (batch, feature, *places) = constant_value(inner.operands[1]), x["dim_labels"].lhs
    padding = inner["padding"]
    if value is None or value != 0 or any(padding[d] != (0, 0, 0) for d in (batch, feature)):
        return None
    window = convolution_window(x.attributes)
    dimensions = padded_window(window.dimensions, tuple(padding[d] for d in places))
    if dimensions is None:
        return None
    attributes = x.attributes.with_(window=Window(dimensions))
    return x.with_(operands=(inner.operands[0], x.operands[1]), attributes=attributes)


def convolution_of_nothing(x: Instruction) -> Instruction | None:
    """f32[1,4,3] convolution(f32[1,0,2] a, k), window={size=1 pad=2_2} --> broadcast(0)"""
    empty = any(not o.array_shape.size for o in x.operands)
    return (
        repeated(builder.constant(0, x.array_shape.element_type), x.array_shape) if empty else None
    )


REORDERED: frozenset[Function] = frozenset(
    {
        dot_of_single_products,
        dot_of_pairs,
        dot_of_transpose,
        dot_of_transposes,
        transpose_of_dot,
        dot_of_broadcast,
    }
)
INEXACT: frozenset[Function] = frozenset({convolution_of_pad})
DOTS: dict[str, tuple[Function, ...]] = {
    "dot": (
        dot_of_nothing,
        dot_of_single_products,
        dot_of_pairs,
        dot_of_broadcast,
        dot_of_transpose,
        dot_of_transposes,
    ),
    "transpose": (transpose_of_dot,),
    "convolution": (convolution_of_nothing, convolution_of_pad),
}
