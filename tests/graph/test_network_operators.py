"""`tf.nn`: convolutions, pooling, activations, normalization, losses, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_rows import Row

import tfc.graph as tf

RNG = np.random.default_rng(16)


def floats(*dims: int) -> np.ndarray:
    return RNG.uniform(-1.5, 1.5, dims).astype(np.float32)


def padded(x: np.ndarray, window: Any, strides: Any, padding: str, filling: float) -> np.ndarray:
    widths = [(0, 0)]
    for size, k, s in zip(x.shape[1:3], window, strides):
        total = max(0, (-(-size // s) - 1) * s + k - size) if padding == "SAME" else 0
        widths.append((total // 2, total - total // 2))
    return np.pad(x, [*widths, (0, 0)], constant_values=filling)


def windows(x: np.ndarray, window: Any, strides: Any, padding: str, filling: float) -> np.ndarray:
    """[batch, rows, columns, window rows, window columns, channels]."""
    x = padded(x, window, strides, padding, filling)
    down, across = ((n - k) // s + 1 for n, k, s in zip(x.shape[1:3], window, strides))
    return np.stack([
        np.stack([
            x[:, i * strides[0] : i * strides[0] + window[0],
              j * strides[1] : j * strides[1] + window[1]]
            for j in range(across)
        ], 1)
        for i in range(down)
    ], 1)  # fmt: skip


def convolved(x: Any, k: Any, strides: Any = (1, 1), padding: str = "VALID") -> np.ndarray:
    return np.einsum("bhwijc,ijco->bhwo", windows(x, k.shape[:2], strides, padding, 0.0), k)


def depthwise(x: Any, k: Any, strides: Any = (1, 1), padding: str = "SAME") -> np.ndarray:
    made = np.einsum("bhwijc,ijcm->bhwcm", windows(x, k.shape[:2], strides, padding, 0.0), k)
    return made.reshape(*made.shape[:3], -1)


def transposed(k: Any, g: Any, dims: Any, strides: Any, padding: str) -> np.ndarray:
    """The gradient of a convolution by its input: each element by itself, as it is linear."""
    made = np.zeros(dims, np.float64)
    for place in np.ndindex(*dims):
        unit = np.zeros(dims)
        unit[place] = 1
        made[place] = np.sum(convolved(unit, k, strides, padding) * g)
    return made.astype(np.float32)


def softmaxed(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def activation(name: str, oracle: Callable[..., Any]) -> Row:
    return Row(name, getattr(tf.nn, name), [floats(4, 3)], oracle, True)


def normalized(x: Any, scale: Any, offset: Any) -> list[Any]:
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    count = x[..., 0].size
    made = (x - mean) / np.sqrt(variance + 0.001) * scale + offset
    return [made, mean, variance * count / (count - 1)]


def lrn(x: Any) -> np.ndarray:
    squares = np.pad(x * x, [(0, 0)] * 3 + [(2, 2)])
    total = sum(squares[..., n : n + x.shape[-1]] for n in range(5))
    return x / (1.5 + 0.3 * total) ** 0.7


IMAGES = floats(2, 5, 6, 3)
LABELS = softmaxed(floats(4, 5))

ROWS = [
    activation("relu", lambda x: np.maximum(x, 0)),
    activation("relu6", lambda x: np.clip(x, 0, 6)),
    activation("elu", lambda x: np.where(x > 0, x, np.expm1(x))),
    activation("softplus", lambda x: np.log1p(np.exp(x))),
    activation("softsign", lambda x: x / (1 + abs(x))),
    activation("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x)),
    activation("crelu", lambda x: np.maximum(np.concatenate([x, -x], -1), 0)),
    activation("swish", lambda x: x / (1 + np.exp(-x))),
    activation("log_sigmoid", lambda x: -np.log1p(np.exp(-x))),
    activation("softmax", softmaxed),
    activation("log_softmax", lambda x: np.log(softmaxed(x))),
    activation("l2_loss", lambda x: np.float32((x * x).sum() / 2)),
    Row("softmax of axis 0", lambda x: tf.nn.softmax(x, 0), [floats(4, 3)],
        lambda x: softmaxed(x, 0), True),
    Row("bias_add", tf.nn.bias_add, [floats(2, 3), floats(3)], np.add, True),
    Row("conv2d", lambda x, k: tf.nn.conv2d(x, k, [1, 2, 2, 1], "SAME"),
        [IMAGES, floats(3, 3, 3, 2)],
        lambda x, k: convolved(x, k, (2, 2), "SAME"), True),
    Row("conv2d of channels first",
        lambda x, k: tf.nn.conv2d(x, k, [1, 1, 1, 1], "VALID", data_format="NCHW"),
        [floats(2, 3, 5, 6), floats(2, 3, 3, 2)],
        lambda x, k: convolved(x.transpose(0, 2, 3, 1), k).transpose(0, 3, 1, 2), True),
    Row("conv1d", lambda x, k: tf.nn.conv1d(x, k, 2, "VALID"), [floats(2, 7, 3), floats(3, 3, 2)],
        lambda x, k: convolved(x[:, None], k[None], (1, 2))[:, 0], True),
    Row("depthwise_conv2d", lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"),
        [IMAGES, floats(3, 2, 3, 2)], depthwise, True),
    Row("separable_conv2d", lambda x, d, p: tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME"),
        [IMAGES, floats(3, 3, 3, 1), floats(1, 1, 3, 4)],
        lambda x, d, p: convolved(depthwise(x, d), p), True),
    Row("conv2d_transpose",
        lambda g, k: tf.nn.conv2d_transpose(g, k, [1, 4, 4, 2], [1, 2, 2, 1], "SAME"),
        [floats(1, 2, 2, 3), floats(3, 3, 2, 3)],
        lambda g, k: transposed(k, g, (1, 4, 4, 2), (2, 2), "SAME"), True),
    Row("max_pool", lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [IMAGES],
        lambda x: windows(x, (2, 2), (2, 2), "SAME", -np.inf).max((3, 4)), True),
    Row("avg_pool", lambda x: tf.nn.avg_pool(x, [1, 3, 2, 1], [1, 1, 2, 1], "VALID"), [IMAGES],
        lambda x: windows(x, (3, 2), (1, 2), "VALID", 0).mean((3, 4)), True),
    Row("max_pool_with_argmax",
        lambda x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        [IMAGES],
        lambda x: [windows(x, (2, 2), (2, 2), "VALID", 0).max((3, 4)), np.stack([[[[
            next(i * 6 * 3 + j * 3 + c for i in (2 * r, 2 * r + 1) for j in (2 * q, 2 * q + 1)
                 if b[i, j, c] == b[2 * r : 2 * r + 2, 2 * q : 2 * q + 2, c].max())
            for c in range(3)] for q in range(3)] for r in range(2)] for b in x])]),
    Row("local_response_normalization", lambda x: tf.nn.lrn(x, 2, 1.5, 0.3, 0.7), [IMAGES],
        lrn, True),
    Row("moments", lambda x: tf.nn.moments(x, [0, 1]), [floats(3, 4, 2)],
        lambda x: [x.mean((0, 1)), x.var((0, 1))]),
    Row("fused_batch_norm", tf.nn.fused_batch_norm, [IMAGES, floats(3), floats(3)],
        normalized, True),
    Row("batch_normalization", lambda x, m, v: tf.nn.batch_normalization(x, m, v, 0.5, 2.0, 0.1),
        [floats(3, 2), floats(2), np.abs(floats(2))],
        lambda x, m, v: (x - m) / np.sqrt(v + 0.1) * 2 + 0.5, True),
    Row("l2_normalize", lambda x: tf.nn.l2_normalize(x, 1), [floats(3, 4)],
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)), True),
    Row("softmax_cross_entropy",
        lambda y, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        [LABELS, floats(4, 5)], lambda y, x: -(y * np.log(softmaxed(x))).sum(-1), True),
    Row("sparse_softmax_cross_entropy",
        lambda y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
        [np.int32([[1, 0], [4, 2]]), floats(2, 2, 5)],
        lambda y, x: -np.log(np.take_along_axis(softmaxed(x), y[..., None], -1))[..., 0], True),
    Row("sigmoid_cross_entropy",
        lambda y, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
        [LABELS, floats(4, 5)], lambda y, x: np.log1p(np.exp(x)) - x * y, True),
    Row("weighted_cross_entropy",
        lambda y, x: tf.nn.weighted_cross_entropy_with_logits(y, x, 3.0),
        [LABELS, floats(4, 5)],
        lambda y, x: 3 * y * np.log1p(np.exp(-x)) + (1 - y) * np.log1p(np.exp(x)), True),
    Row("top_k", lambda x: tf.nn.top_k(x, 2), [floats(3, 6)],
        lambda x: [np.sort(x)[:, :-3:-1], np.argsort(x)[:, :-3:-1].astype(np.int32)]),
    Row("in_top_k", lambda x, y: tf.nn.in_top_k(x, y, 2), [floats(3, 6), np.int32([0, 3, 5])],
        lambda x, y: (x > np.take_along_axis(x, y[:, None], 1)).sum(1) < 2),
    Row("embedding_lookup", tf.nn.embedding_lookup, [floats(5, 3), np.int32([[1, 4], [0, 0]])],
        lambda t, i: t[i], True),
    Row("embedding_lookup of parts", lambda a, b, i: tf.nn.embedding_lookup([a, b], i),
        [floats(3, 2), floats(2, 2), np.int32([0, 1, 2, 3, 4])],
        lambda a, b, i: np.stack([a[0], b[0], a[1], b[1], a[2]]), True),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_operator_of_networks_computes_what_numpy_does(row: Row, backend: str):
    row.check_values(backend)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_known_of_networks_is_true_of_the_result(row: Row):
    row.check_inference()


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.differentiable], ids=lambda row: row.name
)
def test_gradients_of_networks_are_those_of_finite_differences(row: Row):
    row.check_gradient()


def test_dropout_keeps_the_mean_and_what_it_keeps():
    with tf.Graph().as_default(), tf.Session() as session:
        made = session.run(tf.nn.dropout(tf.ones([10000]), keep_prob=0.25, seed=3))
    assert set(np.unique(made)) == {0.0, 4.0}
    assert abs(made.mean() - 1) < 0.1


def test_the_first_version_of_cross_entropy_has_constant_labels():
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.constant([[1.0, 2.0, 3.0]])
        labels = tf.nn.softmax(logits)
        loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        by_logits, by_labels = tf.gradients(loss, [logits, labels])
        assert by_labels is None
        assert session.run(by_logits).tolist() == [[0, 0, 0]]


def test_the_gradient_of_cross_entropy_is_softmax_minus_labels_whatever_they_sum_to():
    x, y = np.float32([[1, 2, 4], [0, 0, 1]]), np.float32([[3, 0, 1], [0, 0, 0]])
    with tf.Graph().as_default(), tf.Session() as session:
        logits, labels = tf.constant(x), tf.constant(y)
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        by_logits, by_labels = session.run(tf.gradients(loss, [logits, labels]))
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(by_logits, p - y, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(by_labels, -np.log(p), rtol=1e-5)


def test_equal_arguments_of_an_extreme_send_the_gradient_to_the_first():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0])
        for function, expected in ((tf.maximum, [1, 0]), (tf.minimum, [1, 1])):
            by_x, by_y = session.run(tf.gradients(function(x, y), [x, y]))
            assert by_x.tolist() == expected
            assert (by_x + by_y).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.nn.conv2d(tf.zeros([1, 4, 4, 3]), tf.zeros([2, 2, 2, 1]), 1, "SAME"), "filter"),
        (lambda: tf.nn.max_pool(tf.zeros([1, 4, 4, 3]), 2, 2, "same"), "padding"),
        (lambda: tf.nn.dropout(tf.zeros([2]), 0.0), "keep_prob"),
        (lambda: tf.nn.softmax_cross_entropy_with_logits([1.0], [1.0]), "named"),
        (lambda: tf.nn.fused_batch_norm([[1.0]], [1.0], [0.0], is_training=False), "mean"),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_network_is_refused(call, words):
    with tf.Graph().as_default(), pytest.raises((ValueError, TypeError), match=words):
        call()
