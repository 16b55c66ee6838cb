"""Digits told apart by a linear model, and by one of random cosines of their pixels.

The digits are drawn here: each class is a random pattern, and its pictures are that pattern with
noise, two patterns a class so that no plane parts them.
"""

import math

import numpy as np

import tfc.graph as tf


def digits(count, seed):
    """Pictures float32[count, 64] and their classes."""
    patterns = np.random.RandomState(7).normal(size=[2, 10, 64])
    patterns[1] = -patterns[0]
    random = np.random.RandomState(seed)
    classes = random.randint(0, 10, count)
    pictures = patterns[random.randint(0, 2, count), classes]
    return (pictures + 0.5 * random.normal(size=[count, 64])).astype(np.float32), classes


def run(config=None, steps=400, features=500, deviation=8.0):
    """The accuracies of the linear model and of the one of random features."""
    random = np.random.RandomState(1)
    omega = random.normal(scale=1 / deviation, size=[64, features]).astype(np.float32)
    phase = random.uniform(0, 2 * math.pi, features).astype(np.float32)
    x, labels = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int32, [None])
    mapped = math.sqrt(2 / features) * tf.cos(tf.matmul(x, tf.constant(omega)) + phase)
    found = []
    for inputs, width in ((x, 64), (mapped, features)):
        weights = tf.Variable(np.zeros([width, 10], np.float32))
        logits = tf.matmul(inputs, weights) + tf.Variable(np.zeros(10, np.float32))
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        train = tf.train.FtrlOptimizer(1.0, l2_regularization_strength=0.001).minimize(loss)
        right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for step in range(steps):
                pictures, classes = digits(128, step)
                session.run(train, {x: pictures, labels: classes})
            pictures, classes = digits(2000, 10**6)
            found.append(float(session.run(accuracy, {x: pictures, labels: classes})))
    return found


if __name__ == "__main__":
    print("accuracy {:.3f} of the linear model, {:.3f} of random features".format(*run()))
