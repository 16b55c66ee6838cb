"""The fifth of Fibonacci's numbers, by a loop."""

import tfc.graph as tf


def run(config=None):
    """The number."""
    n = tf.constant(5)
    _, _, b = tf.while_loop(
        lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b), (tf.constant(2), 1, 1)
    )
    with tf.Session(config=config) as session:
        return int(session.run(b))


if __name__ == "__main__":
    print(run())
