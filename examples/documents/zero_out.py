"""An operator of the user's: all elements zero but the first, and its gradient."""

import numpy as np
from python_gradients import py_func

import tfc.graph as tf


def zero_out(x):
    """The tensor with zeros in place of all elements but the first."""

    def compute(value):
        found = np.zeros_like(value)
        found.flat[:1] = value.flat[:1]
        return found

    def gradient(op, dy):
        size = tf.size(op.inputs[0])
        first = tf.one_hot(0, size, dtype=dy.dtype) * tf.reshape(dy, [-1])[0]
        return tf.reshape(first, tf.shape(op.inputs[0]))

    made = py_func(compute, [x], x.dtype, gradient, name="ZeroOut")
    made.set_shape(x.shape)
    return made


def run(config=None):
    """Of a matrix, of a vector, and the gradient."""
    x = tf.constant([5.0, 4.0, 3.0, 2.0, 1.0])
    y = zero_out(x)
    with tf.Session(config=config) as session:
        return session.run([zero_out(tf.constant([[1, 2], [3, 4]])), y, tf.gradients(y, [x])[0]])


if __name__ == "__main__":
    print(*run(), sep="\n")
