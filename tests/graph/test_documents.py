"""The programs of `examples/documents`: their stated numbers, compiled and not, on each backend."""

import copy
import importlib
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import tfc.graph as tf

FOLDER = Path(__file__).parents[2] / "examples" / "documents"
MODES = {"cpu": ("cpu", 1), "jit off": ("cpu", -1), "interpreter": ("interpreter", 1)}


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """Programs import one another as they do where they lie, and begin with an empty graph."""
    monkeypatch.syspath_prepend(str(FOLDER))
    with tf.Graph().as_default():
        yield


@pytest.fixture(params=MODES)
def config(request):
    made = tf.ConfigProto()
    made.backend, made.graph_options.optimizer_options.global_jit_level = MODES[request.param]
    return made


def run(name, config=None, **sizes):
    return importlib.import_module(name).run(copy.deepcopy(config), **sizes)


def close(found, expected, **tolerance):
    np.testing.assert_allclose(found, expected, **{"rtol": 1e-6, **tolerance})


def test_matmul_ahead_of_time():
    assert run("matmul_ahead_of_time") == "Success\n58 64\n139 154\n"


def test_constants_ahead_of_time(config):
    image, found, compiled, size = run("constants_ahead_of_time", config)
    close(found, image + np.float32([2, 6, 7]))
    close(compiled, found)
    assert size > 0


def test_jit_scope(config):
    assert run("jit_scope", config).tolist() == [2, 5, -6]


def test_device_add(config):
    output, expected = run("device_add", config)
    assert output.tolist() == expected.tolist() == [1.5, 2.25, 7]


def test_thousand_iterations(config):
    count, total = run("thousand_iterations", config)
    assert count == 1000
    assert total.tolist() == [1000 * n for n in range(10)]


def test_add_and_assign(config):
    assert run("add_and_assign", config) == (3, 3)


def test_control_dependencies(config):
    before, after, free = run("control_dependencies", config)
    assert before == [5, 3]
    assert after == [5, 7]
    assert free == [5, 3]  # a run reads variables before it writes them where nothing else is said


def test_cond_and_where(config):
    x, y = run("cond_and_where", config)
    assert x == 3
    assert y.tolist() == [3, 2]


def test_fibonacci(config):
    assert run("fibonacci", config) == 5


def test_growing_fibonacci(config):
    assert run("growing_fibonacci", config).tolist() == [1, 1, 2, 3, 5]


def test_fibonacci_list(config):
    assert run("fibonacci_list", config).tolist() == [1, 1, 2, 3, 5]


def test_broadcast_pitfall(config):
    total, columns = run("broadcast_pitfall", config)
    assert total == 12
    assert columns.tolist() == [5, 7]


def fitted(steps):
    with tf.Graph().as_default():
        return run("quadratic_fit", steps=steps)


def is_compiled(config):
    return config.graph_options.optimizer_options.global_jit_level > 0


def test_quadratic_fit(config):
    if not is_compiled(config):
        close(run("quadratic_fit", config, steps=30), fitted(30), rtol=1e-4, atol=1e-4)
        return
    w = run("quadratic_fit", config)
    assert 4.97 <= w[0] <= 5.0
    assert abs(w[1]) <= 0.005
    assert 3.0 <= w[2] <= 4.3


def test_entropy_of_few_steps(config):
    start, wrong, right = run("entropy", config, steps=20)
    close(start, wrong, atol=2e-3)
    entropies = [-(p * np.log(p)).sum() for p in (start, right)]
    assert entropies[0] < entropies[1]


@pytest.mark.slow
def test_entropy():
    *_, right = run("entropy")
    close(right, [0.2] * 5, atol=1e-4)


def test_numerical_stability(config):
    found = run("numerical_stability", config)
    assert np.isnan(found["of tiny"])
    assert np.isnan(found["of huge"])
    close(found["bounds"], [1.4013e-45, 3.40282e38], rtol=1e-5)
    np.testing.assert_array_equal(found["unstable softmax"], [np.nan, 0])
    assert found["softmax"].tolist() == [1, 0]
    assert found["unstable cross entropy"] == np.inf
    assert found["cross entropy"] == 500
    assert found["gradient"].tolist() == [0.5, -0.5]


