"""Vectors of words from their neighbours, by noise-contrastive estimation.

The text is made here: words follow each other within one of two groups.
"""

import numpy as np

import tfc.graph as tf

WORDS, WIDTH, NOISE = 20, 8, 10


def pairs(random, count):
    """Words, and each one's neighbour: of its own half of the words."""
    words = random.randint(0, WORDS, count)
    return words, (words // 10) * 10 + random.randint(0, 10, count)


def loss_of(vectors, weights, biases, inputs, labels, noise):
    """The mean loss of telling neighbours from random words."""
    embedded = tf.nn.embedding_lookup(vectors, inputs)

    def logits(words):
        return tf.reduce_sum(embedded * tf.nn.embedding_lookup(weights, words), 1) + (
            tf.nn.embedding_lookup(biases, words)
        )

    true = tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.ones_like(labels, tf.float32), logits=logits(labels)
    )
    others = tf.matmul(embedded, tf.nn.embedding_lookup(weights, noise), transpose_b=True)
    others += tf.nn.embedding_lookup(biases, noise)
    false = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like(others), logits=others)
    return tf.reduce_mean(true + tf.reduce_sum(false, 1) / NOISE)


def run(config=None, steps=600):
    """The first and the last loss, and how alike words are within and between the groups."""
    random = np.random.RandomState(0)
    vectors = tf.Variable(random.uniform(-1, 1, [WORDS, WIDTH]).astype(np.float32))
    weights = tf.Variable(random.normal(0, WIDTH**-0.5, [WORDS, WIDTH]).astype(np.float32))
    biases = tf.Variable(np.zeros(WORDS, np.float32))
    inputs, labels = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    noise = tf.placeholder(tf.int32, [NOISE])
    loss = loss_of(vectors, weights, biases, inputs, labels, noise)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normal = tf.nn.l2_normalize(vectors, 1)
    likeness = tf.matmul(normal, normal, transpose_b=True)
    losses = []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            words, neighbours = pairs(random, 64)
            feeds = {inputs: words, labels: neighbours, noise: random.randint(0, WORDS, NOISE)}
            losses.append(float(session.run([loss, train], feeds)[0]))
        alike = session.run(likeness)
    within = (alike[:10, :10].sum() - 10) / 90
    return np.mean(losses[:20]), np.mean(losses[-20:]), within, alike[:10, 10:].mean()


if __name__ == "__main__":
    print("loss {:.3f} -> {:.3f}; likeness {:.3f} within, {:.3f} between".format(*run()))
