"""Operators that put elements where others say: segments, scatters, parts by their numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import (
    Attributes,
    Spec,
    UnknownValueError,
    is_known,
    known,
    known_numbers,
    operator,
)
from tfc.graph.operators.slicing import updated
from tfc.graph.types.dtypes import as_dtype, int32
from tfc.graph.types.shapes import TensorShape

_FOLDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Sum": ("add", lambda dtype: 0),
    "Prod": ("multiply", lambda dtype: 1),
    "Max": ("max", lambda dtype: as_dtype(dtype).min),
    "Min": ("min", lambda dtype: as_dtype(dtype).max),
}


def _segments(data: Any, segment_ids: Any, count: int, kind: str, empty: Any = None) -> Any:
    """Fold slices of equal segment into one; a segment of none is `empty`, or neutral."""
    method, neutral = _FOLDS[kind]
    rest = data.shape[segment_ids.ndim :]
    flat = tnp.reshape(data, (-1, *rest))
    ids = tnp.reshape(segment_ids, (-1,))
    # One more slice takes what belongs nowhere: negative numbers, and those beyond the last.
    outside = (ids < 0) | (ids >= np.asarray(count, ids.dtype))
    places = tnp.where(outside, np.asarray(count, ids.dtype), ids)
    start = tnp.full((count + 1, *rest), np.asarray(neutral(data.dtype), data.dtype))
    made = updated(start, places, flat, method)[:count]
    if empty is None:
        return made
    filled = tnp.zeros(count + 1, np.int32)
    number = updated(filled, places, np.int32(1), "add")[:count]
    number = tnp.reshape(number, (count, *(1,) * len(rest)))
    return tnp.where(number > 0, made, np.asarray(empty, data.dtype))


def _unsorted(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    data, ids, count = inputs
    if data.shape.dims is None or ids.shape.dims is None:
        return [(data.dtype, TensorShape(None))]
    rest = data.shape[len(ids.shape.dims) :]
    return [(data.dtype, partial_shape(count).concatenate(rest))]


def _enter_unsorted(kind: str) -> None:
    @operator(
        f"UnsortedSegment{kind}", types="T Tindices Tnumsegments", known=(2,), infer=_unsorted
    )
    def row(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        (count,) = known_numbers(num_segments, "the number of segments")
        return _segments(data, segment_ids, count, kind)


def _sorted(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    data, ids = inputs[0], inputs[1]
    value = ids.known_value()
    count = None if value is None else int(value.max(initial=-1)) + 1
    if data.shape.dims is None:
        return [(data.dtype, TensorShape(None))]
    return [(data.dtype, TensorShape([count, *data.shape.dims[1:]]))]


def _count_of(segment_ids: Any) -> int:
    """How many segments there are: the last number says it."""
    return int(known(segment_ids, "the numbers of segments").max(initial=-1)) + 1


def _enter_sorted(kind: str) -> None:
    @operator(f"Segment{kind}", types="T Tindices", known=(1,), infer=_sorted)
    def row(data: Any, segment_ids: Any) -> Any:
        return _segments(
            data, segment_ids, _count_of(segment_ids), kind, 1 if kind == "Prod" else 0
        )


for _kind in _FOLDS:
    _enter_unsorted(_kind)
    _enter_sorted(_kind)


def _enter_counted(kind: str) -> None:
    @operator(f"Segment{kind}V2", types="T Tindices Tnumsegments", known=(2,), infer=_unsorted)
    def row(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        (count,) = known_numbers(num_segments, "the number of segments")
        return _segments(data, segment_ids, count, kind)


for _kind in _FOLDS:
    _enter_counted(_kind)


@operator("SegmentMean", types="T Tindices", known=(1,), infer=_sorted)
def segment_mean(data: Any, segment_ids: Any) -> Any:
    """The mean of the slices of each segment; 0 of none."""
    return _mean(data, segment_ids, _count_of(segment_ids))


def _mean(data: Any, ids: Any, count: int) -> Any:
    total = _segments(data, ids, count, "Sum")
    number = _segments(tnp.ones(ids.shape, data.dtype), ids, count, "Sum")
    number = tnp.reshape(number, (count, *(1,) * (total.ndim - 1)))
    return total / tnp.where(number == 0, np.ones((), data.dtype), number)


@operator("SparseSegmentSum", types="T Tidx", known=(2,))
def sparse_segment_sum(data: Any, indices: Any, segment_ids: Any) -> Any:
    """The sum of the slices that indices name, by segment."""
    rows = tnp.take(data, indices, axis=0, mode="clip")
    return _segments(rows, segment_ids, _count_of(segment_ids), "Sum")


@operator("SparseSegmentMean", types="T Tidx", known=(2,))
def sparse_segment_mean(data: Any, indices: Any, segment_ids: Any) -> Any:
    """The mean of the slices that indices name, by segment."""
    rows = tnp.take(data, indices, axis=0, mode="clip")
    return _mean(rows, segment_ids, _count_of(segment_ids))


def _scattered(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, partial_shape(inputs[2]))]


def _places(indices: Any) -> tuple[Any, ...]:
    return tuple(indices[..., n] for n in range(indices.shape[-1]))


@operator("ScatterNd", types="Tindices T", known=(2,), infer=_scattered)
def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    """Zeros, to which updates are added at the places that rows of indices name."""
    dims = known_numbers(shape, "the shape of a scatter")
    return updated(tnp.zeros(dims, updates.dtype), _places(indices), updates, "add")


def _enter_update(name: str, method: str) -> None:
    @operator(name, types="T Tindices")
    def row(tensor: Any, indices: Any, updates: Any) -> Any:
        return updated(tensor, _places(indices), updates, method)


for _name, _method in {
    "TensorScatterUpdate": "set",
    "TensorScatterAdd": "add",
    "TensorScatterSub": "subtract",
    "TensorScatterMax": "max",
    "TensorScatterMin": "min",
}.items():
    _enter_update(_name, _method)


def _dense(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[2].dtype, partial_shape(inputs[1]))]


@operator("SparseToDense", types="Tindices Tindices T T", known=(1,), infer=_dense)
def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any
) -> Any:
    """An array of one value throughout, but for some places that have others."""
    dims = known_numbers(output_shape, "the shape of a dense array")
    places = sparse_indices
    if places.ndim < 2:
        places = tnp.reshape(places, (-1, 1))
    values = tnp.broadcast_to(sparse_values, places.shape[:1])
    return updated(tnp.broadcast_to(default_value, dims), _places(places), values, "set")


def _parts(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    data, partitions = inputs
    numbers = range(int(attributes["num_partitions"]))
    if data.shape.dims is None or partitions.shape.dims is None:
        return [(data.dtype, TensorShape(None)) for _ in numbers]
    rest = data.shape.dims[len(partitions.shape.dims) :]
    value = partitions.known_value()
    counts = [None if value is None else int(np.sum(value == n)) for n in numbers]
    return [(data.dtype, TensorShape([count, *rest])) for count in counts]


@operator("DynamicPartition", known=(1,), infer=_parts)
def dynamic_partition(data: Any, partitions: Any, *, num_partitions: int) -> Any:
    """The slices by the part that each belongs to."""
    numbers = known(partitions, "which part each slice belongs to").ravel()
    flat = tnp.reshape(data, (-1, *data.shape[np.ndim(partitions) :]))
    return [flat[np.flatnonzero(numbers == n)] for n in range(num_partitions)]


def _stitched(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    half = len(inputs) // 2
    values = [x.known_value() for x in inputs[:half]]
    data, first = inputs[half], inputs[0]
    count = (
        None
        if any(v is None for v in values)
        else 1 + max(int(v.max(initial=-1)) for v in values if v is not None)
    )
    if data.shape.dims is None or first.shape.dims is None:
        return [(data.dtype, TensorShape(None))]
    return [(data.dtype, TensorShape([count, *data.shape.dims[len(first.shape.dims) :]]))]


@operator("DynamicStitch", "ParallelDynamicStitch", types="", infer=_stitched)
def dynamic_stitch(*inputs: Any) -> Any:
    """The slices of several arrays at the places that go with each; of equal ones the last."""
    half = len(inputs) // 2
    indices = [known(x, "the places of a stitch").ravel() for x in inputs[:half]]
    parts = [
        tnp.reshape(x, (-1, *x.shape[np.ndim(at) :])) for x, at in zip(inputs[half:], inputs[:half])
    ]
    places = np.concatenate(indices)
    count = int(places.max(initial=-1)) + 1
    whole = tnp.asarray(tnp.concatenate(parts))
    source = np.zeros(count, np.int64)
    source[places] = np.arange(len(places))  # the last one of those for a place stays
    made = whole[source]
    missing = np.ones(count, bool)
    missing[places] = False
    if not missing.any():
        return made
    hidden = missing.reshape(-1, *[1] * (made.ndim - 1))
    return tnp.where(hidden, np.zeros((), made.dtype), made)


def _found(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    x = inputs[0]
    numbers = as_dtype(attributes.get("out_idx", int32))
    made = [(x.dtype, TensorShape([None])), (numbers, x.shape)]
    return made


def _distinct(x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct elements as they come, where each element's is, how often each occurs."""
    values, first, place, counts = np.unique(
        known(x, "elements of which the distinct ones are asked for"),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return values[order], rank[place.ravel()], counts[order]


@operator("Unique", on_host=True, infer=_found)
def unique(x: Any, out_idx: Any = np.int32) -> Any:
    """(the distinct elements as they come, where each element's is)."""
    values, place, _ = _distinct(x)
    return values, place.astype(as_dtype(out_idx).dtype)


def _counted(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    values, places = _found(inputs, attributes)
    return [values, places, (places[0], TensorShape([None]))]


@operator("UniqueWithCounts", on_host=True, infer=_counted)
def unique_with_counts(x: Any, out_idx: Any = np.int32) -> Any:
    """(the distinct elements as they come, where each element's is, how often they occur)."""
    values, place, counts = _distinct(x)
    numbers = as_dtype(out_idx).dtype
    return values, place.astype(numbers), counts.astype(numbers)


def _without(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    numbers = as_dtype(attributes.get("out_idx", int32))
    return [(inputs[0].dtype, TensorShape([None])), (numbers, TensorShape([None]))]


@operator("ListDiff", on_host=True, infer=_without)
def list_difference(x: Any, y: Any, out_idx: Any = np.int32) -> Any:
    """(the elements of x that y has not, their places in x)."""
    if not is_known(x, y):
        raise UnknownValueError("setdiff1d gives as many elements as its values say")
    places = np.flatnonzero(~np.isin(x, y))
    return x[places], places.astype(as_dtype(out_idx).dtype)
