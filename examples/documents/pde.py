"""Raindrops on a pond: a wave equation, each step a convolution with the Laplacian's kernel."""

import numpy as np
from picture import write_png

import tfc.graph as tf


def kernel(values):
    """A convolution's filter for one channel."""
    values = np.asarray(values, np.float32)
    return tf.constant(values.reshape([*values.shape, 1, 1]))


def laplace(x):
    """The Laplacian of an array, with zeros around it."""
    weights = kernel([[0.5, 1.0, 0.5], [1.0, -6.0, 1.0], [0.5, 1.0, 0.5]])
    expanded = tf.expand_dims(tf.expand_dims(x, 0), -1)
    y = tf.nn.depthwise_conv2d(expanded, weights, [1, 1, 1, 1], padding="SAME")
    return y[0, :, :, 0]


def drops(n=500, count=40, seed=0):
    """The pond's heights before: drops of random strength at random places."""
    random = np.random.RandomState(seed)
    heights = np.zeros([n, n], np.float32)
    for _ in range(count):
        a, b = random.randint(0, n, 2)
        heights[a, b] = random.uniform()
    return heights


def run(config=None, n=500, steps=1000):
    """The heights after the steps."""
    eps, damping = tf.placeholder(tf.float32, shape=()), tf.placeholder(tf.float32, shape=())
    u = tf.Variable(drops(n))
    ut = tf.Variable(np.zeros([n, n], np.float32))
    u_ = u + eps * ut
    ut_ = ut + eps * (laplace(u) - damping * ut)
    step = tf.group(u.assign(u_), ut.assign(ut_))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step, {eps: 0.03, damping: 0.04})
        return session.run(u)


if __name__ == "__main__":
    heights = run()
    print(f"sum {heights.sum():.4f}, from {heights.min():.4f} to {heights.max():.4f}")
    write_png("pde.png", np.clip((heights + 0.1) / 0.2 * 255, 0, 255))
    print("pde.png")
