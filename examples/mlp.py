"""Fit a small network to sin(x): a loss, its gradient, and a training step, all compiled.

python examples/mlp.py
"""

from itertools import pairwise

import numpy as np

import tfc
import tfc.numpy as tnp


def network(parameters, x):
    for weights, bias in parameters[:-1]:
        x = tnp.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return x @ weights + bias


def loss(parameters, x, y):
    return tnp.mean((network(parameters, x) - y) ** 2)


@tfc.jit
def step(parameters, x, y):
    value, gradient = tfc.value_and_grad(loss)(parameters, x, y)
    moved = [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(parameters, gradient)]
    return moved, value


def main():
    generator = np.random.default_rng(0)
    sizes = [1, 32, 32, 1]
    parameters = [
        ((generator.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32), np.zeros(n, "f4"))
        for m, n in pairwise(sizes)
    ]
    x = np.linspace(-3, 3, 256, dtype=np.float32)[:, None]
    y = np.sin(x)
    for number in range(3001):
        parameters, value = step(parameters, x, y)
        if number % 500 == 0:
            print(f"step {number:4}  loss {value:.6f}")


if __name__ == "__main__":
    main()
