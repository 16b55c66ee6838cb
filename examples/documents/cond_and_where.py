"""A choice between two computations, and one of each element."""

import tfc.graph as tf


def run(config=None):
    """The choice, and the elements chosen."""
    a, b = tf.constant(1), tf.constant(2)
    x = tf.cond(tf.constant(True), lambda: a + b, lambda: a * b)
    one, two = tf.constant([1, 1]), tf.constant([2, 2])
    y = tf.where(tf.constant([True, False]), one + two, one * two)
    with tf.Session(config=config) as session:
        return session.run([x, y])


if __name__ == "__main__":
    print(*run())
