"""Constants, fetches of several values at once, and placeholders."""

import tfc.graph as tf


def run(config=None):
    """The values that the runs give."""
    a, b = tf.constant(3.0, dtype=tf.float32), tf.constant(4.0)
    total = a + b
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    z = x + y
    with tf.Session(config=config) as session:
        return [
            session.run(total),
            session.run({"ab": (a, b), "total": total}),
            session.run(z, feed_dict={x: 3, y: 4.5}),
            session.run(z, feed_dict={x: [1, 3], y: [2, 4]}),
        ]


if __name__ == "__main__":
    print(*run(), sep="\n")
