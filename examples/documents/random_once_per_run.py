"""A random tensor has one value in a run, however many take it."""

import tfc.graph as tf


def run(config=None):
    """Two runs of it, and a run of two sums of it."""
    vector = tf.random_uniform(shape=(3,))
    with tf.Session(config=config) as session:
        return [
            session.run(vector),
            session.run(vector),
            session.run((vector + 1, vector + 2)),
        ]


if __name__ == "__main__":
    print(*run(), sep="\n")
