"""Functions with loops of known counts, by names that tfc and JAX have both.

A program takes a Library, and gives a function and arguments by which it has gradients.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

import tfc
import tfc.numpy as tnp

RNG = np.random.default_rng(11)
W = RNG.standard_normal((4, 4)) / 2
XS = RNG.standard_normal((6, 3, 4))
H = RNG.standard_normal((3, 4))
V = RNG.standard_normal(5)


class Library:
    """The names by which a program is the same in tfc and in JAX."""

    def __init__(self, control, numpy):
        self.control, self.np = control, numpy


TFC, JAX = Library(tfc, tnp), Library(lax, jnp)


def recurrent(lib):
    def loss(w, xs, h):
        def step(h, x):
            h = lib.np.tanh(h @ w + x)
            return h, lib.np.sum(h * h, axis=1)

        h, ys = lib.control.scan(step, h, xs)
        return lib.np.sum(h) + lib.np.sum(ys * ys)

    return loss, (W, XS, H)


def only_the_last_carry(lib):
    def loss(w, xs, h):
        step = lambda h, x: (lib.np.sin(h @ w + x), lib.np.exp(h))  # noqa: E731
        return lib.np.sum(lib.control.scan(step, h, xs)[0] ** 2)

    return loss, (W, XS, H)


def backwards_and_unrolled(lib):
    def loss(w, xs):
        def step(carry, x):
            total, count = carry
            return (total * w[0, 0] + x, count + 1), (total * x, count)

        init = (lib.np.zeros(3), 0)
        (total, count), (ys, counts) = lib.control.scan(
            step, init, xs[:, :, 0], reverse=True, unroll=4
        )
        return lib.np.sum(total) * count + lib.np.sum(ys * counts[:, None])

    return loss, (W, XS)


def powers(lib):
    return lambda x, y: lib.control.fori_loop(2, 7, lambda i, v: v * x + i * y, y), (1.1, 0.7)


def one_iteration(lib):
    return lambda x: lib.control.fori_loop(3, 4, lambda i, v: v * v * i, x), (1.3,)


def no_iteration(lib):
    return lambda x: x * lib.control.fori_loop(3, 3, lambda i, v: v * v * i, x), (1.3,)


def nested(lib):
    def loss(w, xs):
        def row(carry, x):
            def column(c, v):
                c = lib.np.tanh(c * v + lib.np.sum(w))
                return c, c * carry

            carry, ys = lib.control.scan(column, carry, x)
            return carry, lib.np.sum(ys**2)

        last, sums = lib.control.scan(row, lib.np.sum(xs[0]), xs[:, 0])
        return last + lib.np.sum(sums)

    return loss, (W, XS)


def branches_in_a_loop(lib):
    def loss(x, v):
        def step(c, y):
            c = lib.control.cond(y > 0, lambda: c * y + x, lambda: lib.np.sin(c) - x * y)
            several = [lambda: c, lambda: c * c, lambda: c * x]
            index = lib.np.asarray(y > 0.5, "int32") + lib.np.asarray(c > 0, "int32")
            return lib.control.switch(index, several), c

        last, ys = lib.control.scan(step, x, v)
        return last + lib.np.sum(ys)

    return loss, (0.8, V)


def a_loop_in_a_branch(lib):
    def loss(x, v):
        loop = lambda: lib.control.scan(lambda c, y: (c * y + x, None), x, v)[0]  # noqa: E731
        return lib.control.cond(x > 0, loop, lambda: x) + x

    return loss, (0.8, V)


def slices_at_the_counter(lib):
    """A tridiagonal solve: reads of neighbours, and a carry that is written where it is read."""

    def loss(a, b):
        def down(i, d):
            new = lib.control.switch(0, [lambda: d[i] - a[i] * d[i - 1] / b[i]])
            row = lib.np.arange(5) == i
            return lib.np.where(row, new, d)

        return lib.np.sum(lib.control.fori_loop(1, 5, down, a * b) ** 2)

    return loss, (V, V**2 + 1)


def a_map(lib):
    rows = lambda w, xs: lib.control.map(lambda x: lib.np.sum(lib.np.exp(x @ w), axis=0), xs)  # noqa: E731
    return lambda w, xs: lib.np.sum(rows(w, xs) ** 2), (W, XS)


def partial_products(lib):
    combine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])  # noqa: E731

    def loss(x, y):
        first, second = lib.control.associative_scan(combine, (x, y))
        return lib.np.sum(first * second)

    return loss, (V, V + 1)


def weights_that_are_summed(lib):
    """An element of the state that is added to, and one that is handed on and used."""

    def loss(w, v):
        body = lambda i, s: (s[0] + lib.np.sum(s[1] @ w * i), s[1])  # noqa: E731
        total, kept = lib.control.fori_loop(0, 3, body, (0.0, v))
        return total + lib.np.sum(kept**3)

    return loss, (W, V[:4])


def a_product_of_stacked_matrices(lib):
    def loss(xs, v):
        step = lambda c, x: (lib.np.tanh(x @ c), None)  # noqa: E731
        return lib.np.sum(lib.control.scan(step, v, xs)[0])

    return loss, (RNG.standard_normal((5, 3, 3)), RNG.standard_normal(3))


def layers_in_both_directions(lib):
    """Products with scanned inputs, with the carry, with a batch of matrices, transposed or not."""

    def loss(w, xs, heads):
        def step(h, x):
            z = lib.np.tanh(x @ w + h @ w.T + lib.np.matmul(heads, x.T)[:, :, 0] @ x)
            return z, h

        total = 0.0
        for reverse in (False, True):
            last, hs = lib.control.scan(step, xs[0], xs, reverse=reverse)
            total = total + lib.np.sum(last) + lib.np.sum(hs**2)
        return total

    return loss, (W, XS[:, :1], RNG.standard_normal((1, 1, 4)))


def forward_algorithm(lib):
    """The likelihood of a hidden Markov model, in logarithms."""
    seen = np.array([0, 2, 1, 1, 0])

    def loss(transitions, emissions):
        def step(alpha, symbol):
            moved = lib.np.max(alpha) + lib.np.log(
                lib.np.exp(alpha - lib.np.max(alpha)) @ lib.np.exp(transitions)
            )
            return moved + lib.np.take(emissions, symbol, axis=1), None

        return lib.np.sum(lib.control.scan(step, lib.np.zeros(4), lib.np.asarray(seen))[0])

    return loss, (W, RNG.standard_normal((4, 3)))


def heat(lib):
    """Steps of a partial differential equation, with a coefficient for each place."""

    def loss(u, kappa):
        def step(_, u):
            left, right = u[:-2], u[2:]
            inner = u[1:-1] + kappa * (left - 2 * u[1:-1] + right)
            return lib.np.concatenate([u[:1], inner, u[-1:]])

        return lib.np.sum(lib.control.fori_loop(0, 8, step, u) ** 2)

    return loss, (V, RNG.random(3) / 4)


PROGRAMS = [
    recurrent, only_the_last_carry, backwards_and_unrolled, powers, one_iteration, no_iteration,
    nested, branches_in_a_loop, a_loop_in_a_branch, slices_at_the_counter, a_map, partial_products,
    weights_that_are_summed, a_product_of_stacked_matrices, layers_in_both_directions,
    forward_algorithm, heat,
]  # fmt: skip
