"""Samples of operators that TensorFlow has in compiled code alone."""

from collections.abc import Iterator

import numpy as np
from operator_samples import Sample, known, some


def _of(operator: str, *inputs, **attributes) -> Sample:
    return Sample(operator, inputs, attributes, on_xla=True)


# Serialized DotDimensionNumbers and the like.
DOT = b"\x0a\x01\x01\x12\x01\x00"  # lhs contracting 1, rhs contracting 0
BATCHED = b"\x0a\x01\x02\x12\x01\x01\x1a\x01\x00\x22\x01\x00"  # contracting 2, 1; batch 0, 0
# Rows of a matrix: offset dimension 1, collapsed 0, start index map 0, index vector dimension 1.
GATHER = b"\x0a\x01\x01\x12\x01\x00\x1a\x01\x00\x20\x01"
# Images NHWC, filter HWIO, output NHWC.
CONV = (b"\x38\x00\x40\x03\x5a\x02\x01\x02" b"\x18\x02\x20\x03\x32\x02\x00\x01"
        b"\x48\x00\x50\x03\x62\x02\x01\x02")  # fmt: skip


def samples() -> Iterator[Sample]:
    x, y = some((2, 3), "f"), some((3, 4), "f", 1)
    yield _of("XlaDot", x, y, dimension_numbers=DOT, precision_config=b"")
    yield _of("XlaDotV2", x, y, dimension_numbers=DOT, precision_config=b"",
              preferred_element_type="float32")  # fmt: skip
    yield _of("XlaDotV2", x.astype(np.int8), y.astype(np.int8), dimension_numbers=DOT,
              precision_config=b"", preferred_element_type="int32")  # fmt: skip
    yield _of("XlaDot", some((2, 1, 3), "f"), some((2, 3, 2), "f"), dimension_numbers=BATCHED,
              precision_config=b"")  # fmt: skip
    yield _of("XlaEinsum", x, y, equation="ab,bc->ca")
    for dtype in ("f", "i4", "?"):
        z = some((2, 3), dtype)
        yield _of("XlaPad", z, some((), dtype, 3), known([1, 0]), known([0, -1]), known([1, 0]))
        yield _of("XlaDynamicSlice", z, np.array([1, 5], np.int32), known([1, 2]))
        yield _of("XlaDynamicUpdateSlice", z, z[:1, :2], np.array([1, 5], np.int32))
        yield _of("XlaOptimizationBarrier", [z, x])
        yield _of("XlaSharding", z)
    for dtype in ("f", "i4", "h", "u1"):
        z = some((3, 6), dtype)
        yield _of("XlaSort", z)
        yield _of("XlaKeyValueSort", some((6,), dtype, 2), np.arange(6, dtype=np.int32))
    yield _of("XlaBroadcastHelper", some((2, 3, 4), "f"), some((2, 4), "f"), known([0, 2], "i8"))
    yield _of("XlaBroadcastHelper", x, some((), "f"), known([], "i8"))
    yield _of("XlaGather", y, np.array([[2], [0]], np.int32), known([1, 4]),
              dimension_numbers=GATHER, indices_are_sorted=False)  # fmt: skip
    image, kernel = some((1, 4, 5, 2), "f"), some((2, 3, 2, 3), "f", 1)
    conv = (known([1, 2]), known([[1, 0], [0, 2]]), known([1, 1]), known([1, 1]), known(1))
    yield _of("XlaConv", image, kernel, *conv, dimension_numbers=CONV, precision_config=b"")
    yield _of("XlaConvV2", image, kernel, *conv, dimension_numbers=CONV, precision_config=b"",
              preferred_element_type="float32")  # fmt: skip
    yield _of("XlaSplitND", some((4, 4), "f"), N=4, num_splits=[2, 2])
    yield _of("XlaSplitND", some((3, 3), "f"), N=4, num_splits=[2, 2], paddings=[1, 1])
    parts = [some((2, 2), "f", n) for n in range(4)]
    yield _of("XlaConcatND", parts, num_concats=[2, 2])
    yield _of("XlaConcatND", parts, num_concats=[2, 2], paddings=[1, 0])
    for state in ([7], [7, 9, 11]):
        for algorithm in (1, 2):
            yield _of("XlaRngBitGenerator", known(algorithm), np.array(state, np.uint64),
                      known([3, 2]), dtype="uint32")  # fmt: skip
    for dtype in ("f", "h"):
        z = some((2, 9), dtype)
        yield _of("ApproxTopK", z, k=3)
        yield _of("ApproxTopK", z, k=3, is_max_k=False)
    for dtype in ("f", "h", "b", "d"):
        yield _of("XlaReducePrecision", some((5,), dtype), exponent_bits=5, mantissa_bits=3)
