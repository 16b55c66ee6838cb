"""Quantized ONNX networks run on integer kernels, and give what ONNX Runtime gives."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import model_of, runtime_results

import tfc
from tfc.hlo import Module, evaluate

RNG = np.random.default_rng(6)


def exact_weights(dims: tuple[int, ...]) -> np.ndarray:
    """Weights of s8 whose products with u8 ONNX Runtime adds up exactly on every processor.

    Without VNNI it adds pairs of products in 16 bits, which saturate beyond 7-bit weights.
    """
    return RNG.integers(-64, 64, dims).astype(np.int8)


class _Network:
    """Nodes and constants of a network in which pairs of (de)quantization stand around layers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, value: Any, dtype: Any) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def pair(self, x: str, scale: float, zero: int, dtype: Any) -> str:
        """x, rounded as integers of a scale are."""
        with_zero = self.constant(scale, np.float32), self.constant(zero, dtype)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *with_zero), *with_zero)

    def weight(self, dims: tuple[int, ...], axis: int) -> str:
        """A weight of s8 with a scale for each channel, dequantized."""
        scales = RNG.uniform(0.001, 0.01, dims[axis])
        integers = self.constant(RNG.integers(-127, 128, dims), np.int8)
        zeros = self.constant(np.zeros(dims[axis]), np.int8)
        scale = self.constant(scales, np.float32)
        return self.node("DequantizeLinear", integers, scale, zeros, axis=axis)


def qdq_network(dtype: Any) -> onnx.ModelProto:
    """Two convolutions with a residual, pooling and a last layer; activations of u8 or s8."""
    zero = 100 if dtype == np.uint8 else -20
    net = _Network()
    x = net.pair("x", 0.05, zero, dtype)
    first = net.node("Conv", x, net.weight((8, 3, 3, 3), 0), net.constant(RNG.normal(size=8),
                     np.float32), pads=[1] * 4, strides=[2, 2])  # fmt: skip
    y = net.pair(net.node("Relu", first), 0.02, zero, dtype)
    second = net.node("Conv", y, net.weight((8, 8, 3, 3), 0), pads=[1] * 4)
    y = net.pair(net.node("Add", net.pair(second, 0.03, zero, dtype), y), 0.03, zero, dtype)
    y = net.pair(net.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), 0.03, zero, dtype)
    y = net.node("Flatten", y)
    y = net.pair(net.node("Gemm", y, net.weight((10, 128), 0), transB=1), 0.1, zero, dtype)
    net.nodes[-1].output[0] = "y"
    assert y
    return model_of(net.nodes, {"x": (np.float32, [2, 3, 16, 16])}, ["y"], net.constants)


def product_types(module: Module) -> set[tuple[str, str]]:
    """The element types that products of a module read: of what is before their conversions."""
    found = set()
    for computation in module.computations:
        for x in computation.instructions:
            if x.opcode in ("dot", "convolution"):
                read = [o.operands[0] if o.opcode == "convert" else o for o in x.operands]
                found.add(tuple(str(o.array_shape.element_type) for o in read))
    return found


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_networks_of_pairs_multiply_bytes_and_differ_by_one_step_at_most(dtype: Any):
    made = qdq_network(dtype)
    model = tfc.from_onnx(made)
    x = RNG.normal(size=(2, 3, 16, 16)).astype(np.float32)
    kind = "u8" if dtype == np.uint8 else "s8"
    assert product_types(model.lower().compile().hlo) == {(kind, "s8")}
    step = 0.1
    (meant,) = evaluate(model.hlo, x)
    (wanted,) = runtime_results(made, {"x": x})
    assert len(np.unique(wanted)) > 10
    for other in (meant, wanted):
        steps = np.abs(model(x) - other) / step
        # A tie that is rounded otherwise in a layer is at most one step further at the end.
        assert steps.max() < 1.5
        assert (steps < 0.5).mean() > 0.8


