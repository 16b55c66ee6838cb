"""The programs in tfc: `function("mlp", 32)` is what tfcompile is given."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc
import tfc.numpy as tnp
from benchmarks.ahead.programs import PROGRAMS


class Operations:
    """tfc.numpy and tfc.nn; images are channels last."""

    matmul, add, subtract = map(staticmethod, (tnp.matmul, tnp.add, tnp.subtract))
    multiply, divide, bias = map(staticmethod, (tnp.multiply, tnp.divide, tnp.add))
    tanh, exp, log = map(staticmethod, (tnp.tanh, tnp.exp, tnp.log))
    reshape, transpose = map(staticmethod, (tnp.reshape, tnp.transpose))
    relu, softmax = map(staticmethod, (tfc.nn.relu, tfc.nn.softmax))

    def rsqrt(self, x: Any) -> Any:
        return 1 / tnp.sqrt(x)

    def max(self, x: Any) -> Any:
        return tnp.max(x, axis=-1, keepdims=True)

    def sum(self, x: Any) -> Any:
        return tnp.sum(x, axis=-1, keepdims=True)

    def convolution(self, x: Any, w: np.ndarray, stride: int) -> Any:
        edge = w.shape[0] // 2
        return tfc.nn.conv(x, w, stride, [(edge, edge)] * 2)

    def max_pool(self, x: Any) -> Any:
        return tfc.nn.max_pool(x, 3, 2, [(1, 1)] * 2)

    def pixel_mean(self, x: Any) -> Any:
        return tnp.mean(x, axis=(1, 2))

    def lstm(self, x: Any, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> Any:
        size = r.shape[0]

        def step(carry: Any, part: Any) -> Any:
            h, c = carry
            gates = part @ w + h @ r + b
            i, f, g, o = (gates[:, n * size : (n + 1) * size] for n in range(4))
            c = tfc.nn.sigmoid(f) * c + tfc.nn.sigmoid(i) * tnp.tanh(g)
            h = tfc.nn.sigmoid(o) * tnp.tanh(c)
            return (h, c), None

        zero = tnp.zeros((x.shape[0], size), np.float32)
        (h, _), _ = tfc.scan(step, (zero, zero), tnp.transpose(x, (1, 0, 2)))
        return h


def function(key: str, batch: int) -> Callable[[Any], Any]:
    """A program for a batch, whose argument is described by its default."""
    program = PROGRAMS[key]
    weights = program.weights()
    dims = ",".join(map(str, (batch, *program.dims)))

    def compiled(x: Any = f"f32[{dims}]") -> Any:
        return program.function(Operations(), weights, x, batch)

    return compiled
