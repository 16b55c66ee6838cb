"""A matrix multiplied by itself many times over."""

import time

import numpy as np

import tfc.graph as tf


def run(config=None, size=1000, times=200):
    """The last product, and the seconds of all."""
    matrix = np.random.RandomState(0).normal(size=[size, size]).astype(np.float32) / size**0.5
    x = tf.Variable(matrix)
    step = x.assign(tf.matmul(x, tf.constant(matrix)))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        begin = time.perf_counter()
        for _ in range(times):
            session.run(step.op)
        return session.run(x), time.perf_counter() - begin


if __name__ == "__main__":
    _, taken = run()
    print(f"200 products of 1000 x 1000 matrices: {taken:.3f} s")
