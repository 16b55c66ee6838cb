"""The Mandelbrot set: 200 steps on a grid of complex numbers, drawn as a picture."""

import numpy as np
from picture import write_png

import tfc.graph as tf


def run(config=None, steps=200):
    """How many steps each point stays bounded."""
    y, x = np.mgrid[-1.3:1.3:0.005, -2:1:0.005]
    z = x + 1j * y
    xs = tf.constant(z.astype(np.complex64))
    zs = tf.Variable(xs)
    ns = tf.Variable(tf.zeros_like(xs, tf.float32))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        zs_ = zs * zs + xs
        not_diverged = tf.abs(zs_) < 4
        step = tf.group(zs.assign(zs_), ns.assign_add(tf.cast(not_diverged, tf.float32)))
        for _ in range(steps):
            session.run(step)
        return session.run(ns)


def picture(counts):
    """The counts as colours."""
    cycle = 6.28 * counts[..., None] / 20.0
    colours = np.concatenate(
        [10 + 20 * np.cos(cycle), 30 + 50 * np.sin(cycle), 155 - 80 * np.cos(cycle)], 2
    )
    colours[counts == counts.max()] = 0
    return np.clip(colours, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    found = run()
    print(f"{found.shape[0]} x {found.shape[1]} points, {int(found.sum())} steps in all,", end=" ")
    print(f"{int((found == 200).sum())} points stayed")
    write_png("mandelbrot.png", picture(found))
    print("mandelbrot.png")
