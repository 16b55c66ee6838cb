"""The parameters of 5 x^2 + 3, found by Adam from random points."""

import numpy as np

import tfc.graph as tf


def run(config=None, steps=1000):
    """The parameters."""
    random = np.random.RandomState(0)
    tf.set_random_seed(0)
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    w = tf.get_variable("w", shape=[3, 1])
    f = tf.stack([tf.square(x), x, tf.ones_like(x)], 1)
    yhat = tf.squeeze(tf.matmul(f, w), 1)
    loss = tf.nn.l2_loss(yhat - y) + 0.1 * tf.nn.l2_loss(w)
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            points = random.uniform(-10.0, 10.0, size=100)
            session.run(train, {x: points, y: 5 * np.square(points) + 3})
        return session.run(w).ravel()


if __name__ == "__main__":
    print(run())
