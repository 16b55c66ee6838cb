"""Samples of operators on shapes, places and axes."""

from collections.abc import Iterator

import numpy as np
from operator_samples import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    MOVED,
    NUMBERS,
    Known,
    Sample,
    edges,
    known,
    of,
    some,
)


def shaping() -> Iterator[Sample]:
    for dtype in MOVED:
        x = some((2, 3, 4), dtype)
        yield of("Reshape", x, known([4, -1]))
        yield of("Transpose", x, known([2, 0, 1]))
        yield of("ExpandDims", x, known(-2))
        yield of("Squeeze", some((1, 3, 1), dtype))
        yield of("Tile", x[:, :, 0], known([2, 3]))
        yield of("BroadcastTo", x[:, :1], known([2, 2, 3, 4]))
        yield of("Fill", known([2, 3]), some((), dtype))
        yield of("ReverseV2", x, known([0, -1]))
        yield of("Reverse", x, known([True, False, True], "?"))
        yield of("Roll", x, np.array([1, -5], np.int32), known([0, 2]))
    yield of("ConjugateTranspose", some((2, 3), "c"), known([1, 0]))
    x = some((2, 1, 3, 1), "f")
    yield of("Reshape", x, known([3, 2], "i8"))
    yield of("Reshape", some((0, 3), "f"), known([-1, 3]))
    yield of("Reshape", some((0, 3), "f"), known([3, 0]))
    yield of("Reshape", some((1,), "f"), known([]))
    yield of("Squeeze", x, squeeze_dims=[1])
    yield of("Squeeze", x, squeeze_dims=[-1, 1])
    yield of("ExpandDims", x, known(4, "i8"))
    yield of("ExpandDims", x, known([1]))
    yield of("Roll", some((5,), "i4"), np.int32(7), known(0))
    yield of("Roll", some((5, 3), "f"), known([1, 2], "i8"), known([0, 0], "i8"))
    yield of("Fill", known([], "i8"), np.float32(2))
    yield of("Fill", known([0, 2]), np.float32(2))
    for name in ("Shape", "Size"):
        yield of(name, x)
        yield of(name, x, out_type="int64")
    yield of("Rank", x)
    yield of("ShapeN", [x, x[0]], out_type="int64")
    yield of("BroadcastArgs", known([2, 1, 3]), known([4, 1]))
    yield of("BroadcastGradientArgs", known([2, 1, 3]), known([4, 1]))
    yield of("BroadcastGradientArgs", known([2, 3], "i8"), known([2, 3], "i8"))
    yield of("BroadcastGradientArgs", known([1, 3, 1]), known([1, 1, 3, 1]))
    yield of("BroadcastGradientArgs", known([]), known([1, 3]))
    yield of("InvertPermutation", np.array([2, 0, 3, 1], np.int32))
    yield of("DataFormatDimMap", np.array([-3, -1, 0, 1, 2, 3], np.int32))
    yield of("DataFormatDimMap", np.array([1], np.int64), src_format="NCHW", dst_format="NHWC")
    yield of("DataFormatVecPermute", np.array([7, 4, 9, 3], np.int32))
    yield of("DataFormatVecPermute", np.array([7, 4, 9, 3], np.int32), src_format="NCHW",
             dst_format="NHWC")  # fmt: skip
    yield of("DataFormatVecPermute", np.array([[7, 4], [9, 3]], np.int32))
    counted = {"i4": (2, 11, 3), "i8": (5, -5, -2), "f": (0, 1, 0.25), "d": (1, 2, 0.3)}
    for dtype, numbers in counted.items():
        yield of("Range", *(known(n, dtype) for n in numbers))
    for dtype in FLOATS:
        start, stop = np.asarray(-1, DTYPES[dtype]), np.asarray(2, DTYPES[dtype])
        yield of("LinSpace", start, stop, known(7))
        yield of("LinSpace", start, stop, known(1))
    yield of("Empty", known([0, 2]), dtype="float32", init=True)
    yield of("Empty", known([2, 2]), dtype="int32", init=True)


