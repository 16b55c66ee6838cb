"""What floats do at their ends: formulas that overflow, and those that do not."""

import numpy as np

import tfc.graph as tf


def unstable_softmax(logits):
    """exp / sum(exp), which overflows."""
    exp = tf.exp(logits)
    return exp / tf.reduce_sum(exp)


def softmax(logits):
    """The same with the largest taken off first."""
    exp = tf.exp(logits - tf.reduce_max(logits))
    return exp / tf.reduce_sum(exp)


def cross_entropy(labels, logits):
    """By the logarithm of the softmax's sum."""
    scaled = logits - tf.reduce_max(logits)
    normalized = scaled - tf.reduce_logsumexp(scaled)
    return -tf.reduce_sum(labels * normalized)


def run(config=None):
    """The values, by what they are of."""
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    logits, labels = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    stable = cross_entropy(labels, logits)
    unstable = -tf.reduce_sum(labels * tf.log(softmax(logits)))
    feeds = {logits: [1000.0, 0.0], labels: [0.5, 0.5]}
    with tf.Session(config=config) as session, np.errstate(all="ignore"):
        return {
            "of tiny": session.run(x * y / y, {x: 1, y: np.float32(1e-50)}),
            "of huge": session.run(x * y / y, {x: 1, y: np.float32(1e39)}),
            "bounds": [np.nextafter(np.float32(0), np.float32(1)), tf.float32.max],
            "unstable softmax": session.run(unstable_softmax(logits), feeds),
            "softmax": session.run(softmax(logits), feeds),
            "unstable cross entropy": session.run(unstable, feeds),
            "cross entropy": session.run(stable, feeds),
            "gradient": session.run(tf.gradients(stable, logits)[0], feeds),
        }


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{name}: {value}")
