"""A sum of constants, and a variable that is assigned a sum."""

import tfc.graph as tf


def run(config=None):
    """Both sums."""
    a, b = tf.constant(1), tf.constant(2)
    c = a + b
    v = tf.Variable(1)
    assign = tf.assign(v, v + b)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run(c), session.run(assign)


if __name__ == "__main__":
    print(*run(), sep="; ")