def joining() -> Iterator[Sample]:
    for dtype in MOVED:
        x, y = some((2, 3), dtype), some((2, 2), dtype, 1)
        yield of("ConcatV2", [x, y, x], known(1))
        yield of("Pack", [x, x[::-1]], axis=1)
        yield of("Unpack", some((2, 3, 2), dtype), num=3, axis=-2)
        yield of("Split", known(1), some((2, 6), dtype), num_split=3)
        yield of("SplitV", some((5, 2), dtype), known([1, -1, 2], "i8"), known(0), num_split=3)
        yield of("Pad", x, known([[1, 0], [2, 1]]))
        yield of("PadV2", x, known([[0, 1], [1, 0]], "i8"), some((), dtype, 3))
        for mode in ("REFLECT", "SYMMETRIC"):
            yield of("MirrorPad", x, known([[1, 0], [2, 1]]), mode=mode)
        yield of("SpaceToBatchND", some((1, 3, 4, 2), dtype), known([2, 2]),
                 known([[1, 0], [0, 0]]))  # fmt: skip
        yield of("BatchToSpaceND", some((4, 2, 2), dtype), known([2, 2]), known([[0, 1], [1, 0]]))
        yield of("SpaceToDepth", some((1, 4, 2, 3), dtype), block_size=2)
        yield of("DepthToSpace", some((1, 2, 1, 8), dtype), block_size=2)
        yield of("ReverseSequence", some((3, 4), dtype), np.array([2, 4, 1], np.int64), seq_dim=1)
    x = some((2, 3), "f")
    yield of("Concat", known(-1), [x, x])
    yield of("ConcatV2", [x, x[:0]], known(0))
    yield of("ConcatV2", [some((0, 3), "i4"), some((0, 3), "i4")], known(-1, "i8"))
    yield of("ConcatOffset", known(1), [known([2, 3]), known([2, 2]), known([2, 5])])
    yield of("Pack", [np.float32(1), np.float32(2)])
    yield of("Unpack", x, num=2)
    yield of("Pad", some((2, 0), "f"), known([[0, 0], [1, 1]]))
    for mode in ("REFLECT", "SYMMETRIC"):
        yield of("MirrorPadGrad", some((3, 6), "f"), known([[1, 0], [2, 1]]), mode=mode)
    yield of("SpaceToBatch", some((1, 4, 2, 1), "f"), known([[0, 0], [1, 1]]), block_size=2)
    yield of("BatchToSpace", some((4, 2, 2, 1), "f"), known([[0, 1], [1, 0]]), block_size=2)
    yield of("SpaceToDepth", some((1, 3, 4, 2), "f"), block_size=2, data_format="NCHW")
    yield of("DepthToSpace", some((1, 8, 2, 1), "f"), block_size=2, data_format="NCHW")
    yield of("ReverseSequence", some((4, 3, 2), "f"), np.array([2, 4, 1], np.int32), seq_dim=0,
             batch_dim=1)  # fmt: skip
    places = [known([0, 3]), known([[1], [2]])]
    for name in ("DynamicStitch", "ParallelDynamicStitch"):
        yield of(name, places, [some((2, 2), "f"), some((2, 1, 2), "f", 1)])
    yield of("ListDiff", known([1, 2, 3, 4, 2]), known([2, 5]))


MASKS = {
    "plain": ([0, 1, 1], [2, 3, 4], [1, 2, 1], {}),
    "backwards": ([-1, 2, 3], [-3, 0, 0], [-1, -1, -2], {}),
    "masks": ([5, 1, 1], [0, 2, 9], [1, 1, 2], {"begin_mask": 1, "end_mask": 5}),
    "ellipsis": ([0, 1], [0, 3], [1, 1], {"ellipsis_mask": 1}),
    "new": ([0, 0, 1], [1, 0, 2], [1, 1, 1], {"new_axis_mask": 2}),
    "shrink": ([-1, 0, 1], [0, 0, 4], [1, 1, 2], {"shrink_axis_mask": 1, "end_mask": 2}),
    "beyond": ([-9, 1, 7], [9, 9, 9], [1, 1, 1], {}),
    "empty": ([1, 2, 0], [1, 1, 4], [1, 1, 1], {}),
    "short": ([1], [2], [1], {"shrink_axis_mask": 1}),
    "mixed": ([0, 0, 0, 1], [0, 0, 2, 3], [1, 1, 1, 1],
              {"ellipsis_mask": 2, "new_axis_mask": 1, "shrink_axis_mask": 8}),
}  # fmt: skip