def test_integer_operators_are_exact_and_multiply_bytes():
    """QLinearConv, ConvInteger, QLinearMatMul and MatMulInteger, with zero points of all kinds."""
    x = RNG.integers(0, 256, (2, 5, 9, 9)).astype(np.uint8)
    w = exact_weights((8, 5, 3, 3))
    a = RNG.integers(0, 256, (3, 40)).astype(np.uint8)
    b = RNG.integers(0, 256, (40, 16)).astype(np.uint8)
    constants = {
        "w": w, "b": b, "s": np.float32(0.02), "zx": np.uint8(77), "zw": np.zeros(8, np.int8),
        "sw": RNG.uniform(0.001, 0.01, 8).astype(np.float32), "zb": np.uint8(130),
        "bias": RNG.integers(-999, 999, 8).astype(np.int32), "zc": np.uint8(3),
    }  # fmt: skip
    nodes = [
        helper.make_node("QLinearConv", ["x", "s", "zx", "w", "sw", "zw", "s", "zx", "bias"],
                         ["conv"], pads=[1, 1, 1, 1], strides=[2, 1]),
        helper.make_node("ConvInteger", ["x", "w", "zx"], ["whole"], pads=[1, 0, 0, 1]),
        helper.make_node("QLinearMatMul", ["a", "s", "zx", "b", "s", "zb", "s", "zc"], ["product"]),
        helper.make_node("MatMulInteger", ["a", "b", "zx", "zb"], ["sums"]),
    ]  # fmt: skip
    outputs = ["conv", "whole", "product", "sums"]
    made = model_of(nodes, {"x": x, "a": a}, outputs, constants)
    model = tfc.from_onnx(made)
    got = model(x, a)
    meant, wanted = evaluate(model.hlo, x, a), runtime_results(made, {"x": x, "a": a})
    for name, g, m, r in zip(outputs, got, meant, wanted):
        np.testing.assert_array_equal(g, m, name)
        np.testing.assert_allclose(g, r, atol=1 if g.dtype == np.uint8 else 0)
    assert product_types(model.lower().compile().hlo) == {("u8", "s8"), ("u8", "u8")}


def test_products_of_a_range_found_at_run_time_multiply_bytes():
    """DynamicQuantizeLinear before MatMulInteger: the zero point is a value of the program."""
    x = RNG.normal(size=(7, 64)).astype(np.float32)
    constants = {
        "b": exact_weights((64, 24)), "zb": np.int8(0), "t": np.float32(0.01),
    }  # fmt: skip
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "b", "z", "zb"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=1),
        helper.make_node("Mul", ["s", "t"], ["st"]),
        helper.make_node("Mul", ["f", "st"], ["y"]),
    ]
    made = model_of(nodes, {"x": x}, ["y"], constants)
    model = tfc.from_onnx(made)
    np.testing.assert_allclose(model(x), runtime_results(made, {"x": x})[0], rtol=1e-5, atol=1e-4)
    assert product_types(model.lower().compile().hlo) == {("u8", "s8")}


@pytest.mark.parametrize("per_gate", [False, True])
def test_recurrent_layers_quantize_inputs_and_states_by_their_ranges(per_gate: bool):
    """DynamicQuantizeLSTM of both directions: states of each step have a range of their own."""
    size, inputs, directions = 5, 4, 2
    scales = (directions, 4 * size) if per_gate else (directions,)
    constants = {
        "w": exact_weights((directions, inputs, 4 * size)),
        "r": exact_weights((directions, size, 4 * size)),
        "b": RNG.normal(size=(directions, 8 * size)).astype(np.float32),
        "ws": RNG.uniform(0.005, 0.01, scales).astype(np.float32),
        "rs": RNG.uniform(0.005, 0.01, scales).astype(np.float32),
        "zero": np.zeros(scales, np.int8),
    }
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        ["x", "w", "r", "b", "", "", "", "", "ws", "zero", "rs", "zero"], ["y", "h", "c"],
        domain="com.microsoft", direction="bidirectional", hidden_size=size,
    )  # fmt: skip
    x = RNG.normal(size=(6, 1, inputs)).astype(np.float32)
    model = model_of([node], {"x": x}, ["y", "h", "c"], constants, domains={"com.microsoft": 1})
    for got, wanted in zip(tfc.from_onnx(model)(x), runtime_results(model, {"x": x}), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
