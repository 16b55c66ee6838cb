"""The sum of 500 rows: by slices, by unstack, and by one reduction."""

import time

import numpy as np

import tfc.graph as tf


def run(config=None):
    """The three sums, and the seconds of a run of each."""
    rows = np.random.RandomState(0).uniform(size=[500, 10]).astype(np.float32)
    x = tf.placeholder(tf.float32, [500, 10])
    by_slices, by_parts = tf.zeros([10]), tf.zeros([10])
    for place in range(500):
        by_slices += x[place]
    for row in tf.unstack(x):
        by_parts += row
    sums, seconds = [], []
    with tf.Session(config=config) as session:
        for form in (by_slices, by_parts, tf.reduce_sum(x, axis=0)):
            session.run(form, {x: rows})
            begin = time.perf_counter()
            sums.append(session.run(form, {x: rows}))
            seconds.append(time.perf_counter() - begin)
    return sums, seconds


if __name__ == "__main__":
    for value, taken in zip(*run()):
        print(f"{value} in {taken:.6f} s")
