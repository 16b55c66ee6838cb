"""The programs in TensorFlow, as SavedModels: run by a Python that has it.

python -m benchmarks.ahead.in_tensorflow mlp 32 FOLDER
"""

import sys
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.ahead.programs import PROGRAMS


class Operations:
    """TensorFlow's own; images are channels last."""

    matmul, add, subtract = map(staticmethod, (tf.matmul, tf.add, tf.subtract))
    multiply, divide, bias = map(staticmethod, (tf.multiply, tf.divide, tf.nn.bias_add))
    tanh, exp, log = map(staticmethod, (tf.tanh, tf.exp, tf.math.log))
    reshape, transpose = map(staticmethod, (tf.reshape, tf.transpose))
    relu, softmax = map(staticmethod, (tf.nn.relu, tf.nn.softmax))
    rsqrt = staticmethod(tf.math.rsqrt)

    def max(self, x: Any) -> Any:
        return tf.reduce_max(x, -1, keepdims=True)

    def sum(self, x: Any) -> Any:
        return tf.reduce_sum(x, -1, keepdims=True)

    def convolution(self, x: Any, w: np.ndarray, stride: int) -> Any:
        edge = w.shape[0] // 2
        return tf.nn.conv2d(x, w, stride, [[0, 0], [edge, edge], [edge, edge], [0, 0]])

    def max_pool(self, x: Any) -> Any:
        padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=-np.inf)
        return tf.nn.max_pool2d(padded, 3, 2, "VALID")

    def pixel_mean(self, x: Any) -> Any:
        return tf.reduce_mean(x, (1, 2))

    def lstm(self, x: Any, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> Any:
        size, time = r.shape[0], x.shape[1]
        parts = tf.transpose(x, (1, 0, 2))

        def step(n: Any, h: Any, c: Any) -> Any:
            gates = tf.matmul(parts[n], w) + tf.matmul(h, r) + b
            i, f, g, o = tf.split(gates, 4, 1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return n + 1, tf.sigmoid(o) * tf.tanh(c), c

        zero = tf.zeros((x.shape[0], size))
        _, h, _ = tf.while_loop(
            lambda n, h, c: n < time, step, (0, zero, zero), maximum_iterations=time
        )
        return h


def save(key: str, batch: int, folder: str) -> None:
    """Write a program as a SavedModel whose signature takes `x` and gives `y`."""
    program = PROGRAMS[key]
    weights = program.weights()
    taken = tf.TensorSpec((batch, *program.dims), tf.float32, "x")

    @tf.function(input_signature=[taken])
    def function(x: Any) -> dict[str, Any]:
        return {"y": program.function(Operations(), weights, x, batch)}

    tf.saved_model.save(tf.Module(), folder, signatures={"serving_default": function})


if __name__ == "__main__":
    save(sys.argv[1], int(sys.argv[2]), sys.argv[3])
