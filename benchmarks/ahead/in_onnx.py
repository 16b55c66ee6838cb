"""The programs as ONNX models, measured with ONNX Runtime: run by a Python that has both.

    python -m benchmarks.ahead.in_onnx save mlp 32 MODEL
    python -m benchmarks.ahead.in_onnx MODEL ARGUMENT.npy RESULT.npy

The second answers each line of its input, a number of seconds, with the microseconds of a call, as
loop.h does. Images are channels first.
"""

import sys
import time
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from benchmarks.ahead.programs import PROGRAMS


class Operations:
    """Nodes of a graph; values are their names, and arrays become initializers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """The name of an operator's first result."""
        return self.nodes_of(kind, 1, *inputs, **attributes)[0]

    def nodes_of(self, kind: str, count: int, *inputs: Any, **attributes: Any) -> list[str]:
        """The names of its results."""
        names = [x if isinstance(x, str) else self._constant(x) for x in inputs]
        made = [f"v{len(self.nodes)}_{n}" for n in range(count)]
        self.nodes.append(helper.make_node(kind, names, made, **attributes))
        return made

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def matmul(self, x: Any, y: Any) -> str:
        return self.node("MatMul", x, y)

    def add(self, x: Any, y: Any) -> str:
        return self.node("Add", x, y)

    def subtract(self, x: Any, y: Any) -> str:
        return self.node("Sub", x, y)

    def multiply(self, x: Any, y: Any) -> str:
        return self.node("Mul", x, y)

    def divide(self, x: Any, y: Any) -> str:
        return self.node("Div", x, y)

    def relu(self, x: Any) -> str:
        return self.node("Relu", x)

    def tanh(self, x: Any) -> str:
        return self.node("Tanh", x)

    def exp(self, x: Any) -> str:
        return self.node("Exp", x)

    def log(self, x: Any) -> str:
        return self.node("Log", x)

    def rsqrt(self, x: Any) -> str:
        return self.node("Reciprocal", self.node("Sqrt", x))

    def softmax(self, x: Any) -> str:
        return self.node("Softmax", x, axis=-1)

    def max(self, x: Any) -> str:
        return self.node("ReduceMax", x, np.int64([-1]))

    def sum(self, x: Any) -> str:
        return self.node("ReduceSum", x, np.int64([-1]))

    def reshape(self, x: Any, dims: tuple[int, ...]) -> str:
        return self.node("Reshape", x, np.int64(dims))

    def transpose(self, x: Any, order: tuple[int, ...]) -> str:
        return self.node("Transpose", x, perm=order)

    def convolution(self, x: Any, w: np.ndarray, stride: int) -> str:
        edge = w.shape[0] // 2
        kernel = np.ascontiguousarray(w.transpose(3, 2, 0, 1))
        return self.node("Conv", x, kernel, strides=[stride] * 2, pads=[edge] * 4)

    def bias(self, x: Any, b: np.ndarray) -> str:
        return self.node("Add", x, b[:, None, None])

    def max_pool(self, x: Any) -> str:
        return self.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)

    def pixel_mean(self, x: Any) -> str:
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def lstm(self, x: Any, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> str:
        size = r.shape[0]

        def gates(v: np.ndarray) -> np.ndarray:
            """From input, forget, cell, output to ONNX's input, output, forget, cell."""
            i, f, g, o = np.split(v, 4, -1)
            return np.concatenate([i, o, f, g], -1)

        steps = self.node("Transpose", x, perm=(1, 0, 2))
        bias = np.concatenate([gates(b), np.zeros_like(b)])[None]
        weights = [np.ascontiguousarray(gates(v).T)[None] for v in (w, r)]
        _, last = self.nodes_of("LSTM", 2, steps, *weights, bias, hidden_size=size)
        return self.node("Squeeze", last, np.int64([0]))


def save(key: str, batch: int, path: str) -> None:
    """Write a program as a model that takes `x` and gives `y`."""
    program = PROGRAMS[key]
    operations = Operations()
    dims = (batch, *program.dims)
    taken = (batch, dims[3], dims[1], dims[2]) if program.images else dims
    result = program.function(operations, program.weights(), "x", batch)
    operations.nodes.append(helper.make_node("Identity", [result], ["y"]))
    graph = helper.make_graph(
        operations.nodes, key,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, taken)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        operations.initializers,
    )  # fmt: skip
    opset = [helper.make_opsetid("", 17)]
    if any(node.op_type.startswith("Reduce") for node in operations.nodes):
        opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)


def serve(path: str, argument: str, result: str) -> None:
    """Run a model in one thread, its arguments and results bound once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    x = np.load(argument)
    if x.ndim == 4:
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    np.save(result, binding.copy_outputs_to_cpu()[0])
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, count, rounds = float(line), 0, 1
        start = time.process_time()
        while (elapsed := time.process_time() - start) < seconds or not count:
            for _ in range(rounds):
                session.run_with_iobinding(binding)
            count += rounds
            rounds = min(2 * rounds, 64)
        print(1e6 * elapsed / count, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "save":
        save(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        serve(*sys.argv[1:])
