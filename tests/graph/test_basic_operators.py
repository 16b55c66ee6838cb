"""Arithmetic, reductions, shapes and slices of graphs: values, shapes known beforehand, names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_rows import Row

import tfc.graph as tf
from tfc.errors import UnsupportedError
from tfc.graph.operators.registry import find

RNG = np.random.default_rng(14)


def floats(*dims: int) -> np.ndarray:
    return RNG.uniform(0.3, 1.7, dims).astype(np.float32)


def integers(*dims: int) -> np.ndarray:
    return RNG.integers(-9, 10, dims).astype(np.int32)


def nonzero(*dims: int) -> np.ndarray:
    found = integers(*dims)
    return np.where(found == 0, 4, found).astype(np.int32)


def unary(name: str, oracle: Callable[..., Any], differentiable: bool = True) -> Row:
    return Row(name, getattr(tf, name), [floats(3, 2)], oracle, differentiable)


def binary(name: str, oracle: Callable[..., Any], *inputs: Any) -> Row:
    given = inputs or (floats(3, 2), floats(2))
    return Row(name, getattr(tf, name), given, oracle, not inputs)


X = floats(2, 3, 4)

ROWS = [
    unary("negative", np.negative),
    unary("exp", np.exp),
    unary("log", np.log),
    unary("sqrt", np.sqrt),
    unary("rsqrt", lambda x: 1 / np.sqrt(x)),
    unary("square", np.square),
    unary("tanh", np.tanh),
    unary("cos", np.cos),
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    unary("sign", np.sign, False),
    unary("ceil", np.ceil, False),
    unary("reciprocal", lambda x: 1 / x),
    unary("is_nan", np.isnan, False),
    binary("add", np.add),
    binary("subtract", np.subtract),
    binary("multiply", np.multiply),
    binary("pow", np.power),
    binary("maximum", np.maximum),
    binary("squared_difference", lambda x, y: (x - y) ** 2),
    binary("div", np.floor_divide, integers(3, 4), nonzero(4)),
    binary("div", np.divide),
    binary("truediv", np.true_divide, integers(3, 4), nonzero(4)),
    binary("floordiv", np.floor_divide, integers(3, 4), nonzero(4)),
    binary("mod", np.mod, integers(3, 4), nonzero(4)),
    binary("truncatediv", lambda x, y: np.int32(x / y), integers(3, 4), nonzero(4)),
    binary("truncatemod", np.fmod, integers(3, 4), nonzero(4)),
    binary("less", np.less, integers(5), integers(5)),
    binary("equal", np.equal, integers(5), integers(5)),
    Row("round", tf.round, [np.float32([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5])], np.rint),
    Row("abs of complex", tf.abs, [np.complex64([3 + 4j, 1j])], np.abs),
    Row("cast", lambda x: tf.cast(x, tf.int32), [np.float32([1.7, -1.7])], np.int32),
    Row("reduce_sum", lambda x: tf.reduce_sum(x, [0, 2]), [X], lambda x: x.sum((0, 2)), True),
    Row("reduce_sum of all", tf.reduce_sum, [X], np.sum, True),
    Row(
        "reduce_mean",
        lambda x: tf.reduce_mean(x, 1, keep_dims=True),
        [X],
        lambda x: x.mean(1, keepdims=True),
        True,
    ),
    Row("reduce_max", lambda x: tf.reduce_max(x, -1), [X], lambda x: x.max(-1), True),
    Row(
        "reduce_mean of integers",
        tf.reduce_mean,
        [np.int32([-3, -4, 0])],
        lambda x: np.int32(-2),
    ),
    Row(
        "reduce_logsumexp",
        lambda x: tf.reduce_logsumexp(x, 1),
        [X],
        lambda x: np.log(np.exp(x).sum(1)),
        True,
    ),
    Row("argmax", lambda x: tf.argmax(x, 1), [X], lambda x: x.argmax(1)),
    Row(
        "cumsum",
        lambda x: tf.cumsum(x, 1, exclusive=True),
        [X],
        lambda x: np.cumsum(x, 1) - x,
        True,
    ),
    Row("matmul", tf.matmul, [floats(3, 4), floats(4, 2)], np.matmul, True),
    Row(
        "matmul of the transposed",
        lambda a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True),
        [floats(4, 3), floats(2, 4)],
        lambda a, b: a.T @ b.T,
        True,
    ),
    Row("matmul of batches", tf.matmul, [floats(2, 3, 4), floats(2, 4, 2)], np.matmul, True),
    Row(
        "tensordot",
        lambda a, b: tf.tensordot(a, b, [[1, 2], [0, 1]]),
        [floats(2, 3, 4), floats(3, 4, 2)],
        lambda a, b: np.tensordot(a, b, [[1, 2], [0, 1]]),
        True,
    ),
    Row("reshape", lambda x: tf.reshape(x, [-1, 2]), [X], lambda x: x.reshape(-1, 2), True),
    Row("transpose", tf.transpose, [X], np.transpose, True),
    Row(
        "concat",
        lambda a, b: tf.concat([a, b], 1),
        [floats(2, 3), floats(2, 1)],
        lambda a, b: np.concatenate([a, b], 1),
        True,
    ),
    Row(
        "stack",
        lambda a, b: tf.stack([a, b], 1),
        [floats(2, 3), floats(2, 3)],
        lambda a, b: np.stack([a, b], 1),
        True,
    ),
    Row(
        "unstack",
        lambda x: tf.unstack(x, axis=1),
        [floats(2, 3)],
        lambda x: [x[:, 0], x[:, 1], x[:, 2]],
    ),
    Row("split", lambda x: tf.split(x, [1, 3], 2), [X], lambda x: [x[..., :1], x[..., 1:]]),
    Row("tile", lambda x: tf.tile(x, [2, 1, 2]), [X], lambda x: np.tile(x, [2, 1, 2]), True),
    Row(
        "pad",
        lambda x: tf.pad(x, [[1, 0], [2, 1]], "REFLECT"),
        [floats(3, 4)],
        lambda x: np.pad(x, [[1, 0], [2, 1]], "reflect"),
        True,
    ),
    Row("reverse", lambda x: tf.reverse(x, [1]), [X], lambda x: x[:, ::-1], True),
    Row("slices", lambda x: x[1:, ..., tf.newaxis, ::-2], [X], lambda x: x[1:, ..., None, ::-2]),
    Row("an index", lambda x: x[:, -1], [X], lambda x: x[:, -1], True),
    Row(
        "a computed index",
        lambda x, i: x[i, 1],
        [X, np.int32(1)],
        lambda x, i: x[i, 1],
    ),
    Row("slice", lambda x: tf.slice(x, [0, 1, 0], [1, -1, 2]), [X], lambda x: x[:1, 1:, :2], True),
    Row(
        "gather",
        lambda x, i: tf.gather(x, i, axis=1),
        [X, np.int32([[2, 0]])],
        lambda x, i: x[:, i],
    ),
    Row(
        "gather_nd",
        tf.gather_nd,
        [X, np.int32([[1, 2], [0, 0]])],
        lambda x, i: x[i[:, 0], i[:, 1]],
    ),
    Row(
        "one_hot",
        lambda i: tf.one_hot(i, 3),
        [np.int32([2, 0, 5])],
        lambda i: (i[:, None] == np.arange(3)).astype(np.float32),
    ),
    Row(
        "where of rows",
        tf.where,
        [np.bool_([True, False]), floats(2, 3), floats(2, 3)],
        lambda c, x, y: np.where(c[:, None], x, y),
    ),
    Row("zeros_like", lambda x: tf.zeros_like(x, optimize=False), [X], np.zeros_like),
    Row("fill", lambda v: tf.fill([2, 3], v), [floats()], lambda v: np.full((2, 3), v), True),
    Row(
        "range", lambda x: tf.range(1, 6, 2) + x, [np.int32(3)], lambda x: np.int32([4, 6, 8])
    ),
    Row(
        "sequence_mask",
        lambda n: tf.sequence_mask(n, 4),
        [np.int32([1, 3])],
        lambda n: np.arange(4) < n[:, None],
    ),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_operator_computes_what_numpy_does(row: Row, backend: str):
    row.check_values(backend)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_known_beforehand_is_true_of_the_result(row: Row):
    row.check_inference()


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.differentiable], ids=lambda row: row.name
)
def test_gradients_are_those_of_finite_differences(row: Row):
    row.check_gradient()


def test_tensors_print_as_in_tensorflow():
    with tf.Graph().as_default():
        a, b = tf.constant(3.0, dtype=tf.float32), tf.constant(4.0)
        assert str(a) == 'Tensor("Const:0", shape=(), dtype=float32)'
        assert str(a + b) == 'Tensor("add:0", shape=(), dtype=float32)'


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sub", lambda x: x - 1),
        ("mul", lambda x: 2 * x),
        ("truediv", lambda x: x / 2),
        ("floordiv", lambda x: x // 2),
        ("mod", lambda x: x % 2),
        ("pow", lambda x: x**2),
        ("matmul", lambda x: x @ x),
        ("Neg", lambda x: -x),
        ("Abs", abs),
        ("Less", lambda x: x < 1),
        ("GreaterEqual", lambda x: x >= 1),
        ("strided_slice", lambda x: x[0]),
        ("and", lambda x: (x > 1) & (x < 3)),
        ("xor", lambda x: (x > 1) ^ (x < 3)),
        ("LogicalNot", lambda x: ~(x > 1)),
        ("Sum", tf.reduce_sum),
        ("MatMul", lambda x: tf.matmul(x, x)),
        ("transpose", tf.transpose),
        ("concat", lambda x: tf.concat([x, x], 0)),
        ("random_normal", lambda x: tf.random_normal([2])),
        ("zeros", lambda x: tf.zeros([2])),
        ("group_deps", tf.group),
    ],
)
def test_nodes_are_called_as_in_tensorflow(name, call):
    with tf.Graph().as_default():
        made = call(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        assert getattr(made, "op", made).name == name


def test_python_numbers_take_the_dtype_of_the_tensor_beside_them():
    with tf.Graph().as_default():
        whole, real = tf.constant(3), tf.constant(2.5)
        assert (whole.dtype, real.dtype) == (tf.int32, tf.float32)
        assert (real + 1).dtype == tf.float32
        assert (whole / 2).dtype == tf.float64
        with pytest.raises(TypeError, match=r"expected int32, got 1\.5"):
            whole + 1.5
        with pytest.raises(ValueError, match="use cast"):
            whole + real


def test_a_tensor_has_no_truth_value():
    with tf.Graph().as_default(), pytest.raises(TypeError, match=r"tfc\.graph\.cond"):
        bool(tf.constant(1) < 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])), "dimensions must be equal"),
        (lambda: tf.zeros([2, 3]) + tf.zeros([2]), "broadcast"),
        (lambda: tf.reshape(tf.zeros([3, 4, 5]), [13, 2, -1]), "no multiple of 26"),
        (lambda: tf.reduce_sum(tf.zeros([2]), 1), "invalid reduction dimension"),
        (lambda: tf.concat([tf.zeros([2, 3]), tf.zeros([3, 2])], 0), "incompatible"),
        (lambda: tf.unstack(tf.placeholder(tf.float32, [None])), "cannot infer num"),
        (lambda: tf.zeros([2])["a"], "indices are integers"),
        (lambda: tf.random_uniform([2], dtype=tf.int32), "Must specify maxval"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_graph_is_built(call, words):
    with tf.Graph().as_default(), pytest.raises((ValueError, TypeError), match=words):
        call()


def test_shapes_that_are_computed_are_known_as_far_as_they_can_be():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        assert tf.reshape(x, [tf.shape(x)[0], 1, 3]).shape.as_list() == [None, 1, 3]
        assert tf.zeros(tf.shape(x)).shape.as_list() == [None, 3]
        assert tf.random_normal(tf.stack([4, tf.shape(x)[1]])).shape.as_list() == [4, 3]
        y = tf.placeholder(tf.float32, [None, None])
        assert tf.matmul(y, tf.zeros([3, 5])).shape.as_list() == [None, 5]
        assert tf.concat([x, y], 1).shape.as_list() == [None, None]
        assert tf.concat([x, y], 0).shape.as_list() == [None, 3]


def test_random_numbers_are_drawn_once_a_run_within_their_bounds():
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        vector = tf.random_uniform([500])
        dice = tf.random_uniform([500], 1, 7, tf.int32)
        narrow = tf.truncated_normal([500], 3.0, 0.5)
        difference = (vector + 2) - (vector + 1)
        with tf.Session() as session:
            first, rolls, cut, ones = session.run([vector, dice, narrow, difference])
            second = session.run(vector)
        with tf.Session() as session:
            again = session.run(vector)
    np.testing.assert_allclose(ones, 1, rtol=1e-6)
    assert set(rolls) == {1, 2, 3, 4, 5, 6}
    assert np.all(np.abs(cut - 3) <= 1)
    assert abs(np.mean(cut) - 3) < 0.1
    assert not np.array_equal(first, second)
    assert np.array_equal(first, again)
    assert 0.4 < first.mean() < 0.6


def test_an_operator_that_cannot_be_compiled_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="UniqueV2 is not supported: the shape of its res"):
        find("UniqueV2")
