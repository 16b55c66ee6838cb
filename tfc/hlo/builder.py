"""Building instructions: shape inference, and the explicit broadcasting rules of XLA's builder.

Every function returns a new Instruction; nothing is mutated, so there is no builder object. Names
are left to the printer, which makes them unique.
"""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.hlo.ir import Attributes, Computation, Instruction, Metadata
from tfc.hlo.literal import Literal
from tfc.hlo.op import op_named, require
from tfc.hlo.shape import AnyShape, ElementType, Shape


def instruction(
    opcode: str,
    operands: Sequence[Instruction],
    *,
    shape: AnyShape | None = None,
    metadata: Metadata | None = None,
    name: str = "",
    **attributes: Hashable,
) -> Instruction:
    """An instruction whose shape is inferred from its operands and attributes.

    Args:
        shape: the result shape, for ops whose operands do not give it.

    Raises:
        ShapeError: the operands or attributes break one of the op's constraints.
        UnsupportedError: there is no such op.
    """
    op = op_named(opcode)
    if op.arity not in (None, len(operands)):
        require(False, opcode, f"{op.arity} operands", len(operands))
    made = Attributes(attributes)
    for attribute in op.attributes:
        if attribute.required and attribute.name not in made:
            require(False, opcode, f"the attribute {attribute.name}", "none")
    inferred = op.infer([o.shape for o in operands], made, shape)
    return Instruction(opcode, tuple(operands), inferred, made, name or opcode, metadata)


def parameter(number: int, shape: AnyShape, name: str = "") -> Instruction:
    """Parameter `number` of the computation that will be made."""
    return instruction("parameter", [], shape=shape, number=number, name=name or f"p{number}")


def constant(value: object, element_type: ElementType | None = None) -> Instruction:
    """A constant array; `element_type` converts plain Python numbers and lists."""
    array = np.asarray(value) if element_type is None else np.asarray(value, element_type.dtype)
    return instruction("constant", [], literal=Literal(array))


def iota(shape: Shape, dimension: int) -> Instruction:
    """0, 1, 2 … along one dimension, repeated over the others."""
    return instruction("iota", [], shape=shape, iota_dimension=dimension)


def broadcast(operand: Instruction, dims: Sequence[int], dimensions: Sequence[int]) -> Instruction:
    """Repeat an array; its dimension k becomes dimension `dimensions[k]` of the result (BC-3)."""
    shape = Shape(operand.array_shape.element_type, tuple(dims))
    return instruction("broadcast", [operand], shape=shape, dimensions=tuple(dimensions))


def broadcast_left(operand: Instruction, sizes: Sequence[int]) -> Instruction:
    """Repeat an array over new dimensions on the left (BRD-1)."""
    rank = operand.array_shape.rank
    placed = range(len(sizes), len(sizes) + rank)
    return broadcast(operand, (*sizes, *operand.array_shape.dims), tuple(placed))


def full(value: object, shape: Shape) -> Instruction:
    """An array with the same value everywhere."""
    scalar = constant(value, shape.element_type)
    return broadcast(scalar, shape.dims, ()) if shape.rank else scalar


def unary(opcode: str, operand: Instruction) -> Instruction:
    """An elementwise op of one operand."""
    return instruction(opcode, [operand])


def binary(
    opcode: str,
    lhs: Instruction,
    rhs: Instruction,
    broadcast_dimensions: Sequence[int] | None = None,
    **attributes: Any,
) -> Instruction:
    """An elementwise op of two operands under XLA's explicit broadcasting (BC-1 … BC-7).

    Args:
        broadcast_dimensions: for operands of different rank, the dimension of the higher-rank
            operand that each dimension of the lower-rank one matches.

    Raises:
        ShapeError: the shapes do not match; nothing is guessed as NumPy would.
    """
    lhs, rhs = explicit_broadcast(opcode, lhs, rhs, broadcast_dimensions)
    return instruction(opcode, [lhs, rhs], **attributes)


def compare(
    direction: str,
    lhs: Instruction,
    rhs: Instruction,
    broadcast_dimensions: Sequence[int] | None = None,
) -> Instruction:
    """Compare elementwise: direction EQ, NE, GE, GT, LE or LT (CMP-1)."""
    return binary("compare", lhs, rhs, broadcast_dimensions, direction=direction)


