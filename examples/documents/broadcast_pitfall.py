"""A sum that broadcasting makes larger than it was meant to be, and the axis that tells."""

import tfc.graph as tf


def run(config=None):
    """The sum of all, and by the first axis."""
    a = tf.constant([[1.0], [2.0]])
    b = tf.constant([1.0, 2.0])
    with tf.Session(config=config) as session:
        return session.run([tf.reduce_sum(a + b), tf.reduce_sum(a + b, 0)])


if __name__ == "__main__":
    print(*run())