def slicing() -> Iterator[Sample]:
    for dtype in MOVED:
        x = some((2, 3, 4), dtype)
        yield of("Slice", x, known([0, 1, 2]), known([2, 2, -1]))
        yield of("StridedSlice", x, known([0, 1, 0]), known([2, 3, 4]), known([1, 1, 3]))
        yield of("GatherV2", x, np.array([[2, 0], [1, 1]], np.int32), known(1))
        yield of("GatherNd", x, np.array([[1, 2], [0, 0]], np.int32))
        yield of("OneHot", np.array([0, 2, -1, 5], np.int64), known(3), *some((2,), dtype, 7))
        yield of("ScatterNd", np.array([[3], [0]], np.int32), x[:, 0], known([5, 4]))
        for name in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub",
                     "TensorScatterMax", "TensorScatterMin"):  # fmt: skip
            if dtype == "?" or (dtype in COMPLEX and name.endswith(("Max", "Min"))):
                continue
            yield of(name, x[0], np.array([[2], [0]], np.int32), some((2, 4), dtype, 4))
    x = some((2, 3, 4), "f")
    yield of("Slice", x, known([0, 1, 2], "i8"), known([1, 0, 2], "i8"))
    yield of("Slice", x, np.array([1, 1, 0], np.int32), known([1, 2, 3]))
    for begin, end, strides, masks in MASKS.values():
        yield of("StridedSlice", x, known(begin), known(end), known(strides), **masks)
        shape = _sliced(np.zeros((2, 3, 4)), begin, end, strides, **masks).shape
        dy = some(shape, "f", 3)
        bounds = (known(begin), known(end), known(strides))
        yield of("StridedSliceGrad", known([2, 3, 4]), *bounds, dy, **masks)
        yield of("TensorStridedSliceUpdate", x, *bounds, dy, **masks)
    yield of("Gather", x, np.array([1, 0, 1], np.int64))
    yield of("GatherV2", x, np.array([[1, 0], [2, 2]], np.int64), known(1), batch_dims=1)
    yield of("GatherV2", x, np.array([[3], [0]], np.int64), known(-1), batch_dims=-1)
    yield of("GatherV2", x, np.array([[3], [0]], np.int64), known(2), batch_dims=1)
    yield of("GatherV2", x, np.int32(1), known(0))
    yield of("GatherV2", x, np.zeros((0,), np.int32), known(0))
    yield of("GatherNd", x, np.array([[[1], [0]]], np.int64))
    yield of("GatherNd", x, np.array([1, 2, 3], np.int32))
    for axis in (0, 1):
        yield of("OneHot", np.array([[0, 2], [1, 1]], np.int32), known(3), np.float32(5),
                 np.float32(-1), axis=axis)  # fmt: skip
    for dtype in ("f", "i4"):
        yield of("ScatterNd", np.array([[0, 1], [0, 1], [1, 0]], np.int64), some((3,), dtype),
                 known([2, 2], "i8"))  # fmt: skip
        twice = np.array([[0], [0], [2]], np.int32)
        for name in (
            "TensorScatterAdd",
            "TensorScatterSub",
            "TensorScatterMax",
            "TensorScatterMin",
        ):
            yield of(name, some((3,), dtype, 1), twice, some((3,), dtype, 4))
    yield of("SparseToDense", np.array([[0, 1], [1, 2]], np.int32), known([2, 3]), some((2,), "f"),
             np.float32(-1))  # fmt: skip
    yield of("SparseToDense", np.array([1, 3], np.int64), known([5], "i8"), np.int32(7),
             np.int32(-1))  # fmt: skip


def _sliced(x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
            shrink_axis_mask=0):  # fmt: skip
    """x[begin:end:strides] with masks."""
    key = []
    for n, (b, e, s) in enumerate(zip(begin, end, strides)):
        if ellipsis_mask >> n & 1:
            key.append(Ellipsis)
        elif new_axis_mask >> n & 1:
            key.append(None)
        elif shrink_axis_mask >> n & 1:
            key.append(b)
        else:
            key.append(
                slice(None if begin_mask >> n & 1 else b, None if end_mask >> n & 1 else e, s)
            )
    return x[tuple(key)]


