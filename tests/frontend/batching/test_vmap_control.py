"""vmap over scans, switches and maps, and with derivatives through them, against JAX."""

import jax
import numpy as np
import pytest
from vmap_checks import check

import tfc

RNG = np.random.default_rng(8)
X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 4))
W = RNG.standard_normal((3, 3))


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def lax(library):
    return tfc if library is tfc else jax.lax


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
def test_a_scan_of_each_example(in_axes):
    def write(library, np_):
        def run(x, ys):
            step = lambda c, y: (np_.tanh(W @ c + y), c.sum() * y)  # noqa: E731
            return lax(library).scan(step, x, ys, reverse=True)

        return library.vmap(run, in_axes)

    check(write, X if in_axes[0] == 0 else X[0], Y if in_axes[1] == 0 else Y[0])


def test_a_scan_whose_length_alone_is_known():
    def write(library, np_):
        step = lambda c, _: (c * 1.5, c[0])  # noqa: E731
        return library.vmap(lambda x: lax(library).scan(step, x, None, length=4))

    check(write, X)


def test_a_switch_whose_index_differs_takes_the_branch_of_each_example():
    def write(library, np_):
        branches = [np_.sin, lambda v: v * v[0], lambda v: v + W[0]]
        return library.vmap(lambda i, x: lax(library).switch(i, branches, x))

    check(write, np.array([0, 2, 1, -1, 5], np.int32), X)


def test_an_associative_scan_of_each_example():
    def write(library, np_):
        return library.vmap(lambda x: lax(library).associative_scan(np_.multiply, x))

    check(write, Y)


def test_a_map_of_each_example():
    def write(library, np_):
        return library.vmap(lambda x: lax(library).map(lambda v: np_.sin(v) * x[0], x))

    check(write, Y)


def test_tangents_of_each_example():
    def write(library, np_):
        def along(x, t):
            return library.jvp(lambda v: np_.tanh(W @ v) * v[0], (x,), (t,))

        return library.vmap(along, in_axes=(0, None))

    check(write, X, Y[0, :3])


def test_tangents_through_a_map():
    def write(library, np_):
        f = library.vmap(lambda v: np_.tanh(W @ v) * v[0])
        return lambda x, t: library.jvp(f, (x,), (t,))

    check(write, X, X * 2)


def test_gradients_through_a_scan_of_each_example():
    def write(library, np_):
        def loss(w, x, ys):
            step = lambda c, y: (np_.tanh(w @ c + y), c[1] * y)  # noqa: E731
            last, made = lax(library).scan(step, x, ys)
            return np_.sum(last) + np_.sum(made**2)

        return library.vmap(library.grad(loss, argnums=(0, 1)), in_axes=(None, 0, 0))

    check(write, W, X, Y)


def test_gradients_of_a_mapped_scan():
    def write(library, np_):
        def loss(w, xs, ys):
            step = lambda c, y: (np_.tanh(w @ c + y), None)  # noqa: E731
            return np_.sum(library.vmap(lambda x, y: lax(library).scan(step, x, y)[0])(xs, ys))

        return library.grad(loss, argnums=(0, 1))

    check(write, W, X, Y)


def test_gradients_through_a_loop_of_each_example():
    def write(library, np_):
        def loss(x, w):
            return np_.sum(lax(library).fori_loop(0, 4, lambda i, v: np_.tanh(w @ v) * x[0], x))

        return library.vmap(library.grad(loss, argnums=(0, 1)), in_axes=(0, None))

    check(write, X, W)


def test_gradients_of_a_mapped_switch():
    def write(library, np_):
        branches = [np_.sin, lambda v: v * v[0], lambda v: v**3]

        def loss(i, xs):
            f = lambda j, x: lax(library).switch(j, branches, x)  # noqa: E731
            return np_.sum(library.vmap(f)(i, xs) ** 2)

        return library.grad(loss, argnums=1)

    check(write, np.array([0, 2, 1, -1, 5], np.int32), X)
