"""Functions of graph mode that round as integers would while training, against NumPy."""

import numpy as np

from tfc import graph as tf

RNG = np.random.default_rng(5)


def test_limits_of_each_channel_round_and_let_gradients_through():
    x = RNG.normal(size=(6, 3)).astype(np.float32) * 3
    low, high = np.float32([-2, 0, -1]), np.float32([2, 4, 3])
    scale = (high - low) / np.float32(255)
    zero = np.rint(-low / scale)
    bottom, top = -zero * scale, (255 - zero) * scale
    wanted = np.rint((np.clip(x, bottom, top) - bottom) / scale) * scale + bottom
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant(x)
        limits = tf.constant(low), tf.constant(high)
        made = tf.fake_quant_with_min_max_vars_per_channel(given, *limits)
        slopes = tf.gradients(made, [given, *limits])
        got, by_x, by_low, by_high = session.run([made, *slopes])
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    np.testing.assert_array_equal(by_x, (x >= bottom) & (x <= top))
    np.testing.assert_allclose(by_low, (x < bottom).sum(0))
    np.testing.assert_allclose(by_high, (x > top).sum(0))
