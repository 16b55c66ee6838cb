"""vmap of Python functions that a program calls: how often they are called, and on what."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp

X, Y = np.arange(15.0).reshape(5, 3), np.arange(4.0)
MODES = [lambda f: f, tfc.jit]


class Recorded:
    """The sine of the first argument, and the shapes that it was called with."""

    def __init__(self):
        self.shapes = []

    def __call__(self, x, y):
        self.shapes.append((x.shape, y.shape))
        return np.sin(x) + np.sum(y, -1, keepdims=True)


CALLS = {
    None: [((3,), (4,))] * 5,
    "sequential": [((3,), (4,))] * 5,
    "sequential_unrolled": [((3,), (4,))] * 5,
    "expand_dims": [((5, 3), (1, 4))],
    "broadcast_all": [((5, 3), (5, 4))],
}


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("mode", MODES)
def test_a_callback_is_called_as_its_method_says(mode, method):
    function = Recorded()

    def f(x, y):
        stated = tfc.ShapeDtypeStruct(x.shape, x.dtype)
        return tfc.pure_callback(function, stated, x, y, vmap_method=method) * 2

    got = mode(tfc.vmap(f, in_axes=(0, None)))(X, Y)
    np.testing.assert_allclose(got, 2 * (np.sin(X) + 6))
    assert function.shapes == CALLS[method]


@pytest.mark.parametrize("method", ["sequential", "broadcast_all"])
def test_a_callback_goes_through_maps_of_maps(method):
    def f(x, y):
        stated = tfc.ShapeDtypeStruct((), x.dtype)
        return tfc.pure_callback(np.add, stated, x, y, vmap_method=method)

    table = tfc.vmap(tfc.vmap(f, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_array_equal(tfc.jit(table)(Y, X[:, 0]), Y[:, None] + X[:, 0])


def test_a_callback_of_what_is_the_same_is_called_once():
    function = Recorded()
    stated = tfc.ShapeDtypeStruct((3,), np.float64)
    f = tfc.vmap(lambda x: x + tfc.pure_callback(function, stated, tnp.ones(3), tnp.ones(2)))
    np.testing.assert_allclose(tfc.jit(f)(X), X + np.sin(1) + 2)
    assert len(function.shapes) == 1


def test_a_python_function_with_a_gradient_is_mapped_with_it():
    def f(x):
        return tfc.py_func(np.sin, [x], x.dtype, shape=x.shape, grad=lambda x, g: g * tnp.cos(x))

    for function in (tfc.vmap(tfc.grad(lambda x: f(x).sum())),
                     tfc.grad(lambda x: tfc.vmap(f)(x).sum())):  # fmt: skip
        np.testing.assert_allclose(tfc.jit(function)(X), np.cos(X))


def test_what_is_printed_is_printed_for_each_example_and_once_if_it_is_the_same(capsys):
    def f(x):
        tfc.debug.print("x begins with {}", x[0])
        tfc.debug.print("mapped")
        return x

    for mode in MODES:
        mode(tfc.vmap(f))(X)
        lines = capsys.readouterr().out.splitlines()
        assert lines == [*(f"x begins with {x}" for x in X[:, 0]), "mapped"]
