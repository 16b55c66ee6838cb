"""Fibonacci's numbers in a tensor that grows in each iteration of a loop."""

import tfc.graph as tf


def run(config=None):
    """The numbers."""
    n = tf.constant(5)

    def body(i, c):
        following = c[i - 1] + c[i - 2]
        return i + 1, tf.concat([c, [following]], 0)

    _, numbers = tf.while_loop(
        lambda i, c: i < n,
        body,
        (tf.constant(2), tf.constant([1, 1])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )
    with tf.Session(config=config) as session:
        return session.run(numbers)


if __name__ == "__main__":
    print(run())
