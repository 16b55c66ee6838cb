"""A rectifier in Python with its gradient in Python, checked against finite differences."""

import numpy as np
from python_gradients import py_func

import tfc.graph as tf


def relu(x):
    """max(x, 0), by a Python function."""

    def gradient(op, dy):
        given = tf.cast(tf.greater(op.inputs[0], 0), tf.float32)
        return dy * given

    return py_func(lambda value: np.maximum(value, 0), [x], tf.float32, gradient)


def run(config=None):
    """The values, the gradient, and how far it is from finite differences."""
    values = np.random.RandomState(0).normal(size=[10]).astype(np.float32)
    x = tf.placeholder(tf.float32, [10])
    y = relu(x)
    (dx,) = tf.gradients(y, [x])
    with tf.Session(config=config) as session:
        found, slope = session.run([y, dx], {x: values})
        delta = np.float32(1e-3)
        above = session.run(y, {x: values + delta})
        below = session.run(y, {x: values - delta})
    return values, found, slope, np.abs((above - below) / (2 * delta) - slope).max()


if __name__ == "__main__":
    print("the gradients differ by", run()[-1])
