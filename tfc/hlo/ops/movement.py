"""Data movement: each result element is a copy of an operand element, found by an index map.

Semantics: BRD-1…2, BC-3…5, RS-1…4, TR-1, SL-1, CON-1…4, PAD-1…4 of the operation semantics, and
iota, which has no operand. Emission, fusion and the test that an index map gathers exactly what the
evaluator moves all read `index_map`; `evaluate` is independent of it.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.index_maps import Condition, Index, Piece, constant, delinearize, linearize
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    movement,
    register,
    require,
    require_array,
    require_stated,
)
from tfc.hlo.shape import AnyShape, Shape
from tfc.hlo.traits import EVERY, Accuracy, Category, Cost

Array = np.ndarray
Indices = Sequence[Index]
DIMENSIONS = Attribute("dimensions", "ints")


def require_dimensions(op: str, dimensions: Sequence[int], rank: int, rule: str = "") -> None:
    """Check that each dimension number exists and none is repeated.

    Raises:
        ShapeError: one does not, or is.
    """
    if len(set(dimensions)) < len(dimensions) or not all(0 <= d < rank for d in dimensions):
        require(False, op, f"distinct dimensions within 0..{rank - 1}", list(dimensions), rule)


def _infer_broadcast(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    operand, result = require_array("broadcast", shapes[0]), require_stated("broadcast", stated)
    dimensions = a.get("dimensions", ())
    if len(dimensions) != operand.rank:
        wanted = f"one dimension number for each of the operand's {operand.rank}"
        require(False, "broadcast", wanted, list(dimensions), "BC-3")
    require_dimensions("broadcast", dimensions, result.rank, "BC-3")
    if operand.dims != tuple([result.dims[d] for d in dimensions]):
        got = f"{describe([operand, result])} with dimensions {list(dimensions)}"
        require(False, "broadcast", "matched dimensions of equal size", got, "BC-4")
    return result.with_element_type(operand.element_type)


def _evaluate_broadcast(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    dims, dimensions = x.array_shape.dims, x.attributes.get("dimensions", ())
    placed = values[0].transpose(np.argsort(dimensions)) if dimensions else values[0]
    spread = [dims[d] if d in dimensions else 1 for d in range(len(dims))]
    return np.broadcast_to(placed.reshape(spread), dims)


def _index_broadcast(x: Instruction, index: Indices) -> list[Piece]:
    return [Piece(0, tuple(index[d] for d in x.attributes.get("dimensions", ())))]


def _infer_reshape(shapes: Sequence[AnyShape], _: Attributes, stated: AnyShape | None) -> Shape:
    operand, result = require_array("reshape", shapes[0]), require_stated("reshape", stated)
    require(
        operand.size == result.size,
        "reshape",
        "a result with as many elements as the operand",
        describe([operand, result]),
        "RS-2",
    )
    return result.with_element_type(operand.element_type)


def _evaluate_reshape(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    return values[0].reshape(x.array_shape.dims)


def common_factors(a: Sequence[int], b: Sequence[int]) -> list[tuple[slice, slice]]:
    """Split two dimension lists of equal product into runs of equal product, as short as can be.

    [2,3,4] and [6,4] give the runs [2,3]~[6] and [4]~[4]: dimensions that a reshape leaves alone
    stay separate. Lists with a zero size are one run.
    """
    if 0 in a or 0 in b:
        return [(slice(0, len(a)), slice(0, len(b)))]
    runs, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        start_i, start_j, left, right = i, j, 1, 1
        while left != right or (i == start_i and j == start_j):
            if left <= right and i < len(a):
                left, i = left * a[i], i + 1
            elif j < len(b):
                right, j = right * b[j], j + 1
            else:
                left, i = left * a[i], i + 1
        runs.append((slice(start_i, i), slice(start_j, j)))
    return runs


def _index_reshape(x: Instruction, index: Indices) -> list[Piece]:
    source, result = x.operands[0].array_shape.dims, x.array_shape.dims
    moved: list[Index] = []
    for mine, theirs in common_factors(source, result):
        position = linearize(index[theirs], result[theirs])
        moved.extend(delinearize(position, source[mine]))
    return [Piece(0, tuple(moved))]


def _infer_transpose(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operand, permutation = require_array("transpose", shapes[0]), a["dimensions"]
    require(
        sorted(permutation) == list(range(operand.rank)),
        "transpose",
        f"permutation to be a rearrangement of 0..{operand.rank - 1}",
        list(permutation),
        "TR-1",
    )
    return Shape(operand.element_type, tuple(operand.dims[p] for p in permutation))


def _evaluate_transpose(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    return values[0].transpose(x["dimensions"])


def _index_transpose(x: Instruction, index: Indices) -> list[Piece]:
    moved = [constant(0)] * len(index)
    for i, p in zip(index, x["dimensions"]):
        moved[p] = i
    return [Piece(0, tuple(moved))]


def _infer_reverse(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operand = require_array("reverse", shapes[0])
    require_dimensions("reverse", a["dimensions"], operand.rank)
    return operand


def _evaluate_reverse(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    return np.flip(values[0], x["dimensions"])


def _index_reverse(x: Instruction, index: Indices) -> list[Piece]:
    dims = x.array_shape.dims
    moved = [dims[d] - 1 - i if d in x["dimensions"] else i for d, i in enumerate(index)]
    return [Piece(0, tuple(moved))]


def _infer_slice(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operand, bounds = require_array("slice", shapes[0]), a["slice"]
    require(len(bounds) == operand.rank, "slice", f"{operand.rank} intervals", len(bounds), "SL-1")
    for (start, limit, stride), size in zip(bounds, operand.dims):
        require(
            0 <= start <= limit <= size and stride > 0,
            "slice",
            f"0 <= start <= limit <= {size} and a positive stride",
            f"[{start}:{limit}:{stride}]",
            "SL-1",
        )
    sizes = tuple(-(-(limit - start) // stride) for start, limit, stride in bounds)
    return Shape(operand.element_type, sizes)


def _evaluate_slice(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    return values[0][tuple(slice(*bounds) for bounds in x["slice"])]


def _index_slice(x: Instruction, index: Indices) -> list[Piece]:
    return [Piece(0, tuple(i * s + start for i, (start, _, s) in zip(index, x["slice"])))]


def _infer_concatenate(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    arrays = [require_array("concatenate", s) for s in shapes]
    require(bool(arrays), "concatenate", "at least one operand", 0, "CON-1")
    require(len(a["dimensions"]) == 1, "concatenate", "one dimension", list(a["dimensions"]))
    first, (dimension,) = arrays[0], a["dimensions"]
    require(first.rank > 0, "concatenate", "operands of rank 1 or more", first, "CON-3")
    require_dimensions("concatenate", (dimension,), first.rank)
    for other in arrays[1:]:
        rest = [d for d in range(first.rank) if d != dimension]
        require(
            other.element_type == first.element_type
            and other.rank == first.rank
            and all(other.dims[d] == first.dims[d] for d in rest),
            "concatenate",
            f"operands that agree in type and all dimensions but {dimension}",
            describe([first, other]),
            "CON-2",
        )
    dims = list(first.dims)
    dims[dimension] = sum(s.dims[dimension] for s in arrays)
    return Shape(first.element_type, tuple(dims))


def _evaluate_concatenate(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    return np.concatenate(values, axis=x["dimensions"][0])


def _index_concatenate(x: Instruction, index: Indices) -> list[Piece]:
    pieces, start, (dimension,) = [], 0, x["dimensions"]
    low, high = index[dimension].low, index[dimension].high
    for number, operand in enumerate(x.operands):
        end = start + operand.array_shape.dims[dimension]
        if max(start, low) < min(end, high + 1):
            # Within its range the index is known to be that narrow, which simplifies what follows.
            moved = list(index)
            moved[dimension] = index[dimension] - start
            pieces.append(Piece(number, tuple(moved), (Condition(index[dimension], start, end),)))
        start = end
    return pieces or [Piece(0, tuple(index))]


def _infer_pad(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operand, value = (require_array("pad", s) for s in shapes)
    require(
        value.rank == 0 and value.element_type == operand.element_type,
        "pad",
        "a padding value that is a scalar of the operand's type",
        describe(shapes),
    )
    require(len(a["padding"]) == operand.rank, "pad", f"{operand.rank} paddings", len(a["padding"]))
    require(
        all(interior >= 0 for _, _, interior in a["padding"]),
        "pad",
        "interior paddings that are not negative",
        a["padding"],
        "PAD-4",
    )
    dims = tuple(
        n + max(n - 1, 0) * interior + low + high
        for n, (low, high, interior) in zip(operand.dims, a["padding"])
    )
    require(all(d >= 0 for d in dims), "pad", "a result of no negative size", list(dims), "PAD-1")
    return Shape(operand.element_type, dims)


def _evaluate_pad(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    operand, value = values
    result = np.full(x.array_shape.dims, value, operand.dtype)
    taken, written = [], []
    for n, size, (low, _high, interior) in zip(operand.shape, result.shape, x["padding"]):
        # Operand element k goes to low + k * step; those that fall outside are left out.
        step = interior + 1
        first = max(-(low // step), 0)
        last = min((size - 1 - low) // step, n - 1)
        count = max(last + 1 - first, 0)
        taken.append(slice(first, first + count))
        start = low + first * step
        written.append(slice(start, start + count * step, step) if count else slice(0, 0))
    result[tuple(written)] = operand[tuple(taken)]
    return result


def _index_pad(x: Instruction, index: Indices) -> list[Piece]:
    moved, conditions = [], []
    for i, n, (low, _, interior) in zip(index, x.operands[0].array_shape.dims, x["padding"]):
        inside = i - low
        conditions.append(Condition(inside, 0, max(n + (n - 1) * interior, 0)))
        if interior:
            conditions.append(Condition(inside % (interior + 1), 0, 1))
        moved.append(inside // (interior + 1))
    return [Piece(0, tuple(moved), tuple(conditions)), Piece(1, ())]


def _infer_copy(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    return shapes[0]


def _evaluate_copy(_: Instruction, values: Sequence[Value], __: Call) -> Value:
    return values[0]


def _index_copy(_: Instruction, index: Indices) -> list[Piece]:
    return [Piece(0, tuple(index))]


def _infer_iota(_: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    result = require_stated("iota", stated)
    require_dimensions("iota", (a["iota_dimension"],), result.rank)
    require(result.element_type.kind != "pred", "iota", "a numeric element type", result)
    return result


def _evaluate_iota(x: Instruction, _: Sequence[Value], __: Call) -> Array:
    shape, dimension = x.array_shape, x["iota_dimension"]
    along = [1] * shape.rank
    along[dimension] = shape.dims[dimension]
    count = np.arange(shape.dims[dimension]).astype(shape.element_type.dtype)
    return np.broadcast_to(count.reshape(along), shape.dims)


PADDING = Attribute("padding", "padding")
# fmt: off
movement("broadcast", 1, _infer_broadcast, _evaluate_broadcast, _index_broadcast,
         (Attribute("dimensions", "ints", default=()),), needs_shape=True, moved=1)
movement("reshape", 1, _infer_reshape, _evaluate_reshape, _index_reshape, needs_shape=True, moved=1)
movement("transpose", 1, _infer_transpose, _evaluate_transpose, _index_transpose, (DIMENSIONS,),
         moved=1)
movement("reverse", 1, _infer_reverse, _evaluate_reverse, _index_reverse, (DIMENSIONS,),
         moved=1, aligned=1)
movement("slice", 1, _infer_slice, _evaluate_slice, _index_slice, (Attribute("slice", "slice"),),
         moved=1, aligned=1)
movement("concatenate", None, _infer_concatenate, _evaluate_concatenate, _index_concatenate,
         (DIMENSIONS,), moved=EVERY, aligned=EVERY)
movement("pad", 2, _infer_pad, _evaluate_pad, _index_pad, (PADDING,), moved=2, aligned=1)
movement("copy", 1, _infer_copy, _evaluate_copy, _index_copy, category=Category.COPY,
         moved=1, aligned=1)
register(Op("iota", 0, _infer_iota, _evaluate_iota, (Attribute("iota_dimension", "int"),),
            needs_shape=True, category=Category.MOVEMENT, cost=Cost.MOVE, accuracy=Accuracy.BITS,
            any_order=True))
# fmt: on
