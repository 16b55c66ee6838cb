"""Random loops, nested and with branches: values, gradients and tangents as JAX has them."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfc
import tfc.numpy as tnp

RNG = np.random.default_rng(5)
SIZE = 3


class Program:
    """A function of vectors and a matrix, made of random steps that are the same in both libraries.

    control, np: where scan and the like come from, and where functions of arrays do.
    """

    def __init__(self, seed, control, numpy):
        self.seed, self.control, self.np = seed, control, numpy

    def __call__(self, w, x, rows):
        self.random = random.Random(self.seed)
        values = [x, rows[0], x @ w]
        for _ in range(3):
            values.append(self.loop(values, w, rows, depth=0))
        return self.np.sum(values[-1] * values[-2]) + self.np.sum(values[-3] ** 2)

    def loop(self, values, w, rows, depth):
        """The result of a random loop over vectors."""
        c, other = self.random.choice(values), self.random.choice(values)
        kind = self.random.choice(["scan", "fori", "map", "nested"][: 4 - depth])
        state = self.random.getstate()

        def step(*inside):
            self.random.setstate(state)  # a body may be traced more than once
            return self.body([*inside, other], w, rows, depth)

        match kind:
            case "fori":
                first = self.random.randint(0, 2)
                last = first + self.random.randint(0, 4)
                return self.control.fori_loop(first, last, lambda i, v: step(v, rows[i % 4]), c)
            case "map":
                return self.np.sum(self.control.map(lambda r: step(r, c), rows), axis=0)
            case _:
                both = lambda v, r: (step(v, r), v * r if depth else self.np.sum(v))  # noqa: E731
                reverse = self.random.random() < 0.3
                last, ys = self.control.scan(both, c, rows, reverse=reverse)
                return last + self.np.sum(ys)

    def body(self, values, w, rows, depth):
        """A vector of random functions of others."""
        values = list(values)
        for _ in range(self.random.randint(2, 5)):
            a, b = self.random.choice(values), self.random.choice(values)
            values.append(self.np.tanh(self.random_function(a, b, w, rows, depth)))
        return values[-1]

    def random_function(self, a, b, w, rows, depth):
        """A vector made of two, by one operation or two."""
        np_ = self.np
        made = [
            lambda: np_.tanh(a + b),
            lambda: np_.sin(a) * b,
            lambda: np_.tanh(a @ w),
            lambda: np_.where(a > b, a, b * 0.5),
            lambda: np_.exp(-a * a) + b,
            lambda: a / (1 + np_.sum(b * b)),
            lambda: np_.concatenate([a[1:], b[:1]]),
            lambda: np_.cumsum(a) * 0.3,
            lambda: np_.max(a) * b * 0.1,
            lambda: self.control.cond(np_.sum(a) > 0, lambda: np_.cos(a), lambda: b * 0.7),
            lambda: self.loop([a, b], w, rows, depth + 1) if depth < 1 else np_.cos(a),
        ]
        return self.random.choice(made)()


SEEDS = [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 25))]


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_and_tangents_of_random_loops_are_those_of_jax(seed):
    shapes = (SIZE, SIZE), (SIZE,), (4, SIZE)
    arguments = tuple(RNG.standard_normal(shape) for shape in shapes)
    slopes = tuple(np.cos(np.arange(a.size)).reshape(a.shape) for a in arguments)

    def all_of(grad, jvp, control, numpy):
        program = Program(seed, control, numpy)
        return lambda *x: (grad(program, (0, 1, 2))(*x), jvp(program, x, slopes))

    with jax.enable_x64(True):
        expected = jax.jit(all_of(jax.value_and_grad, jax.jvp, lax, jnp))(*arguments)
    got = tfc.jit(all_of(tfc.value_and_grad, tfc.jvp, tfc, tnp), backend="interpreter")(*arguments)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
