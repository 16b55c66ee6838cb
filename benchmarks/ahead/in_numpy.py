"""The programs in NumPy and in f64: what each contender's values are compared with."""

from typing import Any

import numpy as np

from benchmarks.ahead.programs import Program


class Operations:
    """NumPy's; images are channels last."""

    matmul, add, subtract = np.matmul, np.add, np.subtract
    multiply, divide, bias = np.multiply, np.divide, np.add
    tanh, exp, log = np.tanh, np.exp, np.log
    reshape, transpose = staticmethod(np.reshape), staticmethod(np.transpose)

    def relu(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def rsqrt(self, x: Any) -> Any:
        return 1 / np.sqrt(x)

    def softmax(self, x: Any) -> Any:
        exponentials = np.exp(x - self.max(x))
        return exponentials / self.sum(exponentials)

    def max(self, x: Any) -> Any:
        return np.max(x, -1, keepdims=True)

    def sum(self, x: Any) -> Any:
        return np.sum(x, -1, keepdims=True)

    def _windows(self, x: Any, size: int, stride: int, filler: float) -> Any:
        """[images, height, width, channels, size, size]."""
        edge = size // 2
        pads = [(0, 0), (edge, edge), (edge, edge), (0, 0)]
        padded = np.pad(x, pads, constant_values=filler)
        found = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))
        return found[:, ::stride, ::stride]

    def convolution(self, x: Any, w: np.ndarray, stride: int) -> Any:
        return np.tensordot(self._windows(x, w.shape[0], stride, 0), w, ((4, 5, 3), (0, 1, 2)))

    def max_pool(self, x: Any) -> Any:
        return self._windows(x, 3, 2, -np.inf).max((4, 5))

    def pixel_mean(self, x: Any) -> Any:
        return x.mean((1, 2))

    def lstm(self, x: Any, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> Any:
        def sigmoid(v: Any) -> Any:
            return 1 / (1 + np.exp(-v))

        h = c = np.zeros((x.shape[0], r.shape[0]))
        for step in x.transpose(1, 0, 2):
            i, f, g, o = np.split(step @ w + h @ r + b, 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        return h


def reference(program: Program, batch: int) -> np.ndarray:
    """What a program computes of its argument, rounded to f32 at the end."""
    weights = {name: w.astype(np.float64) for name, w in program.weights().items()}
    x = program.argument(batch).astype(np.float64)
    return np.asarray(program.function(Operations(), weights, x, batch), np.float32)
