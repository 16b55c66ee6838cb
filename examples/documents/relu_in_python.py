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
        error = tf.test.compute_gradient_error(x, [10], y, [10], x_init_value=values)
    return values, found, slope, error


if __name__ == "__main__":
    print("the gradients differ by", run()[-1])
