"""A matrix that learns to be the identity; its product is a Python function with a gradient."""

import numpy as np
from python_gradients import py_func

import tfc.graph as tf


def matmul(a, b):
    """The product of matrices, by NumPy."""

    def gradient(op, dy):
        a, b = op.inputs
        return tf.matmul(dy, tf.transpose(b)), tf.matmul(tf.transpose(a), dy)

    return py_func(np.dot, [a, b], tf.float32, gradient, name="MyMatMul")


def run(config=None, steps=1000):
    """The matrix after step 0, 100, 200 …"""
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.Variable(np.ones([3, 3], np.float32))
    product = matmul(x, w)
    product.set_shape([None, 3])
    loss = tf.reduce_mean(tf.square(product - x))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    found = []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            session.run(train, {x: random.uniform(size=[32, 3])})
            if step % 100 == 0:
                found.append(session.run(w))
    return found


if __name__ == "__main__":
    for number, matrix in enumerate(run()):
        print(f"step {100 * number}", matrix, sep="\n")
