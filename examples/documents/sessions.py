"""Runs of a part of a graph, and the errors of wrong feeds."""

import numpy as np

import tfc.graph as tf


def run(config=None):
    """The values, and the names of the errors."""
    x = tf.constant([[37.0, -23.0], [1.0, 4.0]])
    w = tf.Variable(tf.random_uniform([2, 2]))
    output = tf.nn.softmax(tf.matmul(x, w))
    fed = tf.placeholder(tf.float32, shape=[3])
    squared = tf.square(fed)
    found = []
    with tf.Session(config=config) as session:
        session.run(w.initializer)
        both = session.run([squared, output], {fed: np.array([1.0, 2.0, 3.0])})
        found += [both[0], both[1].sum(1), session.run(squared, {fed: [0.0, 0.0, 5.0]})]
        for feeds in ({}, {fed: 37.0}):
            try:
                session.run(squared, feeds)
            except (tf.errors.InvalidArgumentError, ValueError) as error:
                found.append(type(error).__name__)
    return found


if __name__ == "__main__":
    print(*run(), sep="\n")
