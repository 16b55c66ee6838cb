"""tfc.stop_gradient: values as they were, constants to differentiation, in any structure."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TraceError


class State(NamedTuple):
    """A structure with a name."""

    weights: object
    step: object


VALUES = {
    "floats": [np.float32(-0.0), np.array([np.nan, 1.5], np.float16)],
    "others": (np.int8(3), True, np.array([1 + 2j]), None, np.ones(2, ml_dtypes.bfloat16)),
    "state": State(np.arange(3.0), 7),
}


@pytest.mark.parametrize("run", [lambda f: f, tfc.jit], ids=["at once", "compiled"])
def test_values_dtypes_and_structure_are_kept(run):
    got = run(tfc.stop_gradient)(VALUES)
    want, structure = jax.tree.flatten(VALUES)
    leaves, same = jax.tree.flatten(got)
    assert same == structure
    for a, b in zip(leaves, want):
        np.testing.assert_array_equal(a, np.asarray(b), strict=True)
        np.testing.assert_array_equal(np.signbit(np.real(a)), np.signbit(np.real(b)))


def test_python_numbers_stay_weak():
    x = np.ones(2, np.float32)
    assert tfc.jit(lambda v: v * tfc.stop_gradient(2.0))(x).dtype == np.float32


@pytest.mark.parametrize("run", [lambda f: f, tfc.jit], ids=["at once", "compiled"])
def test_nothing_flows_back_through_it(run):
    def loss(p, np_, stop):
        held = stop({"x": p["x"] * p["y"], "n": 3, "both": [p["x"], p["y"] ** 2]})
        return np_.sum(held["x"] * p["x"] * held["n"] + held["both"][1] * p["y"] + held["both"][0])

    p = {"x": np.array([2.0, 3.0]), "y": np.array([0.5, -1.0])}
    with jax.enable_x64(True):
        expected = jax.grad(lambda q: loss(q, jnp, jax.lax.stop_gradient))(p)
    got = run(tfc.grad(lambda q: loss(q, tnp, tfc.stop_gradient)))(p)
    for key in p:
        np.testing.assert_allclose(got[key], expected[key], rtol=1e-15)


def test_integers_and_booleans_pass():
    def f(x, indices, flag):
        state = tfc.stop_gradient((indices, flag))
        return tnp.sum(tnp.where(state[1], tnp.take(x, state[0]), 0.0))

    got = tfc.jit(tfc.grad(f))(np.arange(4.0), np.array([1, 1, 3]), np.array([True, True, False]))
    np.testing.assert_array_equal(got, [0, 2, 0, 0])


def test_a_second_derivative_does_not_see_it():
    def f(x):
        return tfc.stop_gradient(x) * x * x

    assert tfc.grad(f)(3.0) == 18
    assert tfc.grad(tfc.grad(f))(3.0) == 6


def test_the_straight_through_estimate_of_rounding():
    def rounded(x):
        return x + tfc.stop_gradient(tnp.round(x) - x)

    value, slope = tfc.jit(tfc.value_and_grad(lambda x: tnp.sum(rounded(x) ** 2)))(np.array([1.7]))
    assert (value, slope) == (4, 4)


def test_a_loop_may_stand_behind_it():
    def f(x):
        def double(_, state):
            return {
                "v": tfc.stop_gradient(state["v"]) * 2.0,
                "n": tfc.stop_gradient(state["n"]) + 1,
            }

        state = tfc.fori_loop(0, 3, double, {"v": x, "n": 0})
        return x * tfc.stop_gradient(state)["v"] + state["n"]

    assert tfc.jit(tfc.value_and_grad(f))(5.0) == (203, 40)
    with pytest.raises(TraceError, match=r"otherwise tfc\.stop_gradient on its result"):
        tfc.jit(tfc.grad(lambda x: tfc.while_loop(lambda v: v < 99, lambda v: v * 2.0, x)))(5.0)


def test_inside_the_branches_of_a_condition():
    def f(x, flag):
        return tfc.cond(flag, lambda v: tfc.stop_gradient(v) * v, lambda v: v * v, x)

    slope = tfc.jit(tfc.grad(f))
    assert (slope(3.0, True), slope(3.0, False)) == (3, 6)


def test_complex_numbers_are_held():
    z = np.array([1 + 2j, 3 - 1j])
    got = tfc.grad(lambda v: tnp.sum(tnp.real(tfc.stop_gradient(v) * v)))(z)
    np.testing.assert_array_equal(got, z)


def test_it_is_the_one_of_networks():
    assert nn.stop_gradient is tfc.stop_gradient
