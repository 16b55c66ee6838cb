"""Samples of operators of networks and of linear algebra."""

from collections.abc import Iterator

import numpy as np
from operator_samples import (
    COMPLEX,
    DTYPES,
    FLOATS,
    Known,
    Sample,
    edges,
    first_of,
    known,
    of,
    some,
)

SAME = {"padding": "SAME"}
VALID = {"padding": "VALID"}
WINDOWS = (
    ((1, 1, 1, 1), SAME),
    ((1, 2, 1, 1), VALID),
    ((1, 2, 2, 1), SAME),
    ((1, 1, 1, 1), {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0]}),
)


def products() -> Iterator[Sample]:
    for dtype in (*FLOATS, *COMPLEX, "i4", "i8"):
        x, y = some((2, 3), dtype), some((3, 4), dtype, 1)
        yield of("MatMul", x, y)
        yield of("MatMul", x.T, y.T, transpose_a=True, transpose_b=True)
        x, y = some((2, 1, 2, 3), dtype), some((2, 3, 2), dtype, 1)
        yield of("BatchMatMulV2", x, y)
        yield of("BatchMatMulV2", x.swapaxes(2, 3), y.swapaxes(1, 2), adj_x=True, adj_y=True)
    yield of("BatchMatMul", some((2, 2, 3), "f"), some((2, 3, 1), "f"))
    yield of("BatchMatMulV3", some((2, 2, 3), "f"), some((3, 1), "f"), Tout="float32")
    yield of("BatchMatMulV3", some((2, 2, 3), "i1"), some((3, 1), "i1"), Tout="int32")
    yield of("MatMul", some((2, 0), "f"), some((0, 3), "f"))
    yield of("SparseMatMul", some((2, 3), "f"), some((3, 2), "b"), a_is_sparse=True)
    yield of("SparseMatMul", some((3, 2), "b"), some((2, 3), "b"), transpose_a=True,
             transpose_b=True)  # fmt: skip
    for equation, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 2)),
        ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)),
        ("ij->ji", (2, 3)),
        ("ij->", (2, 3)),
        ("ii->i", (3, 3)),
        ("...ij,jk->...ik", (2, 2, 3), (3, 2)),
        ("...i,...i->...", (2, 3), (1, 3)),
        ("abc,cde->abde", (2, 1, 3), (3, 2, 2)),
        ("i,j->ij", (2,), (3,)),
    ):
        inputs = [some(shape, "f", n) for n, shape in enumerate(shapes)]
        yield of("Einsum", inputs, equation=equation)
    for dtype in ("h", "b", "d", "c", "i4"):
        yield of("Einsum", [some((2, 3), dtype), some((3, 2), dtype, 1)], equation="ij,jk->ki")
    for dtype in ("f", "d", "i4", "h"):
        yield of("Cross", some((2, 3), dtype), some((2, 3), dtype, 1))


