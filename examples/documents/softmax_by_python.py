"""Digits by softmax regression, whose product and logarithm are Python functions with gradients.

The digits are drawn here: a random pattern a class, with noise.
"""

import time

import numpy as np
from identity_by_python import matmul
from python_gradients import py_func

import tfc.graph as tf


def log(x):
    """The logarithm, by NumPy."""
    return py_func(np.log, [x], tf.float32, lambda op, dy: dy / op.inputs[0])


def digits(count, seed):
    """Pictures float32[count, 64], and their classes as rows of a one and zeros."""
    patterns = np.random.RandomState(7).uniform(size=[10, 64])
    random = np.random.RandomState(seed)
    classes = random.randint(0, 10, count)
    noise = random.normal(scale=0.7, size=[count, 64])
    return (patterns[classes] + noise).astype(np.float32), np.eye(10, dtype=np.float32)[classes]


def run(config=None, steps=2000):
    """The accuracy on new pictures, and the seconds that training took."""
    x, labels = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.float32, [None, 10])
    w, b = tf.Variable(tf.zeros([64, 10])), tf.Variable(tf.zeros([10]))
    product = matmul(x, w)
    product.set_shape([None, 10])
    y = tf.nn.softmax(product + b)
    logarithm = log(y)
    logarithm.set_shape([None, 10])
    loss = tf.reduce_mean(-tf.reduce_sum(labels * logarithm, 1))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    right = tf.equal(tf.argmax(y, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        begin = time.perf_counter()
        for step in range(steps):
            pictures, classes = digits(100, step)
            session.run(train, {x: pictures, labels: classes})
        seconds = time.perf_counter() - begin
        pictures, classes = digits(2000, 10**6)
        return float(session.run(accuracy, {x: pictures, labels: classes})), seconds


if __name__ == "__main__":
    print("test accuracy: {:.4f}, elapsed time: {:.2f}".format(*run()))
