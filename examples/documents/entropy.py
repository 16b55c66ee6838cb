"""The entropy of a distribution, raised to its most: by a formula whose gradient is whole.

The cross entropy of a distribution with itself has the same value, but its gradient takes the
labels for constants: with it the distribution stays as it is.
"""

import numpy as np

import tfc.graph as tf

START = np.log(np.float32([0.34081486, 0.24287023, 0.23465775, 0.08935683, 0.09230034]))


def entropy(logits):
    """The entropy of softmax(logits)."""
    probabilities = tf.nn.softmax(logits)
    return tf.reduce_sum(probabilities * (tf.reduce_logsumexp(logits) - logits))


def cross_entropy_with_itself(logits):
    """The same value, of which only a part is differentiated."""
    return tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(logits), logits=logits)


def run(config=None, steps=10000):
    """The distributions at the beginning, after the wrong form, and after the right one."""
    found = []
    for form in (cross_entropy_with_itself, entropy):
        w = tf.Variable(START)
        train = tf.train.AdamOptimizer().minimize(-form(w))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            found[:1] = [session.run(tf.nn.softmax(w))]
            for _ in range(steps):
                session.run(train)
            found.append(session.run(tf.nn.softmax(w)))
    return found


def gradient_errors(config=None, start=START):
    """How far the gradient of each form is from differences."""
    found = []
    for form in (cross_entropy_with_itself, entropy):
        w = tf.placeholder(tf.float32, start.shape)
        with tf.Session(config=config):
            found.append(tf.test.compute_gradient_error(w, start.shape, form(w), [], start))
    return found


if __name__ == "__main__":
    print("errors of the gradients:", *gradient_errors())
    print(*run(), sep="\n")