def convolutions() -> Iterator[Sample]:
    for dtype in FLOATS:
        x, k = some((2, 5, 4, 2), dtype), some((3, 2, 2, 3), dtype, 1)
        yield of("Conv2D", x, k, strides=[1, 2, 1, 1], **SAME)
        yield of("DepthwiseConv2dNative", x, k, strides=[1, 1, 1, 1], **VALID)
    x, k = some((2, 5, 4, 2), "f"), some((3, 2, 2, 4), "f", 1)
    for strides, padding in WINDOWS:
        y = None
        for name in ("Conv2D", "DepthwiseConv2dNative"):
            if name[0] == "D" and strides[1] != strides[2]:
                continue
            yield of(name, x, k, strides=list(strides), **padding)
            width = 4 if name == "Conv2D" else 8
            y = some((2, *_places(strides, padding), width), "f", 2)
            more = {"strides": list(strides), **padding}
            if name == "Conv2D":
                yield of("Conv2DBackpropInput", known([2, 5, 4, 2]), k, y, **more)
                yield of("Conv2DBackpropFilter", x, known([3, 2, 2, 4]), y, **more)
            else:
                yield of(f"{name}BackpropInput", known([2, 5, 4, 2]), k, y, **more)
                yield of(f"{name}BackpropFilter", x, known([3, 2, 2, 4]), y, **more)
    wide = some((1, 7, 6, 2), "f")
    yield of("Conv2D", wide, k, strides=[1, 1, 1, 1], dilations=[1, 2, 3, 1], **SAME)
    yield of("Conv2D", wide, k, strides=[1, 1, 1, 1], dilations=[1, 2, 2, 1], **VALID)
    yield of("Conv2D", some((1, 5, 4, 4), "f"), k, strides=[1, 1, 1, 1], **SAME)  # groups
    yield of("DepthwiseConv2dNative", wide, k, strides=[1, 1, 1, 1], dilations=[1, 2, 2, 1],
             **SAME)  # fmt: skip
    yield of("Conv2D", some((0, 5, 4, 2), "f"), k, strides=[1, 1, 1, 1], **SAME)
    volume, kernel = some((1, 3, 4, 3, 2), "f"), some((2, 2, 2, 2, 3), "f", 1)
    for strides, padding, places in (
        ([1, 1, 1, 1, 1], SAME, (3, 4, 3)),
        ([1, 2, 1, 2, 1], VALID, (1, 3, 1)),
    ):
        more = {"strides": strides, **padding}
        yield of("Conv3D", volume, kernel, **more)
        y = some((1, *places, 3), "f", 2)
        yield of("Conv3DBackpropInputV2", known(volume.shape), kernel, y, **more)
        yield of("Conv3DBackpropFilterV2", volume, known(kernel.shape), y, **more)
    yield of("Conv", some((2, 5, 4, 2), "f"), k, strides=[1, 2, 1, 1], **SAME)
    yield of("Conv", volume, kernel, strides=[1, 1, 1, 1, 1], **VALID)
    yield of(
        "Dilation2D", x, some((2, 2, 2), "f"), strides=[1, 1, 2, 1], rates=[1, 1, 1, 1], **SAME
    )
    yield from fused()