def reductions() -> Iterator[Sample]:
    for name, dtypes in {
        "Sum": NUMBERS, "Prod": NUMBERS, "Mean": NUMBERS, "Max": (*FLOATS, *INTEGERS),
        "Min": (*FLOATS, *INTEGERS), "All": ("?",), "Any": ("?",),
        "EuclideanNorm": ("f", "d", "i4", "c"),
    }.items():  # fmt: skip
        for dtype in dtypes:
            x = some((3, 4, 2), dtype, 3, -2, 3)
            yield of(name, x, known([1]))
            yield of(name, x, known([0, -1]), keep_dims=True)
        yield of(name, x, known([]))
        yield of(name, x, known(2, "i8"))
        yield of(name, some((2, 0, 3), dtypes[0 if len(dtypes) < 3 else 2]), known([1]))
    for name in ("Max", "Min"):
        for dtype in FLOATS:
            yield of(name, edges(dtype)[:-1], known([0]))
    for name in ("ArgMax", "ArgMin"):
        for dtype in (*FLOATS, *INTEGERS):
            yield of(name, some((3, 5), dtype, 2), known(1))
        yield of(name, some((3, 5), "f", 2), known(0, "i8"), output_type="int32")
        yield of(name, some((3, 5), "?", 2), known(-1))
        yield of(name, np.float32([[2, -np.inf, 3], [1, 1, 1]]), known(1))
    for name in ("Cumsum", "Cumprod"):
        for dtype in ("h", "b", "f", "d", "c", "i4", "i8", "u1"):
            yield of(name, some((3, 4), dtype, 1, -2, 2), known(1))
        for more in ({"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}):
            yield of(name, some((3, 4), "f", 1, -2, 2), known(-2, "i8"), **more)
        yield of(name, some((3, 0), "f"), known(1))
    for more in ({}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}):
        for dtype in ("h", "f", "d"):
            yield of("CumulativeLogsumexp", some((3, 4), dtype, 1), known(1), **more)
    x = np.array([1, 0, 3, 1, 9], np.int32)
    for dtype in ("i4", "f", "d", "i8"):
        yield of("Bincount", x, known(5), some((5,), dtype))
        yield of("Bincount", x, known(5), some((0,), dtype))
        for rows in (x, np.array([[1, 0, 3], [3, 3, 9]], np.int32)):
            yield of("DenseBincount", rows, known(5), some(rows.shape, dtype))
            yield of("DenseBincount", rows, known(5), some((0,), dtype), binary_output=True)
    yield of("Unique", known([3, 1, 3, 2, 1]))
    yield of("UniqueWithCounts", known([3, 1, 3, 2, 1]), out_idx="int64")
    yield of("Where", known([[True, False], [True, True]], "?"))


def segments() -> Iterator[Sample]:
    ids = np.array([0, 0, 2, 3], np.int32)
    for way in ("Sum", "Prod", "Max", "Min"):
        for dtype in ("h", "b", "f", "d", "c", "i4", "i8", "u1"):
            if dtype == "c" and way in ("Max", "Min"):
                continue
            x = some((4, 2), dtype, 2)
            unsorted = np.array([2, 0, -1, 2], np.int32)
            yield of(f"UnsortedSegment{way}", x, unsorted, known(4))
            yield of(f"Segment{way}", x, Known(ids))
            yield of(f"Segment{way}V2", x, ids, known(5))
        x = some((2, 2, 3), "f")
        yield of(f"UnsortedSegment{way}", x, np.array([[1, 0], [1, 5]], np.int64), known(6, "i8"))
    yield of("SegmentMean", some((4, 2), "f"), Known(ids))
    for name in ("SparseSegmentSum", "SparseSegmentMean"):
        for dtype in ("f", "d"):
            yield of(name, some((5, 2), dtype), np.array([4, 0, 1, 1], np.int32), Known(ids))
    yield of("DynamicPartition", some((4, 2), "f"), known([1, 0, 1, 1]), num_partitions=3)


def orders() -> Iterator[Sample]:
    for dtype in (*FLOATS, *INTEGERS):
        x = some((3, 7), dtype, 4)
        yield of("TopKV2", x, known(3))
    yield of("TopKV2", some((2, 5), "f"), known(5), sorted=True)
    yield of("TopKV2", some((2, 5), "f"), known(0))
    yield of("TopKV2", np.float32([2, np.inf, -np.inf, 0.0, 2]), known(5, "i8"),
             index_type="int64")  # fmt: skip
    yield of("TopK", some((2, 5), "f"), k=2)
    predictions = some((4, 5), "f", 2)
    yield of("InTopK", predictions, np.array([0, 1, 2, 3], np.int32), k=2)
    yield of("InTopKV2", predictions, np.array([0, 4, 7, 3], np.int64), known(3, "i8"))
    yield of("InTopKV2", np.float32([[np.nan, 1, 2], [np.inf, 0, 1], [1, 1, 1]]),
             np.array([1, 0, 2], np.int32), known(1))  # fmt: skip


def samples() -> Iterator[Sample]:
    for family in (shaping, joining, slicing, reductions, segments, orders):
        yield from family()
