"""`tf.test`: gradients against differences, test cases, benchmarks."""

import unittest

import numpy as np
import pytest

import tfc.graph as tf


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_both_jacobians_of_a_product():
    x = tf.placeholder(tf.float64, [2, 2])
    factor = np.array([[1.0, 2.0], [3.0, 4.0]])
    y = tf.matmul(x, factor)
    with tf.Session():
        theoretical, numerical = tf.test.compute_gradient(x, [2, 2], y, [2, 2])
        assert tf.test.compute_gradient_error(x, [2, 2], y, [2, 2]) < 1e-9
    assert np.array_equal(theoretical, np.kron(np.eye(2), factor))
    assert np.allclose(numerical, theoretical)


def test_a_wrong_gradient_has_a_large_error(graph):
    tf.RegisterGradient("WrongSquare")(lambda op, grad: grad)
    x = tf.placeholder(tf.float32, [3])
    with graph.gradient_override_map({"Square": "WrongSquare"}):
        y = tf.square(x)
    start = np.array([1.0, 2.0, 3.0], np.float32)
    with tf.Session():
        error = tf.test.compute_gradient_error(x, [3], y, [3], x_init_value=start)
    assert abs(error - 5) < 1e-2


def test_a_gradient_in_python_is_checked_as_the_documents_do():
    def gradient(op, grad):
        return tf.where(op.inputs[0] < 0.0, tf.zeros_like(grad), grad)

    tf.RegisterGradient("TestedRelu")(gradient)
    x = tf.random_normal([10, 2])
    with tf.get_default_graph().gradient_override_map({"PyFunc": "TestedRelu"}):
        y = tf.py_func(lambda x: np.maximum(x, 0), [x], tf.float32)
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [10, 2], y, [10, 2]) < 1e-3


def test_several_tensors_variables_and_further_feeds():
    v = tf.Variable([1.0, 2.0])
    x, scale = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [])
    y = tf.square(x) * v * scale
    with tf.Session():
        pairs = tf.test.compute_gradient(
            [x, v],
            [[2], [2]],
            y,
            [2],
            x_init_value=[[1.0, 2.0], [3.0, 4.0]],
            init_targets=[v.initializer],
            extra_feed_dict={scale: 2.0},
        )
    assert np.allclose(np.diag(pairs[0][0]), [12, 32])
    assert np.allclose(np.diag(pairs[1][0]), [2, 8])
    for theoretical, numerical in pairs:
        assert np.allclose(theoretical, numerical, atol=2e-2)


def test_what_cannot_be_checked_is_refused():
    x, whole = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [2])
    with tf.Session():
        with pytest.raises(ValueError, match="has no gradient by"):
            tf.test.compute_gradient(x, [2], tf.constant(1.0), [])
        with pytest.raises(NotImplementedError, match="real floats"):
            tf.test.compute_gradient(whole, [2], x, [2])
        with pytest.raises(ValueError, match="x_init_value has shape"):
            tf.test.compute_gradient(x, [2], x, [2], x_init_value=[1.0])
    with pytest.raises(ValueError, match="no session is the default"):
        tf.test.compute_gradient(x, [2], x, [2])


def outcome(body):
    """Run one method in a test case of its own; how often it failed."""
    kind = type("Case", (tf.test.TestCase,), {"runTest": body})
    result = unittest.TestResult()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tfc.graph.defaults.default.graphs", [])
        kind().run(result)
    return [text for _, text in (*result.failures, *result.errors)]


def test_a_test_case_has_a_session_and_compares_arrays():
    def passes(self):
        with self.test_session() as session:
            self.assertAllEqual(session.run(tf.constant([1, 2]) + 1), [2, 3])
            self.assertAllClose(tf.constant({1: 0.5}[1]).eval(), 0.5)
            self.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 3]))
            self.assertArrayNear([1.0], [1.05], 0.1)
            with self.assertRaisesOpError("feed a value"):
                session.run(tf.placeholder(tf.float32))

    assert outcome(passes) == []


@pytest.mark.parametrize(
    "check",
    [
        lambda self: self.assertAllClose([1.0], [1.1]),
        lambda self: self.assertAllEqual([1.0], [[1.0]]),
        lambda self: self.assertNear(1.0, 2.0, 0.5),
        lambda self: self.assertAllClose({"a": 1.0}, {"a": 2.0}),
    ],
)
def test_a_test_case_fails_where_arrays_differ(check):
    assert len(outcome(check)) == 1


def test_the_session_is_no_test():
    class Case(tf.test.TestCase):
        def test_something(self):
            pass

    assert unittest.TestLoader().getTestCaseNames(Case) == ["test_something"]


def test_benchmarks_are_run_by_pattern_and_print_entries(capsys):
    class SampleBenchmark(tf.test.Benchmark):
        def benchmarkSum(self):
            with tf.Session() as session:
                self.run_op_benchmark(session, tf.constant(1) + 1, min_iters=3, extras={"n": 1})

        def benchmarkOther(self):
            self.report_benchmark(iters=7, wall_time=0.25, name="renamed")

    tf.test.main([__file__, "--benchmarks=SampleBenchmark.*Sum"])
    printed = capsys.readouterr().out
    assert 'name: "SampleBenchmark.benchmarkSum"' in printed
    assert "iters: 3" in printed
    assert "renamed" not in printed
    tf.test.main([__file__, "--benchmarks=SampleBenchmark.benchmarkOther"])
    assert capsys.readouterr().out == (
        'entry {\n  name: "SampleBenchmark.renamed"\n  iters: 7\n  wall_time: 0.25\n}\n'
    )
    tf.test.main([__file__, "--benchmarks=NoSuchBenchmark"])
    assert "no benchmark matches" in capsys.readouterr().err