def _places(strides, padding) -> tuple[int, int]:
    """The shape of a convolution of 5 x 4 with a window of 3 x 2."""
    _, down, across, _ = strides
    if padding["padding"] == "SAME":
        return -(-5 // down), -(-4 // across)
    top, left = (1, 3) if padding["padding"] == "EXPLICIT" else (0, 0)
    return (5 + top - 3) // down + 1, (4 + left - 2) // across + 1


def fused() -> Iterator[Sample]:
    x, k = some((1, 4, 4, 2), "f"), some((3, 2, 2, 3), "f", 1)
    bias = some((3,), "f", 4)
    for ops in (["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"], ["BiasAdd", "Elu"],
                ["BiasAdd", "LeakyRelu"]):  # fmt: skip
        yield of("_FusedConv2D", x, k, [bias], [], num_args=1, strides=[1, 1, 1, 1],
                 fused_ops=ops, **SAME)  # fmt: skip
        a, b = some((2, 4), "f"), some((4, 3), "f", 1)
        yield of("_FusedMatMul", a, b, [bias], fused_ops=ops)
    yield of("_FusedMatMul", a, b.T, [bias], fused_ops=["BiasAdd", "Tanh"],
             transpose_b=True)  # fmt: skip
    norm = [some((3,), "f", n, 0.5, 2) for n in range(4)]
    for ops in (["FusedBatchNorm"], ["FusedBatchNorm", "Relu"]):
        yield of("_FusedConv2D", x, k, norm, [], num_args=4, strides=[1, 1, 1, 1],
                 fused_ops=ops, epsilon=0.01, **VALID)  # fmt: skip
    four = [some((4,), "f", n, 0.5, 2) for n in range(4)]
    yield first_of(of("_FusedBatchNormEx", some((1, 2, 2, 4), "f"), *four, [], is_training=False,
                      activation_mode="Relu"))  # fmt: skip


def pooling() -> Iterator[Sample]:
    x = some((2, 5, 4, 2), "f", 3)
    for name in ("MaxPool", "AvgPool"):
        for dtype in FLOATS:
            yield of(name, some((2, 5, 4, 2), dtype, 3), ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1],
                     **SAME)  # fmt: skip
        for padding, (down, across) in ((SAME, (3, 2)), (VALID, (2, 1))):
            more = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 2, 1], **padding}
            yield of(name, x, **more)
            g = some((2, down, across, 2), "f", 5)
            if name == "AvgPool":
                yield of("AvgPoolGrad", known(x.shape), g, **more)
                continue
            y = _largest(x, g.shape, padding)
            yield of("MaxPoolGrad", x, y, g, **more)
            yield of("MaxPoolGradV2", x, y, g, known([1, 2, 3, 1]), known([1, 2, 2, 1]), **padding)
            yield of("MaxPoolGradGrad", x, y, x[::-1], **more)
            yield of("MaxPoolGradGradV2", x, y, x[::-1], known([1, 2, 3, 1]), known([1, 2, 2, 1]),
                     **padding)  # fmt: skip
    for dtype in ("i4", "i1", "u1"):
        yield of("MaxPool", some((1, 4, 4, 1), dtype), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
                 **VALID)  # fmt: skip
    yield of("MaxPool", x, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="EXPLICIT",
             explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0])  # fmt: skip
    yield of("MaxPool", some((0, 4, 4, 1), "f"), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], **VALID)
    yield of("MaxPoolV2", x, known([1, 2, 2, 1]), known([1, 2, 1, 1]), **SAME)
    volume = some((1, 4, 3, 4, 1), "f")
    for padding, places in ((SAME, (2, 2, 2)), (VALID, (2, 1, 2))):
        more = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 2, 2, 1], **padding}
        yield of("MaxPool3D", volume, **more)
        yield of("AvgPool3D", volume, **more)
        g = some((1, *places, 1), "f", 5)
        yield of("AvgPool3DGrad", known(volume.shape), g, **more)
    for include in (False, True):
        yield of("MaxPoolWithArgmax", x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
                 include_batch_in_index=include, **SAME)  # fmt: skip
    for padding in (SAME, VALID):
        for dtype in ("f", "h", "i4", "u1", "d"):
            yield of("ExtractImagePatches", some((1, 5, 4, 2), dtype), ksizes=[1, 2, 2, 1],
                     strides=[1, 2, 1, 1], rates=[1, 2, 1, 1], **padding)  # fmt: skip


def _largest(x: np.ndarray, shape, padding) -> np.ndarray:
    """The largest elements of windows of 2 x 3 with strides of 2."""
    made = np.full(shape, -np.inf, x.dtype)
    top, left = (0, 0)
    if padding["padding"] == "SAME":
        top, left = (
            ((shape[1] - 1) * 2 + 2 - x.shape[1]) // 2,
            ((shape[2] - 1) * 2 + 3 - x.shape[2]) // 2,
        )
    for i in range(shape[1]):
        for j in range(shape[2]):
            rows = slice(max(0, i * 2 - top), i * 2 - top + 2)
            columns = slice(max(0, j * 2 - left), j * 2 - left + 3)
            made[:, i, j] = x[:, rows, columns].max((1, 2))
    return made