def explicit_broadcast(
    opcode: str, lhs: Instruction, rhs: Instruction, dimensions: Sequence[int] | None
) -> tuple[Instruction, Instruction]:
    """Both operands with one shape, by the rules BC-1 … BC-7.

    Raises:
        ShapeError: the ranks differ without dimensions, or sizes do not match.
    """
    left, right = lhs.array_shape, rhs.array_shape
    if left.rank != right.rank and 0 not in (left.rank, right.rank):
        if dimensions is None:
            raise ShapeError(
                f"{opcode} requires broadcast_dimensions for operands of different rank, "
                f"got {left.without_layout()} and {right.without_layout()} (BC-1)"
            )
        if left.rank < right.rank:
            lhs = _match_rank(opcode, lhs, right, dimensions)
        else:
            rhs = _match_rank(opcode, rhs, left, dimensions)
    elif left.rank == 0 and right.rank:  # BC-2: a scalar needs no dimensions
        return broadcast(lhs, right.dims, ()), rhs
    elif right.rank == 0 and left.rank:
        return lhs, broadcast(rhs, left.dims, ())
    pairs = list(zip(lhs.array_shape.dims, rhs.array_shape.dims))
    require(
        all(a == b or 1 in (a, b) for a, b in pairs),
        opcode,
        "dimensions that are equal or one",
        f"{left.without_layout()} and {right.without_layout()}",
        "BC-6",
    )
    dims = tuple(b if a == 1 else a for a, b in pairs)
    return expand_degenerate(lhs, dims), expand_degenerate(rhs, dims)


def _match_rank(
    opcode: str, operand: Instruction, to: Shape, dimensions: Sequence[int]
) -> Instruction:
    shape = operand.array_shape
    require(
        len(dimensions) == shape.rank,
        opcode,
        f"one broadcast dimension for each of {shape.without_layout()}",
        list(dimensions),
        "BC-3",
    )
    require(
        all(a < b for a, b in pairwise(dimensions)) and all(0 <= d < to.rank for d in dimensions),
        opcode,
        f"strictly increasing broadcast dimensions within 0..{to.rank - 1}",
        list(dimensions),
        "BC-5",
    )
    require(
        all(n == to.dims[d] or 1 in (n, to.dims[d]) for n, d in zip(shape.dims, dimensions)),
        opcode,
        "matched dimensions of equal size",
        f"{shape.without_layout()} at {list(dimensions)} of {to.without_layout()}",
        "BC-4",
    )
    dims = list(to.dims)
    for n, d in zip(shape.dims, dimensions):
        dims[d] = n
    return broadcast(operand, dims, dimensions)


def expand_degenerate(operand: Instruction, dims: Sequence[int]) -> Instruction:
    """Repeat the dimensions of size one to reach `dims`, of the same rank (BC-6)."""
    shape = operand.array_shape
    if shape.dims == tuple(dims):
        return operand
    kept = [d for d, n in enumerate(shape.dims) if n == dims[d]]
    squeezed = reshape(operand, [shape.dims[d] for d in kept])
    return broadcast(squeezed, dims, kept)


def reshape(
    operand: Instruction, sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> Instruction:
    """The same elements under other dimensions (RS-1).

    Args:
        dimensions: the operand's dimensions from slowest to fastest, in the order of which its
            elements are read; as they are when left out.
    """
    if dimensions is not None and list(dimensions) != list(range(operand.array_shape.rank)):
        operand = instruction("transpose", [operand], dimensions=tuple(dimensions))
    shape = Shape(operand.array_shape.element_type, tuple(sizes))
    if shape.dims == operand.array_shape.dims:
        return operand
    return instruction("reshape", [operand], shape=shape)


def collapse(operand: Instruction, dimensions: Sequence[int]) -> Instruction:
    """Neighbouring dimensions as one, in their place (COL-1); none of them as it is.

    Raises:
        ShapeError: the dimensions are not consecutive and ascending.
    """
    dims, first = operand.array_shape.dims, min(dimensions, default=0)
    last = first + len(dimensions)
    require(
        list(dimensions) == list(range(first, last)) and first >= 0 and last <= len(dims),
        "collapse",
        f"consecutive dimensions within 0..{len(dims) - 1}",
        list(dimensions),
        "COL-1",
    )
    if not dimensions:
        return operand
    return reshape(operand, (*dims[:first], prod(dims[first:last]), *dims[last:]))


def convert(operand: Instruction, element_type: ElementType) -> Instruction:
    """The values as another element type."""
    shape = operand.array_shape
    if shape.element_type == element_type:
        return operand
    return instruction("convert", [operand], shape=shape.with_element_type(element_type))


def reduce(
    operand: Instruction, init: Instruction, dimensions: Sequence[int], to_apply: Computation
) -> Instruction:
    """Combine the elements along `dimensions` by a scalar computation."""
    return instruction("reduce", [operand, init], dimensions=tuple(dimensions), to_apply=to_apply)


def scalar_computation(opcode: str, element_type: ElementType) -> Computation:
    """The computation (x, y) -> opcode(x, y) on scalars, for reduce."""
    x, y = (parameter(i, Shape(element_type), n) for i, n in enumerate("xy"))
    return Computation.make(f"{opcode}_{element_type}", [x, y], instruction(opcode, [x, y]))
