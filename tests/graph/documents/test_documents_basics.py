"""Programs of graphs, control flow, numbers and files: their stated numbers, on each backend."""

import importlib
import itertools
import math
import re

import numpy as np
import pytest
from document_programs import PROGRAMS, TABLE, TESTS, close, is_compiled, run


def test_the_table_of_programs_has_them_all_and_each_has_a_test():
    text = TABLE.read_text().partition("## The programs")[2]
    rows = re.findall(r"^\| (\d\d(?:, \d\d)*) \| ([^|]+) \|", text, re.MULTILINE)
    tests = "".join(path.read_text() for path in TESTS.glob("test_*.py"))
    numbers = [number for listed, _ in rows for number in listed.split(", ")]
    assert numbers == [f"{n:02}" for n in range(1, 44) if n != 24]
    assert [n for n in numbers if not re.search(rf"def test_(e\d\d_)?e{n}_", tests)] == []
    named = {name for _, listed in rows for name in listed.split(", ")}
    assert named == {path.stem for path in PROGRAMS.glob("*.py")} - {"picture", "python_gradients"}


def test_e01_matmul_ahead_of_time():
    assert run("matmul_ahead_of_time") == "Success\n58 64\n139 154\n"


def test_e42_constants_ahead_of_time(config):
    image, found, compiled, size = run("constants_ahead_of_time", config)
    close(found, image + np.float32([2, 6, 7]))
    close(compiled, found)
    assert size > 0


def test_e02_jit_scope(config):
    assert run("jit_scope", config).tolist() == [2, 5, -6]


def test_e03_device_add(config):
    output, expected = run("device_add", config)
    assert output.tolist() == expected.tolist() == [1.5, 2.25, 7]


def test_e04_thousand_iterations(config):
    count, total = run("thousand_iterations", config)
    assert count == 1000
    assert total.tolist() == [1000 * n for n in range(10)]


def test_e05_add_and_assign(config):
    assert run("add_and_assign", config) == (3, 3)


def test_e06_control_dependencies(config):
    before, after, free = run("control_dependencies", config)
    assert before == [5, 3]
    assert after == [5, 7]
    assert free == [5, 3]  # a run reads variables before it writes them where nothing else is said


def test_e07_cond_and_where(config):
    x, y = run("cond_and_where", config)
    assert x == 3
    assert y.tolist() == [3, 2]


def test_e08_fibonacci(config):
    assert run("fibonacci", config) == 5


def test_e09_growing_fibonacci(config):
    assert run("growing_fibonacci", config).tolist() == [1, 1, 2, 3, 5]


def test_e09_fibonacci_list(config):
    assert run("fibonacci_list", config).tolist() == [1, 1, 2, 3, 5]


def test_e10_broadcast_pitfall(config):
    total, columns = run("broadcast_pitfall", config)
    assert total == 12
    assert columns.tolist() == [5, 7]


def test_e17_numerical_stability(config):
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


def test_e18_beam_search(config):
    module = importlib.import_module("beam_search")
    update, start = module.chain()
    scores, paths, divergences = module.run(config, width=6, length=2)
    for row in range(3):
        best = all_paths(update.astype(float), start[row].astype(float), 2)[:5]
        close(scores[row][:5], [score for score, _ in best], rtol=1e-5)
        assert paths[row][0].tolist() == best[0][1]
    close(divergences, [2.0, 0.0], atol=1e-7)


def test_e19_slices_in_a_loop(config):
    sums, _ = run("slices_in_a_loop", config)
    rows = np.random.RandomState(0).uniform(size=[500, 10])
    for found in sums:
        close(found, rows.sum(0), rtol=1e-5)


def test_e20_feeding(config):
    total, both, fed, vector = run("feeding", config)
    assert total == 7
    assert both == {"ab": (3, 4), "total": 7}
    assert fed == 7.5
    assert vector.tolist() == [3, 7]


def test_e21_random_once_per_run(config):
    first, second, (one, two) = run("random_once_per_run", config)
    assert (first != second).all()
    close(two - one, [1, 1, 1])