def layers() -> Iterator[Sample]:
    for dtype in FLOATS:
        x = some((3, 4), dtype)
        yield of("Softmax", x)
        yield of("LogSoftmax", x)
        yield of("BiasAdd", some((1, 2, 2, 3), dtype), some((3,), dtype, 1))
        yield of("BiasAddGrad", some((2, 2, 2, 3), dtype))
        yield of("SoftmaxCrossEntropyWithLogits", x, some((3, 4), dtype, 2, 0, 1))
        yield of("SparseSoftmaxCrossEntropyWithLogits", x, np.array([1, 0, 3], np.int64))
        yield of("L2Loss", x)
        yield of("LRN", some((1, 2, 2, 4), dtype), depth_radius=1)
    yield of("Softmax", edges("f", -1e4, 1e4)[None])
    yield of("Softmax", some((0, 3), "f"))
    yield of("SoftmaxCrossEntropyWithLogits", some((3, 4), "f"), some((1, 4), "f", 2, 0, 1))
    yield of("BiasAdd", some((2, 3, 2, 2), "f"), some((3,), "f", 1), data_format="NCHW")
    yield of("BiasAdd", some((2, 3), "i4"), some((3,), "i4", 1))
    yield of("BiasAddV1", some((2, 3), "f"), some((3,), "f", 1))
    yield of("BiasAddGrad", some((2, 3, 2, 2), "f"), data_format="NCHW")
    image = some((1, 2, 2, 7), "f")
    yield of("LRN", image)
    yield of("LRN", image, depth_radius=2, bias=2.0, alpha=0.5, beta=0.75)
    yield of("LRNGrad", image, some((1, 2, 2, 7), "f", 2), some((1, 2, 2, 7), "f", 3),
             depth_radius=2, bias=2.0, alpha=0.5, beta=0.75)  # fmt: skip
    for version, dtypes in (("", "f"), ("V2", "fhb"), ("V3", "fhb")):
        for dtype in dtypes:
            x = some((2, 3, 2, 3), dtype)
            vectors = [some((3,), "f", n, 0.5, 2) for n in range(1, 5)]
            name = f"FusedBatchNorm{version}"
            yield first_of(of(name, x, *vectors, is_training=False), 3)
            yield first_of(of(name, x, *vectors, is_training=False, epsilon=0.25), 3)
            empty = [np.zeros(0, np.float32)] * 2
            yield first_of(of(name, x, *vectors[:2], *empty), 5)
            yield first_of(of(name, x, *vectors, exponential_avg_factor=0.25), 5)
            gradient = f"FusedBatchNormGrad{version}"
            kept = [*vectors[1:3], *([np.zeros(0, np.float32)] if version == "V3" else [])]
            for training in (False, True):
                yield first_of(of(gradient, some((2, 3, 2, 3), dtype, 7), x, vectors[0], *kept,
                                  is_training=training), 3)  # fmt: skip
    yield first_of(of("FusedBatchNormV3", some((2, 3, 2, 2), "f"), *vectors, is_training=False,
                      data_format="NCHW"), 3)  # fmt: skip


def images() -> Iterator[Sample]:
    for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        for size in ([5, 7], [2, 2], [3, 1], [1, 4]):
            for more in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
                if name == "ResizeArea" and "half_pixel_centers" in more:
                    continue
                yield of(name, some((1, 3, 4, 2), "f"), known(size), **more)
        for dtype in ("h", "b", "d", "u1", "i4", "i8"):
            yield of(name, some((1, 3, 4, 1), dtype), known([4, 3]))
    for more in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        for size in ((5, 7), (2, 2), (1, 1)):
            yield of(
                "ResizeBilinearGrad", some((1, *size, 2), "f"), some((1, 3, 4, 2), "f"), **more
            )
            yield of("ResizeNearestNeighborGrad", some((1, *size, 2), "f"), known([3, 4]), **more)
    colours = some((2, 6, 3), "f", 1, 0, 1)
    for dtype in ("f", "d"):
        yield of("RGBToHSV", colours.astype(DTYPES[dtype]))
        yield of("HSVToRGB", colours.astype(DTYPES[dtype]))
    for dtype in ("f", "h"):
        image = some((2, 3, 3, 3), dtype, 1, 0, 1)
        yield of("AdjustContrastv2", image, np.float32(1.5))
        yield of("AdjustHue", image, np.float32(0.375))
        yield of("AdjustHue", image, np.float32(-0.25))
        yield of("AdjustSaturation", image, np.float32(0.5))
        yield of("AdjustSaturation", image, np.float32(2.5))
    kernels = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic",
               "mitchellcubic")  # fmt: skip
    for kind in kernels:
        for size in ([3, 9], [10, 2]):
            scale = Known(np.float32([size[0] / 6, size[1] / 5]))
            for smooth in (True, False):
                shift = Known(np.float32([0, 0] if smooth else [0.5, -1]))
                yield of("ScaleAndTranslate", some((1, 6, 5, 2), "f"), known(size), scale, shift,
                         kernel_type=kind, antialias=smooth)  # fmt: skip
    boxes = np.float32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.05, 1, 3]])
    scores = np.float32([0.5, 0.75, 0.25, 0.5])
    yield of("NonMaxSuppressionV4", boxes, scores, known(4), np.float32(0.5), np.float32(0.3),
             pad_to_max_output_size=True)  # fmt: skip
    yield of("CropAndResize", some((2, 4, 5, 2), "f"), boxes * np.float32(0.5),
             np.array([0, 1, 1, 0], np.int32), known([3, 2]))  # fmt: skip
    yield of("CropAndResize", some((2, 4, 5, 2), "f"), boxes, np.array([0, 1, 1, 0], np.int32),
             known([3, 2]), method="nearest", extrapolation_value=7.0)  # fmt: skip


