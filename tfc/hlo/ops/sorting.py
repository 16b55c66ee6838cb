"""Sort and topk: elements along one dimension put in an order.

Semantics: section 1.40 of the operation semantics, which says no more than "sorts the elements";
for the rest XLA's. A sort is always stable here, `is_stable` or not. Its comparator takes
(left, right) of each operand in turn and says whether the left elements come before the right ones;
one that contradicts itself leaves the elements in any order, but loses none. topk orders floats by
their sign and magnitude bits (IEEE 754's totalOrder: -NaN < -inf … -0 < +0 … inf < NaN); of equal
elements the one of lower index comes first.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import Attribute, Call, Op, Value, describe, register, require, require_array
from tfc.hlo.ops.elementwise.families import ORDERED, require_kind
from tfc.hlo.shape import PRED, S32, AnyShape, Shape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray


def _infer_sort(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    arrays = [require_array("sort", s) for s in shapes]
    require(bool(arrays), "sort", "at least one operand", 0)
    rank, dimensions = arrays[0].rank, a["dimensions"]
    require(
        len(dimensions) == 1 and 0 <= dimensions[0] < rank,
        "sort",
        f"one dimension within 0..{rank - 1}",
        list(dimensions),
    )
    require(
        all(s.dims == arrays[0].dims for s in arrays),
        "sort",
        "operands of the same dimensions",
        describe(arrays),
    )
    _require_comparator(a["to_apply"], arrays)
    return arrays[0] if len(arrays) == 1 else TupleShape(tuple(arrays))


def _require_comparator(computation: Computation, operands: Sequence[Shape]) -> None:
    expected = [Shape(o.element_type) for o in operands for _side in range(2)]
    got = [p.shape for p in computation.parameters]
    require(
        len(got) == len(expected) and all(g.is_compatible(e) for g, e in zip(got, expected)),
        "sort",
        f"to_apply of parameters {describe(expected)}",
        describe(got),
    )
    root = computation.root.shape
    require(root.is_compatible(Shape(PRED)), "sort", "to_apply of result pred[]", root)


def _evaluate_sort(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    (dimension,) = x["dimensions"]
    keys = [np.moveaxis(v, dimension, -1) for v in values]

    def less(left: Array, right: Array) -> Array:
        sides = [np.take_along_axis(k, i, -1) for k in keys for i in (left, right)]
        return np.broadcast_to(call(x["to_apply"], sides), left.shape)

    order = _merge_sort(keys[0].shape, less)
    results = [np.moveaxis(np.take_along_axis(k, order, -1), -1, dimension) for k in keys]
    return tuple(results) if len(results) > 1 else results[0]


def _merge_sort(dims: tuple[int, ...], less) -> Array:
    """The indices along the last dimension in stable order, by merging runs of 1, 2, 4 ….

    All runs of a length merge at once: an element's place is its place in its own run and, by
    binary search, the number of elements before it in the other run.
    """
    count = dims[-1]
    order = np.broadcast_to(np.arange(count), dims)
    place = np.arange(count)
    width = 1
    while width < count and order.size:
        first = place // (2 * width) * (2 * width)
        middle = np.minimum(first + width, count)
        is_left = np.broadcast_to(place < middle, dims)
        low = np.where(is_left, middle, first)
        high = np.where(is_left, np.minimum(middle + width, count), middle)
        for _ in range(width.bit_length()):
            probe = (low + high) // 2
            other = np.take_along_axis(order, np.minimum(probe, count - 1), -1)
            comes_before = less(np.where(is_left, other, order), np.where(is_left, order, other))
            further = (low < high) & (comes_before == is_left)  # of equals the left run's is first
            low, high = np.where(further, probe + 1, low), np.where(further, high, probe)
        # Sorting the places keeps every element even if a comparator gives two the same place.
        places = np.argsort(place + low - middle, axis=-1, kind="stable")
        order = np.take_along_axis(order, places, -1)
        width *= 2
    return order


def _infer_topk(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    operand = require_array("topk", shapes[0])
    require(operand.rank > 0, "topk", "an operand of rank 1 or more", operand)
    require_kind("topk", operand.element_type, ORDERED)
    limit = operand.dims[-1]
    require(0 <= a["k"] <= limit, "topk", f"a k within 0..{limit}", a["k"])
    dims = (*operand.dims[:-1], a["k"])
    return TupleShape((Shape(operand.element_type, dims), Shape(S32, dims)))


def _evaluate_topk(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    operand = values[0]
    keys = operand
    if x.operands[0].array_shape.element_type.is_float:
        bits = operand.view(f"i{operand.dtype.itemsize}")
        keys = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
    ranks = np.unique(keys, return_inverse=True)[1].reshape(operand.shape)  # have negatives
    order = np.argsort(-ranks if x["largest"] else ranks, axis=-1, kind="stable")[..., : x["k"]]
    return np.take_along_axis(operand, order, -1), order.astype(np.int32)


# fmt: off
_STABLE = Attribute("is_stable", "bool", required=False, default=False)
register(Op("sort", None, _infer_sort, _evaluate_sort,
            (Attribute("dimensions", "ints"), _STABLE, Attribute("to_apply", "computation")),
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.BITS,
            aligned=1, any_order=True))
register(Op("topk", 1, _infer_topk, _evaluate_topk,
            (Attribute("k", "int"), Attribute("largest", "bool", default=True),
             _STABLE), domain=ORDERED,
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.BITS))
# fmt: on