def test_e25_sessions(config):
    *values, unfed, misfed = run("sessions", config)
    close(values[0], [1, 4, 9])
    close(values[1], [1, 1])
    close(values[2], [0, 0, 25])
    assert unfed == "InvalidArgumentError"
    assert misfed == "ShapeError"  # a ValueError


def test_e26_reshaping(config):
    shapes, static, error = run("reshaping", config)
    assert shapes == [(3, 4, 5), (6, 10), (3, 20), (4, 3, 5)]
    assert static == [list(shape) for shape in shapes]
    assert "[13, 2, -1]" in error


def test_e27_name_scopes(config):
    names, value, apart = run("name_scopes", config)
    assert names == ["c", "c_1", "outer/c", "outer/inner/c", "outer/c_1", "outer/inner_1/c"]
    assert (value, apart) == (2, True)


def test_e28_saver(config):
    restored, listed = run("saver", config)
    for v1, v2 in (restored, listed.values()):
        assert v1.tolist() == [1, 1, 1]
        assert v2.tolist() == [-1] * 5
    assert list(listed) == ["v1", "v2"]


def test_e29_signatures(config):
    y, y3 = run("signatures", config)
    assert y.tolist() == [[1.5], [2.5], [3.5]]
    assert y3.tolist() == [[2], [3], [4]]


def test_e30_devices(config):
    product, total = run("devices", config)
    assert product.tolist() == [[22, 28], [49, 64]]
    assert total.tolist() == [[44, 56], [98, 128]]


def mandelbrot(steps, is_numpy):
    """By NumPy, in complex64, or with both parts of products rounded as they are written."""
    y, x = np.mgrid[-1.3:1.3:0.005, -2:1:0.005]
    start = (x + 1j * y).astype(np.complex64)
    z, counts = start.copy(), np.zeros(start.shape, np.float32)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            if is_numpy:
                z = z * z + start
            else:
                re, im = z.real.copy(), z.imag.copy()
                z.real, z.imag = (re * re - im * im) + start.real, 2 * re * im + start.imag
            counts += np.abs(z) < 4
    return counts


def test_e31_mandelbrot(config, tmp_path):
    module, steps = importlib.import_module("mandelbrot"), 40
    found = module.run(config, steps)
    assert (found != mandelbrot(steps, True)).mean() <= 0.005
    if is_compiled(config):
        np.testing.assert_array_equal(found, mandelbrot(steps, False))
    importlib.import_module("picture").write_png(tmp_path / "m.png", module.picture(found))
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_e31_mandelbrot_of_200_steps(config):
    found = run("mandelbrot", config)
    assert found.shape == (520, 600)
    assert abs(found.sum() - 13373723) <= 200
    assert abs((found == 200).sum() - 61115) <= 20
    if is_compiled(config):
        assert found.sum() == 13373643


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


def test_e32_pde(config):
    found, expected = run("pde", config, n=100, steps=60), pond(100, 60)
    close(found, expected, rtol=0, atol=1e-4 * abs(expected).max())


@pytest.mark.slow
def test_e32_pde_of_1000_steps():
    found, expected = run("pde"), pond(500, 1000)
    close(found, expected, rtol=0, atol=1e-4 * abs(expected).max())
    close([found.sum(), found.min(), found.max()], [19.0011, -3.5772, 2.3535], atol=2e-3)
    close(importlib.import_module("pde").drops().sum(), 23.1471, atol=1e-4)


def test_e38_custom_gradients(config):
    found = run("custom_gradients", config)
    np.testing.assert_array_equal(found, [9, 6, 2, 1, -1, 0.5, math.nan, 0.5, 1])


def test_e40_matmul_speed(config):
    product, seconds = run("matmul_speed", config, size=60, times=3)
    matrix = np.random.RandomState(0).normal(size=[60, 60]) / 60**0.5
    close(product, np.linalg.matrix_power(matrix, 4), rtol=1e-3, atol=1e-4)
    assert seconds > 0


def test_e43_zero_out(config):
    matrix, vector, gradient = run("zero_out", config)
    assert matrix.tolist() == [[1, 0], [0, 0]]
    assert vector.tolist() == [5, 0, 0, 0, 0]
    assert gradient.tolist() == [1, 0, 0, 0, 0]
