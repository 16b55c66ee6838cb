"""Optimizers of graphs: several steps by each one's formulas, written out in NumPy."""

import numpy as np
import pytest

import tfc.graph as tf
from tfc.graph.train import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    ExponentialMovingAverage,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
    RMSPropOptimizer,
    exponential_decay,
    get_global_step,
    get_or_create_global_step,
    piecewise_constant,
    polynomial_decay,
)
from tfc.graph.training import schedules

START = np.array([1.0, -2.0, 0.5])
GRADIENTS = np.array([[0.1, -0.3, 0.2], [0.5, 0.1, -0.4], [-0.2, 0.0, 0.3], [0.1, 0.2, 0.2]])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def descended(x, state, g, t):
    return x - 0.1 * g


def with_momentum(x, state, g, t):
    state[0] = state[0] * 0.9 + g
    return x - 0.1 * state[0]


def with_nesterov(x, state, g, t):
    state[0] = state[0] * 0.9 + g
    return x - (g * 0.1 + state[0] * 0.9 * 0.1)


def adam(x, state, g, t):
    state[0] = 0.9 * state[0] + 0.1 * g
    state[1] = 0.999 * state[1] + 0.001 * g * g
    rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return x - rate * state[0] / (np.sqrt(state[1]) + 1e-8)


def adagrad(x, state, g, t):
    state[0] = (0.1 if t == 1 else state[0]) + g * g
    return x - 0.1 * g / np.sqrt(state[0])


def adadelta(x, state, g, t):
    state[0] = 0.95 * state[0] + 0.05 * g * g
    update = np.sqrt(state[1] + 1e-8) / np.sqrt(state[0] + 1e-8) * g
    state[1] = 0.95 * state[1] + 0.05 * update**2
    return x - 0.1 * update


def rms_prop(x, state, g, t):
    state[0] = 0.9 * (1.0 if t == 1 else state[0]) + 0.1 * g * g
    state[1] = 0.5 * state[1] + 0.1 * g / np.sqrt(state[0] + 1e-10)
    return x - state[1]


def centered(x, state, g, t):
    state[0] = 0.9 * (1.0 if t == 1 else state[0]) + 0.1 * g * g
    state[2] = 0.9 * state[2] + 0.1 * g
    state[1] = 0.5 * state[1] + 0.1 * g / np.sqrt(state[0] - state[2] ** 2 + 1e-10)
    return x - state[1]


def ftrl(x, state, g, t):
    before = 0.1 if t == 1 else state[0]
    state[0] = before + g * g
    state[1] = state[1] + g - (np.sqrt(state[0]) - np.sqrt(before)) / 0.1 * x
    curve = np.sqrt(state[0]) / 0.1 + 2 * 0.02
    moved = (np.sign(state[1]) * 0.05 - state[1]) / curve
    return np.where(np.abs(state[1]) > 0.05, moved, 0.0)


def nearest(x, rate):
    return np.sign(x) * np.maximum(np.abs(x) - rate * 0.05, 0) / (1 + rate * 0.02)


def proximal(x, state, g, t):
    return nearest(x - 0.1 * g, 0.1)


def proximal_adagrad(x, state, g, t):
    state[0] = (0.1 if t == 1 else state[0]) + g * g
    rate = 0.1 / np.sqrt(state[0])
    return nearest(x - g * rate, rate)


