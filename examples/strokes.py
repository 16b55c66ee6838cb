"""Make strokes.onnx, the network that fine_tune.py begins with: it knows the digits 0 to 4 alone.

python examples/strokes.py (which needs onnx and scikit-learn)
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

import tfc
import tfc.numpy as tnp
from tfc import nn, optim

NODES = [
    helper.make_node("Conv", ["pixels", "first.weight", "first.bias"], ["a"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["a"], ["b"]),
    helper.make_node("Conv", ["b", "second.weight", "second.bias"], ["c"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c"], ["d"]),
    helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Flatten", ["e"], ["f"]),
    helper.make_node("Gemm", ["f", "last.weight", "last.bias"], ["scores"], transB=1),
]


def initial_weights():
    generator = np.random.default_rng(0)
    sizes = {"first": (8, 1, 3, 3), "second": (12, 8, 3, 3), "last": (10, 192)}
    found = {}
    for name, dims in sizes.items():
        scale = np.sqrt(2 / np.prod(dims[1:]))
        found[f"{name}.weight"] = (generator.standard_normal(dims) * scale).astype(np.float32)
        found[f"{name}.bias"] = np.zeros(dims[0], np.float32)
    return found


def model_of(weights):
    arrays = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["images", 1, 8, 8])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["images", 10])
    graph = helper.make_graph(NODES, "strokes", [pixels], [scores], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main():
    digits = load_digits()
    known = digits.target < 5
    images = (digits.images[known] / 16).astype(np.float32)[:, None]
    labels = digits.target[known].astype(np.int32)
    weights = initial_weights()
    model = tfc.from_onnx(model_of(weights))
    optimizer = optim.adam(3e-3)

    def loss(weights, images, labels):
        scores = model.function(weights, images)
        return tnp.mean(nn.softmax_cross_entropy_with_integer_labels(scores, labels))

    @tfc.jit
    def step(weights, state, images, labels):
        value, gradient = tfc.value_and_grad(loss)(weights, images, labels)
        updates, state = optimizer.update(gradient, state, weights)
        return optim.apply_updates(weights, updates), state, value

    state = optimizer.init(weights)
    for _ in range(60):
        weights, state, value = step(weights, state, images, labels)
    print(f"loss {float(value):.3f}")
    weights = {name: np.asarray(value) for name, value in weights.items()}
    path = Path(__file__).parent / "strokes.onnx"
    path.write_bytes(model_of(weights).SerializeToString())


if __name__ == "__main__":
    main()
