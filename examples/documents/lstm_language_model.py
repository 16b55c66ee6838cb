"""Two layers of long short-term memory, unrolled, that learn to continue a sequence of words.

The text is made here: a word's successor depends on the two words before it.
"""

import math

import numpy as np

import tfc.graph as tf

WORDS, WIDTH, BATCH, STEPS = 8, 32, 16, 10


def text(random):
    """Words int32[BATCH, STEPS + 1]."""
    words = np.zeros([BATCH, STEPS + 1], np.int32)
    words[:, :2] = random.randint(0, WORDS, [BATCH, 2])
    for place in range(2, STEPS + 1):
        words[:, place] = (words[:, place - 1] + words[:, place - 2] + 1) % WORDS
    return words


def lstm(name, inputs, state):
    """The output of a cell, and its next state."""
    hidden, memory = state
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("kernel", [2 * WIDTH, 4 * WIDTH])
        bias = tf.get_variable("bias", [4 * WIDTH], initializer=tf.zeros_initializer())
    gates = tf.matmul(tf.concat([inputs, hidden], 1), kernel) + bias
    i, j, f, o = tf.split(gates, 4, axis=1)
    memory = memory * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    hidden = tf.tanh(memory) * tf.sigmoid(o)
    return hidden, (hidden, memory)


def run(config=None, iterations=300):
    """The perplexities of the first and the last iteration."""
    random = np.random.RandomState(0)
    tf.set_random_seed(1)
    words = tf.placeholder(tf.int32, [BATCH, STEPS + 1])
    embedding = tf.get_variable("embedding", [WORDS, WIDTH])
    inputs = tf.nn.embedding_lookup(embedding, words[:, :-1])
    states = [(tf.zeros([BATCH, WIDTH]), tf.zeros([BATCH, WIDTH])) for _ in range(2)]
    outputs = []
    for place in range(STEPS):
        value = inputs[:, place]
        for layer in range(2):
            value, states[layer] = lstm(f"cell_{layer}", value, states[layer])
        outputs.append(value)
    logits = tf.tensordot(tf.stack(outputs, 1), tf.get_variable("out", [WIDTH, WORDS]), 1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=words[:, 1:], logits=logits)
    loss = tf.reduce_mean(losses[:, 1:])
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    found = []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(iterations):
            found.append(session.run([loss, train], {words: text(random)})[0])
    return math.exp(found[0]), math.exp(np.mean(found[-10:]))


if __name__ == "__main__":
    print("perplexity {:.2f} -> {:.2f}".format(*run()))
