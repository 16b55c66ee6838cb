"""Beam search over a chain of states, and what it is made of: merged dimensions, entropies."""

import numpy as np

import tfc.graph as tf


def shape_of(tensor):
    """The dimensions: numbers where they are known, tensors elsewhere."""
    static = tensor.shape.as_list()
    dynamic = tf.unstack(tf.shape(tensor))
    return [d if s is None else s for s, d in zip(static, dynamic)]


def merged(tensor, groups):
    """The tensor with neighbouring dimensions as one: groups [[0, 1], 2] of three."""
    shape = shape_of(tensor)
    sizes = []
    for group in groups:
        size = 1
        for place in group if isinstance(group, list) else [group]:
            size = size * shape[place]
        sizes.append(size)
    return tf.reshape(tensor, tf.stack(sizes))


def rows_of(x, beams, states):
    """Row `beams[n, k]` of x[n], for each n and k."""
    count = shape_of(x)[0]
    places = tf.reshape(tf.range(count) * states, [-1, 1]) + beams
    return tf.gather(merged(x, [[0, 1], 2]), places)


def beam_search(update, start, width, length):
    """The most likely sequences of a chain.

    update: log probabilities [states, states] of what follows what.
    start: log probabilities [batch, states] of the first state.
    """
    states = update.shape.as_list()[0]
    scores, chosen = tf.nn.top_k(start, width)
    paths = tf.expand_dims(chosen, 2)
    for _ in range(length - 1):
        following = tf.gather(update, paths[:, :, -1])
        total = tf.reshape(tf.expand_dims(scores, 2) + following, [-1, width * states])
        scores, places = tf.nn.top_k(total, width)
        paths = rows_of(paths, places // states, width)
        paths = tf.concat([paths, tf.expand_dims(places % states, 2)], 2)
    return scores, paths


def gaussian_kl(q, p=(0.0, 0.0)):
    """The divergence of Gaussians of (mean, logarithm of the variance)."""
    (m1, v1), (m2, v2) = q, p
    return 0.5 * tf.reduce_sum(
        v2 - v1 + tf.exp(v1 - v2) + tf.square(m1 - m2) / tf.exp(v2) - 1.0, -1
    )


def chain(states=6, batch=3):
    """Random log probabilities."""
    random = np.random.RandomState(0)
    update, start = random.uniform(size=[states, states]), random.uniform(size=[batch, states])
    normal = [np.log(x / x.sum(-1, keepdims=True)).astype(np.float32) for x in (update, start)]
    return normal[0], normal[1]


def run(config=None, width=4, length=5):
    """The scores and paths, and two divergences."""
    update, start = chain()
    scores, paths = beam_search(tf.constant(update), tf.constant(start), width, length)
    one, zero = tf.ones([4]), tf.zeros([4])
    divergences = [gaussian_kl((one, zero), (zero, zero)), gaussian_kl((one, one), (one, one))]
    with tf.Session(config=config) as session:
        return session.run([scores, paths, divergences])


if __name__ == "__main__":
    print(*run(), sep="\n")
