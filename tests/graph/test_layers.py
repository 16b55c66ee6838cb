"""`tf.layers` and `tf.losses`: names, variables, values, what collections hold."""

import numpy as np
import pytest

import tfc.graph as tf

RNG = np.random.default_rng(18)


def test_a_dense_layer_is_a_product_with_variables_of_tensorflows_names():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        made = tf.layers.dense(x, 2, activation=tf.nn.relu)
        again = tf.layers.Dense(units=1)
        first, second = again(x), again(x)
        names = [v.name for v in tf.trainable_variables()]
        assert names == ["dense/kernel:0", "dense/bias:0", "dense_1/kernel:0", "dense_1/bias:0"]
        assert made.shape.as_list() == [None, 2]
        session.run(tf.global_variables_initializer())
        fed = RNG.standard_normal((4, 3)).astype(np.float32)
        kernel, got = session.run([tf.trainable_variables()[0], made], {x: fed})
        np.testing.assert_allclose(got, np.maximum(fed @ kernel, 0), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(*session.run([first, second], {x: fed}))


def test_the_shapes_of_a_network_of_convolutions_are_known():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 28, 28, 1])
        made = tf.layers.conv2d(x, 32, [5, 5], padding="same", activation=tf.nn.relu)
        made = tf.layers.max_pooling2d(made, [2, 2], 2)
        assert made.shape.as_list() == [None, 14, 14, 32]
        made = tf.layers.flatten(tf.layers.average_pooling2d(made, 2, 2))
        assert made.shape.as_list() == [None, 7 * 7 * 32]
        assert [v.name for v in tf.global_variables()] == ["conv2d/kernel:0", "conv2d/bias:0"]


def test_batch_normalization_keeps_averages_by_operations_of_a_collection():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(RNG.standard_normal((6, 2)).astype(np.float32) * 3 + 1)
        made = tf.layers.batch_normalization(x, training=True, momentum=0.9)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        session.run(tf.global_variables_initializer())
        value, _ = session.run([made, updates])
        np.testing.assert_allclose(value.mean(0), 0, atol=1e-6)
        np.testing.assert_allclose(value.std(0), 1, rtol=1e-3)
        kept = {v.op.name: session.run(v) for v in tf.global_variables()}
        mean = session.run(x).mean(0)
        np.testing.assert_allclose(kept["batch_normalization/moving_mean"], 0.1 * mean, rtol=1e-5)
        assert len(tf.trainable_variables()) == 2


def test_dropout_of_layers_acts_in_training_only():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ones([1000])
        training = tf.placeholder(tf.bool, [])
        made = tf.layers.dropout(x, 0.4, training=training)
        assert np.all(session.run(made, {training: False}) == 1)
        kept = np.mean(session.run(made, {training: True}) != 0)
        assert 0.5 < kept < 0.7
        assert np.all(session.run(tf.layers.dropout(x, 0.4)) == 1)


LABELS = np.float32([[1, 0, 0], [0, 0, 1]])
LOGITS = np.float32([[0.5, -1, 2], [1, 0, -0.5]])
LOGARITHMS = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: tf.losses.mean_squared_error(LABELS, LOGITS), np.mean((LABELS - LOGITS) ** 2)),
        (lambda: tf.losses.absolute_difference(LABELS, LOGITS), np.mean(abs(LABELS - LOGITS))),
        (
            lambda: tf.losses.mean_squared_error(LABELS, LOGITS, weights=[[1.0], [0.0]]),
            np.mean((LABELS - LOGITS)[0] ** 2),
        ),
        (
            lambda: tf.losses.softmax_cross_entropy(LABELS, LOGITS),
            -np.mean((LABELS * LOGARITHMS).sum(1)),
        ),
        (
            lambda: tf.losses.sparse_softmax_cross_entropy(
                [0, 2], LOGITS, reduction="weighted_sum"
            ),
            -(LABELS * LOGARITHMS).sum(),
        ),
        (
            lambda: tf.losses.sigmoid_cross_entropy(LABELS, LOGITS),
            np.mean(np.log1p(np.exp(LOGITS)) - LOGITS * LABELS),
        ),
        (lambda: tf.losses.huber_loss([0.0, 0.0], [0.5, 3.0]), (0.125 + 2.5) / 2),
        (lambda: tf.losses.hinge_loss([1.0, 0.0], [0.25, 0.5]), (0.75 + 1.5) / 2),
    ],
)
def test_a_loss_is_a_weighted_mean_and_is_kept(call, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        loss = call()
        assert tf.losses.get_losses() == [loss]
        both = session.run([loss, tf.losses.get_total_loss()])
        np.testing.assert_allclose(both, [expected, expected], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FIFOQueue", "queues"),
        ("TFRecordReader", "files"),
        ("summary", "summaries"),
        ("string_split", "text"),
        ("SparseTensor", "sparse"),
        ("reduce_summ", "did you mean 'reduce_sum'"),
    ],
)
def test_a_name_that_is_not_there_is_refused_in_one_sentence(name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(tf, name)
