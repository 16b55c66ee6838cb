"""A Python function of tensors with values, called by a graph."""

import tfc.graph as tf
from tfc.graph.contrib import eager as tfe


def square(x):
    """x x, by operations that are computed as they are called."""
    return tf.matmul(x, x)


def run(config=None):
    """The product of [[2]] with itself."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32)
        y = tfe.py_func(square, [x], tf.float32)
        return session.run(y, feed_dict={x: [[2.0]]})


if __name__ == "__main__":
    print(run())
