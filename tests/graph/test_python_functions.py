"""py_func: Python functions in graphs, their gradients, their mistakes."""

import traceback
from itertools import count

import numpy as np
import pytest

import tfc.graph as tf

numbers = count()


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None):
    """The values of fetches."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def differentiable(function, inputs, dtype, gradient, stateful=True, name=None):
    """The documents' recipe: a gradient under a name of its own for PyFunc."""
    name = name or f"PyFuncGrad{next(numbers)}"
    tf.RegisterGradient(name)(gradient)
    override = {"PyFunc": name, "PyFuncStateless": name}
    with tf.get_default_graph().gradient_override_map(override):
        return tf.py_func(function, inputs, dtype, stateful=stateful)


def test_a_function_is_called_with_arrays_when_the_graph_is_run():
    calls = []

    def twice(x):
        calls.append(type(x))
        return 2 * x

    x = tf.placeholder(tf.float32, [None])
    y = tf.py_func(twice, [x], tf.float32)
    assert (y.op.type, y.shape.dims, calls) == ("PyFunc", None, [])
    assert run(y + 1.0, {x: [1.0, 2.0]}).tolist() == [3, 5]
    assert calls == [np.ndarray]


def test_several_results_and_none():
    one, two = tf.py_func(lambda: (np.int32(1), np.float64(2)), [], [tf.int32, tf.float64])
    assert run([one, two]) == [1, 2]
    seen = []
    done = tf.py_func(seen.append, [tf.constant(3)], [])
    run(done)
    assert seen == [3]


def test_a_stateful_call_happens_once_a_run_and_in_the_branch_taken_alone():
    calls = []

    def count():
        calls.append(1)
        return np.int32(len(calls))

    x = tf.py_func(count, [], tf.int32)
    assert run([x, x + 0, x * 1]) == [1, 1, 1]
    pred = tf.placeholder(tf.bool, [])
    made = tf.cond(pred, lambda: tf.py_func(count, [], tf.int32), lambda: tf.constant(0))
    assert [int(run(made, {pred: p})) for p in (False, True, False)] == [0, 2, 0]


def test_a_gradient_under_a_name_of_its_own():
    def relu(x):
        return np.maximum(x, 0)

    def gradient(op, grad):
        return tf.where(op.inputs[0] > 0, grad, tf.zeros_like(grad))

    x = tf.constant([-1.0, 2.0, 3.0])
    for stateful in (True, False):
        name = f"PyFuncGradient{stateful}"
        y = differentiable(relu, [x], tf.float32, gradient, stateful, name)
        y.set_shape([3])
        found = run([y, tf.gradients(y, x)[0]])
        assert [v.tolist() for v in found] == [[0, 2, 3], [0, 1, 1]]


def test_training_through_a_product_in_python():
    """The gradient is made of py_func as well."""

    def product(x, y):
        return x @ y

    def gradient(op, grad):
        x, y = op.inputs
        by_x = tf.py_func(lambda g, y: g @ y.T, [grad, y], tf.float32)
        by_y = tf.py_func(lambda g, x: x.T @ g, [grad, x], tf.float32)
        return [by_x, by_y]

    given = np.random.RandomState(0).randn(5, 3).astype(np.float32)
    x, w = tf.constant(given), tf.Variable(np.zeros((3, 3), np.float32))
    loss = tf.reduce_sum(tf.square(differentiable(product, [x, w], tf.float32, gradient) - x))
    slope = run(tf.gradients(loss, w)[0])
    assert np.allclose(slope, -2 * given.T @ given, rtol=1e-5)


def test_a_call_within_a_loop_has_a_gradient_too():
    def gradient(op, grad):
        return grad * 3.0

    def body(n, x):
        y = differentiable(lambda x: x * np.float32(3), [x], tf.float32, gradient)
        y.set_shape([])
        return n + 1, y

    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda n, x: n < 3, body, [0, x])[1]
    assert run([y, tf.gradients(y, x)[0]], {x: 2.0}) == [54, 27]


def test_without_a_gradient_nothing_flows():
    x = tf.constant(1.0)
    assert tf.gradients(tf.py_func(lambda x: x, [x], tf.float32), x) == [None]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
    ],
)
def test_exceptions_arrive_as_tensorflows_with_themselves_as_cause(raised, expected):
    def fails(x):
        raise raised("no such thing")

    y = tf.py_func(fails, [tf.constant(1.0)], tf.float32, name="failing")
    with pytest.raises(expected, match=r"failing: .*no such thing") as caught:
        run(y)
    assert type(caught.value.__cause__) is raised
    frames = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert frames[-1].name == "fails"


def test_results_that_are_not_as_stated_are_refused():
    x = tf.constant(1.0)
    cases = [
        (lambda x: np.float64(1), tf.float32, r"0-th value returned by pyfunc_\d+ is float64"),
        (lambda x: x, [tf.float32, tf.float32], "returns 1 values, but expects to see 2"),
        (lambda x: None, tf.float32, "returns None, but float32 is stated"),
    ]
    for function, dtypes, message in cases:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(tf.py_func(function, [x], dtypes))
    with pytest.raises(TypeError, match="func must be callable"):
        tf.py_func(3, [x], tf.float32)


def test_pythons_numbers_take_the_dtype_that_is_stated():
    assert run(tf.py_func(lambda: 2.5, [], tf.float32)) == np.float32(2.5)
    assert run(tf.py_func(lambda: [1, 2], [], tf.int64)).tolist() == [1, 2]


def test_a_function_cannot_change_what_it_is_given():
    def spoil(x):
        x[:] = 0
        return x

    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([tf.py_func(spoil, [v], tf.float32)]):
        after = v.read_value()
    assert run(after).tolist() == [1, 2]