OPTIMIZERS = {
    "descent": (lambda: GradientDescentOptimizer(0.1), descended, []),
    "momentum": (lambda: MomentumOptimizer(0.1, 0.9), with_momentum, ["w/Momentum"]),
    "nesterov": (
        lambda: MomentumOptimizer(0.1, 0.9, use_nesterov=True), with_nesterov, ["w/Momentum"],
    ),
    "adam": (
        lambda: AdamOptimizer(0.1), adam, ["beta1_power", "beta2_power", "w/Adam", "w/Adam_1"],
    ),
    "adagrad": (lambda: AdagradOptimizer(0.1), adagrad, ["w/Adagrad"]),
    "adadelta": (lambda: AdadeltaOptimizer(0.1), adadelta, ["w/Adadelta", "w/Adadelta_1"]),
    "rms": (lambda: RMSPropOptimizer(0.1, 0.9, 0.5), rms_prop, ["w/RMSProp", "w/RMSProp_1"]),
    "centered": (
        lambda: RMSPropOptimizer(0.1, 0.9, 0.5, centered=True), centered,
        ["w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"],
    ),
    "ftrl": (
        lambda: FtrlOptimizer(
            0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.02
        ), ftrl, ["w/Ftrl", "w/Ftrl_1"],
    ),
    "proximal": (lambda: ProximalGradientDescentOptimizer(0.1, 0.05, 0.02), proximal, []),
    "proximal_adagrad": (
        lambda: ProximalAdagradOptimizer(0.1, 0.1, 0.05, 0.02), proximal_adagrad,
        ["w/ProximalAdagrad"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_the_formulas(name, graph):
    make, formula, names = OPTIMIZERS[name]
    optimizer = make()
    w = tf.Variable(START, name="w")
    gradient = graph.create_operation(
        "Placeholder", (), {"dtype": w.dtype, "shape": w.shape}, "gradient"
    ).outputs[0]
    step = optimizer.apply_gradients([(gradient, w), (None, tf.Variable(0.0))])
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    x, state = START, [np.zeros(3) for _ in range(3)]
    for t, g in enumerate(GRADIENTS, 1):
        session.run(step, {gradient: g})
        x = formula(x, state, g, t)
        np.testing.assert_allclose(session.run(w), x, rtol=1e-12, atol=1e-15)
    assert [v.op.name for v in optimizer.variables()] == names
    assert [v.op.name for v in tf.trainable_variables()] == ["w", "Variable"]


def test_minimizing_counts_steps_and_reads_the_loss_from_before():
    w = tf.Variable([3.0, -4.0])
    loss = w * w
    count = get_or_create_global_step()
    step = GradientDescentOptimizer(0.25).minimize(loss, count)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    assert session.run([loss, step])[0].tolist() == [9, 16]
    assert session.run(w).tolist() == [1.5, -2]
    assert session.run(count) == 1
    assert get_global_step() is count
    assert step.name == "GradientDescent"


def test_what_cannot_be_minimized_is_refused():
    w, other = tf.Variable(3.0), tf.Variable(1.0, trainable=False)
    optimizer = GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.minimize(other * other)
    with pytest.raises(ValueError, match="No variables"):
        optimizer.minimize(w * w, var_list=[])
    with pytest.raises(TypeError, match="not a variable"):
        optimizer.minimize(w * w, var_list=[w.value()])
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(TypeError, match="global_step"):
        optimizer.minimize(w * w, global_step=3)


def test_constraints_hold_after_each_step():
    w = tf.Variable([1.0, 1.0], constraint=lambda x: x * 0.5)
    step = GradientDescentOptimizer(1.0).apply_gradients([(np.float32([0.5, -1]), w)])
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(step)
    assert session.run(w).tolist() == [0.25, 1.0]


def test_rates_follow_the_steps():
    step = tf.Variable(0, trainable=False)
    rates = [
        exponential_decay(0.5, step, 4, 0.1), exponential_decay(0.5, step, 4, 0.1, staircase=True),
        schedules.natural_exp_decay(0.5, step, 4, 0.1),
        schedules.inverse_time_decay(0.5, step, 4, 2.0), polynomial_decay(0.5, step, 4, 0.1, 2.0),
        polynomial_decay(0.5, step, 4, 0.1, cycle=True), schedules.cosine_decay(0.5, step, 4, 0.1),
        piecewise_constant(step, [2, 5], [3.0, 2.0, 1.0]),
    ]  # fmt: skip
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    for t in range(7):
        step.load(t, session)
        share = min(t, 4) / 4
        steps = 4 * max(1, np.ceil(t / 4))
        expected = [
            0.5 * 0.1 ** (t / 4), 0.5 * 0.1 ** (t // 4), 0.5 * np.exp(-0.1 * t / 4),
            0.5 / (1 + 2 * t / 4), 0.4 * (1 - share) ** 2 + 0.1, 0.4 * (1 - t / steps) + 0.1,
            0.5 * (0.9 * 0.5 * (1 + np.cos(np.pi * share)) + 0.1),
            3 if t <= 2 else 2 if t <= 5 else 1,
        ]  # fmt: skip
        np.testing.assert_allclose(session.run(rates), expected, rtol=1e-5)


def test_averages_follow_variables_and_tensors():
    v = tf.Variable(1.0, name="v")
    x = v * 2.0
    averages, by_count = ExponentialMovingAverage(0.9), ExponentialMovingAverage(0.9, 1.0, name="c")
    followed, counted = averages.apply([v, x]), by_count.apply([v])
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    v.load(5.0, session)
    session.run([followed, counted])
    found = session.run([averages.average(v), averages.average(x), by_count.average(v)])
    np.testing.assert_allclose(found, [1.4, 10, 1 + 4 * (1 - 2 / 11)], rtol=1e-6)
    v.load(7.0, session)
    session.run(followed)
    debiased = (10 * 0.1 * 0.9 + 14 * 0.1) / (1 - 0.81)
    np.testing.assert_allclose(session.run(averages.average(x)), debiased, rtol=1e-6)
    assert averages.average_name(v) == "v/ExponentialMovingAverage"
    assert averages.variables_to_restore()["v/ExponentialMovingAverage"] is v
    with pytest.raises(ValueError, match="already"):
        averages.apply([v])


def test_a_training_step_with_ten_variables_is_one_cluster_of_the_timeline():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        made = x
        for number in range(5):
            with tf.variable_scope(f"layer{number}"):
                made = tf.tanh(tf.layers.dense(made, 3))
        assert len(tf.trainable_variables()) == 10
        loss = tf.reduce_mean(tf.squared_difference(made, 0.1))
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        before = session.run(tf.trainable_variables())
        metadata = tf.RunMetadata()
        session.run(train, {x: np.ones([4, 3])}, options, metadata)
        (device,) = metadata.step_stats.dev_stats
        (node,) = device.node_stats
        assert node.node_name.endswith("[_XlaCompiledKernel=true,_XlaNumConstantArgs=0]")
        after = session.run(tf.trainable_variables())
        assert all(np.any(one != other) for one, other in zip(before, after))