def all_paths(update, start, length):
    """The scores of every path of a chain, best first, with the paths."""
    states = len(update)
    scored = []
    for number in range(states**length):
        path = [number // states**place % states for place in range(length)]
        score = start[path[0]] + sum(update[a, b] for a, b in itertools.pairwise(path))
        scored.append((score, path))
    return sorted(scored, reverse=True)


def test_beam_search(config):
    module = importlib.import_module("beam_search")
    update, start = module.chain()
    scores, paths, divergences = module.run(config, width=6, length=2)
    for row in range(3):
        best = all_paths(update.astype(float), start[row].astype(float), 2)[:5]
        close(scores[row][:5], [score for score, _ in best], rtol=1e-5)
        assert paths[row][0].tolist() == best[0][1]
    close(divergences, [2.0, 0.0], atol=1e-7)


def test_slices_in_a_loop(config):
    sums, _ = run("slices_in_a_loop", config)
    rows = np.random.RandomState(0).uniform(size=[500, 10])
    for found in sums:
        close(found, rows.sum(0), rtol=1e-5)


def test_feeding(config):
    total, both, fed, vector = run("feeding", config)
    assert total == 7
    assert both == {"ab": (3, 4), "total": 7}
    assert fed == 7.5
    assert vector.tolist() == [3, 7]


def test_random_once_per_run(config):
    first, second, (one, two) = run("random_once_per_run", config)
    assert (first != second).all()
    close(two - one, [1, 1, 1])


def test_sessions(config):
    *values, unfed, misfed = run("sessions", config)
    close(values[0], [1, 4, 9])
    close(values[1], [1, 1])
    close(values[2], [0, 0, 25])
    assert unfed == "InvalidArgumentError"
    assert misfed == "ShapeError"  # a ValueError


def test_reshaping(config):
    shapes, static, error = run("reshaping", config)
    assert shapes == [(3, 4, 5), (6, 10), (3, 20), (4, 3, 5)]
    assert static == [list(shape) for shape in shapes]
    assert "[13, 2, -1]" in error


def test_name_scopes(config):
    names, value, apart = run("name_scopes", config)
    assert names == ["c", "c_1", "outer/c", "outer/inner/c", "outer/c_1", "outer/inner_1/c"]
    assert (value, apart) == (2, True)


def test_saver(config):
    restored, listed = run("saver", config)
    for v1, v2 in (restored, listed.values()):
        assert v1.tolist() == [1, 1, 1]
        assert v2.tolist() == [-1] * 5
    assert list(listed) == ["v1", "v2"]


def test_signatures(config):
    y, y3 = run("signatures", config)
    assert y.tolist() == [[1.5], [2.5], [3.5]]
    assert y3.tolist() == [[2], [3], [4]]


def test_devices(config):
    product, total = run("devices", config)
    assert product.tolist() == [[22, 28], [49, 64]]
    assert total.tolist() == [[44, 56], [98, 128]]


def mandelbrot(steps):
    """By NumPy, in complex64."""
    y, x = np.mgrid[-1.3:1.3:0.005, -2:1:0.005]
    start = (x + 1j * y).astype(np.complex64)
    z, counts = start.copy(), np.zeros(start.shape, np.float32)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            z = z * z + start
            counts += np.abs(z) < 4
    return counts


def test_mandelbrot(config, tmp_path):
    module, steps = importlib.import_module("mandelbrot"), 40
    found = module.run(config, steps)
    assert (found != mandelbrot(steps)).mean() <= 0.005
    importlib.import_module("picture").write_png(tmp_path / "m.png", module.picture(found))
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_mandelbrot_of_200_steps(config):
    found = run("mandelbrot", config)
    assert found.shape == (520, 600)
    assert abs(found.sum() - 13373723) <= 200
    assert abs((found == 200).sum() - 61115) <= 20


def pond(n, steps):
    """The wave equation by NumPy, in float64."""
    u = importlib.import_module("pde").drops(n).astype(float)
    ut = np.zeros([n, n])
    for _ in range(steps):
        p = np.pad(u, 1)
        sides = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        corners = p[:-2, :-2] + p[2:, 2:] + p[2:, :-2] + p[:-2, 2:]
        laplacian = sides + 0.5 * corners - 6 * u
        u, ut = u + 0.03 * ut, ut + 0.03 * (laplacian - 0.04 * ut)
    return u


def test_pde(config):
    found, expected = run("pde", config, n=100, steps=60), pond(100, 60)
    close(found, expected, rtol=0, atol=1e-4 * abs(expected).max())


@pytest.mark.slow
def test_pde_of_1000_steps():
    found, expected = run("pde"), pond(500, 1000)
    close(found, expected, rtol=0, atol=1e-4 * abs(expected).max())
    close([found.sum(), found.min(), found.max()], [19.0011, -3.5772, 2.3535], atol=2e-3)
    close(importlib.import_module("pde").drops().sum(), 23.1471, atol=1e-4)


def test_random_fourier_features():
    linear, features = run("random_fourier_features", steps=30, features=200)
    assert linear < 0.4
    assert features > 0.9


def test_word_vectors(config):
    steps = 100 if is_compiled(config) else 5
    first, last, within, between = run("word_vectors", config, steps=steps)
    if is_compiled(config):
        assert last < first
        assert within > between + 0.2
    else:
        with tf.Graph().as_default():
            close([first, last, within, between], run("word_vectors", steps=5), rtol=1e-4)


@pytest.mark.slow
def test_lstm_language_model():
    first, last = run("lstm_language_model", iterations=30)
    assert abs(first - 8) < 0.5
    assert last < 7.9


@pytest.mark.slow
def test_lstm_language_model_learns_the_rule(config):
    iterations = 300 if config.backend == "cpu" and is_compiled(config) else 8
    first, last = run("lstm_language_model", config, iterations=iterations)
    assert abs(first - 8) < 0.5
    assert last < (1.1 if iterations == 300 else 8.1)


def test_custom_gradients(config):
    found = run("custom_gradients", config)
    np.testing.assert_array_equal(found, [9, 6, 2, 0, 1, -1, 0.5, math.nan, 0.5, 1])


def test_matmul_speed(config):
    product, seconds = run("matmul_speed", config, size=60, times=3)
    matrix = np.random.RandomState(0).normal(size=[60, 60]) / 60**0.5
    close(product, np.linalg.matrix_power(matrix, 4), rtol=1e-3, atol=1e-4)
    assert seconds > 0


def test_linear_regression(config):
    losses, _ = run("linear_regression", config)
    stated = [1.35659, 1.00412, 0.759167, 0.588829, 0.470264, 0.387626, 0.329918, 0.289511]
    close(losses[:10], [*stated, 0.261112, 0.241046], rtol=0, atol=6e-6)
    assert losses[-1] < 0.2


def test_dense_layer(config):
    found, kernel = run("dense_layer", config)
    assert found.shape == (2, 1)
    close(found, np.array([[1, 2, 3], [4, 5, 6]]) @ kernel, rtol=1e-5)


def test_convolutional_network():
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    _, shapes = importlib.import_module("convolutional_network").network(x, 0.6)
    assert shapes == [[28, 28, 32], [14, 14, 32], [14, 14, 64], [7, 7, 64], [1024], [10]]


@pytest.mark.slow
def test_convolutional_network_learns():
    _, losses, accuracy = run("convolutional_network")
    close(losses[0], math.log(10), atol=0.3)
    assert losses[-1] < losses[0]
    assert accuracy > 0.5


def test_relu_in_python(config):
    values, found, slope, error = run("relu_in_python", config)
    assert found.tolist() == np.maximum(values, 0).tolist()
    assert slope.tolist() == (values > 0).tolist()
    assert error < 2e-3


def test_identity_by_python(config):
    steps = 301 if is_compiled(config) else 1
    matrices = run("identity_by_python", config, steps=steps)
    close(matrices[0], np.full([3, 3], 0.9), atol=1e-5)
    if is_compiled(config):
        assert np.abs(matrices[1] - np.eye(3)).max() < 0.1
        assert np.abs(matrices[3] - np.eye(3)).max() < 1e-3


@pytest.mark.slow
def test_identity_by_python_of_1000_steps():
    assert np.abs(run("identity_by_python")[-1] - np.eye(3)).max() < 1e-5


def test_softmax_by_python():
    accuracy, _ = run("softmax_by_python", steps=150)
    assert accuracy > 0.85


def test_zero_out(config):
    matrix, vector, gradient = run("zero_out", config)
    assert matrix.tolist() == [[1, 0], [0, 0]]
    assert vector.tolist() == [5, 0, 0, 0, 0]
    assert gradient.tolist() == [1, 0, 0, 0, 0]
