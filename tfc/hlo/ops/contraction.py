"""Contractions: dot and reduce.

Semantics: DG-1…DG-4, RED-1…RED-4 of the operation semantics. Sums may be taken in any order; the
reference accumulates floats in f64 (dot) or pairwise (reduce).
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.evaluation.complex_values import bilinear
from tfc.hlo.evaluation.scalar_computations import apply_to_elements
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
    require_computation,
)
from tfc.hlo.ops.movement import require_dimensions
from tfc.hlo.ops.sum_types import as_exact, sum_type
from tfc.hlo.shape import AnyShape, Shape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost

DOT_DIMENSIONS = (
    "lhs_batch_dims",
    "lhs_contracting_dims",
    "rhs_batch_dims",
    "rhs_contracting_dims",
)


def dot_dimensions(attributes: Attributes) -> tuple[tuple[int, ...], ...]:
    """(lhs batch, lhs contracting, rhs batch, rhs contracting); absent ones are empty."""
    return tuple([attributes.get(name, ()) for name in DOT_DIMENSIONS])


def free_dimensions(rank: int, *taken: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that appear in none of `taken`, ascending."""
    used = {d for dimensions in taken for d in dimensions}
    return tuple([d for d in range(rank) if d not in used])


def _infer_dot(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    lhs, rhs = (require_array("dot", s) for s in shapes)
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(a)
    result = sum_type("dot", [lhs, rhs], a, stated)
    require_dimensions("dot", (*lhs_batch, *lhs_contracting), lhs.rank, "DG-1")
    require_dimensions("dot", (*rhs_batch, *rhs_contracting), rhs.rank, "DG-1")
    for kind, left, right, rule in (
        ("contracting", lhs_contracting, rhs_contracting, "DG-1"),
        ("batch", lhs_batch, rhs_batch, "DG-2"),
    ):
        sizes = [lhs.dims[d] for d in left], [rhs.dims[d] for d in right]
        require(
            sizes[0] == sizes[1],
            "dot",
            f"{kind} dimensions of equal sizes",
            f"{sizes[0]} and {sizes[1]}",
            rule,
        )
    dims = [lhs.dims[d] for d in lhs_batch]
    dims += [lhs.dims[d] for d in free_dimensions(lhs.rank, lhs_batch, lhs_contracting)]
    dims += [rhs.dims[d] for d in free_dimensions(rhs.rank, rhs_batch, rhs_contracting)]
    return Shape(result, tuple(dims))


def matrix_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x @ y of real or complex numbers, where zero times infinity or NaN is NaN."""
    # The library behind NumPy's product leaves out columns that have a factor of zero.
    finite = np.isfinite(x).all() and np.isfinite(y).all()
    return bilinear(np.matmul if finite else _plain_product, x, y)


def _plain_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.einsum("...ik,...kj->...ij", x, y)


def _evaluate_dot(x: Instruction, values: Sequence[Value], _: Call) -> np.ndarray:
    result = x.array_shape.element_type
    wide = as_exact(values, result)
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(x.attributes)
    lhs_free = free_dimensions(wide[0].ndim, lhs_batch, lhs_contracting)
    rhs_free = free_dimensions(wide[1].ndim, rhs_batch, rhs_contracting)
    batch = [wide[0].shape[d] for d in lhs_batch]
    k = int(np.prod([wide[0].shape[d] for d in lhs_contracting], dtype=int))
    rows = int(np.prod([wide[0].shape[d] for d in lhs_free], dtype=int))
    columns = int(np.prod([wide[1].shape[d] for d in rhs_free], dtype=int))
    lhs = wide[0].transpose(lhs_batch + lhs_free + lhs_contracting).reshape([*batch, rows, k])
    rhs = wide[1].transpose(rhs_batch + rhs_contracting + rhs_free).reshape([*batch, k, columns])
    with np.errstate(all="ignore"):
        return matrix_product(lhs, rhs).reshape(x.array_shape.dims).astype(result.dtype)


def reduced_operands(op: str, shapes: Sequence[AnyShape]) -> tuple[list[Shape], list[Shape]]:
    """(operands, init values) of a reduction, which has one scalar of each operand's type.

    Raises:
        ShapeError: it has not, or the operands differ in dimensions.
    """
    arrays = [require_array(op, s) for s in shapes]
    count = len(arrays) // 2
    require(
        count > 0 and len(arrays) == 2 * count,
        op,
        "as many init values as operands",
        f"{len(arrays)} operands",
    )
    operands, inits = arrays[:count], arrays[count:]
    require(
        all(o.dims == operands[0].dims for o in operands),
        op,
        "operands of the same dimensions",
        describe(operands),
    )
    for operand, init in zip(operands, inits):
        require(
            init.rank == 0 and init.element_type == operand.element_type,
            op,
            "an init value that is a scalar of its operand's type",
            describe([operand, init]),
        )
    return operands, inits


def one_or_tuple(shapes: Sequence[Shape]) -> AnyShape:
    """The shape itself if there is one, else their tuple."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def _infer_reduce(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    operands, inits = reduced_operands("reduce", shapes)
    require_dimensions("reduce", a["dimensions"], operands[0].rank, "RED-1")
    require_computation("reduce", "to_apply", a["to_apply"], [*inits, *inits], one_or_tuple(inits))
    kept = [d for n, d in enumerate(operands[0].dims) if n not in a["dimensions"]]
    return one_or_tuple([Shape(o.element_type, tuple(kept)) for o in operands])


def _evaluate_reduce(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    count = len(values) // 2
    kept = free_dimensions(values[0].ndim, x["dimensions"])
    dims = [values[0].shape[d] for d in kept]
    rows = [
        v.transpose((*x["dimensions"], *kept)).reshape([-1, *dims])
        if v.size
        else np.empty([0, *dims], v.dtype)
        for v in values[:count]
    ]

    def combine(left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return apply_to_elements(x["to_apply"], [*left, *right], call)

    # Pairwise: any order is allowed (RED-3), and this one keeps float sums accurate. Only the
    # scalar computation's own ops are applied, over whole arrays at once.
    while rows[0].shape[0] > 1:
        half = rows[0].shape[0] // 2
        folded = combine([r[:half] for r in rows], [r[half : 2 * half] for r in rows])
        rows = [np.concatenate([f, r[2 * half :]]) for f, r in zip(folded, rows)]
    inits = values[count:]
    if rows[0].shape[0] == 0:
        results = [np.broadcast_to(i, dims).copy() for i in inits]
    else:
        results = combine(inits, [r[0] for r in rows])
    return results[0] if count == 1 else tuple(results)


# fmt: off
register(Op("dot", 2, _infer_dot, _evaluate_dot, (
    # XLA prints contracting dimensions even if there are none, and batch dimensions if there are.
    *(Attribute(name, "ints", required="batch" not in name, default=()) for name in DOT_DIMENSIONS),
    Attribute("operand_precision", "precisions", required=False),
    Attribute("algorithm", "name", required=False)),
            category=Category.PRODUCT, cost=Cost.OWN, accuracy=Accuracy.SUMMED, any_order=True))
register(Op("reduce", None, _infer_reduce, _evaluate_reduce,
            (Attribute("dimensions", "ints"), Attribute("to_apply", "computation")),
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.SUMMED, any_order=True))
# fmt: on
