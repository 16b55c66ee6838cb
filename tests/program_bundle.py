"""What whole programs share, which are written once for any bundle of namespaces with JAX's names.

A program takes the bundle: `t.np`, `t.nn`, `t.random`, `t.linalg` and functions of functions such
as `t.grad` and `t.scan`. It gives a nested structure of arrays.
"""

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {}
RNG = np.random.default_rng(11)
START = RNG.bit_generator.state


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Enter a program under its function's name; what it draws is the same at each call."""

    @wraps(function)
    def run(t: Any) -> Any:
        RNG.bit_generator.state = START
        return function(t)

    PROGRAMS[function.__name__] = run
    return run


def drawn(*dims: int) -> np.ndarray:
    return RNG.normal(size=dims)


POINTS, LABELS = drawn(40, 3), np.arange(40) % 3
SERIES, IMAGE = drawn(30, 4), drawn(12, 14)
SYMMETRIC = (lambda a: a @ a.T / 8 + np.eye(8))(drawn(8, 8))
TARGETS = np.sin(POINTS[:, 0]) + 0.1 * POINTS[:, 1]


def layers(*sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(drawn(m, n) / np.sqrt(m), 0.1 * drawn(n)) for m, n in pairwise(sizes)]


DENSE, ENCODER, DECODER = layers(3, 16, 1), layers(3, 8, 4), layers(2, 8, 3)


def forward(t, parameters, x, activation):
    for weights, bias in parameters[:-1]:
        x = activation(x @ weights + bias)
    weights, bias = parameters[-1]
    return x @ weights + bias


def descended(t, loss, parameters, rate, steps):
    """Parameters after steps of gradient descent, and the losses on the way."""

    def step(values, _):
        value, slopes = t.value_and_grad(loss)(values)
        return t.tree_map(lambda p, g: p - rate * g, values, slopes), value

    return t.scan(step, parameters, None, length=steps)
