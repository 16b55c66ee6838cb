"""Eager execution: values at once, tapes, functions of gradients, variables, metrics."""

import numpy as np
import pytest

import tfc.graph as tf
from tfc.graph.contrib import eager as tfe
from tfc.graph.defaults import default
from tfc.graph.eager.execution import EagerGraph


@pytest.fixture(autouse=True)
def eager():
    """A graph that computes at once for each test."""
    with EagerGraph().as_default() as graph:
        yield graph


def test_functions_compute_at_once():
    x = tf.matmul([[2.0]], [[3.0]])
    assert (x.numpy(), float(x[0, 0]), f"{x[0, 0]:.1f}", tfe.executing_eagerly()) == (
        6,
        6,
        "6.0",
        1,
    )
    assert str(tf.add(1, 2)) == "tf.Tensor(3, shape=(), dtype=int32)"
    assert [int(n) for n in tf.constant([1, 2])] == [1, 2]
    assert tf.reshape(tf.range(6), [2, -1]).shape == (2, 3)
    if tf.constant(1.0) > 0.5:
        assert np.array_equal(np.asarray(tf.ones([2])), [1, 1])


def test_control_flow_and_python_functions_compute_at_once():
    x = tf.constant(3.0)
    assert tf.cond(x > 2.0, lambda: x * 2.0, lambda: x).numpy() == 6
    assert tf.while_loop(lambda n: n < 5, lambda n: n + 1, [0]).numpy() == 5
    assert tf.py_func(lambda x: x + 1, [x], tf.float32).numpy() == 4


def test_each_random_operation_draws_numbers_of_its_own():
    first, second = (tf.random_uniform([4]).numpy() for _ in range(2))
    assert not np.array_equal(first, second)


def test_a_tape_gives_gradients_of_what_was_computed_within():
    w = tfe.Variable([[1.0]])
    with tfe.GradientTape() as tape:
        loss = w * w
    assert tape.gradient(loss, [w])[0].numpy() == [[2.0]]
    with pytest.raises(RuntimeError, match="only be called once"):
        tape.gradient(loss, [w])
    x = tf.constant(3.0)
    with tfe.GradientTape(persistent=True) as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    with tfe.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert [float(tape.gradient(z, s)) for s in (x, y)] == [108, 18]


def test_without_a_tape_nothing_is_kept(eager):
    x = tf.constant(1.0)
    for _ in range(3):
        x = x * 2.0
    assert x.op.inputs == ()
    assert eager.get_operations() == []


def test_gradient_functions():
    square = lambda x: tf.multiply(x, x)  # noqa: E731
    grad = tfe.gradients_function(square)
    assert square(3.0).numpy() == 9
    assert [g.numpy() for g in grad(3.0)] == [6]
    assert tfe.gradients_function(lambda x: grad(x)[0])(3.0)[0].numpy() == 2
    magnitude = tfe.gradients_function(lambda x: x if x > 0.0 else -x)
    assert [magnitude(v)[0].numpy() for v in (3.0, -3.0)] == [1, -1]
    value, slopes = tfe.value_and_gradients_function(lambda x, y: x * y)(2.0, 5.0)
    assert (float(value), [float(g) for g in slopes]) == (10, [5, 2])


def test_a_custom_gradient_is_stable():
    log1pexp = lambda x: tf.log(1 + tf.exp(x))  # noqa: E731
    grad = tfe.gradients_function(log1pexp)
    assert grad(0.0)[0].numpy() == 0.5
    assert np.isnan(grad(100.0)[0].numpy())

    @tfe.custom_gradient
    def stable(x):
        e = tf.exp(x)
        return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    grad = tfe.gradients_function(stable)
    assert [grad(v)[0].numpy() for v in (0.0, 100.0)] == [0.5, 1.0]


def test_variables_have_values_and_train():
    v = tfe.Variable(1.0)
    other = tfe.Variable(5.0)
    v.assign_add(2.0)
    assert (v.numpy(), float(other), (v + 1.0).numpy()) == (3, 5, 4)
    pairs = tfe.implicit_gradients(lambda x: v * v * x)(2.0)
    assert [(float(g), x is v) for g, x in pairs] == [(12, True)]


def test_optimizers_keep_their_slots_and_count_steps():
    """Adam's first steps by a gradient of constant sign are of the learning rate each."""
    v, optimizer = tfe.Variable(5.0), tf.train.AdamOptimizer(0.1)
    for _ in range(3):
        with tfe.GradientTape() as tape:
            loss = v * 2.0
        pairs = zip(tape.gradient(loss, [v]), [v])
        optimizer.apply_gradients(pairs, global_step=tf.train.get_or_create_global_step())
    assert np.allclose(v.numpy(), 4.7)
    assert int(tf.train.get_global_step() + 0) == 3


def test_a_line_is_fitted():
    xs = tf.random_normal([200], seed=1)
    ys = xs * 3.0 + 2.0
    w, b = tfe.Variable(5.0), tfe.Variable(10.0)
    for _ in range(40):
        with tfe.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(xs * w + b - ys))
        for v, slope in zip([w, b], tape.gradient(loss, [w, b])):
            v.assign_sub(slope * 0.2)
    assert np.allclose([w.numpy(), b.numpy()], [3, 2], atol=1e-3)


def test_the_mean_of_values():
    mean = tfe.metrics.Mean("loss")
    mean(0)
    mean(5)
    assert mean.result() == 2.5
    mean([8, 9])
    assert mean.result() == 5.5


def test_python_functions_of_graphs_compute_with_tensors():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        y = tfe.py_func(lambda x: tf.matmul(x, x), [x], tf.float32)
        with tf.Session() as session:
            assert session.run(y, {x: [[2.0]]}).tolist() == [[4.0]]


def test_what_eager_execution_refuses():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with pytest.raises(TypeError, match="GradientTape needs eager execution"):
            tfe.GradientTape()
    with pytest.raises(ValueError, match="has no value"):
        tf.square(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "graphs", [x.graph])
        with pytest.raises(ValueError, match="must be called at program startup"):
            tfe.enable_eager_execution()


def test_enabled_execution_holds_outside_of_graphs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "graphs", [])
        patch.setattr("tfc.graph.graph._global", [tf.Graph()])
        tf.enable_eager_execution()
        tf.enable_eager_execution()
        assert (tf.add(1, 2).numpy(), tf.executing_eagerly()) == (3, True)
        with tf.Graph().as_default():
            assert not tf.executing_eagerly()
