"""Metrics: values over several runs against NumPy on all batches at once."""

import numpy as np
import pytest

import tfc.graph as tf

DRAW = np.random.default_rng(11)
LABELS = DRAW.integers(0, 2, (3, 8))
PREDICTIONS = DRAW.integers(0, 2, (3, 8))
WEIGHTS = DRAW.uniform(0, 2, (3, 8)).astype(np.float32)
TRUE, MADE = LABELS == 1, PREDICTIONS == 1


def over_runs(function, weighted, dtype=np.int64):
    """The last update, the value after it, and the value before anything was counted."""
    with tf.Graph().as_default(), tf.Session() as session:
        labels, made = (tf.placeholder(tf.as_dtype(dtype), [None]) for _ in range(2))
        weights = tf.placeholder(tf.float32, [None])
        value, update = function(labels, made, weights=weights if weighted else None)
        session.run(tf.local_variables_initializer())
        assert tf.global_variables() == []
        before, last = session.run(value), None
        for row in range(3):
            feeds = {labels: LABELS[row], made: PREDICTIONS[row], weights: WEIGHTS[row]}
            last = session.run(update, feeds)
        return last, session.run(value), before


def mean(values, weights):
    return (values * weights).sum() / weights.sum()


EXPECTED = {
    "accuracy": lambda w: mean(LABELS == PREDICTIONS, w),
    "mean_absolute_error": lambda w: mean(abs(LABELS - PREDICTIONS), w),
    "mean_squared_error": lambda w: mean((LABELS - PREDICTIONS) ** 2, w),
    "root_mean_squared_error": lambda w: np.sqrt(mean((LABELS - PREDICTIONS) ** 2, w)),
    "true_positives": lambda w: (w * (TRUE & MADE)).sum(),
    "true_negatives": lambda w: (w * (~TRUE & ~MADE)).sum(),
    "false_positives": lambda w: (w * (~TRUE & MADE)).sum(),
    "false_negatives": lambda w: (w * (TRUE & ~MADE)).sum(),
    "precision": lambda w: (w * (TRUE & MADE)).sum() / (w * MADE).sum(),
    "recall": lambda w: (w * (TRUE & MADE)).sum() / (w * TRUE).sum(),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_metric_counts_all_runs_and_nothing_before_them(name, weighted):
    expected = EXPECTED[name](WEIGHTS if weighted else np.ones_like(WEIGHTS))
    last, value, before = over_runs(getattr(tf.metrics, name), weighted)
    np.testing.assert_allclose([last, value, before], [expected, expected, 0], rtol=1e-5)


def test_the_mean_of_values_spreads_weights():
    with tf.Graph().as_default(), tf.Session() as session:
        values = np.float32([[1, 2], [3, 5]])
        _, update = tf.metrics.mean(values, [[1.0], [3.0]])
        session.run(tf.local_variables_initializer())
        assert session.run(update) == (3 + 3 * 8) / 8
        with pytest.raises(ValueError, match="weights can not be broadcast to values"):
            tf.metrics.mean(values, [1.0, 3.0])


def test_what_a_metric_counts_in_has_tensorflows_names_and_collections():
    with tf.Graph().as_default(), tf.Session() as session:
        value, update = tf.metrics.mean(
            [1.0], metrics_collections=["values"], updates_collections="updates", name="m"
        )
        tf.metrics.precision([1], [1])
        names = ["m/total", "m/count", "precision/true_positives/count"]
        names += ["precision/false_positives/count"]
        assert [v.op.name for v in tf.local_variables()] == names
        assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
        assert (value.op.name, update.op.name) == ("m/value", "m/update_op")
        assert tf.get_collection("values") == [value]
        assert tf.get_collection("updates") == [update]
        session.run(tf.local_variables_initializer())
        session.run(update)
        session.run(tf.local_variables_initializer())
        assert session.run(value) == 0


def test_labels_and_predictions_may_differ_by_a_last_dimension_of_one_only():
    with tf.Graph().as_default(), tf.Session() as session:
        _, update = tf.metrics.accuracy([[1], [2], [3]], [1.0, 2.0, 4.0])
        session.run(tf.local_variables_initializer())
        np.testing.assert_allclose(session.run(update), 2 / 3)
        with pytest.raises(ValueError, match="are incompatible"):
            tf.metrics.accuracy([1, 2], [1, 2, 3])