def matrices() -> Iterator[Sample]:
    for dtype in ("f", "d", "c", "z"):
        kind = DTYPES[dtype]
        x = (some((2, 3, 3), dtype) + 6 * np.eye(3)).astype(kind)
        whole = (x @ x.conj().swapaxes(1, 2)).astype(kind)
        right = some((2, 3, 2), dtype, 3)
        for flip in (False, True):
            yield of("MatrixInverse", x, adjoint=flip)
            yield of("MatrixSolve", x, right, adjoint=flip)
            for lower in (False, True):
                yield of("MatrixTriangularSolve", x, right, lower=lower, adjoint=flip)
        yield of("MatrixDeterminant", x)
        yield of("Lu", x)
        yield of("LogMatrixDeterminant", x)
        yield of("Cholesky", whole)
        yield first_of(of("SelfAdjointEigV2", whole, compute_v=False))
        yield first_of(of("Svd", some((3, 2), dtype), compute_uv=False))
        yield of("MatrixExponential", x / 8)
        three = some((3, 4), dtype) + np.array([[0], [9], [0]], kind)
        yield of("TridiagonalSolve", three, some((4, 2), dtype, 3))
        parts = [some((1, 4), dtype, n) for n in range(3)]
        yield of("TridiagonalMatMul", *parts, some((4, 2), dtype, 3))
    yield of("MatrixDeterminant", some((2, 0, 0), "f"))
    for dtype in ("h", "b", "f", "d", "c", "i4", "?"):
        x = some((2, 3, 4), dtype)
        yield of("MatrixBandPart", x, known(1, "i8"), known(0, "i8"))
        yield of("MatrixBandPart", x, known(-1), known(1))
        yield of("MatrixDiag", x[0])
        yield of("MatrixDiagPart", x)
        yield of("MatrixSetDiag", x, x[:, :, 0])
        pad = some((), dtype, 9)
        yield of("MatrixDiagPartV3", x, known([-1, 2]), pad)
        yield of("MatrixDiagV3", some((4, 3), dtype), known([-1, 2]), known(-1), known(-1), pad)
        yield of("MatrixSetDiagV3", x, some((2, 4, 3), dtype, 4), known([-1, 2]))
        if dtype not in ("?", "b", "h"):
            yield of("Diag", some((2, 2), dtype))
            yield of("DiagPart", some((2, 3, 2, 3), dtype))
    x, pad = some((3, 4), "f"), np.float32(9)
    for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        yield of("MatrixDiagPartV3", x, known([-2, 1]), pad, align=align)
        yield of("MatrixSetDiagV3", x, some((4, 3), "f", 4), known([-2, 1]), align=align)
        yield of("MatrixDiagV3", some((4, 3), "f", 4), known([-2, 1]), known(3), known(4), pad,
                 align=align)  # fmt: skip
    yield of("MatrixDiagPartV2", x, known([-2, 1]), pad)
    yield of("MatrixDiagPartV2", x, known(1), pad)
    yield of("MatrixDiagPartV3", x, known([-1]), pad)
    yield of("MatrixDiagV2", some((4, 3), "f", 4), known([-2, 1]), known(3), known(4), pad)
    yield of("MatrixDiagV2", some((3,), "f"), known(-1), known(-1), known(-1), pad)
    yield of("MatrixDiagV3", some((2, 3), "f"), known(1), known(3), known(5), pad)
    yield of("MatrixSetDiagV2", x, some((3,), "f", 4), known(1))
    yield of("BatchMatrixDiag", x)


