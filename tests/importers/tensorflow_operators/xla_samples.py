"""Samples of operators that TensorFlow has in compiled code alone."""

from collections.abc import Iterator

import numpy as np
from operator_samples import DTYPES, Sample, Scalars, first_of, known, some


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


# Rows of a matrix: update window dimension 1, inserted 0, scatter dimension 0, vector dimension 1.
SCATTER = b"\x0a\x01\x01\x12\x01\x00\x1a\x01\x00\x20\x01"


def with_functions() -> Iterator[Sample]:
    """Operators with attributes that are functions of scalars."""
    for dtype in ("f", "d", "i4", "b"):
        total = Scalars(lambda x, y: x + y, (dtype, dtype))
        above = Scalars(lambda x, y: x > y, (dtype, dtype))
        product = Scalars(lambda x, y: x * y, (dtype, dtype))
        x, zero, one = some((2, 3, 4), dtype), *(np.array(n, DTYPES[dtype]) for n in (0, 1))
        yield _of("XlaReduce", x, zero, dimensions_to_reduce=[0, 2], reducer=total)
        yield _of("XlaReduce", x[0], one, dimensions_to_reduce=[1], reducer=product)
        both = Scalars(lambda a, b, c, d: (a + c, b * d), (dtype,) * 4)
        yield _of("XlaVariadicReduce", [x, x[::-1]], [zero, one], dimensions_to_reduce=[1],
                  reducer=both)  # fmt: skip
        mixed = Scalars(lambda a, b, c, d: (a + c, b * d), (dtype, "i8", dtype, "i8"))
        yield _of("XlaVariadicReduceV2", [x, some((2, 3, 4), "i8")], [zero, np.int64(1)],
                  dimensions_to_reduce=[2], reducer=mixed)  # fmt: skip
        window = known([2, 3]), known([1, 2]), known([1, 1]), known([1, 1]), known([[0, 1], [2, 0]])
        yield _of("XlaReduceWindow", x[0], one, *window, computation=product)
        strides = known([2, 2]), known([2, 2]), known([[0, 0], [0, 0]])
        yield _of("XlaSelectAndScatter", some((4, 4), dtype), *strides, some((2, 2), dtype, 5),
                  zero, select=above, scatter=total)  # fmt: skip
        rows = np.array([[2], [0], [2], [7]], np.int32)
        for function in (total, product):
            yield _of("XlaScatter", some((3, 2), dtype), rows, some((4, 2), dtype, 4),
                      update_computation=function, dimension_numbers=SCATTER,
                      indices_are_sorted=False)  # fmt: skip
        order = Scalars(lambda a, b, c, d: a > b, (dtype, dtype, "i8", "i8"))
        yield _of("XlaVariadicSort", [some((3, 5), dtype), some((3, 5), "i8")], known(1),
                  comparator=order, is_stable=True)  # fmt: skip
    apart = known([2, 2]), known([1, 1]), known([2, 1]), known([1, 2]), known([[0, 1], [2, 0]])
    total = Scalars(lambda x, y: x + y, ("f", "f"))
    yield _of("XlaReduceWindow", some((3, 4)), np.float32(0), *apart, computation=total)


def samples() -> Iterator[Sample]:
    yield from plain()
    yield from with_functions()


def plain() -> Iterator[Sample]:
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
    for algorithm, state in ((1, [7, 9]), (1, [7, 9, 11]), (2, [7, 9]), (3, [7, 9, 11])):
        for dtype in ("uint32", "uint64"):
            yield _of("XlaRngBitGenerator", known(algorithm), np.array(state, np.uint64),
                      known([3, 2]), dtype=dtype)  # fmt: skip
    for dtype in ("f", "d", "b"):
        numbers = np.concatenate([some((20,), dtype), np.array([np.nan, 1e4], DTYPES[dtype])])
        for to in ("int8", "int16", "int32"):
            yield _of("StochasticCastToInt", numbers, np.array([7], np.uint64),
                      np.array([3, 1], np.uint64), known(1), Tout=to)  # fmt: skip
    for lower in (True, False):
        yield first_of(_of("XlaSelfAdjointEig", some((2, 3, 3)), lower=lower, max_iter=100,
                           epsilon=1e-6))  # fmt: skip
    for shape in ((4, 3), (3, 4), (2, 3, 3)):
        yield first_of(_of("XlaSvd", some(shape), max_iter=100, epsilon=1e-6,
                           precision_config=b""))  # fmt: skip
    for dtype in ("f", "h"):
        z = some((2, 9), dtype)
        yield _of("ApproxTopK", z, k=3)
        yield _of("ApproxTopK", z, k=3, is_max_k=False)
    for dtype in ("f", "h", "b", "d"):
        yield _of("XlaReducePrecision", some((5,), dtype), exponent_bits=5, mantissa_bits=3)
