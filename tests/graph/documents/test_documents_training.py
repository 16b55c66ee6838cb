"""Programs that train, or have Python functions: their stated numbers, on each backend."""

import importlib
import math

import numpy as np
import pytest
from document_programs import MODES, close, config_of, is_compiled, run

import tfc.graph as tf


def fitted(steps):
    with tf.Graph().as_default():
        return run("quadratic_fit", steps=steps)


def test_e11_quadratic_fit(config):
    if not is_compiled(config):
        close(run("quadratic_fit", config, steps=30), fitted(30), rtol=1e-4, atol=1e-4)
        return
    w = run("quadratic_fit", config)
    assert 4.97 <= w[0] <= 5.0
    assert abs(w[1]) <= 0.005
    assert 3.0 <= w[2] <= 4.3


def test_e15_e16_gradients_of_the_entropy(config):
    """The wrong form's gradient is zero, so that its error is the gradient's largest element."""
    module = importlib.import_module("entropy")
    wrong, right = module.gradient_errors(config)
    p = np.exp(module.START.astype(float))
    gradient = -p * (np.log(p) - (p * np.log(p)).sum())
    close(wrong, abs(gradient).max(), atol=1e-3)
    assert right < 4e-4


def test_e15_e16_entropy_of_few_steps(config):
    start, wrong, right = run("entropy", config, steps=20)
    stated = [0.34081486, 0.24287023, 0.23465775, 0.08935683, 0.09230034]
    close(start, stated, rtol=1e-6)
    close(wrong, stated, rtol=1e-6)
    entropies = [-(p * np.log(p)).sum() for p in (start, right)]
    assert entropies[0] < entropies[1]


@pytest.mark.slow
def test_e15_e16_entropy():
    start, wrong, right = run("entropy")
    close(wrong, start, rtol=1e-6)
    close(right, [0.2] * 5, atol=1e-4)


def test_e34_random_fourier_features(config):
    linear, features = run("random_fourier_features", config, steps=30, features=200)
    assert linear < 0.4
    assert features > 0.9


def test_e35_word_vectors(config):
    steps = 100 if is_compiled(config) else 5
    first, last, within, between = run("word_vectors", config, steps=steps)
    if is_compiled(config):
        assert last < first
        assert within > between + 0.2
    else:
        with tf.Graph().as_default():
            close([first, last, within, between], run("word_vectors", steps=5), rtol=1e-4)


def test_e36_lstm_language_model():
    config = tf.ConfigProto(backend="interpreter")
    first, last = run("lstm_language_model", config, iterations=12)
    assert abs(first - 8) < 0.5
    assert last < first - 0.02


@pytest.mark.slow
def test_e36_lstm_language_model_learns_the_rule(config):
    iterations = 300 if config.backend == "cpu" and is_compiled(config) else 8
    first, last = run("lstm_language_model", config, iterations=iterations)
    assert abs(first - 8) < 0.5
    assert last < (1.1 if iterations == 300 else 8.1)


def test_e22_linear_regression(config):
    losses, _ = run("linear_regression", config)
    stated = [1.35659, 1.00412, 0.759167, 0.588829, 0.470264, 0.387626, 0.329918, 0.289511]
    close(losses[:10], [*stated, 0.261112, 0.241046], rtol=0, atol=6e-6)
    assert losses[-1] < 0.2


def test_e23_dense_layer(config):
    found, kernel = run("dense_layer", config)
    assert found.shape == (2, 1)
    close(found, np.array([[1, 2, 3], [4, 5, 6]]) @ kernel, rtol=1e-5)


def test_e33_convolutional_network():
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    _, shapes = importlib.import_module("convolutional_network").network(x, True)
    filtered = [[28, 28, 32], [14, 14, 32], [14, 14, 64], [7, 7, 64]]
    assert shapes == [*filtered, [3136], [1024], [10]]


@pytest.mark.slow
def test_e33_convolutional_network_has_the_same_losses_in_each_mode():
    found = []
    for mode in MODES:
        with tf.Graph().as_default():
            made = run("convolutional_network", config_of(mode), steps=2, batch=4)
            found.append(made[1])
    close(found[1:], [found[0]] * 2, rtol=1e-4)


@pytest.mark.slow
def test_e33_convolutional_network_learns():
    _, losses, accuracy = run("convolutional_network")
    close(losses[0], math.log(10), atol=0.3)
    assert losses[-1] < losses[0]
    assert accuracy > 0.5


def test_e12_relu_in_python(config):
    values, found, slope, error = run("relu_in_python", config)
    assert found.tolist() == np.maximum(values, 0).tolist()
    assert slope.tolist() == (values > 0).tolist()
    assert error < 2e-3


def test_e13_identity_by_python(config):
    steps = 301 if is_compiled(config) else 1
    matrices = run("identity_by_python", config, steps=steps)
    close(matrices[0], np.full([3, 3], 0.9), atol=1e-5)
    if is_compiled(config):
        assert np.abs(matrices[1] - np.eye(3)).max() < 0.1
        assert np.abs(matrices[3] - np.eye(3)).max() < 1e-3


@pytest.mark.slow
def test_e13_identity_by_python_of_1000_steps():
    assert np.abs(run("identity_by_python")[-1] - np.eye(3)).max() < 1e-5


def test_e14_softmax_by_python(config):
    steps, least = (150, 0.85) if is_compiled(config) and config.backend == "cpu" else (5, 0.7)
    accuracy, _ = run("softmax_by_python", config, steps=steps)
    assert accuracy > least
