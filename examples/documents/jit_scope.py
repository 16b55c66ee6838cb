"""An addition that a scope asks to be compiled."""

import numpy as np

import tfc.graph as tf


def run(config=None):
    """x + x."""
    jit_scope = tf.contrib.compiler.jit.experimental_jit_scope
    x = tf.placeholder(np.float32)
    with jit_scope():
        y = tf.add(x, x)
    with tf.Session(config=config) as session:
        return session.run(y, {x: [1.0, 2.5, -3.0]})


if __name__ == "__main__":
    print(run())
