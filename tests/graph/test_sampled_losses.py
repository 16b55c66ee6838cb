"""Losses of sampled classes against NumPy, and how often classes are sampled."""

import numpy as np
import pytest

import tfc.graph as tf

DRAW = np.random.default_rng(8)
CLASSES = 20
WEIGHTS = DRAW.normal(size=(CLASSES, 4)).astype(np.float32)
BIASES = DRAW.normal(size=CLASSES).astype(np.float32)
INPUTS = DRAW.normal(size=(3, 4)).astype(np.float32)
TRUTH = np.array([[0, 5], [7, 2], [19, 3]])
CHANCES = np.log((np.arange(CLASSES) + 2) / (np.arange(CLASSES) + 1)) / np.log(CLASSES + 1)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def sampler(unique, count, seed=3):
    return tf.nn.log_uniform_candidate_sampler(TRUTH, 2, count, unique, CLASSES, seed)


def test_classes_are_drawn_with_their_chances():
    with tf.Session() as session:
        found, of_true, of_found = session.run(sampler(False, 20000))
        np.testing.assert_allclose(np.bincount(found) / 20000, CHANCES, atol=0.015)
        np.testing.assert_allclose(of_true, 20000 * CHANCES[TRUTH], rtol=1e-5)
        np.testing.assert_allclose(of_found, 20000 * CHANCES[found], rtol=1e-5)


def test_unique_classes_are_drawn_once_and_counted_by_the_number_of_draws():
    made = sampler(True, 8)
    seen = np.zeros(CLASSES)
    with tf.Session() as session:
        for _ in range(200):
            found, of_true, of_found = session.run(made)
            assert len(set(found)) == 8
            assert found.min() >= 0
            assert found.max() < CLASSES
            seen[found] += 1
            # Of 1 - (1 - p)^n, n is a number of draws: at least as many as there are classes.
            tries = np.log1p(-of_found.astype(float)) / np.log1p(-CHANCES[found])
            np.testing.assert_allclose(tries, np.round(tries[0]), rtol=1e-2)
            assert np.round(tries[0]) >= 8
            expected = 1 - (1 - CHANCES[TRUTH]) ** np.round(tries[0])
            np.testing.assert_allclose(of_true, expected, rtol=1e-3)
    assert seen[0] > 180 > 100 > seen[19]


@pytest.mark.parametrize("without_hits", [False, True])
@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
def test_a_loss_is_that_of_the_true_and_the_sampled_classes(loss, without_hits):
    sampled = np.array([5, 1, 7, 11], np.int64)
    of_true, of_sampled = 4 * CHANCES[TRUTH], 4 * CHANCES[sampled]
    values = (sampled, of_true.astype(np.float32), of_sampled.astype(np.float32))
    made = getattr(tf.nn, loss)(WEIGHTS, BIASES, TRUTH, INPUTS, 4, CLASSES, 2, values, without_hits)
    right = np.einsum("bd,btd->bt", INPUTS, WEIGHTS[TRUTH]) + BIASES[TRUTH] - np.log(of_true)
    others = INPUTS @ WEIGHTS[sampled].T + BIASES[sampled] - np.log(of_sampled)
    if without_hits:
        others[(sampled[None, None] == TRUTH[:, :, None]).any(1)] = -1e30
    logits = np.concatenate([right, others], 1)
    labels = np.concatenate([np.full((3, 2), 0.5), np.zeros((3, 4))], 1)
    if loss == "nce_loss":
        expected = (np.logaddexp(0, logits) - labels * logits).sum(1)
    else:
        whole = logits.max(1, keepdims=True)
        scale = whole + np.log(np.exp(logits - whole).sum(1, keepdims=True))
        expected = (labels[:, :2] * (scale - right)).sum(1)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(made), expected, rtol=1e-4)


def test_a_training_step_with_a_sampled_loss_is_one_cluster_and_learns():
    weights = tf.Variable(WEIGHTS)
    biases = tf.Variable(BIASES)
    loss = tf.reduce_mean(
        tf.nn.nce_loss(weights, biases, TRUTH[:, :1], INPUTS, 4, CLASSES, name="nce")
    )
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], None, options, metadata)[0] for _ in range(60)]
    (device,) = metadata.step_stats.dev_stats
    assert len(device.node_stats) == 1
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) / 2


def test_what_cannot_be_sampled_is_refused():
    with pytest.raises(ValueError, match="range is too small: 21 unique classes of 20"):
        sampler(True, 21)
    with pytest.raises(ValueError, match=r"has shape \(batch, 1\)"):
        tf.nn.log_uniform_candidate_sampler(TRUTH, 1, 2, True, CLASSES)
    with pytest.raises(AttributeError, match=r"nn has no 'ctc_loss': losses of alignments are out"):
        _ = tf.nn.ctc_loss
