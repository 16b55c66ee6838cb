"""Functions that put elements where others say: segments, scatters, parts; and count them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import (
    cast,
    clip_by_value,
    multiply,
    negative,
    realdiv,
    subtract,
)
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.functions.cross_entropy import top_k
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, int32


def _segment(type: str) -> Callable[..., Tensor]:
    def function(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        return result(type, data, segment_ids, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type}: segments' numbers are known and do not fall."
    return function


segment_sum, segment_prod = _segment("SegmentSum"), _segment("SegmentProd")
segment_max, segment_min = _segment("SegmentMax"), _segment("SegmentMin")
segment_mean = _segment("SegmentMean")


def _unsorted(type: str) -> Callable[..., Tensor]:
    def function(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        return result(type, data, segment_ids, num_segments, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} of so many segments, in any order."
    return function


unsorted_segment_sum = _unsorted("UnsortedSegmentSum")
unsorted_segment_prod = _unsorted("UnsortedSegmentProd")
unsorted_segment_max = _unsorted("UnsortedSegmentMax")
unsorted_segment_min = _unsorted("UnsortedSegmentMin")


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The mean of the slices of each segment; 0 of none."""
    with get_default_graph().name_scope(name or "UnsortedSegmentMean"):
        x, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        total = unsorted_segment_sum(x, ids, num_segments)
        ones = result("Cast", result("OnesLike", ids), DstT=x.dtype)
        count = unsorted_segment_sum(ones, ids, num_segments)
        count = result("Maximum", count, convert_to_tensor(1, x.dtype))
        rank = (x.shape.ndims or 0) - (ids.shape.ndims or 0)
        shaped = result("Reshape", count, np.asarray([-1, *[1] * rank], np.int32))
        return realdiv(total, shaped)


def sparse_segment_sum(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None
) -> Tensor:
    """The sum of the slices that indices name, by segment."""
    return result("SparseSegmentSum", data, indices, segment_ids, name=name)


def sparse_segment_mean(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None
) -> Tensor:
    """The mean of the slices that indices name, by segment."""
    return result("SparseSegmentMean", data, indices, segment_ids, name=name)


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros, to which updates are added at the places that rows of indices name."""
    return result("ScatterNd", indices, updates, shape_tensor(shape), name=name)


def _scatter(type: str) -> Callable[..., Tensor]:
    def function(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        tensor, updates = alike(tensor, updates)
        return result(type, tensor, indices, updates, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} at the places that rows of indices name."
    return function


tensor_scatter_update = _scatter("TensorScatterUpdate")
tensor_scatter_add = _scatter("TensorScatterAdd")
tensor_scatter_sub = _scatter("TensorScatterSub")


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The slices by the part that each belongs to."""
    inputs = [data, partitions]
    made = operation("DynamicPartition", inputs, name, num_partitions=num_partitions)
    return list(made.outputs)


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """The slices of several tensors at the places that go with each."""
    parts = alike(*data)
    more = {"N": len(parts), "T": parts[0].dtype}
    return result("DynamicStitch", *indices, *parts, name=name, **more)


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(the distinct elements as they come, where each element's is): never compiled."""
    made = operation("Unique", [x], name, out_idx=as_dtype(out_idx)).outputs
    return made[0], made[1]


def unique_with_counts(
    x: Any, out_idx: Any = int32, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """`unique`, and how often each element occurs: never compiled."""
    made = operation("UniqueWithCounts", [x], name, out_idx=as_dtype(out_idx)).outputs
    return made[0], made[1], made[2]


def setdiff1d(
    x: Any, y: Any, index_dtype: Any = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(the elements of x that y has not, their places in x): never compiled."""
    x, y = alike(x, y)
    made = operation("ListDiff", [x, y], name, out_idx=as_dtype(index_dtype)).outputs
    return made[0], made[1]


listdiff = setdiff1d


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: int | None = None,
    maxlength: int | None = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """How often each number occurs, or the sums of their weights.

    Raises:
        ValueError: how many numbers there are follows from values that are not known.
    """
    with get_default_graph().name_scope(name or "bincount"):
        x = convert_to_tensor(arr, name="arr")
        value = x.known_value()
        if value is None and (minlength is None or maxlength != minlength):
            raise ShapeError("bincount of what is computed needs minlength and an equal maxlength")
        size = 0 if value is None else int(value.max(initial=-1)) + 1
        size = max(size, minlength or 0)
        size = size if maxlength is None else min(size, maxlength)
        empty = np.zeros(0, as_dtype(dtype).dtype)
        given = convert_to_tensor(empty if weights is None else weights)
        return result("Bincount", x, np.int32(size), given)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Which of so many bins of equal width each value is in; beyond the range the outermost."""
    with get_default_graph().name_scope(name or "get_bins"):
        x = convert_to_tensor(values, name="values")
        low, high = (convert_to_tensor(v, x.dtype) for v in list(value_range))
        share = realdiv(subtract(x, low), subtract(high, low))
        bins = result("Floor", multiply(share, convert_to_tensor(float(nbins), x.dtype)))
        return cast(clip_by_value(bins, 0.0, float(nbins) - 1), dtype)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """How many values fall into each of so many bins of equal width."""
    with get_default_graph().name_scope(name or "histogram_fixed_width") as scope:
        bins = histogram_fixed_width_bins(values, value_range, nbins)
        flat = result("Reshape", bins, np.asarray([-1], np.int32))
        ones = result("Cast", result("OnesLike", flat), DstT=as_dtype(dtype))
        return unsorted_segment_sum(ones, flat, int(nbins), name=scope)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: int | None = None,
    dtype: Any = int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """How often each class, a row each, was predicted to be each class, a column each.

    Raises:
        ValueError: the number of classes is neither stated nor known.
    """
    with get_default_graph().name_scope(name or "confusion_matrix"):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        if num_classes is None:
            known = [x.known_value() for x in (labels, predictions)]
            if any(value is None for value in known):
                raise ShapeError("confusion_matrix of what is computed needs num_classes")
            num_classes = 1 + max(int(v.max(initial=-1)) for v in known if v is not None)
        places = result("Pack", *(cast(x, int32) for x in (labels, predictions)), axis=1, N=2)
        if weights is None:
            count = result("Cast", result("OnesLike", labels), DstT=as_dtype(dtype))
        else:
            count = cast(weights, dtype)
        return scatter_nd(places, count, [num_classes, num_classes])


def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The elements in order along the last axis.

    Raises:
        ValueError: along another axis, or in an unknown direction.
    """
    return _ordered(values, axis, direction, name)[0]


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Where the elements in order are along the last axis; equal ones as they come."""
    return _ordered(values, axis, direction, name)[1]


def _ordered(values: Any, axis: int, direction: str, name: str | None) -> tuple[Tensor, Tensor]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ShapeError(f"direction is ASCENDING or DESCENDING, got {direction!r}")
    with get_default_graph().name_scope(name or "sort"):
        x = convert_to_tensor(values)
        rank = x.shape.ndims
        if rank is None or x.shape.dims is None or axis not in (-1, rank - 1):
            raise ShapeError("sort goes along the last axis of a tensor of known rank")
        size = x.shape.dims[-1]
        if size is None:
            raise ShapeError(f"sort needs a last dimension that is known, got {x.shape}")
        if direction == "DESCENDING":
            return top_k(x, size)
        turned = negative(x) if not x.dtype.is_unsigned else result("Invert", x)
        found, places = top_k(turned, size)
        back = negative(found) if not x.dtype.is_unsigned else result("Invert", found)
        return back, places
