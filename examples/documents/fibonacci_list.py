"""Fibonacci's numbers in a list of tensors that a loop writes."""

import tfc.graph as tf


def run(config=None):
    """The numbers."""
    n = tf.constant(5)
    numbers = tf.TensorArray(tf.int32, n, clear_after_read=False, infer_shape=True)
    numbers = numbers.write(0, 1).write(1, 1)
    _, written = tf.while_loop(
        lambda i, _: i < n,
        lambda i, c: (i + 1, c.write(i, c.read(i - 1) + c.read(i - 2))),
        (tf.constant(2), numbers),
    )
    with tf.Session(config=config) as session:
        return session.run(written.stack())


if __name__ == "__main__":
    print(run())
