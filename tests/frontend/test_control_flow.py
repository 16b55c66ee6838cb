"""cond, while_loop and fori_loop: values, what they capture, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError
from tfc.hlo.op import OPS

X = np.arange(4, dtype=np.float32)


def jit(function):
    return tfc.jit(function, backend="interpreter")


def test_fibonacci_gives_5():
    """E08: five steps from (0, 1)."""

    @jit
    def fibonacci(n):
        step = lambda s: (s[0] + 1, s[2], s[1] + s[2])  # noqa: E731
        return tfc.while_loop(lambda s: s[0] < n, step, (0, 0, 1))[1]

    assert fibonacci(5) == 5
    assert fibonacci(0) == 0
    assert fibonacci(10) == 55


def test_the_loop_of_the_document_runs_a_thousand_times():
    """E04: T = (int32, float[10]); the f32 sum of a thousand tenths is not a hundred."""
    constant = np.full(10, 0.1, np.float32)
    body = lambda t: (t[0] + 1, t[1] + constant)  # noqa: E731
    init = (np.int32(0), np.zeros(10, np.float32))
    count, vector = jit(lambda s: tfc.while_loop(lambda t: t[0] < 1000, body, s))(init)
    assert count == 1000
    assert count.dtype == np.int32
    np.testing.assert_allclose(vector, 99.99905, rtol=1e-6)


def test_cond_takes_one_of_two():
    f = jit(lambda p, x: tfc.cond(p, lambda v: v + 1, lambda v: v * 2, x))
    np.testing.assert_array_equal(f(True, X), X + 1)
    np.testing.assert_array_equal(f(False, X), X * 2)
    np.testing.assert_array_equal(f(3, X), X + 1)  # a number counts as true if it is not zero
    np.testing.assert_array_equal(f(np.float32(0), X), X * 2)


def test_exactly_one_branch_is_executed(monkeypatch):
    """CND-4: the evaluator is asked for the chosen branch's op alone."""
    ran = []
    for name in ("sine", "cosine"):
        op = OPS[name]

        def evaluate(*arguments, op=op):
            ran.append(op.name)
            return op.evaluate(*arguments)

        monkeypatch.setitem(OPS, name, replace(op, evaluate=evaluate))
    f = jit(lambda p, x: tfc.cond(p, tnp.sin, tnp.cos, x))
    f(True, X)
    assert ran == ["sine"]
    f(False, X)
    assert ran == ["sine", "cosine"]


def test_branches_and_bodies_use_tensors_of_every_function_around_them():
    @jit
    def f(p, x, y):
        z = x * 2

        def inner(v):
            w = v + z
            return tfc.cond(p, lambda: w * y, lambda: w - z)

        return tfc.fori_loop(0, 2, lambda i, v: i * x + inner(v), y)

    def expected(p, x, y):
        v = y
        for i in range(2):
            w = v + x * 2
            v = (w * y if p else w - x * 2) + i * x
        return v

    for p in (True, False):
        np.testing.assert_allclose(f(p, X, X + 1), expected(p, X, X + 1), rtol=1e-6)


def test_constants_are_not_captured_but_copied():
    @jit
    def f(x):
        two = tnp.full((), 2.0, np.float32)
        return tfc.cond(x[0] > 0, lambda: two * x[0], lambda: two)

    conditional = next(i for i in f.lower(X).hlo.entry.instructions if i.opcode == "conditional")
    assert len(conditional.operands[1].operands) == 1  # x[0] alone


def test_nested_structures_and_numpy_values():
    f = jit(lambda n, x: tfc.while_loop(
        lambda s: s["i"] < n, lambda s: {"i": s["i"] + 1, "v": [s["v"][0] * 2, None]},
        {"i": np.int32(0), "v": [x, None]}))  # fmt: skip
    got = f(3, X)
    assert got["i"] == 3
    np.testing.assert_array_equal(got["v"][0], X * 8)
    assert got["v"][1] is None


