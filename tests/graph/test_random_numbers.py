"""Random operations: seeds that differ within bodies, and the statistics of initializers."""

import itertools
import math

import numpy as np
import pytest

import tfc.graph as tf

EDGE = math.exp(-2.0) / math.sqrt(2 * math.pi)
TRUNCATED = math.sqrt(1 - 4 * EDGE / math.erf(math.sqrt(2.0)))  # the deviation within two of them


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def drawn():
    return tf.random_uniform([4])


def looped(body):
    start = [0, tf.zeros([4])]
    return tf.while_loop(lambda n, x: n < 1, lambda n, x: (n + 1, body()), start)[1]


def draws():
    """Draws without seeds of their own: in a graph, in branches, in loops, in loops in loops."""
    return [
        drawn(),
        tf.cond(tf.constant(True), drawn, lambda: tf.zeros([4])),
        tf.cond(tf.constant(False), lambda: drawn() * 0.0, drawn),
        looped(drawn),
        drawn(),
        looped(lambda: looped(drawn) + 0.0),
        looped(drawn),
        *tf.unstack(tf.map_fn(lambda x: drawn(), tf.zeros([2]))),
        drawn(),
    ]


@pytest.mark.parametrize("seed", [None, 7])
def test_no_two_operations_draw_the_same_numbers_within_bodies_and_outside(seed):
    runs, config = [], tf.ConfigProto(backend="interpreter")
    for _ in range(2):
        with tf.Graph().as_default():
            if seed is not None:
                tf.set_random_seed(seed)
            with tf.Session(config=config) as session:
                runs.append(session.run(draws()))
    for found in runs:
        for one, other in itertools.combinations(found, 2):
            assert (one != other).all()
    if seed is not None:
        np.testing.assert_array_equal(*runs)


def test_seeds_of_zero_are_seeds():
    tf.set_random_seed(0)
    x = tf.random_uniform([4], seed=0)
    operations = x.graph.get_operations()
    (op,) = (op for op in operations if op.type == "RandomUniform")
    assert (op.get_attr("seed"), op.get_attr("seed2")) == (0, 2**31 - 1)


def initial(initializer, shape=(300, 200)):
    with tf.Session(config=tf.ConfigProto(backend="interpreter")) as session:
        return session.run(initializer(shape)).astype(float)


SCALED = {  # the variance of weights [300, 200]
    "glorot_uniform": (tf.glorot_uniform_initializer, 2 / 500),
    "glorot_normal": (tf.glorot_normal_initializer, 2 / 500),
    "he_normal": (tf.initializers.he_normal, 2 / 300),
    "he_uniform": (tf.initializers.he_uniform, 2 / 300),
    "lecun_normal": (tf.initializers.lecun_normal, 1 / 300),
    "lecun_uniform": (tf.initializers.lecun_uniform, 1 / 300),
}


@pytest.mark.parametrize("name", SCALED)
def test_initializers_have_the_variance_that_their_layers_size_asks_for(name):
    initializer, variance = SCALED[name]
    found, deviation = initial(initializer(seed=1)), math.sqrt(variance)
    most = math.sqrt(3) if name.endswith("uniform") else 2 / TRUNCATED
    assert abs(found.mean()) < 5 * deviation / math.sqrt(found.size)
    np.testing.assert_allclose(found.std(), deviation, rtol=0.01)
    np.testing.assert_allclose([-found.min(), found.max()], most * deviation, rtol=0.01)


def test_filters_count_the_places_that_they_cover():
    found = initial(tf.initializers.he_normal(seed=1), (3, 3, 20, 64))
    np.testing.assert_allclose(found.std(), math.sqrt(2 / 180), rtol=0.02)


def test_normal_initializers_have_their_mean_and_deviation():
    found = initial(tf.random_normal_initializer(2.0, 0.5, seed=1))
    np.testing.assert_allclose([found.mean(), found.std()], [2.0, 0.5], rtol=0.01)
    assert abs(found - 2).max() > 1.5
    found = initial(tf.truncated_normal_initializer(2.0, 0.5, seed=1))
    np.testing.assert_allclose([found.mean(), found.std()], [2.0, 0.5 * TRUNCATED], rtol=0.01)
    np.testing.assert_allclose(abs(found - 2).max(), 1.0, rtol=0.01)
    untruncated = tf.variance_scaling_initializer(3.0, "fan_out", "untruncated_normal", seed=1)
    found = initial(untruncated)
    np.testing.assert_allclose(found.std(), math.sqrt(3 / 200), rtol=0.01)
    assert abs(found).max() > 3 * found.std()


@pytest.mark.parametrize("shape", [(40, 40), (50, 20), (20, 50), (3, 2, 4, 10)], ids=str)
def test_orthogonal_initializers_give_orthonormal_rows_or_columns(shape):
    found = initial(tf.orthogonal_initializer(gain=3.0, seed=1), shape).reshape(-1, shape[-1])
    product = found.T @ found if found.shape[0] >= found.shape[1] else found @ found.T
    np.testing.assert_allclose(product, 9 * np.eye(len(product)), atol=1e-4)
    assert abs(found.mean()) < 0.5


def test_orthogonal_matrices_are_spread_evenly():
    """Each direction is as likely as its opposite; rotations are as likely as reflections."""
    made = tf.orthogonal_initializer(seed=1)([2, 2])
    with tf.Session() as session:
        found = np.stack([session.run(made) for _ in range(60)])
    positive = (found > 0).mean((0,))
    assert (abs(positive - 0.5) < 0.25).all()
    assert abs((np.linalg.det(found) > 0).mean() - 0.5) < 0.25


def parameterized(name, shape):
    """Two distributions between bounds, for each the mean and deviation that it should have."""
    parameters = ([0.0, 10.0], [1.0, 3.0], [-1.0, 11.0], [2.0, 12.0])
    inputs = [tf.constant(shape), *map(tf.constant, parameters)]
    if name.startswith("Stateless"):
        inputs.insert(1, tf.constant([7, -3]))
    operation = tf.get_default_graph().create_operation(name, inputs, {}, "numbers")
    with tf.Session(config=tf.ConfigProto(backend="interpreter")) as session:
        return session.run(operation.outputs[0])


@pytest.mark.parametrize(
    ("name", "axis"),
    [("ParameterizedTruncatedNormal", 1), ("StatelessParameterizedTruncatedNormal", 0)],
)
def test_normal_numbers_between_bounds_have_parameters_of_their_own(name, axis):
    count = 4000
    shape = [count, count]
    shape[1 - axis] = 2
    made = np.moveaxis(parameterized(name, shape), axis, 1)
    grid = np.linspace(0, 1, 20001)
    for row, (mean, deviation, low, high) in zip(made, [(0, 1, -1, 2), (10, 3, 11, 12)]):
        assert low <= row.min()
        assert row.max() <= high
        x = low + (high - low) * grid
        density = np.exp(-(((x - mean) / deviation) ** 2) / 2)
        expected = (x * density).sum() / density.sum()
        spread = np.sqrt((x**2 * density).sum() / density.sum() - expected**2)
        assert abs(row.mean() - expected) < 4 * spread / np.sqrt(count)
        assert abs(row.std() - spread) < 0.05 * spread
