"""A loop of a thousand iterations over a counter and a vector."""

import numpy as np

import tfc.graph as tf


def run(config=None):
    """The counter and the vector at the end."""
    vector = tf.constant(np.arange(10, dtype=np.float32))
    count, total = tf.while_loop(
        lambda i, _: i < 1000, lambda i, x: (i + 1, x + vector), (tf.constant(0), tf.zeros([10]))
    )
    with tf.Session(config=config) as session:
        return session.run([count, total])


if __name__ == "__main__":
    print(*run())