def test_python_numbers_take_the_dtype_of_the_other_branch_or_of_the_body():
    f = jit(lambda p, x: tfc.cond(p, lambda: 0.0, lambda: tnp.sum(x * 1)))
    assert f(True, X).dtype == np.float32
    g = jit(lambda x: tfc.while_loop(lambda s: s < 10, lambda s: s + x[1], 0.0))
    assert g(X).dtype == np.float32
    assert g(X) == 10
    h = jit(lambda x: tfc.fori_loop(0, 3, lambda i, v: v * 0 + 1.0, x))
    assert h(X).dtype == np.float32
    k = jit(lambda x: tfc.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, 5), (0, x)))
    assert k(np.int8(1))[1].dtype == np.int8
    ladder = jit(lambda x: tfc.while_loop(lambda s: s < 3, lambda s: s * 1.5 + 1, 0))
    assert ladder(X).dtype == np.float64


def test_the_index_of_a_fori_loop_is_a_python_number_to_the_body():
    total = jit(lambda x: tfc.fori_loop(0, 4, lambda i, v: v + i * x, x * 0))(X)
    assert total.dtype == np.float32
    np.testing.assert_array_equal(total, X * 6)
    last = jit(lambda n: tfc.fori_loop(np.int32(2), n, lambda i, v: i, np.int32(-1)))
    assert last(np.int32(9)) == 8
    assert last(np.int32(1)) == -1  # no iteration: the initial value


def test_loops_nest():
    f = jit(lambda n: tfc.fori_loop(
        0, n, lambda i, v: tfc.fori_loop(0, i + 1, lambda j, w: w + j, v), 0))  # fmt: skip
    assert f(5) == sum(j for i in range(5) for j in range(i + 1))


def test_they_work_at_once_outside_a_trace():
    assert tfc.cond(True, lambda x: x + 1, lambda x: x, 2) == 3
    assert tfc.fori_loop(0, 5, lambda i, v: v + i, 0) == 10
    assert tfc.while_loop(lambda v: v < 100, lambda v: v * 2, 3) == 192


REFUSALS = [
    (lambda: tfc.cond(X > 0, lambda: 1, lambda: 2), ShapeError, "scalar predicate, got .*CND-1"),
    (lambda: tfc.cond(True, lambda: X, lambda: X[:2]), ShapeError,
     r"f32\[4\] from true_fun and f32\[2\] from false_fun for result .CND-3"),
    (lambda: tfc.cond(True, lambda: {"a": X}, lambda: {"a": X.astype(int)}), ShapeError,
     r"f32\[4\] from true_fun and s64\[4\] from false_fun for result\['a'\]"),
    (lambda: tfc.cond(True, lambda: [X], lambda: X), TraceError, r"the same structure, got \[\*\]"),
    (lambda: tfc.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1][1:]), (0, X)), ShapeError,
     r"state\[1\] is f32\[4\] and becomes f32\[3\] .WH-2"),
    (lambda: tfc.while_loop(lambda s: s.sum() < 3, lambda s: s.astype(int), X), ShapeError,
     r"state is f32\[4\] and becomes s64\[4\] .WH-2"),
    (lambda: tfc.while_loop(lambda s: True, lambda s: (s, s), X), TraceError, "structure.*WH-2"),
    (lambda: tfc.while_loop(lambda s: s > 0, lambda s: s, X), TraceError,
     r"scalar bool, got pred\[4\] .WH-1"),
    (lambda: tfc.while_loop(lambda s: s, lambda s: s, 1.0), TraceError, r"bool, got f64\[\] .WH-1"),
    (lambda: tfc.fori_loop(0, 2.5, lambda i, v: v, X), TraceError, "scalar integer bounds"),
    (lambda: tfc.fori_loop(0, 3, lambda i, v: v[1:], X), ShapeError, r"state\[1\] is f32\[4\]"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_what_is_refused_shows_the_users_line(number):
    function, kind, message = REFUSALS[number]
    with pytest.raises(kind, match=message) as error:
        function()
    assert any("test_control_flow.py" in note for note in error.value.__notes__)


def test_a_tensor_made_in_a_branch_does_not_leave_it():
    kept = []

    def branch(x):
        kept.append(x + 1)
        return x

    with pytest.raises(TraceError, match="leaked out of true_branch"):
        jit(lambda x: tfc.cond(x > 0, branch, lambda v: v, x) + kept[0])(1.0)
