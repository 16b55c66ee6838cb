"""Gradients of graphs: what gradient functions and the walk backwards give, against formulas."""

import numpy as np
import pytest
from small_rows import product, run, sine

import tfc.graph as tf
from tfc.graph.building import result
from tfc.graph.constants import constant
from tfc.graph.graph import Graph


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with Graph().as_default() as graph:
        yield graph


def test_a_gradient_adds_what_arrives_by_several_ways():
    x = constant([1.0, 2.0, 3.0])
    y = product(x, product(x, x))
    assert np.allclose(run(tf.gradients(y, x)[0]), 3 * np.array([1, 4, 9]))


def test_gradients_of_gradients():
    x = constant(0.5)
    y = sine(x)
    for derivative in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin):
        y = tf.gradients(y, x)[0]
        assert np.allclose(run(y), derivative(0.5))


def test_what_is_not_connected_and_integers_have_no_gradient():
    x, other, whole = constant(2.0), constant(3.0), constant(3)
    y = product(x, x)
    assert tf.gradients(y, [other, whole]) == [None, None]
    assert tf.gradients(tf.stop_gradient(y), x) == [None]


STEPS = {
    "floor": tf.floor,
    "ceil": tf.ceil,
    "round": tf.round,
    "rint": tf.rint,
    "floordiv": lambda x: tf.floordiv(x, 2.0),
    "ones_like": tf.ones_like,
    "zeros_like": tf.zeros_like,
    "one_hot": lambda x: tf.one_hot([0], 2, on_value=tf.reduce_sum(x)),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_have_no_gradient(name):
    x = tf.placeholder(tf.float32, [None])
    assert tf.gradients(STEPS[name](x), x) == [None]
    slope = tf.gradients(x * x + tf.reduce_sum(STEPS[name](x)), x)[0]
    with tf.Session() as session:
        assert session.run(slope, {x: [1.5, -2.0]}).tolist() == [3, -4]


def test_gradients_that_are_given_weigh_the_results():
    x = constant([1.0, 2.0])
    found = tf.gradients([product(x, x), sine(x)], x, grad_ys=[constant([1.0, 10.0]), None])[0]
    assert np.allclose(run(found), np.array([2, 40]) + np.cos([1, 2]))
    with pytest.raises(ValueError, match="Passed 1 grad_ys for 2 ys"):
        tf.gradients([x, x], x, grad_ys=[x])
    with pytest.raises(TypeError, match="must be of float32"):
        tf.gradients(x, x, grad_ys=np.ones(2))


def test_stopped_gradients_take_tensors_for_constants():
    a = constant(3.0)
    b = product(a, 2.0)
    partial = tf.gradients(product(a, b), [a, b], stop_gradients=[a, b])
    assert [float(x) for x in run(partial)] == [6.0, 3.0]
    total = tf.gradients(product(a, b), [a, b])
    assert [float(x) for x in run(total)] == [12.0, 3.0]


def test_an_override_names_a_registered_gradient(graph):
    @tf.RegisterGradient("TestOfOverrides")
    def _(op, grad):
        return [product(grad, 100.0), None]

    x = constant(2.0)
    with graph.gradient_override_map({"TestProduct": "TestOfOverrides"}):
        y = product(x, x)
    assert run(tf.gradients(y, x)[0]) == 100
    with pytest.raises(KeyError, match="Registering two gradient"):
        tf.RegisterGradient("TestOfOverrides")(lambda op, grad: grad)
    with graph.gradient_override_map({"TestProduct": "NotThere"}):
        y = product(x, x)
    with pytest.raises(LookupError, match="No gradient defined for operation"):
        tf.gradients(y, x)


def test_gradient_functions_give_as_many_gradients_as_there_are_inputs(graph):
    tf.RegisterGradient("TestOfNumbers")(lambda op, grad: [grad])
    x = constant(2.0)
    with graph.gradient_override_map({"TestProduct": "TestOfNumbers"}):
        y = product(x, x)
    with pytest.raises(ValueError, match=r"Num gradients 1 generated .* num inputs 2"):
        tf.gradients(y, x)


def test_complex_gradients_are_conjugates_as_tensorflows():
    z = constant(np.array([1 + 2j, 3 - 1j]))
    found = tf.gradients(product(z, z), z, grad_ys=constant(np.array([1 + 0j, 1j])))[0]
    assert np.allclose(run(found), np.array([1, 1j]) * np.conj(2 * np.array([1 + 2j, 3 - 1j])))
    with pytest.raises(TypeError, match="must set grad_ys"):
        tf.gradients(z, z)


def test_a_custom_gradient_replaces_the_functions_own():
    @tf.custom_gradient
    def clipped(x):
        return product(x, x), lambda grad: product(grad, -1.0)

    x = constant(5.0)
    value = clipped(x)
    assert [float(v) for v in run([value, tf.gradients(value, x)[0]])] == [25.0, -1.0]


def test_a_prevented_gradient_says_why():
    x = constant(5.0)
    with pytest.raises(LookupError, match="Reason: labels"):
        tf.gradients(tf.prevent_gradient(x, message="labels are constant"), x)


def test_gradients_lie_in_a_scope_of_their_operations_names():
    x = constant(5.0)
    y = result("TestSine", x, name="outer/wave")
    assert tf.gradients(y, x)[0].name == "gradients/wave_grad/Vjp:0"


def test_the_gradient_of_a_magnitude_is_0_at_0():
    x = constant([-2.0, 0.0, 3.0])
    assert run(tf.gradients(tf.abs(x), x)[0]).tolist() == [-1, 0, 1]


def test_a_derivative_that_depends_on_no_point_has_none():
    x, w = constant([[3.0, 4.0]]), constant([[1.0], [2.0]])
    square = tf.square(x)
    for expected in ([[6.0, 8.0]], [[2.0, 2.0]]):
        (square,) = tf.gradients(square, [x])
        assert run(square).tolist() == expected
    assert tf.gradients(square, [x]) == [None]
    (by_x,) = tf.gradients(tf.matmul(x, w), [x])
    by_point, by_weights = tf.gradients(by_x, [x, w])
    assert by_point is None
    assert run(by_weights).tolist() == [[1.0], [1.0]]
