"""Whole networks in ONNX with random weights, as exporters write them: open sizes, shapes computed
from shapes, constants as initializers."""

from typing import Any

import numpy as np
from onnx import helper
from onnx_models import model_of


class Builder:
    """Nodes and weights that are added one after the other; values go by name."""

    def __init__(self, seed: int = 0):
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.generator = np.random.default_rng(seed)

    def __call__(self, op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """The output, or a tuple of them, of a new node; arrays become initializers."""
        number = len(self.nodes)
        names = [v if isinstance(v, str) else self.constant(v) for v in inputs]
        made = [f"{op}_{number}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, names, made, name=f"/{op}_{number}", **attributes))
        return made[0] if outputs == 1 else tuple(made)

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def weight(self, *dims: int) -> np.ndarray:
        fan = int(np.prod(dims[1:])) or 1
        return (self.generator.standard_normal(dims) / np.sqrt(fan)).astype(np.float32)

    def conv(self, x: str, inputs: int, outputs: int, size: int, stride: int = 1, **named: Any):
        """A convolution and the normalization of a batch."""
        pad = size // 2
        groups = named.get("group", 1)
        kernel = self.weight(outputs, inputs // groups, size, size)
        x = self(
            "Conv", x, kernel, kernel_shape=[size, size], strides=[stride, stride],
            pads=[pad] * 4, **named,
        )  # fmt: skip
        vectors = [np.abs(self.weight(outputs)) + 0.5 for _ in range(4)]
        return self("BatchNormalization", x, *vectors)

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        return self("Add", self("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def layer_norm(self, x: str, size: int) -> str:
        """The normalization of a layer, as older exporters take it apart."""
        middle = self("Sub", x, self("ReduceMean", x, axes=[-1]))
        power = self("ReduceMean", self("Pow", middle, np.float32(2)), axes=[-1])
        root = self("Sqrt", self("Add", power, np.float32(1e-5)))
        scaled = self("Mul", self("Div", middle, root), np.ones(size, np.float32))
        return self("Add", scaled, self.weight(size))

    def size(self, x: str, axis: int) -> str:
        """One size of a value, as a vector of one."""
        return self("Gather", self("Shape", x), np.array([axis]), axis=0)

    def heads(self, x: str, count: int, size: int) -> str:
        """[batch, time, heads · size] as [batch, heads, time, size], whatever the first two are."""
        shape = self("Concat", self.size(x, 0), self.size(x, 1), np.array([count]),
                     np.array([size]), axis=0)  # fmt: skip
        return self("Transpose", self("Reshape", x, shape), perm=[0, 2, 1, 3])

    def model(self, inputs: dict[str, Any], *outputs: str, opset: int = 13) -> Any:
        return model_of(self.nodes, inputs, list(outputs), self.constants, opset)


def resnet() -> Any:
    """Residual blocks, the second with a shortcut of its own."""
    b = Builder(1)
    x = b("Relu", b.conv("image", 3, 16, 7, 2))
    x = b("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for inputs, outputs, stride in ((16, 16, 1), (16, 32, 2)):
        inner = b("Relu", b.conv(x, inputs, outputs, 3, stride))
        inner = b.conv(inner, outputs, outputs, 3)
        if stride > 1:
            x = b.conv(x, inputs, outputs, 1, stride)
        x = b("Relu", b("Add", inner, x))
    x = b("Flatten", b("GlobalAveragePool", x))
    y = b("Gemm", x, b.weight(10, 32), b.weight(10), transB=1)
    return b.model({"image": (np.float32, ("batch", 3, 32, 32))}, y)


def mobilenet() -> Any:
    """Depthwise convolutions, squeezing and exciting, hard activations."""
    b = Builder(2)
    x = b("HardSwish", b.conv("image", 3, 16, 3, 2))
    inner = b("HardSwish", b.conv(x, 16, 48, 1))
    inner = b("HardSwish", b.conv(inner, 48, 48, 5, group=48))
    pooled = b("GlobalAveragePool", inner)
    gate = b("Relu", b("Conv", pooled, b.weight(12, 48, 1, 1)))
    gate = b("HardSigmoid", b("Conv", gate, b.weight(48, 12, 1, 1)), alpha=1 / 6)
    x = b("Add", b.conv(b("Mul", inner, gate), 48, 16, 1), x)
    x = b("Clip", x, np.float32(0), np.float32(6))
    x = b("Flatten", b("ReduceMean", x, axes=[2, 3]))
    y = b("Softmax", b("Gemm", x, b.weight(16, 5), b.weight(5)), axis=-1)
    return b.model({"image": (np.float32, ("batch", 3, 24, 24))}, y, opset=14)


def tagger() -> Any:
    """Embeddings, a bidirectional LSTM with lengths, a class for each word."""
    b = Builder(3)
    x = b("Gather", b.weight(50, 12), "words")
    x = b("Transpose", x, perm=[1, 0, 2])
    batch = b.size("words", 0)
    state = b("ConstantOfShape", b("Concat", np.array([2]), batch, np.array([9]), axis=0))
    x, _, _ = b("LSTM", x, b.weight(2, 36, 12), b.weight(2, 36, 9), b.weight(2, 72), "lengths",
                state, state, outputs=3, hidden_size=9, direction="bidirectional")  # fmt: skip
    x = b("Transpose", x, perm=[2, 0, 1, 3])
    x = b("Reshape", x, np.array([0, 0, -1]))
    y = b("ArgMax", b("LogSoftmax", b.dense(x, 18, 7), axis=-1), axis=-1, keepdims=0)
    return b.model({"words": (np.int64, ("batch", "time")), "lengths": (np.int32, ("batch",))}, y)


def encoder() -> Any:
    """A transformer's encoder with a mask, as BERT's exporters write it."""
    b, size, count = Builder(4), 32, 4
    x = b("Gather", b.weight(60, size), "input_ids")
    places = b("Slice", b.weight(1, 40, size), np.array([0]), b.size("input_ids", 1), np.array([1]))
    x = b.layer_norm(b("Add", x, places), size)
    mask = b("Cast", b("Unsqueeze", "mask", np.array([1, 2])), to=1)
    mask = b("Mul", b("Sub", np.float32(1), mask), np.float32(-10000))
    for _ in range(2):
        q, k, v = (b.heads(b.dense(x, size, size), count, size // count) for _ in range(3))
        scores = b("MatMul", q, b("Transpose", k, perm=[0, 1, 3, 2]))
        scores = b("Add", b("Div", scores, np.float32(np.sqrt(size // count))), mask)
        mixed = b("Transpose", b("MatMul", b("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        shape = b("Concat", b.size(x, 0), b.size(x, 1), np.array([size]), axis=0)
        x = b.layer_norm(b("Add", b.dense(b("Reshape", mixed, shape), size, size), x), size)
        inner = b.dense(x, size, 4 * size)
        gelu = b("Add", b("Erf", b("Div", inner, np.float32(np.sqrt(2)))), np.float32(1))
        inner = b("Mul", b("Mul", inner, gelu), np.float32(0.5))
        x = b.layer_norm(b("Add", b.dense(inner, 4 * size, size), x), size)
    pooled = b("Tanh", b.dense(b("Gather", x, np.array(0), axis=1), size, size))
    dims = ("batch", "time")
    return b.model({"input_ids": (np.int64, dims), "mask": (np.int64, dims)}, x, pooled)


def decoder() -> Any:
    """A decoder with a cache, whose mask is cut from a triangle by sizes that are computed."""
    b, size, count = Builder(5), 24, 3
    x = b("Gather", b.weight(40, size), "input_ids")
    before, now = b.size("past_key", 2), b.size("input_ids", 1)
    total = b("Add", before, now)
    places = b("Range", b("Squeeze", before), b("Squeeze", total), np.array(1))
    x = b("Add", x, b("Gather", b.weight(30, size), places))
    inner = b.dense(b.layer_norm(x, size), size, 3 * size)
    q, k, v = b("Split", inner, np.array([size] * 3), outputs=3, axis=2)
    q, k, v = (b.heads(part, count, size // count) for part in (q, k, v))
    k, v = (b("Concat", past, part, axis=2) for past, part in (("past_key", k), ("past_value", v)))
    scores = b("MatMul", q, b("Transpose", k, perm=[0, 1, 3, 2]))
    triangle = np.tril(np.ones((1, 1, 30, 30), bool))
    mask = b("Slice", triangle, before, total, np.array([2]))
    mask = b("Slice", mask, np.array([0]), total, np.array([3]))
    weights = b("Softmax", b("Where", mask, scores, np.float32(-1e9)), axis=-1)
    mixed = b("Transpose", b("MatMul", weights, v), perm=[0, 2, 1, 3])
    x = b("Add", b.dense(b("Reshape", mixed, np.array([0, 0, -1])), size, size), x)
    inner = b.dense(b.layer_norm(x, size), size, 4 * size)
    cube = b("Mul", b("Pow", inner, np.float32(3)), np.float32(0.044715))
    bent = b("Tanh", b("Mul", b("Add", inner, cube), np.float32(0.7978845608)))
    half = b("Mul", inner, np.float32(0.5))
    x = b("Add", b.dense(b("Mul", half, b("Add", bent, np.float32(1))), 4 * size, size), x)
    y = b.dense(x, size, 40)
    cache = (np.float32, ("batch", count, "past", size // count))
    inputs = {"input_ids": (np.int64, ("batch", "time")), "past_key": cache, "past_value": cache}
    return b.model(inputs, y, k, v)