def spectral() -> Iterator[Sample]:
    for dtype, real in (("c", "f"), ("z", "d")):
        for name, shape in (("FFT", (2, 5)), ("FFT2D", (3, 4)), ("FFT3D", (2, 3, 4))):
            yield of(name, some(shape, dtype))
            yield of(f"I{name}", some(shape, dtype))
        x = some((2, 3, 6), real)
        for rank, lengths in ((1, [6]), (1, [4]), (1, [9]), (2, [3, 6]), (2, [4, 5]),
                              (3, [2, 3, 6])):  # fmt: skip
            suffix = "" if rank == 1 else f"{rank}D"
            name = DTYPES[dtype].name
            yield of(f"RFFT{suffix}", x, known(lengths), Tcomplex=name)
            yield of(f"IRFFT{suffix}", some((2, 3, 4), dtype), known(lengths),
                     Treal=DTYPES[real].name)  # fmt: skip


def quantization() -> Iterator[Sample]:
    x = np.linspace(-8, 8, 41, dtype=np.float32).reshape(1, 41)
    for more in ({}, {"num_bits": 4}, {"narrow_range": True}):
        yield of("FakeQuantWithMinMaxArgs", x, **more)
        yield of("FakeQuantWithMinMaxArgs", x, min=-0.1, max=5.0, **more)
        low, high = np.float32(-3.1), np.float32(2.3)
        yield of("FakeQuantWithMinMaxVars", x, low, high, **more)
        yield of("FakeQuantWithMinMaxArgsGradient", x * 2, x, **more)
        yield of("FakeQuantWithMinMaxVarsGradient", x * 2, x, low, high, **more)
        channels = x.reshape(41, 1) * np.float32([1, 2, 0.5])
        bounds = np.float32([-3.1, -1, 0]), np.float32([2.3, 1, 6])
        yield of("FakeQuantWithMinMaxVarsPerChannel", channels, *bounds, **more)
        yield of(
            "FakeQuantWithMinMaxVarsPerChannelGradient", channels * 2, channels, *bounds, **more
        )
    for dtype in ("f", "d", "h"):
        kind = DTYPES[dtype]
        y, low, high = x.astype(kind), np.asarray(-3, kind), np.asarray(2.5, kind)
        for more in ({}, {"signed_input": False}, {"num_bits": 4}, {"range_given": True},
                     {"range_given": True, "round_mode": "HALF_UP"}, {"narrow_range": True},
                     {"range_given": True, "signed_input": False}):  # fmt: skip
            yield of("QuantizeAndDequantizeV2", y, low, high, **more)
            yield of("QuantizeAndDequantizeV4", y, low, high, **more)
            if not {"num_bits", "round_mode"} & more.keys():
                yield of("QuantizeAndDequantizeV3", y, low, high, known(8), **more)
    rows = (x.reshape(41, 1) * np.float32([1, 2])).T
    yield of("QuantizeAndDequantizeV2", rows, np.float32([-3, -4]), np.float32([2, 9]), axis=0,
             range_given=True)  # fmt: skip
    yield of("QuantizeAndDequantizeV2", rows, np.float32([0, 0]), np.float32([0, 0]), axis=0)


def samples() -> Iterator[Sample]:
    for family in (products, convolutions, pooling, layers, images, matrices, spectral,
                   quantization):  # fmt: skip
        yield from family()
