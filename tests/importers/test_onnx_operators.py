"""Operators that the onnx package has no tests of, or too few: values are ONNX Runtime's.

A row is an operator with attributes, inputs, constants and the version of its domain.
"""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_models import model_of, runtime_results

import tfc

RNG = np.random.default_rng(3)
MS, ML = "com.microsoft", "ai.onnx.ml"


def floats(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def uints(*dims):
    return RNG.integers(0, 256, dims).astype(np.uint8)


def sints(*dims):
    return RNG.integers(-128, 128, dims).astype(np.int8)


def scale(value=0.02):
    return np.array(value, np.float32)


def zero(value=7, dtype=np.uint8):
    return np.array(value, dtype)


def quantized(*dims):
    """An array with its scale and zero point."""
    return uints(*dims), scale(), zero(100)


# operator, domain, version, attributes, inputs (None is left out), outputs
Row = tuple[str, str, int, dict[str, Any], list[Any], int]
LSTM_SIZES = {"hidden_size": 5}
ROWS: list[Row] = [
    ("Gelu", MS, 1, {}, [floats(3, 4)], 1),
    ("BiasGelu", MS, 1, {}, [floats(3, 4), floats(4)], 1),
    ("FastGelu", MS, 1, {}, [floats(3, 4), floats(4)], 1),
    ("QuickGelu", MS, 1, {"alpha": 1.5}, [floats(3, 4)], 1),
    ("SimplifiedLayerNormalization", "", 17, {}, [floats(2, 3, 8), floats(8)], 1),
    ("SkipLayerNormalization", MS, 1, {"epsilon": 1e-5},
     [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)], 1),
    ("SkipSimplifiedLayerNormalization", MS, 1, {"epsilon": 1e-5},
     [floats(2, 3, 8), floats(2, 3, 8), floats(8)], 1),
    ("EmbedLayerNormalization", MS, 1, {"epsilon": 1e-5},
     [np.array([[1, 2, 0], [3, 3, 1]], np.int32), np.array([[0, 0, 1], [1, 0, 0]], np.int32),
      floats(5, 8), floats(4, 8), floats(2, 8), floats(8), floats(8)], 2),
    ("STFT", "", 17, {}, [floats(2, 20), np.array(5), floats(8)], 1),
    ("FusedMatMul", MS, 1, {"alpha": 0.5, "transA": 1}, [floats(2, 4, 3), floats(2, 4, 5)], 1),
    ("FusedMatMul", MS, 1, {"transB": 1}, [floats(2, 3, 4), floats(2, 5, 4)], 1),
    ("FusedConv", MS, 1, {"activation": "Relu", "pads": [1, 1, 1, 1]},
     [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)], 1),
    ("Attention", MS, 1, {"num_heads": 2},
     [floats(2, 3, 8), floats(8, 24), floats(24), np.array([3, 2], np.int32)], 1),
    ("Attention", MS, 1, {"num_heads": 2, "unidirectional": 1},
     [floats(2, 3, 8), floats(8, 24), floats(24)], 1),
    ("MultiHeadAttention", MS, 1, {"num_heads": 2},
     [floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), floats(24)], 1),
    ("RotaryEmbedding", MS, 1, {},
     [floats(2, 3, 12), np.array([[0, 1, 2], [4, 5, 6]]), floats(8, 3), floats(8, 3)], 1),
    ("QLinearAdd", MS, 1, {}, [*quantized(3, 4), *quantized(3, 4), scale(0.05), zero()], 1),
    ("QLinearMul", MS, 1, {}, [*quantized(3, 4), *quantized(3, 4), scale(0.05), zero()], 1),
    ("QLinearSigmoid", MS, 1, {}, [*quantized(3, 4), scale(1 / 256), zero(0)], 1),
    ("QLinearLeakyRelu", MS, 1, {"alpha": 0.2}, [*quantized(3, 4), scale(), zero()], 1),
    ("QLinearGlobalAveragePool", MS, 1, {}, [*quantized(2, 3, 4, 4), scale(), zero(99)], 1),
    ("QLinearAveragePool", MS, 1, {"kernel_shape": [2, 2]},
     [*quantized(1, 3, 4, 4), scale(0.027), zero(99)], 1),
    ("QLinearConcat", MS, 1, {"axis": 1}, [scale(), zero(90), *quantized(2, 3), *quantized(2, 2)],
     1),
    ("MatMulIntegerToFloat", MS, 1, {},
     [uints(3, 4), uints(4, 5), scale(), scale(0.01), zero(9), zero(3)], 1),
    ("DynamicQuantizeMatMul", MS, 1, {}, [floats(3, 4), uints(4, 5), scale(0.01), zero(3)], 1),
    ("LinearClassifier", ML, 1,
     {"coefficients": floats(12).tolist(), "intercepts": floats(3).tolist(),
      "classlabels_ints": [4, 5, 9], "post_transform": "SOFTMAX"}, [floats(6, 4)], 2),
    ("LinearRegressor", ML, 1,
     {"coefficients": floats(8).tolist(), "intercepts": floats(2).tolist(), "targets": 2},
     [floats(6, 4)], 1),
    ("Scaler", ML, 1, {"offset": [1.0, 2.0], "scale": [0.5, 3.0]}, [floats(3, 2)], 1),
    ("Normalizer", ML, 1, {"norm": "L1"}, [floats(3, 4)], 1),
    ("Normalizer", ML, 1, {"norm": "L2"}, [floats(3, 4)], 1),
    ("Imputer", ML, 1, {"imputed_value_floats": [1.0, 2.0], "replaced_value_float": float("nan")},
     [np.array([[np.nan, 3], [4, np.nan]], np.float32)], 1),
    ("OneHotEncoder", ML, 1, {"cats_int64s": [1, 5, 7]}, [np.array([5, 1, 2])], 1),
    ("SVMRegressor", ML, 1,
     {"coefficients": floats(3).tolist(), "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 3.0],
      "n_supports": 3, "rho": [0.2], "support_vectors": floats(12).tolist()}, [floats(5, 4)], 1),
    ("Upsample", "", 9, {"mode": "linear"},
     [floats(1, 2, 3, 4), np.array([1, 1, 2, 1.5], np.float32)], 1),
    ("Resize", "", 10, {"mode": "nearest"},
     [floats(1, 2, 4, 4), np.array([1, 1, 0.6, 2], np.float32)], 1),
    ("Softmax", "", 11, {"axis": 1}, [floats(2, 3, 4)], 1),
    ("Clip", "", 8, {"min": -0.5, "max": 0.5}, [floats(3, 4)], 1),
    ("Slice", "", 9, {"starts": [1, -3], "ends": [9, -1], "axes": [0, 1]}, [floats(4, 5)], 1),
    ("TopK", "", 9, {"k": 2, "axis": 0}, [floats(4, 5)], 2),
    ("Dropout", "", 7, {"ratio": 0.3}, [floats(3, 4)], 1),
    ("ReduceMean", "", 13, {"axes": [1], "keepdims": 0}, [floats(3, 4)], 1),
    ("LSTM", "", 14, {**LSTM_SIZES, "direction": "bidirectional", "clip": 0.4},
     [floats(6, 2, 3), floats(2, 20, 3), floats(2, 20, 5), floats(2, 40),
      np.array([6, 3], np.int32), floats(2, 2, 5), floats(2, 2, 5)], 3),
    ("GRU", "", 14, {**LSTM_SIZES, "linear_before_reset": 1, "direction": "reverse"},
     [floats(6, 2, 3), floats(1, 15, 3), floats(1, 15, 5), floats(1, 30),
      np.array([6, 3], np.int32), floats(1, 2, 5)], 2),
    ("MaxPool", "", 12, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1,
                         "dilations": [1, 2]}, [floats(1, 2, 8, 9)], 1),
    ("AveragePool", "", 19, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1,
                             "pads": [1, 0, 1, 1]}, [floats(1, 2, 8, 9)], 1),
    ("Conv", "", 11, {"group": 2, "auto_pad": "SAME_LOWER", "strides": [2, 2]},
     [floats(2, 4, 9, 8), floats(6, 2, 3, 3), floats(6)], 1),
    ("ConvTranspose", "", 11, {"group": 2, "strides": [2, 3], "output_padding": [1, 2],
                               "pads": [1, 0, 0, 1], "dilations": [1, 2]},
     [floats(2, 4, 5, 4), floats(4, 3, 3, 3), floats(6)], 1),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_an_operator_gives_what_onnx_runtime_gives(row: Row):
    op, domain, version, attributes, inputs, count = row
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(inputs)]
    outputs = [f"o{k}" for k in range(count)]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    # Small inputs may have to be known while importing: all but the first are constants.
    constants = {n: v for n, v in zip(names[1:], inputs[1:]) if n}
    domains = {domain: version} if domain else {}
    made = model_of(
        [node], {"i0": inputs[0]}, outputs, constants, version if not domain else 18, (), domains
    )
    wanted = runtime_results(made, {"i0": inputs[0]})
    got = tfc.from_onnx(made)(inputs[0])
    for g, w in zip([got] if count == 1 else got, wanted):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)
