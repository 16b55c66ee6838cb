"""What is known of a shape that the graph computes: `[tf.shape(x)[0], 10]` is (?, 10).

It acts on graph tensors, as `infer` functions do: `op`, `shape`, `known_value()`.
"""

from typing import Any

from tfc.graph.types.shapes import TensorShape

Dims = list[int | None]


def partial_shape(tensor: Any) -> TensorShape:
    """The shape that the value of an integer tensor is, as far as it is known.

    Its rank is known where the tensor's own length is; numbers below 0 are unknown dimensions.
    """
    dims = partial_values(tensor)
    if dims is None:
        return TensorShape(None)
    return TensorShape(None if n is None or n < 0 else n for n in dims)


def partial_values(tensor: Any) -> Dims | None:
    """The elements of a scalar or vector, None for the unknown; None if it has no known length."""
    value = tensor.known_value()
    if value is not None:
        return [int(n) for n in value.ravel()]
    rule = _RULES.get(tensor.op.type)
    found = rule(tensor.op) if rule is not None else None
    if found is not None:
        return found
    count = tensor.shape.num_elements()
    return None if count is None else [None] * count


def _of_shape(op: Any) -> Dims | None:
    return None if op.inputs[0].shape.dims is None else list(op.inputs[0].shape.dims)


def _of_pack(op: Any) -> Dims | None:
    return _joined(op.inputs) if all(x.shape.dims == () for x in op.inputs) else None


def _of_concat(op: Any) -> Dims | None:
    return _joined(op.inputs[:-1])


def _joined(parts: Any) -> Dims | None:
    made: Dims = []
    for part in parts:
        dims = partial_values(part)
        if dims is None:
            return None
        made += dims
    return made


def _of_same(op: Any) -> Dims | None:
    return partial_values(op.inputs[0])


def _of_slice(op: Any) -> Dims | None:
    """x[i], x[i:j] of a vector."""
    whole = partial_values(op.inputs[0])
    bounds = [x.known_value() for x in op.inputs[1:]]
    masks = [op.attributes.get(f"{n}_mask", 0) for n in ("ellipsis", "new_axis")]
    if whole is None or any(b is None or b.size != 1 for b in bounds) or any(masks):
        return None
    begin, end, stride = (int(b.ravel()[0]) for b in bounds)
    if op.attributes.get("shrink_axis_mask", 0):
        return [whole[begin]] if -len(whole) <= begin < len(whole) else None
    first = None if op.attributes.get("begin_mask", 0) else begin
    last = None if op.attributes.get("end_mask", 0) else end
    return whole[first:last:stride]


_RULES = {
    "Shape": _of_shape,
    "Pack": _of_pack,
    "ConcatV2": _of_concat,
    "Identity": _of_same,
    "Cast": _of_same,
    "StridedSlice": _of_slice,
}
