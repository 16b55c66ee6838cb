"""Contractions: dot and reduce.

Semantics: DG-1…DG-4, RED-1…RED-4 of the operation semantics. Sums may be taken in any order; the
reference accumulates floats in f64 (dot) or pairwise (reduce).
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.elementwise import BITS, NUMBER, require_kind
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.movement import require_dimensions
from tfc.hlo.op import Attribute, Call, Op, Value, describe, register, require, require_array
from tfc.hlo.shape import AnyShape, Shape, TupleShape

DOT_DIMENSIONS = (
    "lhs_batch_dims",
    "lhs_contracting_dims",
    "rhs_batch_dims",
    "rhs_contracting_dims",
)


def dot_dimensions(attributes: Attributes) -> tuple[tuple[int, ...], ...]:
    """(lhs batch, lhs contracting, rhs batch, rhs contracting); absent ones are empty."""
    return tuple(attributes.get(name, ()) for name in DOT_DIMENSIONS)


def free_dimensions(rank: int, *taken: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that appear in none of `taken`, ascending."""
    used = {d for dimensions in taken for d in dimensions}
    return tuple(d for d in range(rank) if d not in used)


def _infer_dot(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    lhs, rhs = (require_array("dot", s) for s in shapes)
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(a)
    require(
        lhs.element_type == rhs.element_type,
        "dot",
        "operands of one element type",
        describe(shapes),
    )
    require_kind("dot", lhs.element_type, NUMBER | BITS)
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
    # The result may be wider than the operands (a preferred accumulation type): it is then stated.
    result = stated.element_type if isinstance(stated, Shape) else lhs.element_type
    return Shape(result, tuple(dims))


def _evaluate_dot(x: Instruction, values: Sequence[Value], _: Call) -> np.ndarray:
    result = x.array_shape.element_type.dtype
    accumulate = {"float": np.float64, "complex": np.complex128}
    wide = [v.astype(accumulate.get(x.array_shape.element_type.kind, result)) for v in values]
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
        return np.matmul(lhs, rhs).reshape(x.array_shape.dims).astype(result)


def _infer_reduce(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    arrays = [require_array("reduce", s) for s in shapes]
    count = len(arrays) // 2
    require(
        count > 0 and len(arrays) == 2 * count,
        "reduce",
        "as many init values as operands",
        f"{len(arrays)} operands",
    )
    operands, inits, dimensions = arrays[:count], arrays[count:], a["dimensions"]
    require(
        all(o.dims == operands[0].dims for o in operands),
        "reduce",
        "operands of the same dimensions",
        describe(operands),
    )
    for operand, init in zip(operands, inits):
        require(
            init.rank == 0 and init.element_type == operand.element_type,
            "reduce",
            "an init value that is a scalar of its operand's type",
            describe([operand, init]),
        )
    require_dimensions("reduce", dimensions, operands[0].rank, "RED-1")
    _require_reducer(a["to_apply"], inits)
    kept = [d for n, d in enumerate(operands[0].dims) if n not in dimensions]
    results = tuple(Shape(o.element_type, tuple(kept)) for o in operands)
    return results[0] if count == 1 else TupleShape(results)


def _require_reducer(computation, inits: Sequence[Shape]) -> None:
    expected = [*inits, *inits]
    got = [p.shape for p in computation.parameters]
    require(
        len(got) == len(expected) and all(a.is_compatible(b) for a, b in zip(got, expected)),
        "reduce",
        f"to_apply of parameters {describe(expected)}",
        describe(got),
    )
    result = inits[0] if len(inits) == 1 else TupleShape(tuple(inits))
    require(
        computation.root.shape.is_compatible(result),
        "reduce",
        f"to_apply of result {result.without_layout()}",
        computation.root.shape.without_layout(),
    )


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
        result = call(x["to_apply"], [*left, *right])
        parts = result if isinstance(result, tuple) else (result,)
        return [np.broadcast_to(p, np.shape(right[0])) for p in parts]

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
    *(Attribute(name, "ints", required=False, default=() if "batch" in name else None)
      for name in DOT_DIMENSIONS),
    Attribute("operand_precision", "raw", required=False),
    Attribute("algorithm", "name", required=False))))
register(Op("reduce", None, _infer_reduce, _evaluate_reduce,
            (Attribute("dimensions", "ints"), Attribute("to_apply", "computation"))))
# fmt: on
